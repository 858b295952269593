"""How a robot gets up: a motion from its default pose into a posture, found by search in the simulator.

Noise does not find it: a Go2 that learns by trial sits on its tail, where it is safe, and stays there. But an open-loop
motion of a second, three targets and then the posture itself, is a small problem for CMA-ES. It ends upright and soon
falls; what it is for is the states on its way, in which episodes can begin.
"""

import math
from dataclasses import dataclass

import numpy as np
from cmaes import CMA

from surefoot.errors import TaskError
from surefoot.learn.starts import Starts
from surefoot.policy.replay import ReplayAgent
from surefoot.robot import Posture, Robot, Sensors
from surefoot.sim.falls import Falls
from surefoot.sim.sensing import gravity_in_base
from surefoot.sim.walk import Probe, Script, walk
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream

MOTION_S = 0.8
KNOTS = 3  # targets on the way, at equal times
HOLD_S = 0.4  # after the motion, that it is watched
POPULATION, MOST_GENERATIONS = 32, 100
FIRST_STEP = 1.0  # of an action
EFFORT = 0.02  # that a mean squared action of 1 costs: as much as being up one tick less
SPREAD_RAD = 0.05  # of the joints at the start: a motion that works from one pose to the last digit is no motion
CALM_RAD_S = 4.0  # a robot that turns as fast as this is not there yet
UP_S = 0.2  # upright for so long is risen: what comes then is balance
SURE = 0.9  # of the robots that the motion brings up, when the search may end
LOOK_EVERY = 3  # generations


@dataclass(frozen=True)
class Rise:
    """A motion from the default pose: actions at equal times, in between on straight lines, and from then
    on the last.
    """

    seconds: float
    actions: tuple[tuple[float, ...], ...]  # (times, n_joints); it begins at zero, the default pose

    def at(self, time_s: float) -> np.ndarray:
        """The action at a time, (n_joints,)."""
        return _between(np.array(self.actions)[None], time_s, self.seconds)[0]


def find_rise(robot: Robot, posture: Posture, held: np.ndarray, physics_hz: float) -> Rise | None:
    """A motion that ends in `held`, the action that holds the posture; None where none was found. Left and
    right move alike.
    """
    if robot.mirror is None:
        return None
    half = _Half(np.array(robot.mirror.index), np.array(robot.mirror.sign))
    trial = _RiseTrial(robot, posture, POPULATION, physics_hz)
    size, clip = len(half.joints), robot.contract.action_clip
    search = CMA(
        np.tile(0.5 * held[half.joints], KNOTS),
        FIRST_STEP,
        bounds=np.tile([-clip, clip], (KNOTS * size, 1)),
        seed=0,
        population_size=POPULATION,
    )

    def motions(points: np.ndarray) -> np.ndarray:
        """Actions (n, times, n_joints) of points (n, KNOTS × size)."""
        knots = half.whole(points.reshape(-1, KNOTS, size))
        return np.concatenate([knots, np.broadcast_to(held, (len(knots), 1, len(held)))], axis=1)

    for generation in range(1, MOST_GENERATIONS + 1):
        points = np.array([search.ask() for _ in range(POPULATION)])
        scores = trial.score(motions(points))
        search.tell([(point, -float(score)) for point, score in zip(points, scores, strict=True)])
        if generation % LOOK_EVERY == 0:
            mean = motions(search.mean[None])
            trial.score(np.repeat(mean, POPULATION, axis=0))
            if (trial.up_s >= UP_S).mean() >= SURE:
                return Rise(MOTION_S, tuple(tuple(action) for action in np.round(mean[0], 4).tolist()))
    return None


def way_up(robot: Robot, posture: Posture, rise: Rise, n: int, physics_hz: float, seed: int) -> Starts:
    """n states of robots that rise with this motion, drawn from its whole time; robots that it does not
    bring up are left out.
    """
    trial = _RiseTrial(robot, posture, POPULATION, physics_hz, seed)
    passed = trial.states(rise)
    if not len(passed):
        raise TaskError(
            f"the motion that the task names (rise) does not bring {robot.name} into the posture {posture.name!r};"
            " leave it out, or search with find_rise"
        )
    rng = np.random.default_rng([seed, Stream.RISING_STARTS])
    chosen = rng.choice(len(passed), n)
    return passed[chosen]


def _between(actions: np.ndarray, time_s: float, seconds: float) -> np.ndarray:
    """Of motions (n, times, n_joints), what they ask for at a time, (n, n_joints)."""
    place = min(max(time_s / seconds, 0.0), 1.0) * actions.shape[1]
    after = min(max(math.ceil(place), 1), actions.shape[1])
    part = place - (after - 1)
    before = actions[:, after - 2] if after > 1 else np.zeros_like(actions[:, 0])
    return (1 - part) * before + part * actions[:, after - 1]


class _Half:
    """One joint of each pair and what moves in the middle plane, and the whole robot from it."""

    def __init__(self, index: np.ndarray, sign: np.ndarray) -> None:
        joints = np.arange(len(index))
        middle = index == joints
        first = (index > joints) | (middle & (sign > 0))
        self.joints = np.flatnonzero(first)
        self._place = np.searchsorted(self.joints, np.where(first, joints, index)).clip(max=len(self.joints) - 1)
        self._sign = np.where(
            first, 1.0, np.where(middle, 0.0, sign)
        )  # a waist that turns to one side stays where it is

    def whole(self, half: np.ndarray) -> np.ndarray:
        """Values (..., n_joints) of those of one side."""
        return half[..., self._place] * self._sign


class _RiseTrial:
    """Robots that play motions from the default pose, each from a slightly different start."""

    def __init__(self, robot: Robot, posture: Posture, n: int, physics_hz: float, seed: int = 0) -> None:
        self._robot, self._posture = robot, posture
        self._worlds = Worlds(robot, n, physics_hz=physics_hz)
        self._rng = np.random.default_rng([seed, Stream.RISING_SEARCH])
        self.up_s = np.zeros(n)  # how long each was up

    def score(self, actions: np.ndarray) -> np.ndarray:
        """Of motions (n, times, n_joints): the nearest to the posture that a robot was, calm ones first,
        and how long it was there, s.
        """
        nearness = _NearnessProbe(self._posture)
        self._play(actions, MOTION_S, nearness)
        return nearness.nearest + self.up_s - EFFORT * np.square(actions).mean(axis=(1, 2))

    def states(self, rise: Rise) -> Starts:
        """What the robots that rise pass until they are up, all ticks of all of them."""
        states = _StatesProbe()
        up = self._play(np.repeat(np.array(rise.actions)[None], self._worlds.n, axis=0), rise.seconds, states)
        first = np.logical_and.accumulate(~up)  # (ticks, n) not risen yet
        rows = first & ~first[-1]
        kept = states.kept
        return Starts(*(np.concatenate([kept[k][part][rows[k]] for k in range(len(kept))]) for part in range(6)))

    def _play(self, actions: np.ndarray, seconds: float, probe: Probe) -> np.ndarray:
        """Play motions (n, times, n_joints); who was up after each tick, (ticks, n)."""
        contract, worlds = self._robot.contract, self._worlds
        spread = self._rng.uniform(-SPREAD_RAD, SPREAD_RAD, (worlds.n, contract.n_joints))
        worlds.reset(joint_position_rad=np.clip(contract.pose_rad + spread, *np.array(contract.position_limit_rad).T))
        ticks = round((seconds + HOLD_S) * contract.control_hz)
        times_s = [(k + 1) * worlds.control_dt_s for k in range(ticks)]
        agent = ReplayAgent(np.stack([_between(actions, time_s, seconds) for time_s in times_s], axis=1))
        upright = _UprightProbe(self._posture)
        walk(worlds, agent, Script(np.zeros((ticks, 1, 3))), (upright, probe))
        self.up_s = upright.up_s
        return upright.up


class _UprightProbe:
    """Which robots hold the posture at each tick, whatever they did before."""

    def __init__(self, posture: Posture) -> None:
        self._posture = posture

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nobody has been up yet."""
        self.up, self.up_s = np.zeros((script.n_ticks, worlds.n), dtype=bool), np.zeros(worlds.n)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Look at them as if they had just started."""
        falls = Falls(self._posture, worlds.n, worlds.control_dt_s)
        falls.look(worlds.base_quaternion, worlds.trunk_height_m)
        self.up[k] = falls.risen & worlds.alive
        self.up_s += worlds.control_dt_s * self.up[k]


class _NearnessProbe:
    """How near each robot came to the posture, from 0 to 1; a robot that turns fast is less near."""

    def __init__(self, posture: Posture) -> None:
        self._posture = posture

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nobody has come near."""
        self.nearest = np.zeros(worlds.n)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Keep the best of tilt, height and calm together."""
        upright = -gravity_in_base(self._posture.frame(worlds.base_quaternion))[:, 2]
        height = np.clip(worlds.trunk_height_m / self._posture.height_m, 0.0, 1.0)
        calm = np.exp(-np.square(np.abs(worlds.base_velocity[:, 3:]).sum(axis=1) / CALM_RAD_S))
        self.nearest = np.maximum(self.nearest, np.square(0.5 + 0.5 * upright) * height * (0.7 + 0.3 * calm))


class _StatesProbe:
    """Keeps the states after each tick, in the order of the fields of `Starts`."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nothing is kept yet."""
        self.kept: list[tuple[np.ndarray, ...]] = []

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Keep them, with the action that led there."""
        base, height_m = worlds.base_quaternion, worlds.base_position_m[:, 2]
        self.kept.append(
            (worlds.joint_position_rad, base, height_m, worlds.joint_velocity_rad_s, worlds.base_velocity, action)
        )
