"""How far an answer may be off: the infinitesimal jackknife over episodes, with cross-fitting.

A small change dr of the residuals moves the answer of the search by -G dr, with the gain G = (J'J + ridge^2 I)^-1 J'W,
where W whitens the residuals and J is the whitened Jacobian. The influence function (Hampel 1974, The influence curve
and its role in robust estimation) says how each episode i moves the residuals, I_i, so -G I_i is how it moves the
answer, and the covariance of the answer is

    n / (n - 1) * sum over episodes i of (G I_i) (G I_i)'

This is the infinitesimal jackknife (Jaeckel 1972, The infinitesimal jackknife; Efron 1982, The jackknife, the bootstrap
and other resampling plans): the bootstrap over episodes in the limit of small changes, without drawing. Whole episodes
are the unit, so whatever is correlated within one is kept together, as in cluster-robust errors (Liang and Zeger 1986,
Longitudinal data analysis using generalized linear models). The interval is Student's t with n - 1 degrees of freedom.

The gain weighs residuals by how they scatter over the same episodes. It favours what they agree on by chance, and the
error that they show through it is too small, by a lot where they are few. So each fold of episodes goes through a gain
that was made from the other folds: cross-fitting (Chernozhukov et al. 2018, Double/debiased machine learning for
treatment and structural parameters).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.fit.metric import Metric
from surefoot.fit.slopes import Slopes
from surefoot.student import student_half_width

LEVEL = 0.9  # of the intervals
FOLDS = 5  # of the cross-fitting: parts of the pieces, each left out in turn


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Of an answer, in normalized coordinates of its knobs."""

    error: np.ndarray  # (n_knobs,) standard error
    half_width: np.ndarray  # (n_knobs,) of the 90 % interval
    correlation: np.ndarray  # (n_knobs, n_knobs) of the errors
    data_share: np.ndarray  # (n_knobs,) share of the answer that comes from the log, the rest from the start: 0 to 1


def gain_of(metric: Metric, slopes: Slopes, ridge: float, free: np.ndarray) -> np.ndarray:
    """Gain (n_knobs, m) of a ridge regression: how the answer follows the residuals; a knob at its bound does not."""
    normal = slopes.normal(free) + ridge**2 * np.eye(int(free.sum()))
    gain = np.zeros((len(free), len(slopes.white)))
    gain[free] = np.linalg.solve(normal, metric.transposed(slopes.white[:, free]).T)
    return gain


def uncertainty(
    metric: Metric,
    slopes: Slopes,
    ridge: float,
    free: np.ndarray,
    influence_function: np.ndarray,
    refit: Callable[[np.ndarray], tuple[Metric, Slopes]] | None = None,
) -> Uncertainty:
    """Of an answer with these slopes, from the influence function (pieces, m) of its residuals.

    `refit` makes metric and slopes from the influence function of some pieces, for the cross-fitting. Without it,
    metric and slopes are taken to be known from elsewhere.
    """
    pieces = len(influence_function)
    if refit is None or pieces < 3:
        moves = influence_function @ gain_of(metric, slopes, ridge, free).T
    else:
        moves = np.empty((pieces, len(free)))
        for fold in range(min(FOLDS, pieces)):
            out = np.arange(pieces) % FOLDS == fold
            others = influence_function[~out]
            others = (others - others.mean(axis=0)) * np.sqrt(pieces / (~out).sum())
            moves[out] = influence_function[out] @ gain_of(*refit(others), ridge, free).T
    covariance = moves.T @ moves * pieces / max(pieces - 1, 1)
    error = np.sqrt(np.diag(covariance))
    scale = np.where(error > 0, error, 1.0)
    data_share = np.zeros(len(free))
    normal = slopes.normal(free)
    data_share[free] = np.diag(np.linalg.solve(normal + ridge**2 * np.eye(len(normal)), normal))
    half_width = student_half_width(LEVEL, pieces - 1) * error if error.any() else error
    return Uncertainty(error, half_width, covariance / np.outer(scale, scale), data_share)
