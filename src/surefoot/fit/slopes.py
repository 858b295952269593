"""Slopes that were learned from several designs, and what their own noise does to a search.

A design shows each slope with some noise: chance, and the curvature of everything that moved along. Noise in a slope
looks like steepness, in all directions alike: the search then takes steps that are too short where it is really flat
(two knobs that nearly do the same), and believes its answer too much. What the runs of a design leave unexplained tells
how large that noise is, and its expected part is taken off again.
"""

from dataclasses import dataclass

import numpy as np

from surefoot.fit.linear import slopes
from surefoot.fit.metric import Metric

NEAR = 0.5  # turns, root mean square: a design taken this far away counts for a third
LEAST_SHARE = 0.25  # of the steepness in any direction that is believed to be real, however noisy


@dataclass(frozen=True, eq=False)
class Design:
    """One design and what came of it."""

    where: np.ndarray  # (n_knobs,) its middle, in turns
    slopes: np.ndarray  # (m, n_knobs)
    left: np.ndarray  # (m, runs) what the slopes do not explain
    variance: np.ndarray  # (n_knobs,) of a slope, for a run that scatters by one
    degrees: int  # of freedom in what is left

    @classmethod
    def of(cls, candidates: np.ndarray, residuals: np.ndarray) -> "Design":
        """From candidates (runs, n_knobs) and their residuals (runs, m)."""
        found = slopes(candidates, residuals)
        moved = candidates - candidates.mean(axis=0)
        left = (residuals - residuals.mean(axis=0)).T - found @ moved.T
        degrees = len(candidates) - candidates.shape[1] - 1
        return cls(candidates.mean(axis=0), found, left, 1.0 / np.maximum(np.square(moved).sum(axis=0), 1e-12), degrees)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes at a point, in units of a metric."""

    plain: np.ndarray  # (m, n_knobs)
    white: np.ndarray  # (m, n_knobs)
    noise: np.ndarray  # (n_knobs,) expected part of the noise in the squared length of each column of `white`

    def normal(self, free: np.ndarray) -> np.ndarray:
        """The steepness matrix of some knobs, without what the noise of the slopes adds to it."""
        steep = self.white[:, free].T @ self.white[:, free]
        scale = np.sqrt(np.maximum(self.noise[free], 1e-12))
        values, vectors = np.linalg.eigh(
            steep / np.outer(scale, scale)
        )  # in these units the noise is one in every direction
        values = np.maximum(values - 1.0, LEAST_SHARE * np.maximum(values, 1e-9))
        return (vectors * values) @ vectors.T * np.outer(scale, scale)


def slopes_at(designs: list[Design], at: np.ndarray, metric: Metric) -> Slopes:
    """The mean of the designs, each by how near it was taken."""
    distance = np.array([np.mean(np.square(design.where - at)) for design in designs])
    weight = np.exp(-(distance - distance.min()) / NEAR**2)
    weight /= weight.sum()
    plain = np.tensordot(weight, np.stack([design.slopes for design in designs]), 1)
    noise = np.zeros(len(at))
    for share, design in zip(weight, designs, strict=True):
        if share > 1e-3 and design.degrees > 0:
            noise += share**2 * design.variance * float(np.square(metric(design.left)).sum()) / design.degrees
    return Slopes(plain, metric(plain), noise)
