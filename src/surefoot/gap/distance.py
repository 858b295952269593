"""Distances between samples of many channels at once: 1-D Wasserstein by sorting, and its quantile residuals.

Samples are (n_channels, n) and sorted along the last axis where a name says so. For equal counts W1 is the mean
distance of sorted values. For unequal counts it is the integral of |F^-1 - G^-1| over the merged steps of both quantile
functions, which is exact, and needs no interpolation.
"""

import numpy as np


def sort_channels(samples: np.ndarray) -> np.ndarray:
    """Samples (..., n, n_channels) as sorted rows (..., n_channels, n)."""
    rows = np.swapaxes(samples, -1, -2).copy(
        order="C"
    )  # a copy even where the layout fits: sorting in place must not touch the samples
    rows.sort(axis=-1)
    return rows


def w1_sorted(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1-D Wasserstein distances of sorted samples, (..., n) and (..., m) -> (...); leading shapes broadcast."""
    n, m = a.shape[-1], b.shape[-1]
    if n == m:
        return np.abs(a - b).mean(axis=-1)
    edges = np.union1d(
        np.arange(1, n) * m, np.arange(1, m) * n
    )  # in units of 1 / (n m): whole numbers, so that nothing is rounded
    edges = np.concatenate([[0], edges, [n * m]])
    middle = edges[:-1]
    width = np.diff(edges) / (n * m)
    return (np.abs(a[..., middle // m] - b[..., middle // n]) * width).sum(axis=-1)


def wasserstein(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """1-D Wasserstein distances of each channel, samples (n, n_channels) and (m, n_channels) -> (n_channels,)."""
    return w1_sorted(sort_channels(a), sort_channels(b))


def quantile_means(rows: np.ndarray, blocks: int) -> np.ndarray:
    """Means of the sorted values in equal blocks of probability, (..., n) -> (..., blocks).

    Averages of the quantile function rather than points of it: they use every sample, so they scatter less. A sample
    that lies across the edge of two blocks counts in both, by its parts.
    """
    n = rows.shape[-1]
    total = np.zeros((*rows.shape[:-1], n + 1))
    np.cumsum(rows, axis=-1, out=total[..., 1:])
    edges = np.linspace(0, n, blocks + 1)
    low = np.minimum(edges.astype(int), n - 1)
    at = total[..., low] + (edges - low) * rows[..., low]
    return np.diff(at, axis=-1) * (blocks / n)
