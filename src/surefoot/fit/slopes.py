"""The Jacobian from several designs, with a correction for errors in variables.

A design shows each slope with some noise: chance, and the curvature of everything that moved along. A Gauss-Newton step
is a regression on this noisy Jacobian, which is the errors-in-variables problem (Fuller 1987, Measurement error
models): E[J'J] = J0'J0 + D, with D the diagonal of the noise in each squared column. Too large a normal matrix
attenuates the answer towards zero, most where the problem is really flat (two knobs that nearly do the same, as dry and
viscous friction under torque noise): the search takes steps that are too short there, and believes its answer too much.
What the runs of a design leave unexplained tells D, and J'J - D is used instead, with the eigenvalues of D^-1/2 J'J
D^-1/2 kept from falling below a share of themselves.

The slopes at a point are the mean over all designs, weighted by a Gaussian kernel of their distance to it (the
estimator of Nadaraya 1964, On estimating regression, and Watson 1964, Smooth regression analysis).
"""

from dataclasses import dataclass

import numpy as np

from surefoot.fit.linear import slopes
from surefoot.fit.metric import Metric

NEAR = 0.5  # width of the kernel, root mean square over the coordinates: a design this far away counts 1/e
LEAST_SHARE = 0.25  # of an eigenvalue of the normal matrix that is believed to be real, however noisy


@dataclass(frozen=True, eq=False)
class Design:
    """One design and what came of it."""

    where: np.ndarray  # (n_knobs,) coordinates of its middle
    slopes: np.ndarray  # (m, n_knobs)
    unexplained: np.ndarray  # (m, runs) what the slopes leave of the residuals
    variance: np.ndarray  # (n_knobs,) of a slope, for a run that scatters by one
    degrees: int  # of freedom in what is unexplained

    @classmethod
    def of(cls, candidates: np.ndarray, residuals: np.ndarray) -> "Design":
        """From candidates (runs, n_knobs) and their residuals (runs, m)."""
        jacobian = slopes(candidates, residuals)
        moved = candidates - candidates.mean(axis=0)
        unexplained = (residuals - residuals.mean(axis=0)).T - jacobian @ moved.T
        variance = 1.0 / np.maximum(np.square(moved).sum(axis=0), 1e-12)
        degrees = len(candidates) - candidates.shape[1] - 1
        return cls(candidates.mean(axis=0), jacobian, unexplained, variance, degrees)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes at a point, in units of a metric."""

    plain: np.ndarray  # (m, n_knobs)
    white: np.ndarray  # (m, n_knobs)
    noise: np.ndarray  # (n_knobs,) expected part of the noise in the squared length of each column of `white`

    def normal(self, free: np.ndarray) -> np.ndarray:
        """The normal matrix J'J of some knobs, without what the noise of the slopes adds to it."""
        normal = self.white[:, free].T @ self.white[:, free]
        scale = np.sqrt(np.maximum(self.noise[free], 1e-12))
        values, vectors = np.linalg.eigh(
            normal / np.outer(scale, scale)
        )  # in these units the noise is one in every direction
        values = np.maximum(values - 1.0, LEAST_SHARE * np.maximum(values, 1e-9))
        return (vectors * values) @ vectors.T * np.outer(scale, scale)


def slopes_at(designs: list[Design], at: np.ndarray, metric: Metric) -> Slopes:
    """The kernel-weighted mean of the designs."""
    distance = np.array([np.mean(np.square(design.where - at)) for design in designs])
    weight = np.exp(-(distance - distance.min()) / NEAR**2)
    weight /= weight.sum()
    plain = np.tensordot(weight, np.stack([design.slopes for design in designs]), 1)
    noise = np.zeros(len(at))
    for share, design in zip(weight, designs, strict=True):
        if share > 1e-3 and design.degrees > 0:
            noise += share**2 * design.variance * float(np.square(metric(design.unexplained)).sum()) / design.degrees
    return Slopes(plain, metric(plain), noise)
