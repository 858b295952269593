"""Student's t distribution, without SciPy: intervals of a fit and of a comparison are made of its quantiles."""

import math
from statistics import NormalDist


def student_half_width(level: float, degrees: int) -> float:
    """Half-width of the central `level` of Student's t distribution; infinite without a degree of freedom.

    Exact for 1 and 2 degrees, then the Cornish-Fisher expansion with four terms (Abramowitz and Stegun 1964, Handbook
    of mathematical functions, 26.7.5): right to 0.1 % at a level of 0.9, and to 1 % at 0.99.
    """
    if degrees < 1:
        return math.inf
    p = 0.5 + level / 2
    if degrees == 1:
        return math.tan(math.pi * (p - 0.5))
    if degrees == 2:
        return level * math.sqrt(2 / (1 - level**2))
    z, v = NormalDist().inv_cdf(p), float(degrees)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / v ** (k + 1) for k, term in enumerate(terms))
