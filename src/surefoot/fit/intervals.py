"""How far an answer may be off: the gain of the search, driven by how each episode pulls the residuals.

The answer of a fit moves with the residuals by a gain matrix. Each episode pulls the residuals a little; the gain turns
that into a pull on the answer. The squares of those pulls, summed over the episodes, are the variance of the answer,
with everything that is correlated within an episode kept together. It is the bootstrap over episodes in the limit of
many draws.

The gain weighs residuals by how they scatter, which the same episodes tell: it favours what they, by chance, agree on,
and their own pulls through it are too small, by a lot where they are few. So each episode pulls by a gain that was made
without it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.fit.metric import Metric
from surefoot.fit.slopes import Slopes

FOLDS = 5  # of the pieces, each left out in turn


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Of an answer, in turns of its knobs."""

    error: np.ndarray  # (n_knobs,) standard error
    half_width: np.ndarray  # (n_knobs,) of the 90 % interval
    correlation: np.ndarray  # (n_knobs, n_knobs) of the errors
    told: np.ndarray  # (n_knobs,) share of the answer that comes from the log, the rest from the start: 0 to 1


def gain_of(metric: Metric, slopes: Slopes, pull: float, free: np.ndarray) -> np.ndarray:
    """Gain (n_knobs, m) of a least-squares answer with a weak pull; what is held at its bound does not move."""
    normal = slopes.normal(free) + pull**2 * np.eye(int(free.sum()))
    gain = np.zeros((len(free), len(slopes.white)))
    gain[free] = np.linalg.solve(normal, metric.transposed(slopes.white[:, free]).T)
    return gain


def uncertainty(
    metric: Metric,
    slopes: Slopes,
    pull: float,
    free: np.ndarray,
    influence: np.ndarray,
    made: Callable[[np.ndarray], tuple[Metric, Slopes]] | None = None,
) -> Uncertainty:
    """Of an answer with these slopes and this influence (pieces, m) of its episodes; `made` makes metric
    and slopes from some of it.

    Without `made`, metric and slopes are taken to be known from elsewhere.
    """
    pieces = len(influence)
    if made is None or pieces < 3:
        pulls = influence @ gain_of(metric, slopes, pull, free).T
    else:
        pulls = np.empty((pieces, len(free)))
        for fold in range(min(FOLDS, pieces)):
            out = np.arange(pieces) % FOLDS == fold
            others = (influence[~out] - influence[~out].mean(axis=0)) * np.sqrt(pieces / (~out).sum())
            pulls[out] = influence[out] @ gain_of(*made(others), pull, free).T
    covariance = pulls.T @ pulls * pieces / max(pieces - 1, 1)
    error = np.sqrt(np.diag(covariance))
    scale = np.where(error > 0, error, 1.0)
    told = np.zeros(len(free))
    normal = slopes.normal(free)
    told[free] = np.diag(np.linalg.solve(normal + pull**2 * np.eye(len(normal)), normal))
    return Uncertainty(error, student_90(pieces - 1) * error, covariance / np.outer(scale, scale), told)


def student_90(degrees: int) -> float:
    """Half-width of the central 90 % of Student's t distribution (Cornish-Fisher, four terms: right to 1 %
    from 3 degrees on).
    """
    z, v = 1.6448536269514722, float(max(degrees, 3))
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / v ** (k + 1) for k, term in enumerate(terms))
