"""A metric without weights, and slopes along knobs that do nearly the same."""

import numpy as np

from surefoot.fit.metric import Metric


def plain_metric(m: int) -> Metric:
    """Residuals as they are, each a channel of its own."""
    return Metric(np.ones((m, 1, 1)), np.ones(m))


def parallel_slopes(rng: np.random.Generator, m: int = 200, knobs: int = 6) -> np.ndarray:
    """Slopes of which the first two are nearly parallel."""
    slopes = rng.normal(size=(m, knobs))
    slopes[:, 1] = slopes[:, 0] + 0.1 * rng.normal(size=m)
    return slopes
