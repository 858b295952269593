"""The policy in the loop under the log's own commands, in many simulators at once.

A population is candidates × pieces in one batch of worlds. All candidates meet the same starts and the same noise
(common random numbers), so that what differs between two of them is what was changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surefoot.errors import GapError
from surefoot.gap.channels import Kind, columns
from surefoot.gap.schedule import Schedule
from surefoot.policy.driver import Driver
from surefoot.policy.replay import ReplayAgent
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.rollout import Rollout, rollout
from surefoot.sim.worlds import Worlds
from surefoot.streams import Stream

START_SPREAD_RAD = 0.05  # joints start off the logged position by up to this much: another seed is another start
MOST_WORLDS = 4096  # of one batch; larger populations run in turns


class Candidates(Protocol):
    """Physics by the coordinates of a point: a `SearchSpace`, or anything like it."""

    def apply(self, worlds: Worlds, points: np.ndarray, pieces: int) -> None:
        """Set up worlds[p * pieces : (p + 1) * pieces] as point p of `points`, (n, ...)."""
        ...

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        ...


ONE = np.zeros((1, 0))  # the points of a single physics: one, without coordinates


@dataclass(frozen=True)
class Single:
    """One physics in the place of many candidates."""

    physics: Physics

    def apply(self, worlds: Worlds, points: np.ndarray, pieces: int) -> None:
        """Set up all worlds alike."""
        self.physics.apply(worlds)

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        return self.physics.torque_speed


def as_candidates(physics: Physics | Candidates | None) -> Candidates | None:
    """A physics as the one candidate that it is; None for the nominal one."""
    return Single(physics) if isinstance(physics, Physics) else physics


@dataclass(frozen=True, eq=False)
class Simulated:
    """What n candidates did."""

    samples: np.ndarray  # (n, n_samples, n_channels) single precision, the counted ticks of all pieces
    piece: np.ndarray  # (n_samples,) which piece each sample belongs to
    fallen: np.ndarray  # (n,) share of the pieces that ended on the floor or became unstable


@dataclass(frozen=True, eq=False)
class Simulator:
    """A driver with its robot, and a schedule; makes populations."""

    driver: Driver
    schedule: Schedule
    kinds: tuple[Kind, ...]
    threads: int = 0
    physics_hz: float | None = None

    def run(
        self,
        physics: Physics | Candidates | None,
        candidates: np.ndarray,
        seed: int,
        tick: Callable[[int, int], None] | None = None,
    ) -> Simulated:
        """Simulate all candidates; `tick` gets control ticks done and to do."""
        n = len(candidates)
        at_once = max(1, MOST_WORLDS // self.schedule.n)
        turns = [candidates[i : i + at_once] for i in range(0, n, at_once)]
        ticks = self.schedule.command.shape[1]

        def progress(turn: int) -> Callable[[int, int], None] | None:
            return None if tick is None else lambda done, _: tick(turn * ticks + done, len(turns) * ticks)

        parts = [self._gather(self.roll(physics, part, seed, progress(i)), len(part)) for i, part in enumerate(turns)]
        if len(parts) == 1:
            return parts[0]
        return Simulated(
            np.concatenate([p.samples for p in parts]), parts[0].piece, np.concatenate([p.fallen for p in parts])
        )

    def roll(
        self,
        physics: Physics | Candidates | None,
        candidates: np.ndarray,
        seed: int,
        tick: Callable[[int, int], None] | None = None,
        truth: bool = False,
    ) -> Rollout:
        """The rollouts themselves, (candidates × pieces, ticks, ...); with `truth`, the base's state too."""
        schedule, n, space = self.schedule, len(candidates), as_candidates(physics)
        worlds = Worlds(
            self.driver.robot,
            n * schedule.n,
            threads=self.threads,
            seed=seed,
            noise_period=schedule.n,
            physics_hz=self.physics_hz,
            torque_speed=space is not None and space.torque_speed,
            hang=schedule.replay is not None,
        )
        if space is not None:
            space.apply(worlds, candidates, schedule.n)
        if schedule.replay is not None:  # nothing is random on a stand: the start is the recorded one
            worlds.reset(joint_position_rad=np.tile(schedule.start_rad, (n, 1)))
            return rollout(
                worlds,
                ReplayAgent(np.tile(schedule.replay, (n, 1, 1))),
                np.tile(schedule.command, (n, 1, 1)),
                tick,
                truth,
            )
        rng = np.random.default_rng([seed, Stream.START_POSE])
        start = schedule.start_rad + rng.uniform(-START_SPREAD_RAD, START_SPREAD_RAD, schedule.start_rad.shape)
        start = np.clip(start, *np.array(self.driver.robot.contract.position_limit_rad).T)
        worlds.reset(joint_position_rad=np.tile(start, (n, 1)))
        return rollout(worlds, self.driver.make(worlds.n), np.tile(schedule.command, (n, 1, 1)), tick, truth)

    def _gather(self, run: Rollout, n: int) -> Simulated:
        schedule = self.schedule
        made = columns(
            self.driver.robot.contract,
            self.kinds,
            run.joint_position_rad,
            run.joint_velocity_rad_s,
            run.action,
            run.gyro_rad_s,
            run.gravity,
        )
        made = np.nan_to_num(made.reshape(n, schedule.n, *made.shape[1:]), copy=False, posinf=0.0, neginf=0.0)
        down = (run.fallen | ~run.valid).reshape(n, schedule.n, -1)
        last = schedule.counted.shape[1] - 1 - schedule.counted[:, ::-1].argmax(axis=1)
        fallen = np.take_along_axis(np.maximum.accumulate(down, axis=2), last[None, :, None], axis=2)[..., 0].mean(
            axis=1
        )
        piece = np.broadcast_to(np.arange(schedule.n)[:, None], schedule.counted.shape)[schedule.counted]
        return Simulated(made[:, schedule.counted], piece, fallen)


def refuse_falling(fallen: float, robot: Robot, label: str) -> None:
    """A policy that falls in the simulator says nothing about the difference to a robot that walks."""
    if fallen > 0.5:
        raise GapError(
            f"{label} falls in {fallen:.0%} of the simulated episodes on {robot.name}, so the two cannot be compared;"
            " check that policy, robot.yaml and log belong together, as the doctor does, and that its actions are"
            " finite numbers",
            verb="doctor",
        )
