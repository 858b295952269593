"""A rehearsal, or parameter recovery study: known parameters are planted in the user's own robot, which walks the same
commands, and fitted as a log would be.

In the terms of statistics it is one draw of a parametric bootstrap (Efron 1979, Bootstrap methods: another look at the
jackknife), with the truth known, so that error and coverage of the intervals can be counted.

It tells before any hardware time what a log of this length, with this policy and these commands, would give: how far
each parameter would be off, and whether the intervals hold.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.adapt import Fitted, SearchSpace
from surefoot.fit.family import WALKING, FitSettings, make_space
from surefoot.fit.quantile import QuantileSettings
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit, FitProgress
from surefoot.gap.case import Case
from surefoot.gap.schedule import SETTLE_S, Schedule, schedule_of
from surefoot.gap.simulate import Simulator
from surefoot.journal import Journal
from surefoot.logs import RobotLog
from surefoot.logs.recorder import random_commands
from surefoot.policy.driver import Driver
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.rollout import Rollout
from surefoot.streams import Stream

PLANTED = 1.5  # steps of their priors that knobs are planted away from their start, at most
NOISE = ("torque_noise_nm", "encoder_noise_rad", "velocity_noise_rad_s")
QUICK = QuantileSettings(levels=((0.25, 0.5),), polish_rounds=1, polish_runs=2, most_iterations=5)


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What was planted, and what would have been found."""

    planted: dict[str, float]  # by the names of the knobs, in their units
    result: FitResult

    @property
    def estimates(self) -> tuple[Fitted, ...]:
        """The knobs that do anything, as they were fitted."""
        return tuple(knob for knob in self.result.adaptation.knobs if knob.flag != "no effect")

    @property
    def covered(self) -> tuple[bool, ...]:
        """Whether each knob's interval holds what was planted."""
        return tuple(knob.interval[0] <= self.planted[knob.name] <= knob.interval[1] for knob in self.estimates)


def rehearse(
    driver: Driver,
    schedule: Schedule,
    settings: FitSettings,
    noise: dict[str, float],
    *,
    seed: int = 0,
    threads: int = 0,
    journal: Journal | None = None,
    settle_s: float = SETTLE_S,
    progress: Callable[[FitProgress], None] | None = None,
) -> Rehearsal:
    """Plant, record under the commands of a schedule with `noise` (parameter -> value), fit, compare."""
    robot = driver.robot
    space = make_space(robot, settings)
    planted = plant(space, noise, np.random.default_rng([seed, Stream.PLANTED]))
    fixed_noise = {
        name: value
        for name, value in noise.items()
        if name not in space.base.parameters and all(knob.parameter != name for knob in space.knobs)
    }
    hidden = replace(
        space, base=Physics(robot, {**space.base.parameters, **fixed_noise})
    )  # noise that is no knob is there all the same
    run = Simulator(driver, schedule, (), threads).roll(hidden, planted[None], seed=1_000_003 + seed)
    log = _recorded(run, schedule, robot)
    again = schedule_of(log, robot, settle_s=settle_s, replay=schedule.replay is not None)
    case = Case(robot, driver, log, schedule=again)
    result = Fit(case, settings, journal, threads=threads, progress=progress).run()
    values = space.values(planted)[0]
    return Rehearsal({knob.name: float(value) for knob, value in zip(space.knobs, values, strict=True)}, result)


def plant(space: SearchSpace, noise: dict[str, float], rng: np.random.Generator) -> np.ndarray:
    """Coordinates (n_knobs,) at random around the start, and at the given noise where a knob is one."""
    low, high = space.bounds
    point = rng.uniform(np.maximum(low, -PLANTED), np.minimum(high, PLANTED))
    for k, knob in enumerate(space.knobs):
        if knob.parameter in noise:
            point[k] = knob.coordinate(noise[knob.parameter])
    return point


def noise_of(
    case: Case,
    journal: Journal | None = None,
    seed: int = 0,
    threads: int = 0,
    progress: Callable[[FitProgress], None] | None = None,
) -> dict[str, float]:
    """How noisy the log of a case is, by a quick fit with all joints tied: about right is enough to rehearse with."""
    settings = FitSettings(free=(*WALKING, *NOISE[1:]), tie="all", held_out=0.0, seed=seed, quantile=QUICK)
    fitted = Fit(case, settings, journal, threads=threads, progress=progress).run().adaptation.settings
    return {name: float(np.max(fitted.get(name, 0.0))) for name in NOISE}


def commands_to_rehearse(
    robot: Robot, rollouts: int, seconds: float, seed: int, settle_s: float = SETTLE_S
) -> Schedule:
    """A schedule of random commands, for a log that is still to be recorded."""
    contract = robot.contract
    ticks = round(seconds * contract.control_hz)
    rng = np.random.default_rng([seed, Stream.REHEARSED_COMMANDS])
    command = random_commands(contract, rollouts, ticks, 2.0, rng)
    counted = np.zeros((rollouts, ticks), dtype=bool)
    counted[:, round(settle_s * contract.control_hz) :] = True
    rows = tuple(slice(i * ticks, (i + 1) * ticks) for i in range(rollouts))
    start = np.tile(contract.pose_rad, (rollouts, 1))
    return Schedule(command, start, counted, rows, np.arange(rollouts), contract.control_dt_s)


def _recorded(run: Rollout, schedule: Schedule, robot: Robot) -> RobotLog:
    """What the planted robot would have written: one episode for each piece."""
    sizes = [rows.stop - rows.start for rows in schedule.rows]
    names = ("time_s", "command", "joint_position_rad", "joint_velocity_rad_s", "action", "gyro_rad_s", "gravity")
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(run, name)[i, :size] for i, size in enumerate(sizes)]) for name in names
    }
    columns["time_s"] = np.concatenate([np.arange(size) * schedule.dt_s for size in sizes])
    episode = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    metadata = {"robot": robot.name, "robot_hash": robot.hash, "source": {"kind": "rehearsal"}}
    return RobotLog(joints=robot.contract.joints, metadata=metadata, episode=episode, **columns)


def relative_errors(rehearsal: Rehearsal) -> dict[str, float]:
    """Mean error of each parameter, relative to what was planted where that is not zero."""
    errors: dict[str, list[float]] = {}
    for knob in rehearsal.estimates:
        true = rehearsal.planted[knob.name]
        if true:
            errors.setdefault(knob.parameter, []).append(abs(knob.value - true) / abs(true))
    return {name: float(np.mean(values)) for name, values in errors.items()}
