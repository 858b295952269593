"""How values are spread: overlaid distributions, one row per joint, and clouds with their limits."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surefoot.report.charts.frame import Key, frame, header, x_axis_text
from surefoot.report.charts.lines import ROBOT
from surefoot.report.charts.svg import (
    PANEL,
    WIDE,
    Scale,
    fit,
    limits,
    line,
    no_data,
    number,
    numbers,
    path,
    px,
    svg,
    text,
    width_px,
)

BIN_PX = 6.0
TAIL = 0.001  # share of the samples that may lie beyond each end: one spike would make the rest a needle
MOST_DOTS = 3000
ROW = 1e6  # squares in a row of the thinning grid, more than any figure has


@dataclass(frozen=True, eq=False)
class Sample:
    """Values of one side; the first of several is filled, the others are outlines with their own line style."""

    label: str
    values: ArrayLike
    look: int = ROBOT


def distributions(
    samples: Sequence[Sample],
    x_label: str,
    *,
    title: str = "",
    marks: Sequence[tuple[float, str]] = (),
    width: int = PANEL,
    height: int = 110,
) -> str:
    """Two or three samples of one quantity over each other: the share of each in every bin."""
    values = [numbers(s.values) for s in samples]
    extent = _extent(values)
    if extent is None:
        return no_data(width, height, title)
    bins = int((width - 40) / BIN_PX)
    shares = [100 * _shares(v, extent, bins) for v in values]
    top = max(float(s.max()) for s in shares)
    keys = [Key(s.label, s.look, "line" if i else "fill") for i, s in enumerate(samples)]
    plot = frame(extent, (0.0, 1.08 * top), x_label, "share, %", title=title, keys=keys, width=width, height=height)
    centres = plot.x(_centres(extent, bins))
    parts = list(plot.parts)
    for i, (sample, share) in enumerate(zip(samples, shares, strict=True)):
        parts.append(_outline(centres, plot.y(share), plot.bottom, sample.look, filled=not i))
    for value, label in marks:
        if extent[0] <= value <= extent[1]:
            x = plot.x.at(value)
            parts += [line(x, plot.top, x, plot.bottom, "l"), text(x + 3, plot.top + 9, label, "m w")]
    told = "; ".join(f"{s.label or 'values'}: {_summary(v)}" for s, v in zip(samples, values, strict=True))
    return svg(width, plot.height, f"Distribution of {title or x_label}, {x_label}: {told}", parts)


def ridges(
    rows: Sequence[tuple[str, Sequence[Sample]]],
    x_label: str,
    *,
    marks: Sequence[float] | None = None,
    mark_label: str = "",
    width: int = WIDE,
    row_px: int = 30,
) -> str:
    """One distribution per row on a common axis, each as tall as its own peak; `marks` sets a diamond in each row."""
    values = [[numbers(s.values) for s in samples] for _, samples in rows]
    extent = _extent([v for row in values for v in row])
    if extent is None:
        return no_data(width, 80, x_label)
    keys: dict[str, Key] = {}
    for _, samples in rows:
        for i, s in enumerate(samples):
            keys.setdefault(s.label, Key(s.label, s.look, "line" if i else "fill"))
    if marks is not None and mark_label:
        keys[mark_label] = Key(mark_label, 0, "mark")
        extent = limits(numbers(extent), numbers(marks), pad=0.0) or extent
    parts, top = header("", "", list(keys.values()), width)
    left = min(0.4 * width, 10 + max(width_px(name) for name, _ in rows))
    scale = Scale(*extent, left, width - 8)
    bottom = top + row_px * len(rows) + 8
    ticks = scale.ticks(max(2, int((width - left) / 70)))
    parts += [line(scale.at(value), top, scale.at(value), bottom, "g") for value, _ in ticks]
    below, last = x_axis_text(scale, ticks, x_label, bottom + 14, width)
    bins = max(24, int((width - left) / BIN_PX))
    centres = scale(_centres(extent, bins))
    for place, ((name, samples), row) in enumerate(zip(rows, values, strict=True)):
        base = top + row_px * (place + 1) + 4
        shares = [_shares(v, extent, bins) for v in row]
        peak = max((float(s.max()) for s in shares), default=0.0)
        parts += [text(left - 8, base - 4, fit(name, left - 8), "e"), line(left, base, width - 8, base, "g")]
        if not peak:
            parts.append(text(left + 6, base - 4, "no data", "m"))
            continue
        for i, (sample, share) in enumerate(zip(samples, shares, strict=True)):
            parts.append(_outline(centres, base - (row_px - 5) * share / peak, base, sample.look, filled=not i))
        if marks is not None and np.isfinite(marks[place]):
            x = scale.at(marks[place])
            parts.append(f'<path d="M{px(x)} {px(base - 4)}l4 4-4 4-4-4z" class="r"/>')
    parts += below
    told = "; ".join(f"{name}: {_summary(row[0])}" for (name, _), row in zip(rows, values, strict=True) if row)
    return svg(width, last + 5, f"Distributions of {x_label}. {told}", parts)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one side; `cross` draws plus signs, to be told from dots without colour."""

    label: str
    x: ArrayLike
    y: ArrayLike
    look: int = ROBOT
    cross: bool = False


def scatter(
    clouds: Sequence[Cloud],
    x_label: str,
    y_label: str,
    *,
    title: str = "",
    polygon: ArrayLike | None = None,
    polygon_label: str = "limit",
    dot_px: float = 2.5,
    width: int = PANEL,
    height: int = 200,
) -> str:
    """Clouds, thinned to one dot in each small square (darker where more fell into it), with a limit polygon (n, 2)."""
    points = [(numbers(c.x), numbers(c.y)) for c in clouds]
    points = [(x[np.isfinite(x) & np.isfinite(y)], y[np.isfinite(x) & np.isfinite(y)]) for x, y in points]
    corners = np.zeros((0, 2)) if polygon is None else np.asarray(polygon, dtype=np.float64).reshape(-1, 2)
    corners = corners[
        (np.abs(corners) < 1e9).all(axis=1)
    ]  # a robot without a limit says infinity or a very large number
    x_range = limits(*(x for x, _ in points), corners[:, 0])
    y_range = limits(*(y for _, y in points), corners[:, 1])
    if x_range is None or y_range is None or not any(len(x) for x, _ in points):
        return no_data(width, height, " ".join(filter(None, (title, y_label))))
    keys = [Key(c.label, c.look, "cross" if c.cross else "dot") for c in clouds]
    if len(corners) and polygon_label:
        keys.append(Key(polygon_label, 3))
    plot = frame(x_range, y_range, x_label, y_label, title=title, keys=keys, width=width, height=height)
    parts = list(plot.parts)
    if len(corners):
        around = np.vstack([corners, corners[:1]])
        parts.append(f'<path d="{path(plot.x(around[:, 0]), plot.y(around[:, 1]))}" class="k3"/>')
    for cloud, (x, y) in zip(clouds, points, strict=True):
        parts += _dots(plot.x(x), plot.y(y), cloud, dot_px)
    counts = ", ".join(f"{c.label or 'points'}: {len(x)} points" for c, (x, _) in zip(clouds, points, strict=True))
    return svg(width, plot.height, f"{title} {y_label} against {x_label}. {counts}".strip(), parts)


def _dots(x_px: np.ndarray, y_px: np.ndarray, cloud: Cloud, dot_px: float) -> list[str]:
    """One dot for each occupied square of a grid that is coarse enough; three shades by how many points it
    stands for.
    """
    cell = dot_px * 0.8
    while True:
        keys, counts = np.unique(np.round(x_px / cell) * ROW + np.round(y_px / cell), return_counts=True)
        if len(keys) <= MOST_DOTS:
            break
        cell *= 1.25
    columns, rows = np.divmod(keys, ROW)
    middle, most = np.quantile(counts, [0.5, 0.9]) if len(counts) else (1, 1)
    parts = []
    arm = max(2.0, dot_px)
    for shade, chosen in enumerate((counts <= middle, (counts > middle) & (counts <= most), counts > most)):
        if chosen.any():
            mark = f"h{px(2 * arm)}m{px(-arm)} {px(-arm)}v{px(2 * arm)}" if cloud.cross else "h0"
            shift = arm if cloud.cross else 0.0
            d = "".join(
                f"M{px(x * cell - shift)} {px(y * cell)}{mark}"
                for x, y in zip(columns[chosen], rows[chosen], strict=True)
            )
            drawn = (
                f'class="k{cloud.look} o"'
                if cloud.cross
                else f'class="k{cloud.look} q{shade}" style="stroke-width:{px(2 * dot_px)}px"'
            )
            parts.append(f'<path d="{d}" {drawn}/>')
    return parts


def _extent(values: Sequence[np.ndarray]) -> tuple[float, float] | None:
    """The range worth drawing: of each sample all but its thin tails."""
    ends = [np.quantile(v[np.isfinite(v)], [TAIL, 1 - TAIL]) for v in values if np.isfinite(v).any()]
    return limits(*ends, pad=0.06)


def _centres(extent: tuple[float, float], bins: int) -> np.ndarray:
    edges = np.linspace(*extent, bins + 1)
    return (edges[1:] + edges[:-1]) / 2


def _shares(values: np.ndarray, extent: tuple[float, float], bins: int) -> np.ndarray:
    """Share of the values in each bin, smoothed over five bins: neighbouring bins differ by chance."""
    finite = values[np.isfinite(values)]
    counts = np.histogram(finite, bins, extent)[0] / max(len(finite), 1)
    return np.convolve(counts, np.array([1, 4, 6, 4, 1]) / 16, mode="same")


def _outline(x_px: np.ndarray, y_px: np.ndarray, base_px: float, look: int, filled: bool) -> str:
    away = np.flatnonzero(np.abs(y_px - base_px) > 0.05)  # the flat ends say nothing
    if not len(away):
        return ""
    part = slice(max(0, away[0] - 1), min(len(x_px), away[-1] + 2))
    d = path(x_px[part], y_px[part])
    closed = path(np.r_[x_px[part][0], x_px[part], x_px[part][-1]], np.r_[base_px, y_px[part], base_px])
    return (
        f'<path d="{closed}z" class="f{look}"/><path d="{d}" class="k{look}"/>'
        if filled
        else f'<path d="{d}" class="k{look}"/>'
    )


def _summary(values: np.ndarray) -> str:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return "no data"
    low, middle, high = np.quantile(finite, [0.05, 0.5, 0.95])
    return f"median {number(middle)}, 90 % between {number(low)} and {number(high)}"
