"""Small checks and moves of arrays with one row per world."""

from typing import Any

import numpy as np

from surefoot.errors import WorldsError
from surefoot.robot.sensors import Sensors


def given(name: str, value: Any, shape: tuple[int, ...], default: Any = None) -> np.ndarray:
    """What the caller gave, or the default, as finite floats of this shape."""
    try:
        array = np.broadcast_to(np.asarray(default if value is None else value, dtype=float), shape)
    except (TypeError, ValueError):
        raise WorldsError(f"{name} has the shape {np.shape(value)}; it must be {shape}") from None
    if not np.isfinite(array).all():
        raise WorldsError(f"{name} holds a number that is not finite")
    return array


def assign(array: np.ndarray, rows: np.ndarray, columns: np.ndarray | slice, values: np.ndarray) -> None:
    """Write values, (len(rows), n), into the given rows and columns of an array."""
    if isinstance(columns, slice):
        array[rows, columns] = values
    else:
        array[np.ix_(rows, columns)] = values


def merge(old: Sensors, new: Sensors, rows: np.ndarray) -> Sensors:
    """`old` with the readings of `rows` taken from `new`."""
    if len(rows) == len(old.time_s):
        return new
    merged, after = {}, new.readings()
    for name, value in old.readings().items():
        merged[name] = value.copy()
        merged[name][rows] = after[name][rows]
    return Sensors(**merged)
