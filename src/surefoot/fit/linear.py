"""Linear algebra of a search: two-level designs, their regression, and least squares within bounds.

The designs are those of Plackett and Burman 1946, The design of optimum multifactorial experiments, built as Hadamard
matrices after Paley 1933, On orthogonal matrices: n runs tell up to n - 1 knobs apart, each with the variance that all
n runs spent on it alone would give. The bounded least squares is an active-set method that never lets a variable go
that it has once held at a bound; compare Stark and Parker 1995, Bounded-variable least squares: an algorithm and
applications, which does.
"""

import numpy as np


def two_level_design(knobs: int) -> np.ndarray:
    """Positions (runs, knobs) of +1 and -1 with orthogonal columns, in the fewest runs above the knobs
    (Plackett-Burman).

    All knobs move in every run, so every run says something about each of them: the effect of one knob is known as well
    as if all runs had been spent on it. Built from quadratic residues of a prime q = 3 (mod 4) (Paley), with q + 1
    runs.
    """
    q = next(q for q in range(3, 10_000, 4) if q >= knobs and all(q % d for d in range(2, int(q**0.5) + 1)))
    squares = {i * i % q for i in range(1, q)}
    first = np.array([1.0 if i == 0 or i in squares else -1.0 for i in range(q)])
    rows = np.stack([np.roll(first, shift) for shift in range(q)])
    return np.vstack([rows, -np.ones(q)])[:, :knobs]


def design_around(at: np.ndarray, low: np.ndarray, high: np.ndarray, reach: float | np.ndarray) -> np.ndarray:
    """A two-level design (runs, knobs) around a point, moved inwards where it would leave the bounds."""
    reach = np.minimum(reach, 0.5 * (high - low))
    return np.clip(at, low + reach, high - reach) + reach * two_level_design(len(at))


def slopes(candidates: np.ndarray, residuals: np.ndarray) -> np.ndarray:
    """Jacobian (m, knobs) of residuals (n, m), by linear regression over the coordinates of candidates (n, knobs)."""
    moved = np.column_stack([np.ones(len(candidates)), candidates])
    return np.linalg.lstsq(moved, residuals, rcond=None)[0][1:].T


def gauss_newton_step(normal: np.ndarray, gradient: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The step x between `low` and `high` that makes x' normal x / 2 + gradient' x smallest, with normal = J'J."""
    root = np.linalg.cholesky(normal).T
    return bounded_least_squares(root, np.linalg.solve(root.T, -gradient), low, high)


def bounded_least_squares(a: np.ndarray, b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The x within bounds that makes |a x - b| smallest, by holding what leaves its bounds and solving for the rest."""
    n = a.shape[1]
    held = np.zeros(n, dtype=bool)
    x = np.zeros(n)
    for _ in range(n + 1):
        free = ~held
        if not free.any():
            break
        x[free] = np.linalg.lstsq(a[:, free], b - a[:, held] @ x[held], rcond=None)[0]
        outside = free & ((x < low) | (x > high))
        if not outside.any():
            break
        held |= outside
        x[outside] = np.clip(x[outside], low[outside], high[outside])
    return np.clip(x, low, high)
