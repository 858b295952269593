"""CMA-ES: a normal distribution over the knobs that moves towards the candidates with the lowest costs, and no slope is
asked for.

The method is that of Hansen and Ostermeier 2001, Completely derandomized self-adaptation in evolution strategies, in
the implementation of the package `cmaes`; without correlations it is sep-CMA-ES (Ros and Hansen 2008, A simple
modification in CMA-ES achieving linear time and space complexity). It is the baseline, and the fallback where the
quantiles have no useful slope.

Every candidate of a generation meets the same noise, and every generation other noise. The estimate is the
distribution's mean, not the best candidate ever: under noise that one was lucky. The mean is evaluated along with each
generation, as its first candidate, and takes no part in the selection, so that what `costs` tells is the estimate's own
cost, free of luck, and means the same as in the other search.

All randomness comes from (seed, generation), and asking changes nothing: telling a fresh search the answers that an
earlier one got brings it to exactly the same state.
"""

from dataclasses import dataclass, field

import numpy as np
from cmaes import CMA, SepCMA

from surefoot.errors import FitError
from surefoot.fit.quantile import FALL_COST, Ask

LEAST_POPULATION = 4  # with fewer, better and worse halves say nothing
# draws to find one within the bounds, then it is clipped; with many knobs none is, and drawing on only takes time
RESAMPLE = 10
# up to which adaptation helps; with 24 it stalled at half of the gap, where without it a quarter was left
FEW_KNOBS = 12
SMALL_SPREAD = 1e-3  # a population that spreads less than this in every coordinate has settled


@dataclass(frozen=True)
class CmaSettings:
    """How the search behaves."""

    population: int | None = None  # candidates a generation; None: 4 + 3 log(n_knobs)
    sigma: float = 1.0  # first standard deviation, in normalized coordinates
    # learning-rate adaptation: smaller steps where noise hides the direction (Nomura, Akimoto and Ono 2023, CMA-ES with
    # learning rate adaptation, arXiv 2304.03473); None: with few knobs
    lr_adapt: bool | None = None
    separable: bool = False  # no correlations between knobs: for hundreds of them (sep-CMA-ES)
    # in units of the cost, for a candidate that falls in all pieces; published searches have none
    fall_cost: float = FALL_COST

    def __post_init__(self) -> None:
        if self.population is not None and self.population < LEAST_POPULATION:
            raise FitError(f"population is {self.population}; it must be at least {LEAST_POPULATION}")
        if not (np.isfinite(self.sigma) and self.sigma > 0):
            raise FitError(f"sigma is {self.sigma}; it must be a number above 0, in turns of a knob")


@dataclass
class CmaSearch:
    """State of a search over knobs within bounds (low, high), in normalized coordinates."""

    low: np.ndarray
    high: np.ndarray
    seed: int = 0
    settings: CmaSettings = field(default_factory=CmaSettings)
    start: np.ndarray | None = None  # coordinates; None: all knobs at their start
    iteration: int = 0
    path: list[np.ndarray] = field(default_factory=list)  # the estimate that each generation was drawn around
    objective: list[float] = field(default_factory=list)  # cost with falls there
    costs: list[float] = field(default_factory=list)  # cost there
    _spread: float = np.inf  # of the last population, in the coordinate that spreads most

    def __post_init__(self) -> None:
        start, settings = (
            np.clip(np.zeros(len(self.low)) if self.start is None else self.start, self.low, self.high),
            self.settings,
        )
        bounds = np.stack([self.low, self.high], axis=1)
        shared = {"bounds": bounds, "population_size": settings.population, "n_max_resampling": RESAMPLE}
        if settings.separable and len(self.low) > 1:  # a single knob has no correlations, and SepCMA refuses it
            self._cma: CMA | SepCMA = SepCMA(start, settings.sigma, **shared)
        else:
            adapt = len(self.low) <= FEW_KNOBS if settings.lr_adapt is None else settings.lr_adapt
            self._cma = CMA(start, settings.sigma, lr_adapt=adapt and not settings.separable, **shared)

    @property
    def at(self) -> np.ndarray:
        """The present estimate: the mean of the distribution."""
        return np.clip(self._cma.mean, self.low, self.high)  # a copy: the package moves its mean in place

    @property
    def done(self) -> str | None:
        """Why it makes no sense to go on; None while it does."""
        if self._spread < SMALL_SPREAD:
            return f"the population spreads over less than {SMALL_SPREAD:g} turns of any knob"
        if self._cma.should_stop():
            return "CMA-ES cannot go on: costs are flat, or its distribution has collapsed or diverged"
        return None

    def ask(self) -> Ask:
        """The next generation, after the estimate itself."""
        draw, noise = np.random.SeedSequence([self.seed, self.iteration]).generate_state(2).tolist()
        self._cma.reseed_rng(draw)
        candidates = [self.at, *(self._cma.ask() for _ in range(self._cma.population_size))]
        return Ask("population", np.array(candidates), noise)

    def tell(
        self,
        ask: Ask,
        residuals: np.ndarray,
        cost: np.ndarray,
        fallen: np.ndarray,
        influence_function: np.ndarray | None = None,
    ) -> None:
        """Take in what `ask` asked for; a cost that is not finite counts as the worst."""
        score = cost * (1 + self.settings.fall_cost * fallen)
        self.path.append(ask.candidates[0])
        self.objective.append(float(score[0]))
        self.costs.append(float(cost[0]))
        drawn, score = ask.candidates[1:], score[1:]
        finite = np.isfinite(score)
        if finite.any():  # else nothing was learned, and the next generation is drawn from the same distribution
            score = np.where(finite, score, score[finite].max() + 1.0)
            self._cma.tell(list(zip(drawn, score.tolist(), strict=True)))
            self._spread = float(drawn.std(axis=0).max())
        self.iteration += 1
