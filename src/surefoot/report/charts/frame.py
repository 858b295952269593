"""What stands around the data: title, legend, axes."""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.report.charts.svg import LINE_PX, Scale, diamond, escape, fit, hatch, line, px, rect, text, width_px


@dataclass(frozen=True)
class Key:
    """An entry of a legend: `kind` is line, fill, outline, dot, cross, hatch or mark."""

    label: str
    look: int
    kind: str = "line"


def swatch(key: Key, x: float, y: float) -> str:
    """The 18 px sample of a look, centred on the line `y`."""
    if key.kind == "fill":
        return rect(x, y - 5, 18, 10, f"f{key.look}") + line(x, y - 5, x + 18, y - 5, f"k{key.look}")
    if key.kind == "hatch":
        return rect(x, y - 5, 18, 10, "s") + hatch(x, y - 5, 18, 10, 5)
    if key.kind == "dot":
        return f'<circle cx="{px(x + 9)}" cy="{px(y)}" r="3.5" class="d{key.look}"/>'
    if key.kind == "cross":
        return f'<path d="M{px(x + 5)} {px(y)}h8m-4-4v8" class="k{key.look} o"/>'
    if key.kind == "mark":
        return diamond(x + 9, y)
    return line(x, y, x + 18, y, f"k{key.look}")


def header(title: str, y_label: str, keys: Sequence[Key], width: float) -> tuple[list[str], float]:
    """Title, quantity and legend in as few lines as they need, and the height they take."""
    parts, y = [], 0.0
    keys = [key for key in keys if key.label]
    named = " ".join(filter(None, (title, y_label)))
    keys_px = sum(18 + 5 + width_px(key.label) + 14 for key in keys)
    together = not title or not y_label or width_px(named) + 12 <= width
    alone = not keys or width_px(named) + 24 + keys_px <= width
    if title:
        y += LINE_PX
        both = f' <tspan class="m">{escape(y_label)}</tspan>' if y_label and together else ""
        parts.append(f'<text x="0" y="{px(y - 4)}" class="t">{escape(fit(title, width))}{both}</text>')
    if y_label and (not title or not together):
        y += LINE_PX
        parts.append(text(0, y - 4, fit(y_label, width), "m"))
    if keys:
        x = width - keys_px + 14 if alone and y else 0.0
        row = y if alone and y else y + LINE_PX
        for key in keys:
            label = fit(key.label, width - 24)
            needed = 18 + 5 + width_px(label)
            if x and x + needed > width + 1:
                x, row = 0.0, row + LINE_PX
            parts += [swatch(key, x, row - 8), text(x + 23, row - 4, label)]
            x += needed + 14
        y = row
    return parts, y + 6


@dataclass(frozen=True)
class Frame:
    """Where the data go: scales of both axes, and everything around them already drawn."""

    x: Scale
    y: Scale
    parts: list[str]
    height: float

    @property
    def left(self) -> float:
        """Left edge of the data, px."""
        return self.x.start_px

    @property
    def right(self) -> float:
        """Right edge of the data, px."""
        return self.x.end_px

    @property
    def top(self) -> float:
        """Upper edge of the data, px."""
        return self.y.end_px

    @property
    def bottom(self) -> float:
        """Lower edge of the data, px."""
        return self.y.start_px


def frame(
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    x_label: str,
    y_label: str,
    *,
    title: str,
    keys: Sequence[Key],
    width: float,
    height: float,
    log_y: bool = False,
) -> Frame:
    """Axes with ticks for a plot of `height` px, which the header and the axis label come on top of."""
    parts, top = header(title, y_label, keys, width)
    y_scale = Scale(*y_range, top + height, top, log=log_y)
    y_ticks = y_scale.ticks(max(2, int(height / 28)))
    left = 8 + max((width_px(label) for _, label in y_ticks), default=0.0)
    x_scale = Scale(*x_range, left, width - 8)
    x_ticks = x_scale.ticks(max(2, int((width - left) / 70)))
    for value, label in y_ticks:
        y = y_scale.at(value)
        parts += [line(left, y, width - 8, y, "g"), text(left - 5, y + 4, label, "e m")]
    parts.append(line(left, top + height, width - 8, top + height, "a"))
    bottom = top + height
    parts += [line(x_scale.at(value), bottom, x_scale.at(value), bottom + 4, "a") for value, _ in x_ticks]
    below, row = x_axis_text(x_scale, x_ticks, x_label, bottom + 16, width)
    return Frame(x_scale, y_scale, [*parts, *below], row + 5)


def x_axis_text(
    scale: Scale, ticks: Sequence[tuple[float, str]], label: str, y: float, width: float
) -> tuple[list[str], float]:
    """Numbers under the axis with its label at their right end, or on a line below where that would cost too many
    numbers; the last line's y.
    """
    placed = [(min(scale.at(value), width - width_px(shown) / 2), shown) for value, shown in ticks]
    free = [(x, shown) for x, shown in placed if x + width_px(shown) / 2 + 8 <= scale.end_px - width_px(label)]
    same = len(free) == len(placed) or len(free) >= max(3, len(placed) - 1)
    parts = [text(x, y, shown, "c m") for x, shown in (free if same else placed)]
    y = y if same else y + 15
    return [*parts, text(scale.end_px, y, fit(label, width), "e m")], y
