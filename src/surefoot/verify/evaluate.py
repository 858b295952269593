"""How well a policy walks: tracking, drift, falls, energy and smoothness, all in one batch of worlds.

Velocities are in the heading frame of the base (forward, left). An error is the mean over time of its size at each
control tick, without any averaging over strides, leaving out the first half second after each change of command.

A policy that means another posture than level (see `surefoot.robot.posture`) starts level too, is told to stand until
it should have risen, and is measured from then on, in the frame of that posture; whoever does not rise in time counts
as fallen. Another group of episodes is told to stand all the time.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.policy.agents import Agent
from surefoot.robot import Robot
from surefoot.sim.falls import Falls
from surefoot.sim.frames import in_heading_frame, turned_back, yaw_of
from surefoot.sim.worlds import Worlds
from surefoot.verify.nonfinite import NonFinite, NonFiniteWatch, nonfinite

EPISODE_S = 10.0
HOLD_S = 5.0  # how long each random command is held
DRIFT_S = 4.0
PUSH_M_S = 0.5
PUSH_EVERY_S = 4.0
SETTLE_S = 0.5  # after each change of command, not counted as tracking error
GRAVITY_M_S2 = 9.81
START_SPREAD_RAD = 0.05

# What a walking policy must reach; falls are out of 100 episodes.
GATE = {"falls": 1, "falls_pushed": 5, "velocity_error_m_s": 0.15, "turn_error_rad_s": 0.2}
RISING_GATE = {"stood": 90}  # what one must reach that rises first, out of 100 episodes told to stand


@dataclass(frozen=True)
class Walk:
    """A group of episodes."""

    episodes: int
    falls: int
    velocity_error_m_s: float  # mean planar error
    turn_error_rad_s: float
    cost_of_transport: float  # mechanical work of the motors / (weight × way)
    action_change: float  # mean |a[k] - a[k-1]| per joint and tick
    unstable: int = 0


@dataclass(frozen=True)
class Straight:
    """Walking straight in one direction from standing, for `DRIFT_S`; means over the episodes that did not fall."""

    command: tuple[float, float, float]
    episodes: int
    falls: int
    way_m: float  # along the command
    lateral_m: float  # across it, to the left positive
    lateral_abs_m: float  # mean of the absolute value
    off_m: float  # mean distance from the place that was commanded
    heading_rad: float
    heading_abs_rad: float
    velocity_error_m_s: float
    turn_error_rad_s: float


@dataclass(frozen=True)
class Stand:
    """Episodes told to stand: the robot rises, and stays up for `EPISODE_S` after the time that it has for that."""

    episodes: int
    rose: int  # in time
    stood: int  # rose in time, and were never down again
    rise_s: float  # mean of those that rose


@dataclass(frozen=True)
class Evaluation:
    """All figures of one policy on one robot."""

    walk: Walk
    pushed: Walk
    directions: dict[str, Straight]
    stand: Stand | None = None  # of a policy that means a posture which has to be risen to
    nonfinite: NonFinite | None = None  # of a policy that gave actions which are no numbers

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        figures = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return figures | {"gate": {"limits": GATE if self.stand is None else RISING_GATE, "failures": self.failures()}}

    def failures(self) -> list[str]:
        """What keeps the policy from passing the gate, in words; empty when it passes."""
        found = [] if self.nonfinite is None else [self.nonfinite.says]
        if self.stand is not None:
            enough = self.stand.stood * 100 >= RISING_GATE["stood"] * self.stand.episodes
            return (
                found if enough else [*found, f"{self.stand.stood} of {self.stand.episodes} stood for {EPISODE_S:g} s"]
            )
        per_hundred = 100 / self.walk.episodes
        if self.walk.falls * per_hundred > GATE["falls"]:
            found.append(f"{self.walk.falls} of {self.walk.episodes} fell")
        if self.pushed.falls * 100 / self.pushed.episodes > GATE["falls_pushed"]:
            found.append(f"{self.pushed.falls} of {self.pushed.episodes} fell when pushed")
        if math.isnan(self.walk.velocity_error_m_s):
            found.append("no episode lasted long enough to measure how it follows its commands")
        if self.walk.velocity_error_m_s > GATE["velocity_error_m_s"]:
            found.append(f"velocity error {self.walk.velocity_error_m_s:.3f} m/s is above {GATE['velocity_error_m_s']}")
        if self.walk.turn_error_rad_s > GATE["turn_error_rad_s"]:
            found.append(f"yaw-rate error {self.walk.turn_error_rad_s:.3f} rad/s is above {GATE['turn_error_rad_s']}")
        return found


def directions_of(robot: Robot) -> dict[str, tuple[float, float, float]]:
    """Full speed along each axis of the command range, and turning on the spot."""
    (x0, x1), (y0, y1), (w0, w1) = robot.contract.command_range
    wanted = {
        "+x": (x1, 0, 0),
        "-x": (x0, 0, 0),
        "+y": (0, y1, 0),
        "-y": (0, y0, 0),
        "turn left": (0, 0, w1),
        "turn right": (0, 0, w0),
    }
    return {name: (float(a), float(b), float(c)) for name, (a, b, c) in wanted.items() if any((a, b, c))}


def evaluate(
    robot: Robot,
    make_worlds: Callable[[int], Worlds],
    make_agent: Callable[[int], Agent],
    *,
    episodes: int = 100,
    straight_episodes: int = 20,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Run all episodes as one batch: random commands, random commands with pushes, and straight ahead in
    each direction.
    """
    if episodes < 1 or straight_episodes < 1:
        raise SurefootError(f"{min(episodes, straight_episodes)} episodes measure nothing; run at least 1")
    contract, directions, posture = robot.contract, directions_of(robot), robot.posture
    rise = round(posture.rise_s * contract.control_hz)  # ticks before anything is measured
    walking = 2 * episodes + straight_episodes * len(directions)
    n = walking + (episodes if rise else 0)
    ticks = round(EPISODE_S * contract.control_hz)
    drift_ticks = round(DRIFT_S * contract.control_hz)
    rng = np.random.default_rng([seed, 11])
    low, high = np.array(contract.command_range).T
    hold = round(HOLD_S * contract.control_hz)
    drawn = rng.uniform(low, high, (episodes, -(-ticks // hold), 3)).repeat(hold, axis=1)[:, :ticks]
    command = np.zeros((n, ticks, 3))  # the last episodes, where there are any, stand
    command[:episodes] = command[episodes : 2 * episodes] = drawn
    for i, value in enumerate(directions.values()):
        start = 2 * episodes + i * straight_episodes
        command[start : start + straight_episodes] = value

    worlds, agent = make_worlds(n), make_agent(n)
    limits = np.array(contract.position_limit_rad).T
    joints = contract.pose_rad + rng.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, (n, contract.n_joints))
    worlds.reset(joint_position_rad=np.clip(joints, *limits))
    agent.reset(None)
    trace = _Trace(n, ticks)
    down = np.zeros(n, dtype=bool)
    previous = np.zeros((n, contract.n_joints))
    pushed = np.arange(episodes, 2 * episodes)
    push_ticks = round(PUSH_EVERY_S * contract.control_hz)
    falls, risen_s = Falls(posture, n, contract.control_dt_s), np.full(n, np.nan)
    began, heading = np.zeros((n, 3)), np.zeros(n)
    watch = NonFiniteWatch(n)
    for k in range(-rise, ticks):
        told = command[:, k] if k >= 0 else np.zeros((n, 3))
        action = agent.act(worlds.sensors, told)
        watch.look(action, told, k + rise)
        worlds.step(action)
        if k >= 0 and (k + 1) % push_ticks == 0:
            angle = rng.uniform(0, 2 * np.pi, episodes)
            kick = np.zeros((episodes, 6))
            kick[:, 0], kick[:, 1] = PUSH_M_S * np.cos(angle), PUSH_M_S * np.sin(angle)
            worlds.kick(kick, pushed)
        down |= falls.look(worlds.base_quaternion, worlds.base_position_m[:, 2]) | ~worlds.alive
        risen_s[falls.risen & np.isnan(risen_s)] = (k + 1 + rise) * contract.control_dt_s
        quaternion, base = posture.frame(worlds.base_quaternion), worlds.base_velocity
        if progress is not None:
            progress(k + 1 + rise, rise + ticks)
        if k < 0:
            began, heading, previous = worlds.base_position_m, yaw_of(quaternion), action
            continue
        velocity, turn = in_heading_frame(base[:, :3], quaternion), posture.turned(base[:, 3:])[:, 2]
        trace.velocity_error[:, k] = np.linalg.norm(command[:, k, :2] - velocity[:, :2], axis=1)
        trace.turn_error[:, k] = np.abs(command[:, k, 2] - turn)
        trace.power_w[:, k] = np.maximum(worlds.torque_nm * worlds.joint_velocity_rad_s, 0).sum(axis=1)
        trace.speed[:, k] = np.linalg.norm(base[:, :2], axis=1)
        trace.change[:, k] = np.abs(action - previous).mean(axis=1)
        trace.down[:, k] = down
        previous = action
        if k + 1 == drift_ticks:
            place, yaw = turned_back(worlds.base_position_m - began, heading), yaw_of(quaternion) - heading

    settle = round(SETTLE_S * contract.control_hz)
    settled = (np.arange(ticks) % hold) >= settle
    weight_n = robot.mass_kg * GRAVITY_M_S2
    unstable = {failure.world for failure in worlds.failures}
    straight = {}
    for i, (name, value) in enumerate(directions.items()):
        rows = np.arange(2 * episodes + i * straight_episodes, 2 * episodes + (i + 1) * straight_episodes)
        straight[name] = trace.straight(rows, value, drift_ticks, settle, place, yaw)
    return Evaluation(
        walk=trace.walk(np.arange(episodes), settled, weight_n, contract.control_dt_s, unstable),
        pushed=trace.walk(pushed, settled, weight_n, contract.control_dt_s, unstable),
        directions=straight,
        stand=_stand(risen_s[walking:], down[walking:], posture.rise_s) if rise else None,
        nonfinite=nonfinite([(watch, np.arange(n))], contract.control_dt_s),
    )


def _stand(risen_s: np.ndarray, down: np.ndarray, in_time_s: float) -> Stand:
    rose = risen_s < in_time_s + 1e-6
    return Stand(episodes=len(rose), rose=int(rose.sum()), stood=int((rose & ~down).sum()), rise_s=_mean(risen_s, rose))


class _Trace:
    """What is kept of each tick, (n, ticks)."""

    def __init__(self, n: int, ticks: int):
        self.velocity_error, self.turn_error = np.zeros((n, ticks)), np.zeros((n, ticks))
        self.power_w, self.speed, self.change = np.zeros((n, ticks)), np.zeros((n, ticks)), np.zeros((n, ticks))
        self.down = np.zeros((n, ticks), dtype=bool)

    def walk(self, rows: np.ndarray, settled: np.ndarray, weight_n: float, dt_s: float, unstable: set[int]) -> Walk:
        up = ~self.down[rows]
        counted = up & settled
        way = float((self.speed[rows] * up).sum()) * dt_s
        return Walk(
            episodes=len(rows),
            falls=int(self.down[rows, -1].sum()),
            velocity_error_m_s=_mean(self.velocity_error[rows], counted),
            turn_error_rad_s=_mean(self.turn_error[rows], counted),
            cost_of_transport=float((self.power_w[rows] * up).sum()) * dt_s / max(weight_n * way, 1e-9),
            action_change=_mean(self.change[rows][:, 1:], up[:, 1:]),
            unstable=len(unstable & set(rows.tolist())),
        )

    def straight(
        self,
        rows: np.ndarray,
        command: tuple[float, float, float],
        ticks: int,
        settle: int,
        place: np.ndarray,
        yaw: np.ndarray,
    ) -> Straight:
        up = ~self.down[rows, ticks - 1]
        size = float(np.hypot(command[0], command[1]))
        ahead = np.array([command[0], command[1]]) / size if size else np.array([1.0, 0.0])
        way = place[rows, :2] @ ahead
        lateral = place[rows, :2] @ np.array([-ahead[1], ahead[0]])
        heading = np.angle(np.exp(1j * (yaw[rows] - command[2] * DRIFT_S)))
        counted = ~self.down[rows][:, settle:ticks]
        return Straight(
            command=command,
            episodes=len(rows),
            falls=int((~up).sum()),
            way_m=_mean(way, up),
            lateral_m=_mean(lateral, up),
            lateral_abs_m=_mean(np.abs(lateral), up),
            off_m=_mean(np.hypot(way - size * DRIFT_S, lateral), up),
            heading_rad=_mean(heading, up),
            heading_abs_rad=_mean(np.abs(heading), up),
            velocity_error_m_s=_mean(self.velocity_error[rows][:, settle:ticks], counted),
            turn_error_rad_s=_mean(self.turn_error[rows][:, settle:ticks], counted),
        )


def _mean(values: np.ndarray, counted: np.ndarray) -> float:
    return float(values[counted].mean()) if counted.any() else float("nan")
