"""Time that was recorded in milliseconds, microseconds or nanoseconds instead of seconds."""

from dataclasses import replace

import numpy as np

from surefoot.logs.robot_log import RobotLog

UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # numbers per second
FAR = 20.0  # control periods between two rows: a log in seconds is never this slow
SLOWEST, FASTEST_HZ = 0.2, 5_000.0  # of the control rate, and at most: rates that a robot is logged at


def unit_of_time(log: RobotLog, control_dt_s: float) -> str | None:
    """The unit that the time stamps are in, if that is not seconds, for a robot with this control period."""
    with np.errstate(invalid="ignore"):  # infinite times
        step = np.diff(log.time_s)[np.diff(log.episode) == 0]
    step = step[np.isfinite(step) & (step > 0)]
    typical = float(np.median(step)) if len(step) else 0.0
    if typical <= FAR * control_dt_s:
        return None
    fastest_hz = max(FASTEST_HZ, 2 / control_dt_s)
    return next(
        (unit for unit, factor in UNITS.items() if SLOWEST / control_dt_s <= factor / typical <= fastest_hz), None
    )


def in_seconds(log: RobotLog, control_dt_s: float) -> RobotLog:
    """The log with its time in seconds."""
    unit = unit_of_time(log, control_dt_s)
    return log if unit is None else replace(log, time_s=log.time_s / UNITS[unit])


def about_unit(unit: str) -> str:
    """What is wrong with the time, for a sentence."""
    return f"time is in {unit}, not in seconds: its numbers are {UNITS[unit]:,.0f} times too large"


def way_out(unit: str) -> str:
    """How to correct it, for a sentence."""
    return (
        f"divide the time by {UNITS[unit]:,.0f}: 'surefoot log import LOG --time-unit {unit} --out fixed.parquet'"
        " does it"
    )
