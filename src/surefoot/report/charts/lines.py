"""Lines over time or over iterations: several series, bands, marked spans and levels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surefoot.report.charts.frame import Frame, Key, frame
from surefoot.report.charts.svg import (
    WIDE,
    fit,
    hatch,
    limits,
    line,
    no_data,
    number,
    numbers,
    path,
    px,
    rect,
    svg,
    text,
    thinned,
    width_px,
)

DOT_PX = 3.5
ROBOT, SIMULATOR, ADAPTED, TARGET, FOURTH, FIFTH = range(6)  # looks: each has a colour and a line style of its own


@dataclass(frozen=True, eq=False)
class Series:
    """A line: `x` and `y` of the same length, NaN where it breaks; `low` and `high` draw a band around it.

    With `dots` each point is a measurement of its own: it gets a dot, and whiskers instead of the band.
    """

    label: str  # empty: not in the legend
    x: ArrayLike
    y: ArrayLike
    look: int = ROBOT
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    dots: bool = False


@dataclass(frozen=True)
class Shade:
    """A marked part of the x axis, with the reason; hatched ones are taken out, plain ones pointed at."""

    start: float
    end: float
    reason: str = ""
    hatched: bool = False


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name; one that is not `kept` is left out where the data do not come near."""

    value: float
    label: str
    kept: bool = True


def line_chart(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    shades: Sequence[Shade] = (),
    levels: Sequence[Level] = (),
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    log_y: bool = False,
    width: int = WIDE,
    height: int = 180,
) -> str:
    """Lines of one quantity; long ones are thinned to the extremes of each pixel."""
    drawn = [(s, numbers(s.x), numbers(s.y)) for s in series]
    bands = [
        (s, numbers(s.x), numbers(s.low), numbers(s.high)) for s in series if s.low is not None and s.high is not None
    ]
    levels = [level for level in levels if np.isfinite(level.value)]
    if log_y:  # zero and below have no logarithm
        drawn = [(s, x, np.where(y > 0, y, np.nan)) for s, x, y in drawn]
        levels = [level for level in levels if level.value > 0]
    seen = [y[np.isfinite(x)] for _, x, y in drawn]
    x_range = x_range or limits(*(x[np.isfinite(y)] for _, x, y in drawn), pad=0.0)
    data_range = limits(*seen, *(edge for _, _, low, high in bands for edge in (low, high)))
    if x_range is None or data_range is None or not x_range[0] < x_range[1]:
        return no_data(width, height, " ".join(filter(None, (title, y_label))))
    y_range = y_range or _y_range(data_range, seen, bands, levels, log_y)
    keys = [Key(s.label, s.look) for s, _, _ in drawn]
    plot = frame(x_range, y_range, x_label, y_label, title=title, keys=keys, width=width, height=height, log_y=log_y)
    marked, reasons = _shades(plot, shades)
    parts = [*marked, *plot.parts]
    for s, x, low, high in bands:
        around = np.flatnonzero(np.isfinite(x) & np.isfinite(low) & np.isfinite(high))
        if s.dots:
            parts += [
                line(plot.x.at(x[k]), plot.y.at(low[k]), plot.x.at(x[k]), plot.y.at(high[k]), f"k{s.look} o")
                for k in around
            ]
        elif len(around) > 1:
            (x1, y1), (x2, y2) = thinned(x[around], low[around], width / 2), thinned(x[around], high[around], width / 2)
            outline = path(plot.x(np.concatenate([x1, x2[::-1]])), plot.y(np.concatenate([y1, y2[::-1]])))
            parts.append(f'<path d="{outline}z" class="b{s.look}"/>')
    for s, x, y in drawn:
        x, y = thinned(x, np.where(np.isfinite(x), y, np.nan), plot.right - plot.left)
        parts.append(f'<path d="{path(plot.x(x), plot.y(y))}" class="k{s.look}"/>')
        if s.dots:
            there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
            parts += [
                f'<circle cx="{px(plot.x.at(x[k]))}" cy="{px(plot.y.at(y[k]))}" r="{DOT_PX}" class="d{s.look}"/>'
                for k in there
            ]
    parts += [*reasons, *_levels(plot, levels)]
    return svg(width, plot.height, _told(title, y_label, x_label, drawn), parts)


def convergence(
    x: ArrayLike,
    y: ArrayLike,
    floor: float | None,
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    floor_label: str = "floor",
    width: int = WIDE,
    height: int = 200,
) -> str:
    """A cost that falls, on a logarithmic axis, with the floor that no search can get below."""
    levels = [] if floor is None else [Level(floor, f"{floor_label} {number(floor)}")]
    return line_chart(
        [Series("", x, y)], x_label, y_label, title=title, levels=levels, log_y=True, width=width, height=height
    )


def _y_range(
    data: tuple[float, float],
    seen: Sequence[np.ndarray],
    bands: Sequence[tuple[Series, np.ndarray, np.ndarray, np.ndarray]],
    levels: Sequence[Level],
    log_y: bool,
) -> tuple[float, float]:
    kept = numbers([level.value for level in levels if level.kept or data[0] <= level.value <= data[1]])
    if not log_y:
        return limits(numbers(data), kept, pad=0.05 if len(kept) else 0.0) or data
    everything = np.concatenate([*seen, *(edge for _, _, low, high in bands for edge in (low, high)), kept])
    everything = everything[np.isfinite(everything) & (everything > 1e-100)]
    low, high = (float(everything.min()), float(everything.max())) if len(everything) else (0.1, 1.0)
    return low / 1.3, high * 1.3


def _shades(plot: Frame, shades: Sequence[Shade]) -> tuple[list[str], list[str]]:
    """The marked parts, which go below the lines, and their reasons, which go above them."""
    parts: list[str] = []
    reasons: list[str] = []
    free = plot.left
    for shade in sorted((s for s in shades if np.isfinite([s.start, s.end]).all()), key=lambda s: s.start):
        if shade.end < plot.x.low or shade.start > plot.x.high:
            continue
        x1, x2 = plot.x.at(shade.start), plot.x.at(shade.end)
        x1, x2 = (x1, x2) if x2 - x1 >= 2 else ((x1 + x2) / 2 - 1, (x1 + x2) / 2 + 1)  # a single row must be seen too
        parts.append(
            rect(x1, plot.top, x2 - x1, plot.bottom - plot.top, "s" if shade.hatched else "p", tip=shade.reason)
        )
        if shade.hatched:
            parts.append(hatch(x1, plot.top, x2 - x1, plot.bottom - plot.top))
        start = max(x1 + 3, free)
        room = max(x2, plot.right) - start
        if shade.reason and width_px(shade.reason) <= room:
            reasons.append(text(start, plot.top + 11, shade.reason, "m w"))
            free = start + width_px(shade.reason) + 6
        elif shade.reason and room > 40 and x2 - x1 > 40:
            reasons.append(text(start, plot.top + 11, fit(shade.reason, room), "m w"))
            free = plot.right
    return parts, reasons


def _levels(plot: Frame, levels: Sequence[Level]) -> list[str]:
    parts = []
    for level in levels:
        if plot.y.low <= level.value <= plot.y.high:
            y = plot.y.at(level.value)
            above = y - 4 if y - 4 > plot.top + 9 else y + 12
            parts += [line(plot.left, y, plot.right, y, "l"), text(plot.right - 2, above, level.label, "e m w")]
    return parts


def _told(title: str, y_label: str, x_label: str, drawn: Sequence[tuple[Series, np.ndarray, np.ndarray]]) -> str:
    ranges = []
    for s, _, y in drawn:
        if np.isfinite(y).any():
            ranges.append(f"{s.label or 'values'} from {number(np.nanmin(y))} to {number(np.nanmax(y))}")
    return f"{' '.join(filter(None, (title, y_label)))} over {x_label}: {', '.join(ranges)}"
