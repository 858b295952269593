"""Costs: how far candidates are from the robot. All here see the same samples; match-s, with simulations of its own,
does not. All can drive a search.

A cost is made from the robot's samples once and then scores populations: `cost(simulated) -> (n,)`. Samples of robot
and simulator have the same order (piece by piece, tick by tick), which only the costs that compare in time make use of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surefoot.errors import GapError, nearest
from surefoot.gap.channels import Channel
from surefoot.gap.distance import quantile_means, sort_channels, w1_sorted
from surefoot.gap.match_state import HORIZONS
from surefoot.gap.simulate import Simulated
from surefoot.streams import Stream

BLOCKS = 50  # of probability, for quantile residuals
FEATURES = 256  # random ones, for the maximum mean discrepancy
DIRECTIONS = 64  # of the sliced distance
LAG_TICKS = 3


class Cost(Protocol):
    """Scores candidates; smaller is nearer to the robot."""

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Costs (n,) of n candidates."""
        ...


@dataclass(frozen=True, eq=False)
class RobotSamples:
    """The robot's side of a comparison."""

    samples: np.ndarray  # (n_samples, n_channels), in the order of the schedule
    piece: np.ndarray  # (n_samples,)
    channels: tuple[Channel, ...]
    spread: np.ndarray  # (n_channels,) the unit of each channel

    @property
    def scaled(self) -> np.ndarray:
        """Samples in units of the robot's own spread."""
        return self.samples / self.spread.astype(np.float32)


class Wasserstein:
    """Mean over channels of the 1-D Wasserstein distance, in units of the robot's spread.

    Assumes that the commands were the same. Needs no alignment in time, no start state and no base state; sees each
    channel by itself, so what only changes how joints or ticks go together escapes it.
    """

    def __init__(self, robot: RobotSamples):
        self._rows, self._spread = sort_channels(robot.samples), robot.spread

    def distance(self, rows: np.ndarray) -> np.ndarray:
        """Distances (n_channels,) of the simulator's sorted samples (n_channels, n_samples)."""
        return w1_sorted(rows, self._rows) / self._spread

    def per_channel(self, simulated: Simulated) -> np.ndarray:
        """Distances (n, n_channels)."""
        return np.stack([self.distance(sort_channels(samples)) for samples in simulated.samples])

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Mean over the channels."""
        return self.per_channel(simulated).mean(axis=1)


class Quantiles:
    """Quantile residuals: differences of block means of sorted samples, in units of the robot's spread.

    Their mean square is the squared 2-Wasserstein distance (of the blocks) averaged over channels. As a vector it is
    what Gauss-Newton needs. Assumes the same as `Wasserstein`.
    """

    def __init__(self, robot: RobotSamples, blocks: int = BLOCKS):
        self.blocks, self._spread, self._piece, self._samples = blocks, robot.spread, robot.piece, robot.samples
        self._robot = self.features(sort_channels(robot.samples))

    def features(self, rows: np.ndarray) -> np.ndarray:
        """Block means (n_channels × blocks,) of sorted samples (n_channels, n_samples)."""
        return (quantile_means(rows, self.blocks) / self._spread[:, None]).ravel()

    def residual(self, rows: np.ndarray) -> np.ndarray:
        """Simulator minus robot, (n_channels × blocks,), of the simulator's sorted samples (n_channels, n_samples)."""
        return self.features(rows) - self._robot

    def residuals(self, simulated: Simulated) -> np.ndarray:
        """Simulator minus robot, (n, n_channels × blocks)."""
        return np.stack([self.residual(sort_channels(samples)) for samples in simulated.samples])

    def influence_function(self, samples: np.ndarray) -> np.ndarray:
        """The empirical influence function of the residuals of one candidate, (pieces, n_channels × blocks): how much
        each piece moves them; the pieces add up to zero.

        The squares, summed over the pieces, are the variance of each residual from episode to episode, of robot and
        simulator together: what a bootstrap over the episodes would give, without drawing (the infinitesimal jackknife,
        see `surefoot.fit.intervals`).
        """
        return self._influence_on_means(samples) - self._influence_on_means(self._samples)

    def _influence_on_means(self, samples: np.ndarray) -> np.ndarray:
        """Of each piece, on the block means. The influence function of a block's mean (a trimmed mean) at one sample is
        the sample, clipped to the block.
        """
        rows = sort_channels(samples)
        edges = rows[:, np.linspace(0, rows.shape[1] - 1, self.blocks + 1).round().astype(int)]
        first = np.flatnonzero(np.diff(self._piece, prepend=-1))
        share = np.diff(first, append=len(samples))[:, None] / len(samples)
        influence = np.empty((len(first), len(rows), self.blocks))
        for block in range(self.blocks):
            inside = np.clip(samples, edges[:, block], edges[:, block + 1])
            sums = np.add.reduceat(
                inside, first, axis=0, dtype=float
            )  # in single precision the mean of many samples is too coarse
            influence[:, :, block] = sums - share * sums.sum(axis=0)
        influence *= self.blocks / (len(samples) * self._spread[:, None])
        return influence.reshape(len(first), -1)

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """W2, as the root of the mean square."""
        return np.sqrt(np.square(self.residuals(simulated)).mean(axis=1))


class MatchObservations:
    """Root mean square distance of joint position and velocity at the same tick (match-o).

    Assumes that robot and simulator started in the same state at the same time and that nothing random came between: in
    a closed loop the two drift apart in phase, and the cost then measures the drift.
    """

    def __init__(self, robot: RobotSamples):
        self._picked = np.array([channel.kind in ("position", "velocity") for channel in robot.channels])
        self._robot, self._spread = robot.scaled[:, self._picked], robot.spread[self._picked].astype(np.float32)

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Costs (n,)."""
        differences = (samples[:, self._picked] / self._spread - self._robot for samples in simulated.samples)
        return np.array([np.sqrt(np.square(difference).mean()) for difference in differences])


class MeanDiscrepancy:
    """Maximum mean discrepancy with an RBF kernel of the median distance, by random Fourier features (mmd).

    Assumes the same commands. Sees how joints go together at one tick; its power falls with the number of channels.
    """

    def __init__(self, robot: RobotSamples, seed: int = 0):
        rng = np.random.default_rng([seed, Stream.KERNEL_WIDTH])
        scaled = robot.scaled
        first, second = (scaled[rng.integers(0, len(scaled), 2000)] for _ in range(2))
        width = max(float(np.median(np.linalg.norm(first - second, axis=1))), 1e-6)
        self._project = rng.normal(0, 1 / width, (scaled.shape[1], FEATURES)).astype(np.float32)
        self._phase = rng.uniform(0, 2 * np.pi, FEATURES).astype(np.float32)
        self._spread = robot.spread.astype(np.float32)
        self._robot = self._mean(robot.samples)

    def _mean(self, samples: np.ndarray) -> np.ndarray:
        return np.sqrt(2 / FEATURES) * np.cos((samples / self._spread) @ self._project + self._phase).mean(
            axis=0, dtype=float
        )

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Root of the squared discrepancy, (n,)."""
        return np.array([np.linalg.norm(self._mean(samples) - self._robot) for samples in simulated.samples])


class Sliced:
    """Mean 1-D Wasserstein distance along random directions through all channels at once (sliced).

    Assumes the same commands. Sees how joints go together, which marginals miss; each direction is a blur of all
    channels, so what is wrong in one joint shows less.
    """

    def __init__(self, robot: RobotSamples, seed: int = 0):
        rng = np.random.default_rng([seed, Stream.PROJECTIONS])
        directions = rng.normal(size=(len(robot.channels), DIRECTIONS))
        self._project = (directions / np.linalg.norm(directions, axis=0) / robot.spread[:, None]).astype(np.float32)
        self._rows = sort_channels(robot.samples @ self._project)

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Costs (n,)."""
        projected = (sort_channels(samples @ self._project) for samples in simulated.samples)
        return np.array([w1_sorted(rows, self._rows).mean() for rows in projected])


class Lagged:
    """Mean 1-D Wasserstein distance of each channel's sum and difference with itself a few ticks later (lagged).

    Assumes the same commands. Sees time structure within a channel (rhythm, smoothness), which marginals miss.
    """

    def __init__(self, robot: RobotSamples):
        self._spread = robot.spread.astype(np.float32)
        same = robot.piece[LAG_TICKS:] == robot.piece[:-LAG_TICKS]
        self._now, self._later = np.flatnonzero(same), np.flatnonzero(same) + LAG_TICKS
        self._rows = sort_channels(self._pairs(robot.samples))

    def _pairs(self, samples: np.ndarray) -> np.ndarray:
        scaled = samples / self._spread
        now, later = scaled[self._now], scaled[self._later]
        return np.concatenate([now + later, now - later], axis=1) / np.float32(np.sqrt(2))

    def __call__(self, simulated: Simulated) -> np.ndarray:
        """Costs (n,)."""
        paired = (sort_channels(self._pairs(samples)) for samples in simulated.samples)
        return np.array([w1_sorted(rows, self._rows).mean() for rows in paired])


COSTS: dict[str, Callable[[RobotSamples], Cost]] = {
    "wasserstein": Wasserstein,
    "quantiles": Quantiles,
    "match-o": MatchObservations,
    "mmd": MeanDiscrepancy,
    "sliced": Sliced,
    "lagged": Lagged,
}


def check_cost(name: str) -> None:
    """Refuse a cost that there is not."""
    known = (*COSTS, *HORIZONS)
    if name not in known:
        raise GapError(f"unknown cost {name!r}{nearest(name, known)}; there are {', '.join(known)}")


def make_cost(name: str, robot: RobotSamples) -> Cost:
    """A cost by name, of those that score samples."""
    check_cost(name)
    if name in HORIZONS:
        raise GapError(
            f"{name} runs simulations of its own and cannot score these samples; surefoot.gap.match_state does"
        )
    return COSTS[name](robot)
