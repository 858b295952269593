"""A fitting problem: candidates in, residuals, costs and falls out.

Where a policy walks, residuals are differences of quantiles: nothing is aligned in time. Where recorded targets are
played again on a robot that hangs, nothing but the parameters can make robot and simulator differ, and residuals are
the traces themselves, tick by tick, which say more.

Everything that a search asks for goes through `Problem.evaluate`, so that evaluations and simulated seconds are counted
in one place, and a cluster could stand behind the same call. Residuals and all costs but match-s come from the same
rollouts; match-s has simulations of its own, and only what is asked for is simulated.
"""

import time
from dataclasses import dataclass, field

import numpy as np

from surefoot.adapt import SearchSpace
from surefoot.fit.family import FIT_KINDS
from surefoot.gap.case import Case
from surefoot.gap.channels import PUBLISHED, Channel, Kind
from surefoot.gap.costs import Quantiles, RobotSamples, Wasserstein, make_cost
from surefoot.gap.distance import sort_channels
from surefoot.gap.match_state import HORIZONS, MatchState
from surefoot.gap.measure import robot_side
from surefoot.gap.schedule import kinds_in
from surefoot.gap.simulate import Simulated, Simulator

TRACES: tuple[Kind, ...] = ("position", "velocity")
BLOCKS = 20  # of probability, in each channel
BEYOND = 4.0  # of the robot's spread: what a simulator does further beyond the robot's own extremes counts as this far


@dataclass
class SearchEffort:
    """What a search has cost."""

    evaluations: int = 0  # candidates, whatever the number of pieces
    simulated_s: float = 0.0
    wall_s: float = 0.0
    stepping_s: float = 0.0  # of that, in the simulator with the policy in the loop


@dataclass(frozen=True, eq=False)
class Answer:
    """What the problem says about n candidates."""

    residuals: (
        np.ndarray
    )  # (n, m) simulator minus robot, in units of the robot's spread; (n, 0) where only the cost was asked for
    # (n,) mean W1 over the published channels, or another cost; of traces, the root mean square of positions; NaN:
    # match-s beside residuals
    cost: np.ndarray
    fallen: np.ndarray  # (n,) share of the pieces
    # (pieces, m) empirical influence function: how each piece moves the residuals of the first candidate
    influence_function: np.ndarray | None = None


@dataclass(eq=False)
class Problem:
    """A case, and a space of physics."""

    case: Case
    space: SearchSpace
    threads: int = 0
    physics_hz: float | None = None
    kinds: tuple[Kind, ...] = FIT_KINDS
    cost: str = "wasserstein"
    effort: SearchEffort = field(default_factory=SearchEffort)

    def __post_init__(self) -> None:
        """Take the robot's samples once."""
        self.schedule = self.case.schedule
        self.kinds = kinds_in(self.case.log, TRACES if self.aligned else self.kinds)
        self._whole = side = robot_side(self.case, self.kinds)
        beyond = (BEYOND * side.spread).astype(np.float32)
        self._sane = (
            side.samples.min(axis=0) - beyond,
            side.samples.max(axis=0) + beyond,
        )  # one world that blows up must not outweigh all others
        self._match: MatchState | None = None
        if self.cost in HORIZONS and not self.aligned:
            self._match = MatchState(self.case, HORIZONS[self.cost], threads=self.threads, physics_hz=self.physics_hz)

    @property
    def aligned(self) -> bool:
        """Whether residuals are traces in time."""
        return self.schedule.replay is not None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Of the residuals: equally many for each channel."""
        return self._whole.channels

    def side(self, pieces: np.ndarray | None) -> RobotSamples:
        """The robot's samples of some pieces, in the units of the whole log."""
        if pieces is None:
            return self._whole
        rows = np.isin(self._whole.piece, pieces)
        renumbered = np.searchsorted(pieces, self._whole.piece[rows])
        return RobotSamples(self._whole.samples[rows], renumbered, self._whole.channels, self._whole.spread)

    def evaluate(
        self,
        candidates: np.ndarray,
        seed: int,
        pieces: np.ndarray | None = None,
        *,
        residuals: bool = True,
        influence_function: bool = False,
    ) -> Answer:
        """Simulate candidates (n, n_knobs) on all pieces, or on some, in ascending order; traces need all.

        Without `residuals` the answer holds only costs and falls.
        """
        assert pieces is None or not self.aligned
        assert residuals or not influence_function
        started = time.perf_counter()
        if self._match is not None and not residuals:
            matched = self._match(self.space, candidates, seed, pieces)
            stepped = time.perf_counter()
            answer = Answer(np.zeros((len(candidates), 0)), matched.cost, matched.fallen)
        else:
            schedule = self.schedule if pieces is None else self.schedule.pick(pieces)
            simulator = Simulator(self.case.driver, schedule, self.kinds, self.threads, self.physics_hz)
            run = simulator.run(self.space, candidates, seed)
            stepped = time.perf_counter()
            np.clip(run.samples, *self._sane, out=run.samples)
            compare = self._compare_traces if self.aligned else self._compare_quantiles
            answer = compare(run, self.side(pieces), residuals, influence_function)
        self.count(len(candidates), pieces, residuals=residuals)
        self.effort.stepping_s += stepped - started
        self.effort.wall_s += time.perf_counter() - started
        return answer

    def count(self, candidates: int, pieces: np.ndarray | None = None, *, residuals: bool = True) -> None:
        """Count what an evaluation takes, whether it is simulated now or was before."""
        if self._match is not None and not residuals:
            seconds = self._match.seconds(pieces)
        else:
            seconds = (self.schedule if pieces is None else self.schedule.pick(pieces)).seconds
        self.effort.evaluations += candidates
        self.effort.simulated_s += candidates * seconds

    def _compare_quantiles(
        self, run: Simulated, side: RobotSamples, residuals: bool, influence_function: bool
    ) -> Answer:
        counted = np.array([channel.kind in PUBLISHED for channel in side.channels])
        sorted_rows = (
            [sort_channels(samples) for samples in run.samples] if residuals or self.cost == "wasserstein" else []
        )
        if self._match is not None:
            cost = np.full(len(run.samples), np.nan)
        elif self.cost == "wasserstein":
            published = Wasserstein(side)
            cost = np.array([published.distance(rows)[counted].mean() for rows in sorted_rows])
        else:
            cost = make_cost(self.cost, _some(side, counted))(
                Simulated(run.samples[..., counted], run.piece, run.fallen)
            )
        if not residuals:
            return Answer(np.zeros((len(cost), 0)), cost, run.fallen)
        quantiles = Quantiles(side, BLOCKS)
        differences = np.stack([quantiles.residual(rows) for rows in sorted_rows])
        influences = quantiles.influence_function(run.samples[0]) if influence_function else None
        return Answer(differences, cost, run.fallen, influences)

    def _compare_traces(self, run: Simulated, side: RobotSamples, residuals: bool, influence_function: bool) -> Answer:
        """Simulator minus robot at every tick; the influence of a piece is its own part of them."""
        off = np.swapaxes((run.samples - side.samples) / side.spread.astype(np.float32), 1, 2).astype(
            float
        )  # (n, channels, ticks)
        of_piece = side.piece == np.arange(self.schedule.n)[:, None]  # (pieces, ticks)
        influences = (off[0] * of_piece[:, None]).reshape(self.schedule.n, -1) if influence_function else None
        positions = np.array([channel.kind == "position" for channel in side.channels])
        cost = np.sqrt(np.square(off[:, positions]).mean(axis=(1, 2)))
        return Answer(off.reshape(len(off), -1) if residuals else np.zeros((len(off), 0)), cost, run.fallen, influences)


def _some(side: RobotSamples, channels: np.ndarray) -> RobotSamples:
    """The robot's side with some of the channels."""
    kept = tuple(channel for channel, keep in zip(side.channels, channels, strict=True) if keep)
    return RobotSamples(side.samples[:, channels], side.piece, kept, side.spread[channels])
