"""The log that a virtual robot would write: random velocity commands, noisy sensors, imperfect clocks, no
base state.
"""

import math
import os
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np

from surefoot import __version__
from surefoot.errors import LogError
from surefoot.logs.robot_log import RobotLog
from surefoot.policy.driver import Driver, make_driver
from surefoot.robot.contract import Contract
from surefoot.sim.nonfinite import first_nonfinite, nonfinite
from surefoot.sim.rollout import rollout
from surefoot.sim.twin import Twin
from surefoot.streams import Stream

CHANNELS = ("joint_position_rad", "joint_velocity_rad_s", "action", "gyro_rad_s", "gravity")
TRUTH = ("base_position_m", "quaternion", "base_velocity")
STANDING_SHARE = 0.1  # of the commands are zero: a robot that never stands says little about standing
START_SPREAD_RAD = 0.05  # joints start off the default pose by up to this much
BYTES_PER_NUMBER = 20  # double precision while it is recorded and gathered, single precision while it is written
USUAL_WALK_S = 4.0  # of an episode, after the robot has risen
AFTER_FALL_S = 0.5  # an operator stops a fallen robot about this much later


def random_commands(
    contract: Contract,
    n: int,
    ticks: int,
    hold_s: float,
    rng: np.random.Generator,
    speed_m_s: tuple[float, float] | None = None,
) -> np.ndarray:
    """Commands, (n, ticks, n_commands), uniform over the contract's range and each held for `hold_s`.

    With `speed_m_s` they go in any direction at a speed from that range, as far as the contract allows.
    """
    low, high = np.array(contract.command_range).T
    hold = max(1, round(min(hold_s * contract.control_hz, ticks)))
    pieces = -(-ticks // hold)
    drawn = rng.uniform(low, high, (n, pieces, 3))
    standing = rng.random((n, pieces)) < STANDING_SHARE
    if speed_m_s is not None:
        speed, way = rng.uniform(*speed_m_s, (n, pieces)), rng.uniform(-np.pi, np.pi, (n, pieces))
        drawn[..., 0], drawn[..., 1] = speed * np.cos(way), speed * np.sin(way)
        drawn = np.clip(drawn, low, high)
        standing &= speed_m_s[0] == 0.0
    drawn[standing] = 0.0
    if contract.more_commands:
        low, high = np.array([command.range for command in contract.more_commands]).T
        drawn = np.concatenate([drawn, rng.uniform(low, high, (n, pieces, len(low)))], axis=2)
    return np.repeat(drawn, hold, axis=1)[:, :ticks]


def record(
    twin: Twin,
    policy: str | Driver,
    *,
    rollouts: int = 64,
    seconds: float = 4.0,
    hold_s: float = 2.0,
    seed: int = 0,
    threads: int = 0,
    base: bool = False,
    speed_m_s: tuple[float, float] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RobotLog:
    """Run the virtual robot `rollouts` times, from slightly different starts; an episode ends soon after a fall.

    With `base`, the log also says where the base was, as motion capture would. `speed_m_s` limits the commanded speed.
    """
    if speed_m_s is not None and not (np.isfinite(speed_m_s).all() and 0 <= speed_m_s[0] <= speed_m_s[1]):
        raise LogError(
            f"the speed is {speed_m_s[0]:g} to {speed_m_s[1]:g} m/s; give two numbers from 0 on, the lower one first"
        )
    driver = make_driver(policy, twin.robot, seed)
    twin = twin.with_robot(driver.robot)
    contract, posture = twin.robot.contract, twin.robot.posture
    ticks = _ticks(contract, rollouts, seconds, hold_s)
    if not posture.level and seconds <= posture.rise_s:
        raise LogError(
            f"an episode of {seconds:g} s ends before the robot is told to walk: it has {posture.rise_s:g} s to rise to"
            f" the posture {posture.name!r}; record episodes of {posture.rise_s + USUAL_WALK_S:g} s"
        )
    worlds = twin.worlds(rollouts, seed=seed, threads=threads)
    rng = np.random.default_rng([seed, Stream.RECORDING])
    late = np.round(rng.uniform(*twin.time_shift_s, rollouts) * contract.control_hz).astype(int)
    low, high = np.array(contract.position_limit_rad).T
    start = contract.pose_rad + rng.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, (rollouts, contract.n_joints))
    worlds.reset(joint_position_rad=np.clip(start, low, high))
    command = random_commands(contract, rollouts, ticks + int(late.max()), hold_s, rng, speed_m_s)
    # an operator lets a robot rise before sending it anywhere
    command[:, : round(posture.rise_s * contract.control_hz), :3] = 0.0
    agent = driver.make(rollouts)
    run = rollout(worlds, agent, command, progress, truth=base)
    channels = CHANNELS + (TRUTH if base else ())
    broken = nonfinite([(first_nonfinite(run.action, run.command), np.arange(rollouts))], contract.control_dt_s)
    if broken is not None:
        raise LogError(f"{driver.word}: {broken.says}")
    if worlds.failures:
        first = worlds.failures[0]
        others = f" ({worlds.n_failures} of {rollouts} rollouts stopped)" if worlds.n_failures > 1 else ""
        raise LogError(
            f"rollout {first.world} of {twin.name} stopped after {first.time_s:.2f} s{others}: {first.reason}; "
            "check the values in its YAML file, and the policy"
        )

    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("episode", "time_s", "command", *channels)}
    fallen = 0
    for i in range(rollouts):
        begin = int(late[i])
        down = np.flatnonzero(run.fallen[i, begin : begin + ticks])
        end = begin + ticks
        if len(down):
            fallen += 1
            end = min(end, begin + int(down[0]) + math.ceil(AFTER_FALL_S * contract.control_hz))
        rows = slice(begin, end)
        jitter = np.clip(
            rng.normal(0, twin.time_jitter_s, ticks), -0.4 * contract.control_dt_s, 0.4 * contract.control_dt_s
        )[: end - begin]
        stamps = run.time_s[i, rows] + jitter  # the clip keeps them in order
        parts["episode"].append(np.full(end - begin, i, dtype=np.int32))
        parts["time_s"].append(stamps - stamps[0])
        parts["command"].append(run.command[i, rows])
        for name in channels:
            parts[name].append(getattr(run, name)[i, rows])
    metadata = {
        "robot": twin.robot.name,
        "robot_hash": twin.robot.hash,
        "contract_hash": twin.robot.contract_hash,
        "control_hz": contract.control_hz,
        "policy": agent.label,
        "policy_hash": agent.hash,
        "fallen_episodes": fallen,
        **({} if posture.level else {"posture": posture.name}),
        "source": {
            "kind": "virtual robot",
            "twin": twin.name,
            "twin_hash": twin.hash,
            "seed": seed,
            "rollouts": rollouts,
            "seconds": seconds,
            "hold_s": hold_s,
            "surefoot": __version__,
            "mujoco": mujoco.__version__,
            **({} if speed_m_s is None else {"speed_m_s": list(speed_m_s)}),
        },
    }
    columns: dict[str, Any] = {name: np.concatenate(values) for name, values in parts.items()}
    return RobotLog(joints=contract.joints, metadata=metadata, **columns)


def _ticks(contract: Contract, rollouts: int, seconds: float, hold_s: float) -> int:
    """Control ticks of an episode; refuses what holds no data, and what no memory holds."""
    for name, value in (("seconds", seconds), ("hold_s", hold_s)):
        if not math.isfinite(value * contract.control_hz) or value <= 0:
            raise LogError(f"{name} is {value:g}; it must be a finite time above 0 s")
    ticks = round(seconds * contract.control_hz)
    if rollouts < 1 or ticks < 2:
        raise LogError(
            f"{rollouts} rollouts of {seconds:g} s hold no data; record at least 1 rollout of"
            f" {2 / contract.control_hz:g} s"
        )
    needed_gb = rollouts * ticks * BYTES_PER_NUMBER * (3 * contract.n_joints + 12) / 1e9
    if needed_gb > (there_gb := _memory_gb()):
        raise LogError(
            f"{rollouts} rollouts of {seconds:g} s need {needed_gb:.3g} GB of memory and this machine has"
            f" {there_gb:.3g} GB; record fewer or shorter ones"
        )
    return ticks


def _memory_gb() -> float:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    except (AttributeError, OSError, ValueError):  # a system that does not say
        return math.inf
