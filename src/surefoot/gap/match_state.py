"""match-s: the simulator is put into the robot's whole state, runs for a few ticks, and is compared in time.

Assumes that the base was measured (motion capture) on the clock of the joints, that nothing random happens within the
horizon, and that the state is all there is: the last action is on its way to delayed motors, and nothing older; heat
and play of the gears are not part of it. With a horizon of one tick it compares single steps; over the whole rollout it
is match-o with the base. It needs its own simulations, so it is not one of the costs that score the samples of a gap.

The policy stays in the loop, as in every other cost: at each tick it is given what the simulator's sensors say, and
after a reset the recorded action as its previous one. Replaying the recorded actions would be the other way. Over one
tick the two are the same, but for noise, delay or history in what the policy observes; over many ticks a replay is an
open loop.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.errors import GapError
from surefoot.gap.case import Case
from surefoot.gap.schedule import Schedule
from surefoot.gap.simulate import MOST_WORLDS, ONE, Candidates, Simulator, as_candidates
from surefoot.logs import RobotLog
from surefoot.policy.agents import Agent, PolicyAgent
from surefoot.robot import Posture, Sensors
from surefoot.sim.falls import FALLEN_GRAVITY_Z
from surefoot.sim.physics import Physics
from surefoot.sim.sensing import gravity_in_base
from surefoot.sim.walk import Script, walk
from surefoot.sim.worlds import Worlds

HORIZONS = {"match-s-1": 1, "match-s-20": 20, "match-s": 0}  # ticks; 0 is the whole piece
START = np.array([0.0, 0.0, 1.0])  # of the base's position: the floor is the same everywhere, all start at its middle
LEAST = (0.01, 0.01)  # m and rad by which positions and orientations are scaled at least
STATE = ("quaternion", "base_position_m", "base_velocity")
JOINTS = ("joint_position_rad", "joint_velocity_rad_s")


def refuse_unknown_base(log: RobotLog) -> None:
    """A joint log cannot feed match-s."""
    missing = [name for name in STATE if getattr(log, name) is None]
    if missing:
        raise GapError(
            "match-s puts the simulator back into the robot's whole state again and again, and the log does not hold"
            f" {', '.join(missing)}; record with motion capture (a virtual robot: with its base), or choose a cost that"
            " needs joints alone (wasserstein)",
            argument="cost",
        )


def refuse_clock(agent: Agent) -> PolicyAgent:
    """An agent that can start in the middle of a walk; one with a clock of its own cannot."""
    if not isinstance(agent, PolicyAgent):
        raise GapError(
            f"match-s starts in the middle of a walk, and {agent.label} cannot: it takes a policy that acts on what it"
            " observes"
        )
    return agent


@dataclass(frozen=True, eq=False)
class Matched:
    """How near n candidates stay to the robot."""

    cost: np.ndarray  # (n,) root mean square distance of the whole state, in units of the robot's own spread
    fallen: (
        np.ndarray
    )  # (n,) share of the segments that ended on the floor or became unstable; within a tick hardly any can


@dataclass(frozen=True, eq=False)
class Segments:
    """Stretches of a log, each from the row that the simulator is put into to the last one that it is compared with."""

    first: np.ndarray  # (segments,) rows; the row before belongs to the same piece and knows the last action
    last: np.ndarray
    piece: np.ndarray

    @property
    def ticks(self) -> int:
        """Of the longest."""
        return int((self.last - self.first).max())

    def pick(self, chosen: np.ndarray) -> "Segments":
        """Some of them, by number or by mask."""
        return Segments(self.first[chosen], self.last[chosen], self.piece[chosen])


class MatchState:
    """Scores candidates on the segments of a schedule: `horizon` ticks each, or the whole piece with 0."""

    def __init__(
        self,
        case: Case,
        horizon: int,
        *,
        threads: int = 0,
        physics_hz: float | None = None,
    ):
        refuse_unknown_base(case.log)
        refuse_clock(case.driver.make(1))
        self._driver, self._threads, self._physics_hz = case.driver, threads, physics_hz
        schedule = case.schedule
        self._dt_s = schedule.dt_s
        self._rows: dict[str, np.ndarray] = {
            name: np.asarray(getattr(case.log, name), dtype=float) for name in ("command", "action", *JOINTS, *STATE)
        }
        size = np.linalg.norm(self._rows["quaternion"], axis=1, keepdims=True)
        self._rows["quaternion"] = self._rows["quaternion"] / np.where(
            size > 0, size, np.nan
        )  # single precision is off by 0.7 mrad
        self._segments = _segments(
            schedule, horizon, np.all([np.isfinite(self._rows[name]).all(axis=1) for name in STATE], axis=0)
        )
        self._unit = self._units(np.concatenate([np.arange(rows.start, rows.stop) for rows in schedule.rows]))

    def seconds(self, pieces: np.ndarray | None = None) -> float:
        """Simulated time that one candidate takes on all pieces, or on some; short segments run along to
        the end of the longest.
        """
        picked = self._picked(pieces)
        return len(picked.first) * picked.ticks * self._dt_s

    def __call__(
        self,
        physics: Physics | Candidates | None,
        candidates: np.ndarray,
        seed: int,
        pieces: np.ndarray | None = None,
    ) -> Matched:
        """Score candidates (n, ...) of a space on all pieces, or on some; all meet the same noise."""
        space = as_candidates(physics)
        segments, n = self._picked(pieces), len(candidates)
        turns = -(-len(segments.first) // max(1, MOST_WORLDS // n))
        size = -(-len(segments.first) // turns)
        worlds = Worlds(
            self._driver.robot,
            n * size,
            seed=seed,
            threads=self._threads,
            noise_period=size,
            physics_hz=self._physics_hz,
            torque_speed=space is not None and space.torque_speed,
        )
        if space is not None:
            space.apply(worlds, candidates, size)
        agent = refuse_clock(self._driver.make(n * size))
        squares, down, count = np.zeros(n), np.zeros(n), 0
        for turn in range(turns):
            chosen = np.arange(turn * size, (turn + 1) * size)
            real = chosen < len(segments.first)  # the last turn is filled up with copies that do not count
            picked = segments.pick(np.minimum(chosen, len(segments.first) - 1))
            part = self._run(worlds, agent, n, picked, real)
            squares, down, count = squares + part.squares, down + part.down, count + part.count
        return Matched(np.sqrt(squares / count), down / len(segments.first))

    def _picked(self, pieces: np.ndarray | None) -> Segments:
        picked = self._segments if pieces is None else self._segments.pick(np.isin(self._segments.piece, pieces))
        if not len(picked.first):
            raise GapError(
                "no piece of the log is long enough for this horizon of match-s, with the base's state known all along;"
                " give a shorter one, such as match-s-1"
            )
        return picked

    def _units(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """What each part of the state is divided by: spreads of the robot, and how far it gets within a segment."""
        first, last = self._picked(None).first, self._segments.last
        moved = np.linalg.norm(self._rows["base_position_m"][last] - self._rows["base_position_m"][first], axis=1)
        turned = _angle(self._rows["quaternion"][first], self._rows["quaternion"][last])
        least = {"joint_position_rad": 1e-3, "joint_velocity_rad_s": 1e-2, "base_velocity": 1e-2}
        return {
            **{name: np.maximum(np.nanstd(self._rows[name][rows], axis=0), floor) for name, floor in least.items()},
            "base_position_m": np.array([max(float(np.sqrt(np.square(moved).mean())), LEAST[0])]),
            "quaternion": np.array([max(float(np.sqrt(np.square(turned).mean())), LEAST[1])]),
        }

    def _run(
        self, worlds: Worlds, agent: PolicyAgent, n: int, segments: Segments, real: np.ndarray
    ) -> "SegmentDistance":
        """How far n candidates end up from the log on segments, of which only the `real` ones, (size,), count."""
        rows = self._rows

        def tiled(name: str, at: np.ndarray) -> np.ndarray:
            return np.tile(rows[name][at], (n, 1))

        worlds.reset(
            joint_position_rad=np.clip(
                tiled("joint_position_rad", segments.first), *np.array(self._driver.robot.contract.position_limit_rad).T
            ),
            joint_velocity_rad_s=tiled("joint_velocity_rad_s", segments.first),
            base_position_m=tiled("base_position_m", segments.first) * START,
            base_quaternion=tiled("quaternion", segments.first),
            base_velocity=tiled("base_velocity", segments.first),
            last_action=tiled("action", segments.first - 1),
        )
        agent.reset(None)
        agent.remember(tiled("action", segments.first - 1))
        commands = [tiled("command", np.minimum(segments.first + k, segments.last)) for k in range(segments.ticks)]
        distance = StateDistanceProbe(rows, self._unit, self._driver.robot.posture, segments, real)
        walk(worlds, agent, Script(np.stack(commands)), (distance,))
        return distance.result()


@dataclass(frozen=True, eq=False)
class SegmentDistance:
    """How far n candidates were from the log, summed over segments and ticks."""

    squares: np.ndarray  # (n,) squared distances in units of the robot's own spread
    down: np.ndarray  # (n,) segments that ended on the floor or became unstable
    count: int  # of numbers that each sum of squares is made of


class StateDistanceProbe:
    """Compares the whole state of n candidates, each on all segments, with the log at the end of every tick."""

    def __init__(
        self,
        rows: dict[str, np.ndarray],  # columns of the log, (n_rows, ...)
        unit: dict[str, np.ndarray],  # that each is divided by
        posture: Posture,
        segments: Segments,
        real: np.ndarray,  # (size,) segments that count
    ) -> None:
        self._rows, self._unit, self._posture, self._segments, self._real = rows, unit, posture, segments, real
        self._place_m = rows["base_position_m"][segments.first]

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nothing is summed yet."""
        self._size = len(self._segments.first)
        self._n = worlds.n // self._size
        self._squares, self._count = np.zeros(self._n), 0
        self._down = np.zeros((self._n, self._size), dtype=bool)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Add the distances after tick k, of the segments that go on so long."""
        n, size, segments = self._n, self._size, self._segments
        going = self._real & (segments.first + k + 1 <= segments.last)
        at = np.minimum(segments.first + k + 1, segments.last)
        recorded = {name: self._rows[name][at] for name in (*JOINTS, *STATE)}
        recorded["base_position_m"] = recorded["base_position_m"] - self._place_m + self._place_m * START
        reached = {
            name: getattr(worlds, name).reshape(n, size, -1) for name in (*JOINTS, "base_position_m", "base_velocity")
        }
        apart = [(reached[name] - recorded[name]) / self._unit[name] for name in reached]
        turned = _angle(worlds.base_quaternion.reshape(n, size, 4), recorded["quaternion"])
        apart.append(turned[..., None] / self._unit["quaternion"])
        squares = np.square(np.concatenate(apart, axis=2))
        self._squares += squares[:, going].sum(axis=(1, 2))
        self._count += int(going.sum()) * squares.shape[2]
        tilted = gravity_in_base(self._posture.frame(worlds.base_quaternion))[:, 2] > FALLEN_GRAVITY_Z
        self._down |= (tilted | ~worlds.alive).reshape(n, size) & going

    def result(self) -> SegmentDistance:
        """The sums."""
        return SegmentDistance(self._squares, self._down.sum(axis=1), self._count)


def match_state(
    case: Case,
    horizon: int,
    physics: Physics | Candidates | None = None,
    candidates: np.ndarray | None = None,
    *,
    seed: int = 0,
    threads: int = 0,
) -> np.ndarray:
    """Root mean square distance of the whole state, in units of the robot's own spread, (n,) for n candidates."""
    candidates = ONE if candidates is None else candidates
    return MatchState(case, horizon, threads=threads)(physics, candidates, seed).cost


def state_floor(case: Case, horizon: int, seed: int, physics: Physics | None = None, *, threads: int = 0) -> float:
    """What match-s gives when the simulator itself plays the robot."""
    log, schedule = case.log, case.schedule
    run = Simulator(case.driver, schedule, (), threads).roll(physics, ONE, seed, truth=True)
    columns: dict[str, Any] = {name: np.array(getattr(log, name), dtype=float) for name in (*JOINTS, "action", *STATE)}
    for i, rows in enumerate(schedule.rows):
        for name, values in columns.items():
            values[rows] = getattr(run, name)[i, : rows.stop - rows.start]
    played = Case(case.robot, case.driver, replace(log, **columns), schedule=schedule)
    return float(match_state(played, horizon, physics, seed=seed + 1, threads=threads)[0])


def _segments(schedule: Schedule, horizon: int, known: np.ndarray) -> Segments:
    """All segments of a schedule whose rows are `known` (rows,): motion capture loses sight of the robot
    now and then.
    """
    found = []
    for piece, rows in enumerate(schedule.rows):
        ticks = horizon or max(rows.stop - rows.start - 2, 1)
        starts = range(rows.start + 1, rows.stop - ticks, ticks)
        found += [(first, first + ticks, piece) for first in starts if known[first : first + ticks + 1].all()]
    first, last, of = np.array(found, dtype=int).reshape(-1, 3).T
    return Segments(first, last, of)


def _angle(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Angle between orientations (..., 4), unit quaternions, rad: from their chord, which is exact for
    small angles too.
    """
    chord = np.minimum(np.linalg.norm(one - other, axis=-1), np.linalg.norm(one + other, axis=-1))
    return 4 * np.arcsin(np.clip(chord / 2, 0.0, 1.0))
