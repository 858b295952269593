"""A fitting problem: candidates in, residuals, costs and falls out.

Where a policy walks, residuals are differences of quantiles: nothing is aligned in time. Where recorded targets are played
again on a robot that hangs, nothing but the parameters can make robot and simulator differ, and residuals are the traces
themselves, tick by tick, which say more.

Everything that a search asks for goes through `Problem.evaluate`, so that evaluations and simulated seconds are counted in
one place, and a cluster could stand behind the same call.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from surefoot.adapt import Static
from surefoot.gap.channels import BASE, MECHANICAL, PUBLISHED, Channel, Kind
from surefoot.gap.costs import Quantiles, Wasserstein, make_cost
from surefoot.gap.costs import Robot as RobotSide
from surefoot.gap.distance import sort_channels
from surefoot.gap.measure import robot_side
from surefoot.gap.schedule import Schedule, kinds_in
from surefoot.gap.simulate import Simulated, Simulator
from surefoot.logs import RobotLog
from surefoot.policy.agents import Agent
from surefoot.robot import Robot

FIT_KINDS: tuple[Kind, ...] = (*PUBLISHED, *MECHANICAL, *BASE)
TRACES: tuple[Kind, ...] = ("position", "velocity")
BLOCKS = 20  # of probability, in each channel
BEYOND = 4.0  # of the robot's spread: what a simulator does further beyond the robot's own extremes counts as this far


@dataclass
class Effort:
    """What a search has cost."""

    evaluations: int = 0  # candidates, whatever the number of pieces
    simulated_s: float = 0.0
    wall_s: float = 0.0
    stepping_s: float = 0.0  # of that, in the simulator with the policy in the loop


@dataclass(frozen=True, eq=False)
class Answer:
    """What the problem says about n candidates."""

    residuals: np.ndarray  # (n, m) simulator minus robot, in units of the robot's spread
    cost: np.ndarray  # (n,) mean W1 over the published channels, or another cost; of traces, the root mean square of positions
    fallen: np.ndarray  # (n,) share of the pieces
    influence: np.ndarray | None = None  # (pieces, m) how each piece pulls the residuals of the first candidate


@dataclass(eq=False)
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
    cost: str = "wasserstein"
    effort: Effort = field(default_factory=Effort)

    def __post_init__(self) -> None:
        """Take the robot's samples once."""
        self.kinds = kinds_in(self.log, TRACES if self.aligned else self.kinds)
        self._whole = side = robot_side(self.log, self.schedule, self.robot, self.kinds)
        beyond = (BEYOND * side.spread).astype(np.float32)
        self._sane = (
            side.samples.min(axis=0) - beyond,
            side.samples.max(axis=0) + beyond,
        )  # one world that blows up must not outweigh all others

    @property
    def aligned(self) -> bool:
        """Whether residuals are traces in time."""
        return self.schedule.replay is not None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Of the residuals: equally many for each channel."""
        return self._whole.channels

    def side(self, pieces: np.ndarray | None) -> RobotSide:
        """The robot's samples of some pieces, in the units of the whole log."""
        if pieces is None:
            return self._whole
        rows = np.isin(self._whole.piece, pieces)
        renumbered = np.searchsorted(pieces, self._whole.piece[rows])
        return RobotSide(self._whole.samples[rows], renumbered, self._whole.channels, self._whole.spread)

    def evaluate(self, candidates: np.ndarray, seed: int, pieces: np.ndarray | None = None, *, influence: bool = False) -> Answer:
        """Simulate candidates (n, n_knobs) on all pieces, or on some, in ascending order; traces need all."""
        assert pieces is None or not self.aligned
        started = time.perf_counter()
        schedule = self.schedule if pieces is None else self.schedule.pick(pieces)
        simulator = Simulator(self.robot, self.make_agent, schedule, self.kinds, self.threads, self.physics_hz)
        run = simulator.run(self.family, candidates, seed)
        stepped = time.perf_counter()
        np.clip(run.samples, *self._sane, out=run.samples)
        answer = self._compare_traces(run, influence) if self.aligned else self._compare_quantiles(run, self.side(pieces), influence)
        self.effort.evaluations += len(candidates)
        self.effort.simulated_s += len(candidates) * schedule.seconds
        self.effort.stepping_s += stepped - started
        self.effort.wall_s += time.perf_counter() - started
        return answer

    def _compare_quantiles(self, run: Simulated, side: RobotSide, influence: bool) -> Answer:
        quantiles, published = Quantiles(side, BLOCKS), Wasserstein(side)
        counted = np.array([channel.kind in PUBLISHED for channel in side.channels])
        sorted_rows = [sort_channels(one) for one in run.samples]
        cost = (
            np.array([published.distance(rows)[counted].mean() for rows in sorted_rows])
            if self.cost == "wasserstein"
            else make_cost(self.cost, _some(side, counted))(Simulated(run.samples[..., counted], run.piece, run.fallen))
        )
        residuals = np.stack([quantiles.residual(rows) for rows in sorted_rows])
        return Answer(residuals, cost, run.fallen, quantiles.influence(run.samples[0]) if influence else None)

    def _compare_traces(self, run: Simulated, influence: bool) -> Answer:
        """Simulator minus robot at every tick; the influence of a piece is its own part of them."""
        side = self._whole
        off = np.swapaxes((run.samples - side.samples) / side.spread.astype(np.float32), 1, 2).astype(float)  # (n, channels, ticks)
        of_piece = side.piece == np.arange(self.schedule.n)[:, None]  # (pieces, ticks)
        pulls = (off[0] * of_piece[:, None]).reshape(self.schedule.n, -1) if influence else None
        positions = np.array([channel.kind == "position" for channel in side.channels])
        return Answer(off.reshape(len(off), -1), np.sqrt(np.square(off[:, positions]).mean(axis=(1, 2))), run.fallen, pulls)


def _some(side: RobotSide, channels: np.ndarray) -> RobotSide:
    """The robot's side with some of the channels."""
    kept = tuple(channel for channel, keep in zip(side.channels, channels, strict=True) if keep)
    return RobotSide(side.samples[:, channels], side.piece, kept, side.spread[channels])
