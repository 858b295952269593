"""match-s: the simulator is put into the robot's whole state, runs for a few ticks, and is compared in time.

Assumes that the base was measured (motion capture) on the clock of the joints, that nothing random happens within the
horizon, and that the state is all there is: delay and what the motors remember are not part of it. With a horizon of one
tick it compares single steps; over the whole rollout it is match-o with the base. It needs its own simulations, so it is
not one of the costs that score the samples of a gap.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surefoot.errors import GapError
from surefoot.gap.schedule import Schedule
from surefoot.gap.simulate import MOST_WORLDS, Change, Simulator
from surefoot.logs import RobotLog
from surefoot.policy.agents import Agent, PolicyAgent
from surefoot.robot import Robot
from surefoot.sim.worlds import Worlds

HORIZONS = {"match-s-1": 1, "match-s-20": 20, "match-s": 0}  # ticks; 0 is the whole piece
LEAST = (0.01, 0.01)  # m and rad by which positions and orientations are scaled at least
STATE = ("quaternion", "base_position_m", "base_velocity")


def refuse_unknown_base(log: RobotLog) -> None:
    """A joint log cannot feed match-s."""
    missing = [name for name in STATE if getattr(log, name) is None]
    if missing:
        raise GapError(
            f"match-s puts the simulator back into the robot's whole state again and again, and the log does not hold {', '.join(missing)}; "
            "record with motion capture, or choose a cost that needs joints alone (wasserstein)"
        )


def match_state(
    log: RobotLog,
    schedule: Schedule,
    robot: Robot,
    make_agent: Callable[[int], Agent],
    horizon: int,
    change: Change | None = None,
    candidates: np.ndarray | None = None,
    *,
    seed: int = 0,
    threads: int = 0,
) -> np.ndarray:
    """Root mean square distance of the whole state, in units of the robot's own spread, (n,) for n candidates."""
    refuse_unknown_base(log)
    candidates = np.zeros((1, 0)) if candidates is None else candidates
    starts, ends = _segments(schedule, horizon)
    total, count = np.zeros(len(candidates)), 0
    at_once = max(1, MOST_WORLDS // len(candidates))
    unit = _units(log, schedule, robot, starts, ends)
    for first in range(0, len(starts), at_once):
        part = slice(first, first + at_once)
        squares, seen = _run(log, robot, make_agent, change, candidates, starts[part], ends[part], unit, seed + first, threads)
        total, count = total + squares, count + seen
    return np.sqrt(total / count)


def state_floor(simulator: Simulator, log: RobotLog, horizon: int, seed: int, change: Change | None = None) -> float:
    """What match-s gives when the simulator itself plays the robot."""
    run = simulator.roll(change, np.zeros((1, 0)), seed, truth=True)
    columns: dict[str, Any] = {
        name: np.array(getattr(log, name), dtype=float) for name in ("joint_position_rad", "joint_velocity_rad_s", "action", *STATE)
    }
    for i, rows in enumerate(simulator.schedule.rows):
        for name, values in columns.items():
            values[rows] = getattr(run, name)[i, : rows.stop - rows.start]
    played = replace(log, **columns)
    return float(
        match_state(
            played, simulator.schedule, simulator.robot, simulator.make_agent, horizon, change, seed=seed + 1, threads=simulator.threads
        )[0]
    )


def _segments(schedule: Schedule, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last row of each segment; the row before the first belongs to the same piece and knows the last action."""
    starts, ends = [], []
    for rows in schedule.rows:
        step = horizon or rows.stop - rows.start - 2
        for start in range(rows.start + 1, rows.stop - step, step):
            starts.append(start)
            ends.append(start + step)
    return np.array(starts), np.array(ends)


def _units(log: RobotLog, schedule: Schedule, robot: Robot, starts: np.ndarray, ends: np.ndarray) -> dict[str, np.ndarray]:
    """What each part of the state is divided by: spreads of the robot, and how far it gets within a segment."""
    assert log.base_position_m is not None
    assert log.quaternion is not None
    assert log.base_velocity is not None
    rows = np.concatenate([np.arange(r.start, r.stop) for r in schedule.rows])
    moved = np.linalg.norm(log.base_position_m[ends] - log.base_position_m[starts], axis=1)
    turned = _angle(log.quaternion[starts], log.quaternion[ends])
    return {
        "joint_position_rad": np.maximum(log.joint_position_rad[rows].std(axis=0), 1e-3),
        "joint_velocity_rad_s": np.maximum(log.joint_velocity_rad_s[rows].std(axis=0), 1e-2),
        "base_velocity": np.maximum(log.base_velocity[rows].std(axis=0), 1e-2),
        "base_position_m": np.array([max(float(np.sqrt(np.square(moved).mean())), LEAST[0])]),
        "quaternion": np.array([max(float(np.sqrt(np.square(turned).mean())), LEAST[1])]),
    }


def _run(
    log: RobotLog, robot: Robot, make_agent: Callable[[int], Agent], change: Change | None, candidates: np.ndarray, starts: np.ndarray,
    ends: np.ndarray, unit: dict[str, np.ndarray], seed: int, threads: int,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Sums of squared distances of each candidate over segments and ticks, and how many numbers they are made of."""
    assert log.base_position_m is not None
    assert log.quaternion is not None
    assert log.base_velocity is not None
    n, m = len(candidates), len(starts)
    worlds = Worlds(robot, n * m, seed=seed, threads=threads, noise_period=m, torque_speed=change is not None and change.torque_speed)
    if change is not None:
        change.apply(worlds, candidates, m)
    agent = make_agent(n * m)
    if not isinstance(agent, PolicyAgent):
        raise GapError(f"match-s starts in the middle of a walk, and {agent.label} cannot: it takes a policy that acts on what it observes")

    def of(name: str, rows: np.ndarray) -> np.ndarray:
        return np.tile(np.asarray(getattr(log, name)[rows], dtype=float), (n, 1))

    limits = np.array(robot.contract.position_limit_rad).T
    place = log.base_position_m[starts].astype(float)
    height = np.zeros_like(place)
    height[:, 2] = place[:, 2]
    worlds.reset(
        joint_position_rad=np.clip(of("joint_position_rad", starts), *limits), joint_velocity_rad_s=of("joint_velocity_rad_s", starts),
        base_position_m=np.tile(height, (n, 1)), base_quaternion=of("quaternion", starts), base_velocity=of("base_velocity", starts),
    )  # fmt: skip
    agent.reset(None)
    agent.remember(of("action", starts - 1))
    total, count = np.zeros(n), 0
    for tick in range(int((ends - starts).max())):
        worlds.step(agent.act(worlds.sensors, of("command", starts + tick)))
        rows = np.minimum(starts + tick + 1, ends)
        going = starts + tick + 1 <= ends
        moved = worlds.base_position_m - np.tile(height, (n, 1))
        parts = [
            (worlds.joint_position_rad - of("joint_position_rad", rows)) / unit["joint_position_rad"],
            (worlds.joint_velocity_rad_s - of("joint_velocity_rad_s", rows)) / unit["joint_velocity_rad_s"],
            (worlds.base_velocity - of("base_velocity", rows)) / unit["base_velocity"],
            (moved - (of("base_position_m", rows) - np.tile(place, (n, 1)))) / unit["base_position_m"],
            _angle(worlds.base_quaternion, of("quaternion", rows))[:, None] / unit["quaternion"],
        ]
        squares = np.square(np.concatenate(parts, axis=1)).sum(axis=1).reshape(n, m)
        total += squares[:, going].sum(axis=1)
        count += int(going.sum()) * sum(part.shape[1] for part in parts)
    return total, count


def _angle(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Angle between orientations (n, 4), rad."""
    return 2 * np.arccos(np.clip(np.abs((one * other).sum(axis=1)), 0.0, 1.0))
