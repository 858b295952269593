"""Quantile Gauss-Newton: the squared 2-Wasserstein distance is a sum of squares, so a Jacobian of the quantiles finds its minimum.

Each iteration asks twice. First a design around the present point, on a part of the pieces: all candidates meet the same
noise, so the Jacobian of the residuals comes out clean, and it is averaged with the earlier ones. Then a few step lengths
along the Gauss-Newton step, on all pieces, with noise that is new in every iteration, so that no single draw of it is
fitted. Residuals are weighed by their own scatter. The answer is the mean of the late points.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from surefoot.fit.linear import design_around, gauss_newton_step, slopes

LENGTHS = (0.0, 0.5, 1.0, 1.6)  # of the Gauss-Newton step; 0 is where we are, under the new noise
CURVATURE = 0.3  # of the residuals' size: how far off a linear model is expected to be
FALL_COST = 1.0  # in units of the cost, for a candidate that falls in all pieces


@dataclass(frozen=True)
class Ask:
    """Candidates to evaluate."""

    kind: Literal["noise", "design", "steps"]
    candidates: np.ndarray  # (n, n_knobs)
    seed: int
    part: bool  # on a part of the pieces


@dataclass(frozen=True)
class QuantileSettings:
    """How the search behaves."""

    reach: float = 0.5  # of the design, in turns of a knob
    keep: float = 0.5  # of the old Jacobian in the running average
    longest: float = 2.0  # turns that a knob may move in one iteration
    prior: float = 0.03  # pull towards the start, in units of the residuals' scatter per turn: what the log cannot tell stays where it was
    noise_runs: int = 4


@dataclass
class QuantileSearch:
    """State of a search over knobs within bounds (low, high), in turns."""

    low: np.ndarray
    high: np.ndarray
    seed: int = 0
    settings: QuantileSettings = field(default_factory=QuantileSettings)
    iteration: int = 0
    path: list[np.ndarray] = field(default_factory=list)  # points after each iteration
    objective: list[float] = field(default_factory=list)  # mean weighted square there
    costs: list[float] = field(default_factory=list)
    jacobian: np.ndarray | None = None  # (m, n_knobs) of the residuals
    scatter: np.ndarray | None = None  # (m,) of each residual from run to run
    residual: np.ndarray | None = None  # (m,) at the present point, on all pieces
    _noise: list[np.ndarray] = field(default_factory=list)
    _fresh_jacobian: bool = False

    @property
    def at(self) -> np.ndarray:
        """The present point."""
        return self.path[-1] if self.path else np.clip(np.zeros(len(self.low)), self.low, self.high)

    @property
    def weight(self) -> np.ndarray:
        """Of the residuals, at the present point."""
        assert self.scatter is not None
        assert self.residual is not None
        return residual_weight(self.scatter, self.residual)

    def ask(self) -> Ask:
        """What to evaluate next."""
        base = 100_003 * self.seed + 1_000 * self.iteration
        if self.scatter is None:
            return Ask("noise", self.at[None], base + 10 + len(self._noise), part=False)
        if not self._fresh_jacobian:
            return Ask("design", self._design(), base + 1, part=True)
        candidates = np.clip(self.at + np.array(LENGTHS)[:, None] * self._step(), self.low, self.high)
        return Ask("steps", candidates, base + 2, part=False)

    def tell(self, ask: Ask, residuals: np.ndarray, cost: np.ndarray, fallen: np.ndarray) -> None:
        """Take in what `ask` asked for."""
        if ask.kind == "noise":
            self._noise.append(residuals[0])
            if len(self._noise) == self.settings.noise_runs:
                self.scatter, self.residual = residual_scatter(np.array(self._noise)), np.mean(self._noise, axis=0)
        elif ask.kind == "design":
            self._learn_jacobian(ask.candidates, residuals)
        else:
            objective = np.square(residuals * self.weight).mean(axis=1)
            best = int(np.argmin(objective * (1 + FALL_COST * fallen)))
            self.path.append(ask.candidates[best])
            self.objective.append(float(objective[best]))
            self.costs.append(float(cost[best]))
            self.residual, self._fresh_jacobian = residuals[best], False
            self.iteration += 1

    def _design(self) -> np.ndarray:
        """A design around the present point, with other combinations of the knobs in every iteration."""
        turned = np.random.default_rng([self.seed, self.iteration, 41]).choice([-1.0, 1.0], len(self.low))
        made = design_around(self.at * turned, *np.sort([self.low * turned, self.high * turned], axis=0), self.settings.reach)
        return made * turned

    def _learn_jacobian(self, candidates: np.ndarray, residuals: np.ndarray) -> None:
        fresh, keep = slopes(candidates, residuals), self.settings.keep
        self.jacobian = fresh if self.jacobian is None else keep * self.jacobian + (1 - keep) * fresh
        self._fresh_jacobian = True

    def _step(self) -> np.ndarray:
        """The Gauss-Newton step within the bounds and the longest move, pulled a little towards the start."""
        assert self.jacobian is not None
        assert self.residual is not None
        longest = self.settings.longest
        low, high = np.maximum(self.low - self.at, -longest), np.minimum(self.high - self.at, longest)
        return gauss_newton_step(
            self.jacobian * self.weight[:, None], self.residual * self.weight, low, high, self.settings.prior, -self.at
        )


def residual_scatter(runs: np.ndarray) -> np.ndarray:
    """Standard deviation of each residual over a few runs (runs, m), smoothed, since few runs say little of each."""
    scatter = runs.std(axis=0, ddof=1)
    smooth = np.convolve(np.pad(scatter, 3, mode="edge"), np.ones(7) / 7, mode="valid")
    return np.maximum(smooth, 0.2 * float(np.median(smooth)) + 1e-6)


def residual_weight(scatter: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """One over what a residual may be off by, (m,): its own scatter, and the curvature that a linear model cannot follow.

    Curvature grows with the residuals, so far from the goal all count alike, and near it the quiet ones count more.
    """
    curved = CURVATURE * float(np.sqrt(np.square(residual).mean()))
    return 1.0 / np.sqrt(np.square(scatter) + curved**2)
