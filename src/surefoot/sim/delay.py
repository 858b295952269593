"""A delay in physics steps."""

import numpy as np


def split(delay_s: np.ndarray, dt_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Whole steps and the fraction of a further one; 0.006 s at 0.002 s is 3 steps, though the quotient is
    not quite 3.
    """
    steps = delay_s / dt_s
    nearest = np.rint(steps)
    steps = np.where(np.abs(steps - nearest) < 1e-9, nearest, steps)
    whole = np.floor(steps).astype(np.intp)
    return whole, steps - whole
