"""Which column is the time, in which unit, and how several tables of one recording agree on it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surefoot.errors import LogError, nearest
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.recording import TIMES, Clock
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.vocabulary import NANOSECONDS, SECONDS, is_clock, unit_of_clock, words_in_order

PLAUSIBLE_HZ = (5.0, 5000.0)  # of a log; a factor of 1000 apart, so that only one unit of time can be right


def find_clock(table: Table, map_file: MapFile) -> Clock:
    """The time of a table: as the map file says, or by the name of a column."""
    if map_file.rate_hz is not None:
        return Clock(None, (), np.arange(table.rows) / map_file.rate_hz, 0, "s")
    if map_file.time is not None:
        name, unit = map_file.time.sources[0], map_file.time.unit
        if name not in table.columns:
            raise LogError(
                f"{map_file.name}: time is {name!r}, but there is no such column{nearest(name, table.columns)}"
            )
        return _clock(table, name, (name,), map_file.time_unit or unit)
    pairs = _pairs(table)
    paired = {column for pair in pairs for column in pair}
    singles = [(name,) for name in table.numbers if is_clock(name) and name not in paired]
    clocks = [_clock(table, " + ".join(columns), columns, map_file.time_unit) for columns in (*pairs, *singles)]
    running = [clock for clock in clocks if np.nanmax(np.abs(clock.ticks)) > 0] or clocks
    if not running or any(not _alike(running[0], clock) for clock in running[1:]):
        names = [str(clock.name) for clock in running]
        problem = f"{' and '.join(names)} could each be the time" if names else "no column is called time"
        raise LogError(
            f"{table.where}: {problem}; say which in the map file: 'time: COLUMN', or 'time: {{rate_hz: 50}}'"
            f" where none was recorded{_offered(table.columns)}",
            argument="map",
        )
    return running[0]


def common_unit(clocks: Sequence[Clock]) -> list[Clock]:
    """Clocks of one recording: where units are guesses, columns of one name have that of the longest table.

    A slow stream alone would mislead: one sample a second in microseconds looks like a kilohertz in nanoseconds.
    """
    agreed: dict[str | None, Clock] = {}
    for clock in clocks:
        known = agreed.get(clock.name)
        if known is None or (clock.said, len(clock.ticks)) > (known.said, len(known.ticks)):
            agreed[clock.name] = clock
    return [clock if clock.said else replace(clock, unit=agreed[clock.name].unit) for clock in clocks]


def _clock(table: Table, name: str, columns: tuple[str, ...], unit: str | None) -> Clock:
    raws = []
    for column in columns:
        raw = table.numbers.get(column)
        if raw is None or raw.ndim != 1 or not len(raw):
            raise LogError(f"{table.where}: the column {column!r} does not hold one time in each row")
        raws.append(raw)
    if len(raws) == 2:
        return _paired(table, name, columns, raws[0], raws[1])
    raw = raws[0].astype(np.int64) if raws[0].dtype.kind in "iu" else raws[0].astype(np.float64)
    finite = np.isfinite(raw)
    if not finite.any():
        raise LogError(f"{table.where}: the column {name!r} holds no times")
    origin = raw[finite][0].item()
    # subtracted before it is a float, which cannot hold nanoseconds since 1970
    ticks = (raw - origin).astype(np.float64)
    known = unit or unit_of_clock(name)
    return Clock(name, columns, ticks, origin, known or _unit_of(ticks[finite]), known is not None)


def _paired(table: Table, name: str, columns: tuple[str, ...], seconds: np.ndarray, nanos: np.ndarray) -> Clock:
    """Whole seconds and nanoseconds in two columns, as ROS stamps its messages."""
    known = np.isfinite(seconds) & np.isfinite(nanos) & (np.abs(seconds) < 4e9) & (np.abs(nanos) < 1e10)
    if not known.any():
        raise LogError(f"{table.where}: the columns {' and '.join(columns)} hold no times")
    whole = np.where(known, seconds, 0).astype(np.int64) * 10**9 + np.where(known, nanos, 0).astype(np.int64)
    origin = int(whole[known][0])
    return Clock(name, columns, np.where(known, (whole - origin).astype(np.float64), np.nan), origin, "ns")


def _pairs(table: Table) -> list[tuple[str, str]]:
    """Columns of seconds, each with the nanoseconds of the same stamp."""
    found = []
    ends = {words_in_order(name): name for name in table.numbers if words_in_order(name)}
    for said, name in ends.items():
        if said[-1] in SECONDS:
            others = [ends[(*said[:-1], word)] for word in NANOSECONDS if (*said[:-1], word) in ends]
            if others:
                found.append((name, others[0]))
    return found


def _alike(one: Clock, other: Clock) -> bool:
    """Whether two clocks tell the same time: they differ by less than half a row."""
    a, b = one.time_s, other.time_s
    steps = np.diff(a)
    steps = steps[steps > 0]
    with np.errstate(invalid="ignore"):
        return bool(len(steps)) and bool(np.nanmax(np.abs(a - b)) < 0.5 * np.median(steps))


def _unit_of(ticks: np.ndarray) -> str:
    """The unit in which the rows come at a rate that a robot's log can have; seconds where no unit does that."""
    steps = np.diff(ticks)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    for unit, factor in TIMES.items():
        if typical > 0 and PLAUSIBLE_HZ[0] < 1 / (typical * factor) <= PLAUSIBLE_HZ[1]:
            return unit
    return "s"


def stamps_of(table: Table) -> set[str]:
    """All columns that are called a time, and the parts of stamps."""
    return {name for name in table.numbers if is_clock(name)} | {name for pair in _pairs(table) for name in pair}


def has_clock(table: Table) -> bool:
    """Whether some columns of a table are called a time."""
    return bool(stamps_of(table))


def _offered(columns: tuple[str, ...]) -> str:
    return f" (columns: {', '.join(columns[:8])}{', ...' if len(columns) > 8 else ''})"
