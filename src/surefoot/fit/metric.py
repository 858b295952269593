"""How residuals count: by their scatter from episode to episode, and by how they scatter together within a channel.

Neighbouring quantiles of one channel move together by chance, so counting each for itself would count the same evidence
many times. The correlation within a channel is alike for all joints, so it is taken over all channels of one kind, which
makes it known well from a few dozen episodes; a share of the diagonal keeps it from being believed too far. Curvature,
which a linear model cannot follow, adds to every residual alike: far from the goal all count the same, and near it the
quiet ones count more.
"""

from dataclasses import dataclass

import numpy as np

CURVATURE = 0.3  # of the residuals' size: how far off a linear model is expected to be
ALONE = 0.2  # share of each residual's scatter that is its own
LEAST = 0.5  # of the median scatter in its channel, which a residual has at least


@dataclass(frozen=True, eq=False)
class Metric:
    """Whitening matrices, one for each channel."""

    whiten: np.ndarray  # (n_channels, blocks, blocks)
    scatter: np.ndarray  # (m,) standard deviation of each residual by chance

    def __call__(self, residuals: np.ndarray) -> np.ndarray:
        """Residuals (m, ...) in units of what chance and curvature explain, uncorrelated within a channel."""
        channels, blocks, _ = self.whiten.shape
        parts = residuals.reshape(channels, blocks, -1)
        return (self.whiten @ parts).reshape(residuals.shape)

    def transposed(self, whitened: np.ndarray) -> np.ndarray:
        """The transposed whitening of (m, ...): turns what acts on whitened residuals into what acts on plain ones."""
        channels, blocks, _ = self.whiten.shape
        parts = whitened.reshape(channels, blocks, -1)
        return (np.swapaxes(self.whiten, 1, 2) @ parts).reshape(whitened.shape)


def make_metric(influence: np.ndarray, residual: np.ndarray, kinds: np.ndarray, scale: float = 1.0) -> Metric:
    """From influence (pieces, m) and the residual (m,) where it was taken; `kinds` (n_channels,) says which channels are alike.

    `scale` multiplies the variance, for residuals of fewer pieces than the influence had.
    """
    channels = len(kinds)
    parts = influence.reshape(len(influence), channels, -1)  # (pieces, channels, blocks)
    blocks = parts.shape[2]
    scatter = np.sqrt(np.square(parts).sum(axis=0))
    scatter = np.maximum(scatter, np.maximum(LEAST * np.median(scatter, axis=1, keepdims=True), 1e-6))
    white = parts / scatter
    curved = (CURVATURE * float(np.sqrt(np.square(residual).mean()))) ** 2
    whiten = np.empty((channels, blocks, blocks))
    for kind in np.unique(kinds):
        alike = np.flatnonzero(kinds == kind)
        together = np.einsum("pcb,pcd->bd", white[:, alike], white[:, alike]) / len(alike)
        own = np.sqrt(np.maximum(np.diag(together), 1e-12))
        correlation = (1 - ALONE) * together / np.outer(own, own) + ALONE * np.eye(blocks)
        for channel in alike:
            covariance = scale * correlation * np.outer(scatter[channel], scatter[channel]) + curved * np.eye(blocks)
            whiten[channel] = np.linalg.inv(np.linalg.cholesky(covariance))
    return Metric(whiten, scatter.ravel())
