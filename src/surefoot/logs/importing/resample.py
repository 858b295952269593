"""Putting samples onto other time stamps: interpolation, hold, control ticks, and velocity from position."""

import numpy as np

WINDOW = 5  # samples of the local quadratic fit
ROUNDING_S = 1e-6  # by which two stamps of one moment may differ
VELOCITY_FILTER = (
    f"differentiated position: local quadratic fit over {WINDOW} samples (Savitzky-Golay), centred, without delay"
)


def period(time_s: np.ndarray) -> float:
    """The typical step between samples, s; 0 where time does not advance."""
    steps = np.diff(time_s)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 0.0


def rising(time_s: np.ndarray) -> np.ndarray:
    """Which samples are later than all before them."""
    if not len(time_s):
        return np.zeros(0, dtype=bool)
    latest = np.maximum.accumulate(time_s)
    return np.concatenate([[True], time_s[1:] > latest[:-1]])


def interpolate(
    time_s: np.ndarray, values: np.ndarray, at_s: np.ndarray, gap_s: float
) -> tuple[np.ndarray, np.ndarray]:
    """Linear interpolation, and which of `at_s` are covered: no gap longer than `gap_s` is bridged. `time_s` rises."""
    after = np.clip(np.searchsorted(time_s, at_s), 1, max(len(time_s) - 1, 1))
    if len(time_s) == 1:
        return np.repeat(values, len(at_s), axis=0), np.abs(at_s - time_s[0]) <= gap_s
    before = after - 1
    width = time_s[after] - time_s[before]
    share = np.clip((at_s - time_s[before]) / width, 0.0, 1.0)[:, None]
    inside = (at_s >= time_s[before]) & (at_s <= time_s[after])
    near = np.minimum(np.abs(at_s - time_s[before]), np.abs(at_s - time_s[after])) <= gap_s / WINDOW
    exact = (share == 0) | (share == 1)  # keeps numbers as they are, though 0 × inf is not a number
    mixed = np.where(
        exact, np.where(share == 0, values[before], values[after]), values[before] * (1 - share) + values[after] * share
    )
    return mixed, np.where(inside, width <= gap_s, near) | (inside & exact[:, 0])


def hold(time_s: np.ndarray, values: np.ndarray, at_s: np.ndarray, gap_s: float) -> tuple[np.ndarray, np.ndarray]:
    """The last value at or before each time, and which times have one that is not older than `gap_s`.
    `time_s` rises.
    """
    last = np.searchsorted(time_s, at_s + ROUNDING_S, side="right") - 1
    there = np.maximum(last, 0)
    return values[there], (last >= 0) & (at_s - time_s[there] <= gap_s)


def control_ticks(
    state_s: np.ndarray, action_s: np.ndarray, action: np.ndarray, control_hz: float
) -> tuple[np.ndarray, str]:
    """Control ticks within the state's time, and what they follow; both times rise.

    They follow the actions where those come, or change, about `control_hz` times a second: a row then holds an action
    and the state it was made from. Otherwise they are regular.
    """
    dt_s = 1 / control_hz
    first_s, last_s = float(state_s[0]), float(state_s[-1])
    near = slice(*np.searchsorted(action_s, (first_s - dt_s, last_s + dt_s)))
    action_s, action = action_s[near], action[near]
    changed = (
        np.concatenate([[True], (action[1:] != action[:-1]).any(axis=1)]) if len(action) else np.zeros(0, dtype=bool)
    )
    if len(action_s) > 2 and about(period(action_s), dt_s):
        ticks, what = _filled(action_s, dt_s), "the actions' time stamps"
    elif changed.sum() > 2 and about(period(action_s[changed]), dt_s):
        stamps, what = action_s[changed], "the changes of the actions"
        before = np.arange(stamps[0] - dt_s, first_s - ROUNDING_S, -dt_s)[::-1]  # standing before it walks, and after
        after = np.arange(stamps[-1] + dt_s, last_s + ROUNDING_S, dt_s)
        ticks = np.concatenate([before, _filled(stamps, dt_s), after])
    else:
        ticks, what = np.arange(first_s, last_s + ROUNDING_S, dt_s), "a regular grid"
    return ticks[(ticks >= first_s - ROUNDING_S) & (ticks <= last_s + ROUNDING_S)], what


def about(one: float, other: float) -> bool:
    """Whether two periods are the same for a robot's clock: within 25 %."""
    return 0.8 <= one / other <= 1.25 if other else False


def _filled(stamps: np.ndarray, dt_s: float) -> np.ndarray:
    """Stamps with evenly spaced ones added where they are further apart than a tick: an action that does not change."""
    missing = np.maximum(np.round(np.diff(stamps) / dt_s).astype(int), 1)
    starts = np.repeat(stamps[:-1], missing)
    steps = np.repeat(np.diff(stamps) / missing, missing)
    within = np.arange(len(starts)) - np.repeat(np.cumsum(missing) - missing, missing)
    return np.append(starts + steps * within, stamps[-1])


def nearest(time_s: np.ndarray, at_s: np.ndarray) -> np.ndarray:
    """Index of the sample nearest to each time; `time_s` rises."""
    after = np.clip(np.searchsorted(time_s, at_s), 1, max(len(time_s) - 1, 1))
    if len(time_s) == 1:
        return np.zeros(len(at_s), dtype=int)
    return np.where(at_s - time_s[after - 1] <= time_s[after] - at_s, after - 1, after)


def differentiate(time_s: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Slope of a quadratic fitted to each sample and its neighbours, (samples, width); at the ends, of the
    last whole window.

    Where stamps do not rise within a window, the typical period stands in for them.
    """
    n = len(time_s)
    size = min(WINDOW, n)
    if size < 2:
        return np.zeros_like(values)
    start = np.clip(np.arange(n) - size // 2, 0, n - size)
    rows = start[:, None] + np.arange(size)
    offset = time_s[rows] - time_s[:, None]
    regular = (rows - np.arange(n)[:, None]) * (period(time_s) or 1.0)
    steps = np.diff(offset, axis=1)
    offset = np.where((steps > 1e-3 * np.abs(steps).max(axis=1, keepdims=True)).all(axis=1)[:, None], offset, regular)
    scale = np.abs(offset).max(axis=1, keepdims=True)
    # Least squares of values = [1, t, t²] c has c = (AᵀA)⁻¹ Aᵀ values; the slope at t = 0 is its second entry.
    powers = np.stack([(offset / scale) ** k for k in range(min(3, size))], axis=2)
    normal = np.einsum("nwi,nwj->nij", powers, powers)
    second = np.broadcast_to(np.eye(powers.shape[2])[:, 1:2], (n, powers.shape[2], 1))
    weights = (powers @ np.linalg.solve(normal, second))[:, :, 0] / scale
    slope = np.zeros_like(values)
    for k in range(size):
        slope += weights[:, k, None] * values[rows[:, k]]
    return slope
