"""Time that was recorded in milliseconds, microseconds or nanoseconds instead of seconds.

Each episode is looked at by itself: a log may have been put together from recordings in different units, and then no
single factor corrects it.
"""

from dataclasses import replace

import numpy as np

from surefoot.errors import shown
from surefoot.logs.robot_log import RobotLog

UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # numbers per second
FAR = 20.0  # control periods between two rows: a log in seconds is never this slow
SLOWEST, FASTEST_HZ = 0.2, 5_000.0  # of the control rate, and at most: rates that a robot is logged at
FEWEST_STEPS = 5  # in an episode that says something about its unit, where others are longer


def unit_of_step(typical: float, control_dt_s: float) -> str | None:
    """The unit in which rows this far apart come at a robot's rate, if that is not seconds."""
    if typical <= FAR * control_dt_s:
        return None
    fastest_hz = max(FASTEST_HZ, 2 / control_dt_s)
    return next(
        (unit for unit, factor in UNITS.items() if SLOWEST / control_dt_s <= factor / typical <= fastest_hz), None
    )


def units_of_episodes(log: RobotLog, control_dt_s: float) -> dict[str | None, list[int]]:
    """The numbers of the episodes in each unit; None is seconds. Those too short to tell are left out."""
    found: list[tuple[int, int, str | None]] = []
    for rows in log.episodes():
        with np.errstate(invalid="ignore"):  # infinite times
            step = np.diff(log.time_s[rows])
        known = int(np.isfinite(step).sum())
        step = step[np.isfinite(step) & (step > 0)]
        if len(step) and 2 * len(step) >= known:  # time that goes back or stands still is wrong in another way
            number = int(log.episode[rows.start])
            found.append((number, len(step), unit_of_step(float(np.median(step)), control_dt_s)))
    least = min(FEWEST_STEPS, max((n for _, n, _ in found), default=0))
    units: dict[str | None, list[int]] = {}
    for number, n, unit in found:
        if n >= least:
            units.setdefault(unit, []).append(number)
    return units


def unit_of_time(log: RobotLog, control_dt_s: float) -> str | None:
    """The unit that all time stamps are in, if that is not seconds, for a robot with this control period.

    None also where episodes differ.
    """
    units = units_of_episodes(log, control_dt_s)
    return next(iter(units)) if len(units) == 1 else None


def in_seconds(log: RobotLog, control_dt_s: float) -> RobotLog:
    """The log with its time in seconds, each episode by its own unit."""
    units = units_of_episodes(log, control_dt_s)
    if set(units) <= {None}:
        return log
    if len(units) == 1:
        (unit,) = units
        return replace(log, time_s=log.time_s / UNITS[str(unit)])
    time_s = log.time_s.copy()
    for unit, numbers in units.items():
        if unit is not None:
            rows = np.isin(log.episode, numbers)
            time_s[rows] = time_s[rows] / UNITS[unit]
    return replace(log, time_s=time_s)


def trouble_with_time(log: RobotLog, control_dt_s: float) -> tuple[str, str] | None:
    """What is wrong with the unit of the time and how to correct it, for a sentence; None where nothing is."""
    units = units_of_episodes(log, control_dt_s)
    if set(units) <= {None}:
        return None
    if len(units) == 1:
        (unit,) = units
        return about_unit(str(unit)), way_out(str(unit))
    parts = [f"in {unit or 'seconds'} in {_episodes(numbers)}" for unit, numbers in units.items()]
    return (
        f"time is {', '.join(parts[:-1])} and {parts[-1]}: no one factor corrects it",
        "import the recordings of each unit on their own, each with its own time unit, and give the logs together",
    )


def about_unit(unit: str) -> str:
    """What is wrong with the time, for a sentence."""
    return f"time is in {unit}, not in seconds: its numbers are {UNITS[unit]:,.0f} times too large"


def way_out(unit: str) -> str:
    """How to correct it, for a sentence."""
    return f"divide the time by {UNITS[unit]:,.0f}, or import the log again with the time unit {unit}"


def _episodes(numbers: list[int]) -> str:
    return f"episode {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} episodes ({shown(numbers).strip('[]')})"
