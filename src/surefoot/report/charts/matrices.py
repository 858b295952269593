"""Values in cells: heat maps with a floor, and correlations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from surefoot.report.charts.frame import Key, header
from surefoot.report.charts.lines import ROBOT, SIMULATOR
from surefoot.report.charts.rows import Bar, bars
from surefoot.report.charts.svg import LINE_PX, WIDE, escape, fit, hatch, no_data, number, px, rect, svg, text, width_px

STRONGEST_PAIRS = 12
STRONGEST = 0.85  # opacity of the largest value: the figure in the cell stays readable on it
CELL_PX = 96
NAME_PX = 200  # of the longest name under a column


def heat_map(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    *,
    title: str = "",
    floor: ArrayLike | None = None,
    floor_label: str = "within the floor",
    highest: float | None = None,
    digits: int = 2,
    width: int = WIDE,
    row_px: int = 26,
) -> str:
    """A value in each cell, the stronger the larger; cells at or below the floor are hatched and stay pale.

    `floor` is one number, or one for each cell. `highest` fixes the value of the strongest colour, so that
    several maps compare.
    """
    cells = np.array(values, dtype=np.float64).reshape(len(rows), len(columns))
    if not cells.size:
        return no_data(width, 80, title or label)
    below = (
        np.zeros(cells.shape, dtype=bool)
        if floor is None
        else cells <= np.broadcast_to(np.asarray(floor, dtype=np.float64), cells.shape)
    )
    finite = np.abs(cells[np.isfinite(cells)])
    top = float(finite.max()) if highest is None and len(finite) else (highest or 1.0)
    left = min(0.4 * width, 10 + max(map(width_px, rows)))
    cell = min(CELL_PX, (width - left - 1) / len(columns))
    tilted = any(width_px(name) > cell - 4 for name in columns)
    if tilted:  # the last name leans out to the right
        cell = min(CELL_PX, (width - left - 0.64 * width_px(fit(columns[-1], 90))) / len(columns))
    width = round(
        left + cell * len(columns) + (max(1.0, 0.64 * width_px(fit(columns[-1], 90)) - cell / 2 + 6) if tilted else 1.0)
    )
    keys = [Key(floor_label, 0, "hatch")] if floor is not None and below.any() else []
    parts, y = header(title, label, keys, max(width, 180))
    y += _columns(parts, columns, left, cell, y, tilted)
    for i, name in enumerate(rows):
        parts.append(text(left - 6, y + row_px / 2 + 4, fit(name, left - 6), "e"))
        for j in range(len(columns)):
            x, value = left + j * cell, cells[i, j]
            if not np.isfinite(value):
                parts += [
                    rect(x + 1, y + 1, cell - 2, row_px - 2, "n"),
                    text(x + cell / 2, y + row_px / 2 + 4, number(value), "c m"),
                ]
                continue
            strength = STRONGEST * min(1.0, abs(value) / top) if top else 0.0
            sign = "v" if value < 0 else "u"
            parts.append(
                rect(
                    x + 1,
                    y + 1,
                    cell - 2,
                    row_px - 2,
                    sign,
                    more=f' fill-opacity="{0.3 * strength if below[i, j] else strength:.2f}"',
                )
            )
            if below[i, j]:
                parts.append(hatch(x + 1, y + 1, cell - 2, row_px - 2))
            shown = number(value, digits)
            if width_px(shown) <= cell - 2:
                parts.append(text(x + cell / 2, y + row_px / 2 + 4, shown, "c w m" if below[i, j] else "c"))
        y += row_px
    strongest = divmod(int(np.abs(np.where(np.isfinite(cells), cells, 0)).argmax()), len(columns))
    told = (
        f"{title or label}: largest {number(cells[strongest])} at {rows[strongest[0]]}, {columns[strongest[1]]};"
        f" {int(below.sum())} of {cells.size} cells {floor_label}"
    )
    return svg(max(width, 180), y + 2, told, parts)


def correlation_matrix(values: ArrayLike, names: Sequence[str], *, title: str = "", width: int = WIDE) -> str:
    """The lower triangle: squares are positive, circles negative, and the larger the stronger; no colour is
    needed to read it.
    """
    matrix = np.array(values, dtype=np.float64).reshape(len(names), len(names))
    n = len(names) - 1
    if n < 1:
        return no_data(width, 80, title, "nothing to correlate")
    left = min(0.4 * width, 10 + max(map(width_px, names)))
    cell = min(40.0, (width - left - 24) / n)
    if cell < 13:  # no name would fit beside its row
        return _strongest(matrix, names, title, width)
    width = round(max(left + cell * n + 60, 260))
    parts, y = header(title, "squares positive, circles negative, full size ±1", (), width)
    for i in range(1, n + 1):
        parts.append(text(left - 6, y + cell / 2 + 4, fit(names[i], left - 6), "e"))
        for j in range(i):
            value, cx, cy = matrix[i, j], left + (j + 0.5) * cell, y + cell / 2
            tip = f"{names[i]}, {names[j]}: {number(value, 2)}"
            parts.append(rect(cx - cell / 2 + 0.5, cy - cell / 2 + 0.5, cell - 1, cell - 1, "n", tip=tip))
            if np.isfinite(value):
                half = 0.5 * (cell - 3) * min(1.0, abs(value)) ** 0.5
                if value >= 0:
                    parts.append(
                        rect(
                            cx - half,
                            cy - half,
                            2 * half,
                            2 * half,
                            "u",
                            more=' fill-opacity="0.7" pointer-events="none"',
                        )
                    )
                else:
                    parts.append(
                        f'<circle cx="{px(cx)}" cy="{px(cy)}" r="{px(half)}" class="v" fill-opacity="0.7"'
                        ' pointer-events="none"/>'
                    )
            if cell >= 32 and abs(value) >= 0.3:
                parts.append(text(cx, cy + 4, number(value, 2), "c"))
        y += cell
    for j in range(n):  # below, where the triangle leaves no room for a misreading
        x = left + (j + 0.5) * cell
        name = fit(names[j], NAME_PX)
        parts.append(
            f'<text x="{px(x)}" y="{px(y + 8)}" transform="rotate(-50 {px(x)} {px(y + 8)})"'
            f' class="e">{escape(name)}</text>'
        )
    below = 0.77 * max(width_px(fit(name, NAME_PX)) for name in names[:n]) + 16
    lower = np.abs(np.where(np.isfinite(matrix), matrix, 0.0)) * np.tri(len(names), k=-1)
    i, j = divmod(int(lower.argmax()), len(names))
    told = (
        f"Correlations of {len(names)} parameters; strongest {number(matrix[i, j], 2)} between {names[i]} and"
        f" {names[j]}"
    )
    return svg(width, y + below, told, parts)


def _strongest(matrix: np.ndarray, names: Sequence[str], title: str, width: int) -> str:
    """The pairs that matter most, as bars, for a page too narrow for the triangle."""
    pairs = [(i, j) for i in range(len(names)) for j in range(i) if np.isfinite(matrix[i, j])]
    shown = sorted(pairs, key=lambda pair: -abs(matrix[pair]))[:STRONGEST_PAIRS]
    rows = [
        Bar(f"{names[i]}, {names[j]}", float(matrix[i, j]), look=SIMULATOR if matrix[i, j] < 0 else ROBOT)
        for i, j in shown
    ]
    heading = f"{title} {len(shown)} strongest of {len(pairs)} pairs".strip()
    return bars(rows, "correlation", title=heading, above=True, width=width)


def _columns(parts: list[str], names: Sequence[str], left: float, cell: float, y: float, tilted: bool) -> float:
    """Names over the columns, turned where they do not fit; the height they take."""
    if not tilted:
        parts += [text(left + (j + 0.5) * cell, y + 10, name, "c m") for j, name in enumerate(names)]
        return float(LINE_PX)
    height = 0.77 * max(width_px(fit(name, 90)) for name in names) + 12
    for j, name in enumerate(names):
        x = left + (j + 0.5) * cell
        parts.append(
            f'<text x="{px(x)}" y="{px(y + height - 6)}" transform="rotate(-50 {px(x)} {px(y + height - 6)})"'
            f' class="m">{escape(fit(name, 90))}</text>'
        )
    return height
