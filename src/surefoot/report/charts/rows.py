"""One thing per row, names at the left: parameters with intervals, bars, and the timeline of a log."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.report.charts.frame import Key, header, x_axis_text
from surefoot.report.charts.lines import ROBOT
from surefoot.report.charts.svg import (
    WIDE,
    Scale,
    diamond,
    fit,
    hatch,
    limits,
    line,
    no_data,
    number,
    numbers,
    px,
    rect,
    svg,
    text,
    width_px,
)

MOST_EPISODES = 120


@dataclass(frozen=True)
class Interval:
    """A parameter as it was found: value with interval, the bounds it was searched in, and what is known about it."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    prior: tuple[float, float] | None = None
    reference: float | None = None  # nominal or true value
    at_bound: bool = False
    identifiable: bool = True
    flag: str = ""  # the words at the right, instead of those that the two above give


def intervals(
    rows: Sequence[Interval],
    x_label: str,
    *,
    title: str = "",
    reference_label: str = "reference",
    from_zero: bool = False,
    x_range: tuple[float, float] | None = None,
    legend: bool = True,
    width: int = WIDE,
    row_px: int = 24,
) -> str:
    """Dot and bar for each parameter of one unit; bounds as a pale bar, the reference as a diamond, flags in words.

    An interval that reaches beyond its bounds, or beyond `x_range`, is cut there and ends in an arrow.
    """
    if not rows:
        return no_data(width, 80, title)
    everything = [
        v
        for r in rows
        for v in (r.value, *_inside(r), *(r.prior or ()), math.nan if r.reference is None else r.reference)
    ]
    extent = (
        limits(numbers([*everything, 0.0] if from_zero else everything), pad=0.04)
        if np.isfinite(numbers(everything)).any()
        else None
    )
    if extent is None:
        return no_data(width, 80, title)
    extent = x_range or extent
    flags = [r.flag or ("▲ at bound" if r.at_bound else "" if r.identifiable else "? not seen") for r in rows]
    keys = interval_keys(rows, reference_label) if legend else ()
    right = max(82.0, 12 + max(map(width_px, flags)))
    plot = _row_frame([r.name for r in rows], extent, x_label, title, keys, width, row_px, right)
    parts = plot.parts
    for i, r in enumerate(rows):
        y = plot.top + row_px * (i + 0.5)
        if r.prior is not None and np.isfinite(r.prior).all():
            x1, x2 = plot.scale.at(r.prior[0]), plot.scale.at(r.prior[1])
            parts.append(
                rect(x1, y - 6, x2 - x1, 12, "b3", tip=f"searched from {number(r.prior[0])} to {number(r.prior[1])}")
            )
        if np.isfinite([r.low, r.high]).all():
            low, high = np.clip(_inside(r), *extent)
            x1, x2 = plot.scale.at(low), plot.scale.at(high)
            look = "k0 i" if r.identifiable else "k3 i"
            parts += [
                line(x1, y, x2, y, look),
                _end(x1, y, look, 5.0 * (low > r.low)),
                _end(x2, y, look, -5.0 * (high < r.high)),
            ]
        if r.reference is not None and math.isfinite(r.reference):
            parts.append(diamond(plot.scale.at(r.reference), y))
        if math.isfinite(r.value):
            shape = "d0" if r.identifiable else "x"
            parts.append(f'<circle cx="{px(plot.scale.at(r.value))}" cy="{px(y)}" r="4" class="{shape}"/>')
        parts.append(text(width - 2, y + 4, flags[i] or number(r.value), "e z" if flags[i] else "e m"))
    told = "; ".join(
        f"{r.name} {number(r.value)} ({number(r.low)} to {number(r.high)}){', at its bound' if r.at_bound else ''}"
        for r in rows
    )
    return svg(width, plot.height, f"{title or 'Parameters'}, {x_label}: {told}", parts)


def interval_keys(rows: Sequence[Interval], reference_label: str) -> list[Key]:
    """The legend of intervals, for the figure itself or for several under one."""
    keys = [Key("value and interval", ROBOT, "dot")]
    keys += [Key(reference_label, 0, "mark")] if any(r.reference is not None for r in rows) else []
    return keys + ([Key("search bounds", 3, "fill")] if any(r.prior for r in rows) else [])


def _inside(r: Interval) -> tuple[float, float]:
    """The part of an interval that lies within the bounds of the search."""
    if r.prior is None or not np.isfinite(r.prior).all():
        return r.low, r.high
    low, high = np.clip((r.low, r.high), *r.prior)
    return float(low), float(high)


def _end(x: float, y: float, look: str, cut: float) -> str:
    """The end of an interval: a bar across, or where it was cut an arrow that says that it goes on."""
    return f'<path d="M{px(x + cut)} {px(y - 4)}L{px(x)} {px(y)}L{px(x + cut)} {px(y + 4)}" class="{look}"/>'


@dataclass(frozen=True)
class Bar:
    """A bar from zero, with an interval where one is known."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    look: int = ROBOT


def bars(
    rows: Sequence[Bar],
    x_label: str,
    *,
    title: str = "",
    keys: Sequence[tuple[str, int]] = (),
    floor: float | None = None,
    floor_label: str = "floor",
    above: bool = False,
    width: int = WIDE,
    row_px: int = 22,
) -> str:
    """Horizontal bars with intervals and an optional floor line; `keys` names the looks, `above` puts long
    names over their bars.
    """
    extent = limits(
        numbers([v for r in rows for v in (r.value, r.low, r.high)] + [0.0] + ([] if floor is None else [floor])),
        pad=0.0,
    )
    if extent is None or not any(math.isfinite(r.value) for r in rows):
        return no_data(width, 80, title)
    extent = (extent[0] * 1.05, extent[1] * 1.05)
    legend = [Key(label, look, "fill") for label, look in keys]
    row_px += 12 if above else 0
    plot = _row_frame(["" if above else r.name for r in rows], extent, x_label, title, legend, width, row_px, right=58)
    parts = plot.parts
    zero = plot.scale.at(0.0)
    for i, r in enumerate(rows):
        y = plot.top + row_px * (i + 0.5) + (7 if above else 0)
        if above:
            parts.append(text(plot.scale.start_px, y - 10, fit(r.name, width - plot.scale.start_px), "w"))
        if math.isfinite(r.value):
            x = plot.scale.at(r.value)
            parts += [
                rect(min(zero, x), y - 6, abs(x - zero), 12, f"f{r.look}"),
                line(x, y - 6, x, y + 6, f"k{r.look} i"),
            ]
        if np.isfinite([r.low, r.high]).all():
            x1, x2 = plot.scale.at(r.low), plot.scale.at(r.high)
            parts += [line(x1, y, x2, y, "a"), line(x1, y - 3, x1, y + 3, "a"), line(x2, y - 3, x2, y + 3, "a")]
        parts.append(text(width - 2, y + 4, number(r.value), "e m"))
    if floor is not None and math.isfinite(floor):
        x = plot.scale.at(floor)
        parts += [
            line(x, plot.top - 4, x, plot.bottom, "l"),
            text(x + 4, plot.top - 5, f"{floor_label} {number(floor)}", "m w"),
        ]
    told = "; ".join(
        f"{r.name} {number(r.value)}" + (f" ({number(r.low)} to {number(r.high)})" if math.isfinite(r.low) else "")
        for r in rows
    )
    return svg(width, plot.height, f"{title or 'Bars'}, {x_label}: {told}", parts)


@dataclass(frozen=True)
class Piece:
    """A part of an episode: used, or cut for a reason."""

    start: float
    end: float
    reason: str = ""  # empty: used


def timeline(rows: Sequence[tuple[str, Sequence[Piece]]], x_label: str, *, title: str = "", width: int = WIDE) -> str:
    """Episodes under each other: used parts filled, cut parts hatched, each with its reason under the mouse."""
    total = len(rows)
    if total > MOST_EPISODES:  # the ones with something to see, in their order
        cut = sorted(range(total), key=lambda i: (not any(p.reason for p in rows[i][1]), i))
        rows = [rows[i] for i in sorted(cut[:MOST_EPISODES])]
    extent = limits(numbers([v for _, pieces in rows for p in pieces for v in (p.start, p.end)]), pad=0.0)
    if extent is None:
        return no_data(width, 80, title)
    row_px = 22 if len(rows) <= 16 else 14 if len(rows) <= 48 else 9
    any_cut = any(p.reason for _, pieces in rows for p in pieces)
    keys = [Key("used", ROBOT, "fill"), *([Key("cut", 0, "hatch")] if any_cut else [])]
    stride = 1 if row_px >= 14 else 2
    names = [name if i % stride == 0 else "" for i, (name, _) in enumerate(rows)]
    heading = title if total == len(rows) else f"{title} {len(rows)} of {total} episodes, those with cuts first".strip()
    plot = _row_frame(names, extent, x_label, heading, keys, width, row_px, right=8)
    parts = plot.parts
    for i, (name, pieces) in enumerate(rows):
        y, h = plot.top + row_px * i + 1.5, row_px - 3
        for p in pieces:
            if not np.isfinite([p.start, p.end]).all():
                continue
            x1, x2 = plot.scale.at(p.start), plot.scale.at(p.end)
            seconds = f"{name}, {number(p.start)} to {number(p.end)} s"
            if not p.reason:
                parts.append(rect(x1, y, x2 - x1, h, "f0 y"))
                continue
            x2 = max(x2, x1 + 2)
            parts += [rect(x1, y, x2 - x1, h, "s", tip=f"{seconds}: {p.reason}"), hatch(x1, y, x2 - x1, h, 5)]
            if row_px >= 22 and width_px(p.reason) + 6 <= x2 - x1:
                parts.append(text((x1 + x2) / 2, y + h / 2 + 4, p.reason, "c w"))
    n_cut = sum(1 for _, pieces in rows for p in pieces if p.reason)
    return svg(width, plot.height, f"{title or 'Timeline'}: {total} episodes, {n_cut} cut parts", parts)


@dataclass(frozen=True)
class _Rows:
    scale: Scale
    top: float
    bottom: float
    height: float
    parts: list[str]


def _row_frame(
    names: Sequence[str],
    extent: tuple[float, float],
    x_label: str,
    title: str,
    keys: Sequence[Key],
    width: int,
    row_px: int,
    right: float,
) -> _Rows:
    parts, top = header(title, "", keys, width)
    top += 8
    left = min(0.4 * width, 12 + max(map(width_px, names), default=0.0))
    scale = Scale(*extent, left, width - right)
    bottom = top + row_px * len(names) + 2
    ticks = scale.ticks(max(2, int((width - left - right) / 70)))
    parts += [line(scale.at(value), top, scale.at(value), bottom, "g") for value, _ in ticks]
    below, row = x_axis_text(scale, ticks, x_label, bottom + 14, width)
    classes = "e j" if row_px < 14 else "e"
    for i, name in enumerate(names):
        parts.append(text(left - 8, top + row_px * (i + 0.5) + 4, fit(name, left - 8), classes))
    return _Rows(scale, top, bottom, row + 5, parts + below)
