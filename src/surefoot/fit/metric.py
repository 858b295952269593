"""How residuals count: generalized least squares, with a covariance that the episodes tell.

Generalized least squares (Aitken 1935, On least squares and linear combination of observations) minimizes r' C^-1 r,
with C the covariance of the residuals; W = L^-1 with C = L L' whitens them. To take C from the influence function of
the episodes is the weighting of the two-step method of moments (Hansen 1982, Large sample properties of generalized
method of moments estimators). Neighbouring quantiles of one channel move together by chance, so C is full within a
channel. Its correlation is alike for all joints, so it is pooled over all channels of one kind, which makes it known
well from a few dozen episodes, and shrunk towards the identity by a fixed share (Ledoit and Wolf 2004, A
well-conditioned estimator for large-dimensional covariance matrices, estimate that share). Curvature, which a linear
model cannot follow, adds to the variance of every residual alike: far from the goal all count the same, and near it the
quiet ones count more.

Traces in time have far more residuals in a channel than quantiles do; all those of a channel count alike, each for
itself, and what is correlated in them is left to the intervals, which take episodes as wholes.
"""

from dataclasses import dataclass

import numpy as np

CURVATURE = 0.3  # of the residuals' size: how far off a linear model is expected to be
ALONE = 0.2  # shrinkage of the correlation towards the identity
LEAST = 0.5  # of the median scatter in its channel, which a residual has at least
MOST_TOGETHER = 64  # residuals of a channel whose correlation is estimated; with more, each counts for itself


@dataclass(frozen=True, eq=False)
class Metric:
    """Whitening, channel by channel."""

    whiten: np.ndarray  # (n_channels, blocks, blocks), or (n_channels, blocks) where each residual counts for itself
    scatter: np.ndarray  # (m,) standard deviation of each residual by chance

    def __call__(self, residuals: np.ndarray) -> np.ndarray:
        """Residuals (m, ...) in units of what chance and curvature explain, uncorrelated within a channel."""
        return self._apply(self.whiten, residuals)

    def transposed(self, whitened: np.ndarray) -> np.ndarray:
        """The transposed whitening of (m, ...): turns what acts on whitened residuals into what acts on plain ones."""
        return self._apply(np.swapaxes(self.whiten, 1, 2) if self.whiten.ndim == 3 else self.whiten, whitened)

    @staticmethod
    def _apply(whiten: np.ndarray, residuals: np.ndarray) -> np.ndarray:
        parts = residuals.reshape(*whiten.shape[:2], -1)
        return (whiten @ parts if whiten.ndim == 3 else whiten[..., None] * parts).reshape(residuals.shape)


def make_metric(influence_function: np.ndarray, residual: np.ndarray, kinds: np.ndarray) -> Metric:
    """From the influence function (pieces, m) and the residual (m,) where it was taken; `kinds` (n_channels,)
    says which channels are alike.
    """
    channels = len(kinds)
    parts = influence_function.reshape(len(influence_function), channels, -1)  # (pieces, channels, blocks)
    blocks = parts.shape[2]
    scatter = np.sqrt(np.square(parts).sum(axis=0))
    scatter = np.maximum(scatter, np.maximum(LEAST * np.median(scatter, axis=1, keepdims=True), 1e-6))
    if blocks > MOST_TOGETHER:
        scatter = np.broadcast_to(np.sqrt(np.square(scatter).mean(axis=1, keepdims=True)), scatter.shape)
        return Metric(1.0 / scatter, scatter.ravel())
    white = parts / scatter
    curved = (CURVATURE * float(np.sqrt(np.square(residual).mean()))) ** 2
    whiten = np.empty((channels, blocks, blocks))
    for kind in np.unique(kinds):
        alike = np.flatnonzero(kinds == kind)
        together = np.einsum("pcb,pcd->bd", white[:, alike], white[:, alike]) / len(alike)
        own = np.sqrt(np.maximum(np.diag(together), 1e-12))
        correlation = (1 - ALONE) * together / np.outer(own, own) + ALONE * np.eye(blocks)
        for channel in alike:
            covariance = correlation * np.outer(scatter[channel], scatter[channel]) + curved * np.eye(blocks)
            whiten[channel] = np.linalg.inv(np.linalg.cholesky(covariance))
    return Metric(whiten, scatter.ravel())
