"""A fitting problem: candidates in, quantile residuals, costs and falls out.

Everything that a search asks for goes through `Problem.evaluate`, so that evaluations and simulated seconds are counted in
one place, and a cluster could stand behind the same call.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.adapt import Static
from surefoot.gap.channels import BASE, MECHANICAL, PUBLISHED, Kind
from surefoot.gap.costs import Cost, Quantiles, Wasserstein
from surefoot.gap.costs import Robot as RobotSide
from surefoot.gap.measure import robot_side
from surefoot.gap.schedule import Schedule, kinds_in
from surefoot.gap.simulate import Simulator
from surefoot.logs import RobotLog
from surefoot.policy.agents import Agent
from surefoot.robot import Robot

FIT_KINDS: tuple[Kind, ...] = (*PUBLISHED, *MECHANICAL, *BASE)
BLOCKS = 20


@dataclass
class Effort:
    """What a search has cost."""

    evaluations: int = 0  # candidates, whatever the number of pieces
    simulated_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Answer:
    """What the problem says about n candidates."""

    residuals: np.ndarray  # (n, m) simulator minus robot, in units of the robot's spread
    cost: np.ndarray  # (n,) mean W1 over the published channels
    fallen: np.ndarray  # (n,) share of the pieces


@dataclass(frozen=True, eq=False)
class Problem:
    """A log, a robot, a policy, and a family of changes."""

    log: RobotLog
    robot: Robot
    make_agent: Callable[[int], Agent]
    family: Static
    schedule: Schedule
    threads: int = 0
    physics_hz: float | None = None
    kinds: tuple[Kind, ...] = FIT_KINDS
    effort: Effort = field(default_factory=Effort)

    def side(self, schedule: Schedule) -> RobotSide:
        """The robot's samples of a schedule, in the units of the whole log."""
        kinds = kinds_in(self.log, self.kinds)
        whole = robot_side(self.log, self.schedule, self.robot, kinds)
        part = robot_side(self.log, schedule, self.robot, kinds)
        return RobotSide(part.samples, part.piece, part.channels, whole.spread)

    def evaluate(self, candidates: np.ndarray, seed: int, pieces: np.ndarray | None = None, other: Cost | None = None) -> Answer:
        """Simulate candidates (n, n_knobs) on all pieces, or on some."""
        schedule = self.schedule if pieces is None else self.schedule.pick(pieces)
        side = self.side(schedule)
        simulator = Simulator(self.robot, self.make_agent, schedule, kinds_in(self.log, self.kinds), self.threads, self.physics_hz)
        run = simulator.run(self.family, candidates, seed)
        self.effort.evaluations += len(candidates)
        self.effort.simulated_s += len(candidates) * schedule.seconds
        published = np.array([channel.kind in PUBLISHED for channel in side.channels])
        cost = Wasserstein(side).per_channel(run)[:, published].mean(axis=1) if other is None else other(run)
        return Answer(Quantiles(side, BLOCKS).residuals(run), cost, run.fallen)
