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
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.policy.agents import Agent
from surefoot.records import from_json
from surefoot.robot import Robot
from surefoot.shown import Shown, dataframe
from surefoot.sim.nonfinite import NonFinite, NonFiniteProbe, nonfinite
from surefoot.sim.probes import (
    ActionChangeProbe,
    ActionChangeRecord,
    EffortProbe,
    EffortRecord,
    FallProbe,
    FallRecord,
    PathProbe,
    PathRecord,
    TrackingProbe,
    TrackingRecord,
    pooled_mean,
)
from surefoot.sim.walk import Script, planar_push, rise_ticks, walk
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream

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
    action_change: float  # root mean square of a[k] - a[k-1] per joint and tick, mean over the episodes
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
class Evaluation(Shown):
    """All figures of one policy on one robot."""

    walk: Walk
    pushed: Walk
    directions: dict[str, Straight]
    stand: Stand | None = None  # of a policy that means a posture which has to be risen to
    nonfinite: NonFinite | None = None  # of a policy that gave actions which are no numbers
    provenance: dict[str, Any] = field(default_factory=dict)  # empty where another result holds it

    @property
    def drift_m(self) -> float:
        """Mean of the absolute drift over the directions of straight walks; NaN where all fell."""
        ahead = [straight.lateral_abs_m for straight in self.directions.values() if any(straight.command[:2])]
        known = [value for value in ahead if math.isfinite(value)]
        return sum(known) / len(known) if known else math.nan

    @property
    def falls(self) -> tuple[int, int]:
        """Falls without pushes, straight walks too, and of how many episodes."""
        straight = self.directions.values()
        falls = self.walk.falls + sum(walk.falls for walk in straight)
        return falls, self.walk.episodes + sum(walk.episodes for walk in straight)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with a row for each group of episodes: random commands, with pushes, each direction."""
        groups: dict[str, Walk | Straight] = {"random": self.walk, "random, pushed": self.pushed, **self.directions}
        return dataframe([{"commands": name, **dataclasses.asdict(group)} for name, group in groups.items()])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        figures = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        provenance = figures.pop("provenance")
        figures = ({"provenance": provenance} if provenance else {}) | figures
        return figures | {"gate": {"limits": GATE if self.stand is None else RISING_GATE, "failures": self.failures()}}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Evaluation":
        """From what `to_dict` gave, through JSON or not; what a file holds beside it is left out."""
        own = {entry.name for entry in dataclasses.fields(Evaluation)}
        return from_json(Evaluation, {name: value for name, value in content.items() if name in own})

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


def settled(n_ticks: int, control_hz: float) -> np.ndarray:
    """Ticks that count as tracking, (n_ticks,): all but the first `SETTLE_S` of each random command."""
    hold, settle = (round(time_s * control_hz) for time_s in (HOLD_S, SETTLE_S))
    return np.arange(n_ticks) % hold >= settle


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
    rise = rise_ticks(robot)
    walking = 2 * episodes + straight_episodes * len(directions)
    n = walking + (episodes if rise else 0)
    ticks, drift_ticks, push_ticks, hold = (
        round(time_s * contract.control_hz) for time_s in (EPISODE_S, DRIFT_S, PUSH_EVERY_S, HOLD_S)
    )
    rng = np.random.default_rng([seed, Stream.EVALUATION])
    low, high = np.array(contract.command_range).T
    drawn = rng.uniform(low, high, (episodes, -(-ticks // hold), 3)).repeat(hold, axis=1)[:, :ticks]
    command = np.zeros((n, ticks, 3))  # the last episodes, where there are any, stand
    command[:episodes] = command[episodes : 2 * episodes] = drawn
    for i, value in enumerate(directions.values()):
        start = 2 * episodes + i * straight_episodes
        command[start : start + straight_episodes] = value
    joints = contract.pose_rad + rng.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, (n, contract.n_joints))
    pushed = np.arange(episodes, 2 * episodes)
    pushes = tuple(
        planar_push(k - 1, pushed, PUSH_M_S, rng.uniform(0, 2 * np.pi, episodes))
        for k in range(push_ticks, ticks + 1, push_ticks)
    )

    worlds, agent = make_worlds(n), make_agent(n)
    worlds.reset(joint_position_rad=np.clip(joints, *np.array(contract.position_limit_rad).T))
    agent.reset(None)
    tracking, effort, change = TrackingProbe(posture), EffortProbe(), ActionChangeProbe()
    falls, path, finite = FallProbe(posture), PathProbe(posture, (drift_ticks,)), NonFiniteProbe()
    script = Script(command.swapaxes(0, 1), n_rise=rise, pushes=pushes)
    walk(worlds, agent, script, (tracking, effort, change, falls, path, finite), progress)

    walked = _WalkFigures(robot, tracking.result(), effort.result(), change.result(), falls.result(), path.result())
    unstable = {failure.world for failure in worlds.failures}
    straight = {}
    for i, (name, value) in enumerate(directions.items()):
        rows = np.arange(2 * episodes + i * straight_episodes, 2 * episodes + (i + 1) * straight_episodes)
        straight[name] = walked.straight(rows, value, drift_ticks)
    return Evaluation(
        walk=walked.random(np.arange(episodes), unstable),
        pushed=walked.random(pushed, unstable),
        directions=straight,
        stand=walked.stand(np.arange(walking, n)) if rise else None,
        nonfinite=nonfinite([(finite.result(), np.arange(n))], contract.control_dt_s),
    )


@dataclass(frozen=True, eq=False)
class _WalkFigures:
    """What the probes of one batch measured, and the figures of a group of its rows."""

    robot: Robot
    tracking: TrackingRecord
    effort: EffortRecord
    change: ActionChangeRecord
    falls: FallRecord
    path: PathRecord

    def random(self, rows: np.ndarray, unstable: set[int]) -> Walk:
        """Episodes with random commands."""
        up, contract = ~self.falls.down[rows], self.robot.contract
        counted = up & settled(up.shape[1], contract.control_hz)
        way = float((self.effort.speed_m_s[rows] * up).sum()) * contract.control_dt_s
        work = float((self.effort.power_w[rows] * up).sum()) * contract.control_dt_s
        change = self.change.rms(~self.falls.down)[rows]
        return Walk(
            episodes=len(rows),
            falls=int(self.falls.fell[rows].sum()),
            velocity_error_m_s=pooled_mean(self.tracking.velocity_error_m_s[rows], counted),
            turn_error_rad_s=pooled_mean(self.tracking.turn_error_rad_s[rows], counted),
            cost_of_transport=work / max(self.robot.mass_kg * GRAVITY_M_S2 * way, 1e-9),
            action_change=pooled_mean(change, np.isfinite(change)),
            unstable=len(unstable & set(rows.tolist())),
        )

    def straight(self, rows: np.ndarray, command: tuple[float, float, float], ticks: int) -> Straight:
        """Episodes in one direction, whose path was read after `ticks`."""
        up = ~self.falls.down[rows, ticks - 1]
        size = float(np.hypot(command[0], command[1]))
        ahead = np.array([command[0], command[1]]) / size if size else np.array([1.0, 0.0])
        way = self.path.position_m[rows, 0] @ ahead
        lateral = self.path.position_m[rows, 0] @ np.array([-ahead[1], ahead[0]])
        heading = np.angle(np.exp(1j * (self.path.turned_rad[rows, 0] - command[2] * DRIFT_S)))
        while_settled = slice(round(SETTLE_S * self.robot.contract.control_hz), ticks)
        counted = ~self.falls.down[rows][:, while_settled]
        return Straight(
            command=command,
            episodes=len(rows),
            falls=int((~up).sum()),
            way_m=pooled_mean(way, up),
            lateral_m=pooled_mean(lateral, up),
            lateral_abs_m=pooled_mean(np.abs(lateral), up),
            off_m=pooled_mean(np.hypot(way - size * DRIFT_S, lateral), up),
            heading_rad=pooled_mean(heading, up),
            heading_abs_rad=pooled_mean(np.abs(heading), up),
            velocity_error_m_s=pooled_mean(self.tracking.velocity_error_m_s[rows][:, while_settled], counted),
            turn_error_rad_s=pooled_mean(self.tracking.turn_error_rad_s[rows][:, while_settled], counted),
        )

    def stand(self, rows: np.ndarray) -> Stand:
        """Episodes told to stand."""
        risen_s = self.falls.risen_s[rows]
        rose = risen_s < self.robot.posture.rise_s + 1e-6
        stood = rose & ~self.falls.fell[rows]
        return Stand(
            episodes=len(rows), rose=int(rose.sum()), stood=int(stood.sum()), rise_s=pooled_mean(risen_s, rose)
        )
