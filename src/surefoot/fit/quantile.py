"""Quantile Gauss-Newton: simulated least squares on the quantiles of every channel.

In one dimension the squared 2-Wasserstein distance is the mean square difference of the quantiles, W2^2 = integral over
u of (F^-1(u) - G^-1(u))^2 (Peyré and Cuturi 2019, Computational optimal transport), so the gap is a sum of squares and
Gauss-Newton (Nocedal and Wright 2006, Numerical optimization, chapter 10) finds its minimum. With r the whitened
residuals, J their Jacobian, x the present point and its start at 0, an iteration solves

    (J'J + ridge^2 I) dx = -(J'r + ridge^2 x),    |dx_k| <= step cap,    low <= x + dx <= high

The ridge (Hoerl and Kennard 1970, Ridge regression: biased estimation for nonorthogonal problems) keeps at the start
what the log cannot tell; the step cap is a trust region of fixed size. To match simulated statistics in this way is the
method of simulated moments (McFadden 1989, A method of simulated moments for estimation of discrete response models
without numerical integration).

Each iteration asks twice. First a two-level design around the present point: all its candidates meet the same noise
(common random numbers), so what differs between them is what was changed. The Jacobian is the mean of all designs, each
weighted by how near it was taken. Then a line search: a few step lengths along the Gauss-Newton step, with noise that
is new in every iteration, so that no single draw of it is fitted. Few pieces are simulated at first, and more when the
objective hardly falls any more (Homem-de-Mello 2003, Variable-sample methods for stochastic optimization). When the
steps are no longer than their own standard error, the search polishes: it averages the residuals of several runs at one
point and takes one last step from their mean.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from surefoot.fit.intervals import Uncertainty, uncertainty
from surefoot.fit.linear import design_around, gauss_newton_step
from surefoot.fit.metric import Metric, make_metric
from surefoot.fit.slopes import Design, Slopes, slopes_at
from surefoot.streams import Stream

LENGTHS = (0.0, 0.5, 1.0, 1.6)  # of the line search, in Gauss-Newton steps; 0 is where we are, under the new noise
FALL_COST = 1.0  # in units of the cost, for a candidate that falls in all pieces
AT_BOUND = 1e-9  # in normalized coordinates
REACHES = (0.15, 0.8)  # least and most half-width of a design in one coordinate


@dataclass(frozen=True, eq=False)
class Ask:
    """Candidates to evaluate."""

    kind: Literal["look", "design", "steps", "polish", "population"]
    candidates: np.ndarray  # (n, n_knobs)
    seed: int
    share: float = 1.0  # of the pieces
    influence_function: bool = False  # whether that of the first candidate is asked for


@dataclass(frozen=True)
class QuantileSettings:
    """How the search behaves."""

    reach: float = 0.5  # half-width of a design, in normalized coordinates
    longest: float = 2.5  # step cap: how far a coordinate may move in one iteration
    # strength of the ridge towards the start, in units of the residuals' scatter per coordinate: what the log cannot
    # tell stays where it was
    prior: float = 0.03
    levels: tuple[tuple[float, float], ...] = (
        (0.15, 0.4),
        (0.3, 1.0),
        (0.4, 1.0),
    )  # sample sizes: share of the pieces in designs and in line searches
    improve: float = 0.7  # an iteration that leaves more than this of the objective asks for the next level
    settled: float = 1.0  # standard errors, root mean square over the knobs: a shorter step is chance
    polish_runs: int = 6
    polish_rounds: int = 2
    most_iterations: int = 16


@dataclass(eq=False)
class QuantileSearch:
    """State of a search over knobs within bounds (low, high), in normalized coordinates."""

    low: np.ndarray
    high: np.ndarray
    kinds: np.ndarray  # (n_channels,) of the residuals' channels
    seed: int = 0
    settings: QuantileSettings = field(default_factory=QuantileSettings)
    start: np.ndarray | None = None  # coordinates; None: all knobs at their start
    iteration: int = 0
    level: int = 0
    path: list[np.ndarray] = field(default_factory=list)  # points after each iteration
    objective: list[float] = field(default_factory=list)  # mean square of the whitened residuals there
    costs: list[float] = field(default_factory=list)
    done: str | None = None  # why it ended
    metric: Metric | None = None
    residual: np.ndarray | None = None  # (m,) at the present point
    influence_function: np.ndarray | None = None  # (pieces, m) near the present point
    _designs: list[Design] = field(default_factory=list)
    _fresh: bool = False  # the present point has a design
    _polished: list[tuple[np.ndarray, float]] = field(
        default_factory=list
    )  # residuals and costs at the point that is polished
    _rounds: int = 0  # of polishing; 0 while the search walks
    _cut_short: bool = False  # it polishes because it walked long enough
    _levels: list[int] = field(default_factory=list)  # of the iterations so far
    _stalled: bool = False  # the last iteration left most of the objective

    @property
    def at(self) -> np.ndarray:
        """The present point."""
        if self.path:
            return self.path[-1]
        return np.clip(np.zeros(len(self.low)) if self.start is None else self.start, self.low, self.high)

    @property
    def slopes(self) -> Slopes:
        """Of the residuals, at the present point."""
        assert self.metric is not None
        return slopes_at(self._designs, self.at, self.metric)

    @property
    def ridge(self) -> float:
        """The ridge towards the start, in units of a column of the Jacobian: it grows with the number of residuals, as
        the weight of the log does.
        """
        assert self.residual is not None
        return self.settings.prior * float(np.sqrt(len(self.residual)))

    @property
    def polishing(self) -> bool:
        """Whether the search has settled."""
        return self._rounds > 0

    @property
    def stalled(self) -> bool:
        """Whether it walks on, and came hardly nearer in the last iteration, with all the pieces that it
        will ever have.
        """
        return self._stalled and not self.polishing and self._levels[-1] == len(self.settings.levels) - 1

    @property
    def designed(self) -> bool:
        """Whether the slopes at the present point are known."""
        return self._fresh

    @property
    def learned(self) -> bool:
        """Whether slopes are known at all, so that it can be said how far the answer may be off."""
        return bool(self._designs)

    def remaining(self, spent_s: float) -> float:
        """About how long it will still take, s, from what was spent so far: iterations with many pieces take longer."""
        weight = np.array([designs * len(self.low) + steps * len(LENGTHS) for designs, steps in self.settings.levels])
        polish = self.settings.levels[-1][0] * len(self.low) + self.settings.polish_runs
        done = sum(weight[min(level, len(weight) - 1)] for level in self._levels) + polish * max(self._rounds - 1, 0)
        ahead = weight[self.level :].sum() if not self.polishing else 0.0
        left = ahead + polish * (self.settings.polish_rounds - max(self._rounds - 1, 0))
        return float(spent_s * left / done) if done > 0 else float("nan")

    def ask(self) -> Ask:
        """What to evaluate next."""
        seed = int(
            np.random.SeedSequence([self.seed, self.iteration, self._rounds, len(self._polished)]).generate_state(1)[0]
        )
        designs, steps = self.settings.levels[self.level]
        if self.metric is None:
            return Ask("look", self.at[None], seed, steps, influence_function=True)
        if not self._fresh:
            return Ask("design", self._design(), seed, designs)
        if self.polishing:
            return Ask("polish", self.at[None], seed, influence_function=not self._polished)
        candidates = np.clip(self.at + np.array(LENGTHS)[:, None] * self.step(), self.low, self.high)
        return Ask("steps", candidates, seed, steps, influence_function=True)

    def tell(
        self,
        ask: Ask,
        residuals: np.ndarray,
        cost: np.ndarray,
        fallen: np.ndarray,
        influence_function: np.ndarray | None = None,
    ) -> None:
        """Take in what `ask` asked for."""
        if influence_function is not None:
            self.influence_function = influence_function
            self.metric = make_metric(influence_function, residuals[0], self.kinds)
        if ask.kind == "look":
            self.residual = residuals[0]
        elif ask.kind == "design":
            self._designs.append(Design.of(ask.candidates, residuals))
            self._fresh = True
        elif ask.kind == "steps":
            self._walk(ask, residuals, cost, fallen)
        else:
            self._polish(residuals[0], cost[0])

    def step(self) -> np.ndarray:
        """The Gauss-Newton step within the bounds and the step cap, with the ridge."""
        assert self.residual is not None
        assert self.metric is not None
        slopes, step_cap = self.slopes, self.settings.longest
        low, high = np.maximum(self.low - self.at, -step_cap), np.minimum(self.high - self.at, step_cap)
        normal = slopes.normal(np.ones(len(low), dtype=bool)) + self.ridge**2 * np.eye(len(low))
        gradient = slopes.white.T @ self.metric(self.residual) + self.ridge**2 * self.at
        return gauss_newton_step(normal, gradient, low, high)

    def uncertainty(self) -> Uncertainty:
        """Of the present point."""
        assert self.metric is not None
        assert self.influence_function is not None

        def refit(influence_function: np.ndarray) -> tuple[Metric, Slopes]:
            assert self.residual is not None
            metric = make_metric(influence_function, self.residual, self.kinds)
            return metric, slopes_at(self._designs, self.at, metric)

        free = (self.at > self.low + AT_BOUND) & (self.at < self.high - AT_BOUND)
        inside = uncertainty(self.metric, self.slopes, self.ridge, free, self.influence_function, refit)
        if free.all():
            return inside
        every = uncertainty(
            self.metric, self.slopes, self.ridge, np.ones_like(free), self.influence_function, refit
        )  # how far inwards a knob at its bound could be
        error, half_width, data_share = (
            np.where(free, getattr(inside, name), getattr(every, name))
            for name in ("error", "half_width", "data_share")
        )
        return Uncertainty(error, half_width, inside.correlation, data_share)

    def _walk(self, ask: Ask, residuals: np.ndarray, cost: np.ndarray, fallen: np.ndarray) -> None:
        assert self.metric is not None
        objective = np.square(self.metric(residuals.T)).mean(axis=0)
        best = int(np.argmin(objective * (1 + FALL_COST * fallen)))
        self.path.append(ask.candidates[best])
        self.objective.append(float(objective[best]))
        self.costs.append(float(cost[best]))
        self.residual, self._fresh = residuals[best], False
        self._levels.append(self.level)
        self.iteration += 1
        self._stalled = bool(objective[best] >= self.settings.improve * objective[0])
        if self.iteration >= self.settings.most_iterations:
            self._rounds, self._cut_short = 1, True
        elif self._stalled:  # the level tells no more
            if self.level + 1 < len(self.settings.levels):
                self.level += 1
            elif self._settled():
                self._rounds = 1

    def _settled(self) -> bool:
        """Whether the next step would be no longer than what chance alone moves the answer by."""
        error = np.maximum(self.uncertainty().error, 1e-3)
        return float(np.sqrt(np.mean(np.square(self.step() / error)))) < self.settings.settled

    def _polish(self, residual: np.ndarray, cost: float) -> None:
        """A step from the mean of several runs."""
        assert self.metric is not None
        self._polished.append((residual, float(cost)))
        if len(self._polished) < self.settings.polish_runs:
            return
        self.residual = np.mean([residual for residual, _ in self._polished], axis=0)
        self.path.append(np.clip(self.at + self.step(), self.low, self.high))
        self.costs.append(float(np.mean([cost for _, cost in self._polished])))
        self.objective.append(float(np.square(self.metric(self.residual)).mean()))
        self.iteration += 1
        self._polished, self._rounds, self._fresh = [], self._rounds + 1, False
        if self._rounds > self.settings.polish_rounds:
            most = self.settings.most_iterations
            self.done = (
                "settled"
                if not self._cut_short
                else f"not settled after {most} iterations, which the intervals do not know"
            )

    def _design(self) -> np.ndarray:
        """A design around the present point, with other combinations of the knobs in every iteration.

        Knobs that do much move little, so that their curvature does not hide what the others do.
        """
        sign = np.random.default_rng([self.seed, self.iteration, Stream.DESIGN_SIGNS]).choice(
            [-1.0, 1.0], len(self.low)
        )
        low, high = np.sort([self.low * sign, self.high * sign], axis=0)
        return design_around(self.at * sign, low, high, self._reach()) * sign

    def _reach(self) -> np.ndarray:
        if not self._designs:
            return np.full(len(self.low), self.settings.reach)
        length = np.linalg.norm(self.slopes.white, axis=0)
        return np.clip(self.settings.reach * np.median(length) / np.maximum(length, 1e-9), *REACHES)
