"""Every cost of a measured gap, beside its own floor: a figure without one says nothing, whichever distance gave it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.gap.case import Case
from surefoot.gap.costs import COSTS, RobotSamples, make_cost
from surefoot.gap.match_state import HORIZONS, match_state, state_floor
from surefoot.gap.measure import SIGMAS, Measured
from surefoot.gap.simulate import Simulated
from surefoot.sim.physics import Physics

STATE_RUNS = 3


@dataclass(frozen=True)
class Score:
    """One cost of the robot against the simulator, and of the simulator against itself."""

    name: str
    value: float
    floor: float
    limit: float  # what the simulator's own scatter explains

    @property
    def measurable(self) -> bool:
        """Whether this cost sees a gap."""
        return self.value > self.limit

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {"value": self.value, "floor": self.floor, "limit": self.limit, "measurable": self.measurable}


def score(measured: Measured, name: str) -> Score:
    """Score the runs by one cost; each run in turn plays the robot, as in the gap itself."""
    side, runs = measured.robot, measured.runs
    value = float(np.mean(make_cost(name, side)(_stacked(runs))))
    pair = np.zeros((len(runs), len(runs)))
    for i, run in enumerate(
        runs[1:], start=1
    ):  # costs are symmetric (mmd up to its width), so that half of the pairs says everything
        played = make_cost(name, RobotSamples(run.samples[0], side.piece, side.channels, side.spread))
        pair[i, :i] = pair[:i, i] = played(_stacked(runs[:i]))
    means = pair.sum(axis=1) / (len(runs) - 1)
    return Score(name, value, float(means.mean()), float(means.mean() + SIGMAS * means.std(ddof=1)))


def scores(measured: Measured) -> tuple[Score, ...]:
    """All costs."""
    return tuple(score(measured, name) for name in COSTS)


def state_score(case: Case, name: str, seed: int = 0, physics: Physics | None = None, *, threads: int = 0) -> Score:
    """Score by match-s, which runs its own simulations; the simulator plays the robot a few times for its floor."""
    horizon = HORIZONS[name]
    value = float(match_state(case, horizon, physics, seed=seed, threads=threads)[0])
    seeds = [seed + 1000 * (run + 1) for run in range(STATE_RUNS)]
    played = np.array([state_floor(case, horizon, each, physics, threads=threads) for each in seeds])
    return Score(name, value, float(played.mean()), float(played.mean() + SIGMAS * played.std(ddof=1)))


def _stacked(runs: tuple[Simulated, ...]) -> Simulated:
    """Several runs as candidates of one population."""
    return Simulated(
        np.concatenate([run.samples for run in runs]), runs[0].piece, np.concatenate([run.fallen for run in runs])
    )
