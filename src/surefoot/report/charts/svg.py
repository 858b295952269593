"""What every chart is made of: numbers, text, scales, ticks and paths.

Everything here returns strings and knows no colours: classes name them, the page's style sheet fills them in, so that
one figure serves light, dark and paper. No `id` is used, so that figures can be repeated in a page.
"""

import html
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from surefoot.text import number

WIDE, NARROW, PANEL = 880, 360, 320  # widths in px: a whole page, a phone, one of several panels side by side
CHARACTER_PX = 6.4  # of 11 px text, on the wide side: the reader's font is not known
LINE_PX = 16
LARGEST = 1e100  # beyond it a value has no place in a figure, and the square of a range is no number
# XML allows no control characters; surrogates (from file names) have no UTF-8; direction marks would turn the text
# around them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def escape(text: object) -> str:
    """A user's text, safe inside HTML and SVG, in an element or in a quoted attribute."""
    return html.escape(_UNPRINTABLE.sub("\ufffd", str(text)))


def px(value: float) -> str:
    """A coordinate to a tenth of a pixel, as short as it can be written."""
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def numbers(values: ArrayLike) -> np.ndarray:
    """As float64 in one dimension; what cannot be drawn (infinite, absurdly large) becomes NaN."""
    array = np.array(values, dtype=np.float64).ravel()
    with np.errstate(invalid="ignore"):
        array[~(np.abs(array) <= LARGEST)] = np.nan
    return array


def limits(*arrays: np.ndarray, pad: float = 0.05) -> tuple[float, float] | None:
    """The range of all that is finite, a little wider, never empty; None where nothing is."""
    finite = [a[np.isfinite(a)] for a in map(numbers, arrays)]
    finite = [a for a in finite if len(a)]
    if not finite:
        return None
    low, high = min(float(a.min()) for a in finite), max(float(a.max()) for a in finite)
    span = high - low
    if span <= 1e-9 * max(abs(low), abs(high)) or span < 1e-200:
        half = 0.1 * max(abs(low), abs(high)) or 1.0
        return low - half, high + half
    return low - pad * span, high + pad * span


@dataclass(frozen=True)
class Scale:
    """Data to pixels, linear or logarithmic; what lies outside is put on the edge."""

    low: float
    high: float
    start_px: float
    end_px: float
    log: bool = False

    def __call__(self, values: ArrayLike) -> np.ndarray:
        """Pixels of the values; NaN stays NaN."""
        clipped = np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
        if self.log:
            share = (np.log(clipped) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (clipped - self.low) / (self.high - self.low)
        return self.start_px + share * (self.end_px - self.start_px)

    def at(self, value: float) -> float:
        """The pixel of one value."""
        return float(self(value))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about `most` round values inside, with their text."""
        return _log_ticks(self.low, self.high, most) if self.log else _ticks(self.low, self.high, most)


def _ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    exponent = math.floor(math.log10((high - low) / max(most, 1)))
    enough = min(most, max(3, 0.6 * most))
    for step in (
        m * 10.0 ** (exponent + e) for e in (1, 0, -1) for m in (5, 2, 1)
    ):  # the coarsest that still gives enough
        places = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        if len(places) >= enough:
            break
    values = [float(place * step) for place in places]
    largest = max((abs(v) for v in values), default=0.0)
    if not largest:
        return [(v, "0") for v in values]
    if largest >= 1e5 or largest < 1e-3:
        digits = min(12, max(0, math.floor(math.log10(largest) + 1e-9) - math.floor(math.log10(step) + 1e-9)))
        return [(v, number(v, digits + 1) if v else "0") for v in values]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(v, f"{v + 0.0:.{decimals}f}".replace("-", "−")) for v in values]


def _log_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for parts in ((1, 2, 5), (1, 3), (1,)):
        stride = max(1, math.ceil((last - first) / max(most, 1))) if parts == (1,) else 1
        values = [m * 10.0**e for e in range(first, last + 1, stride) for m in parts]
        values = [v for v in values if low * 0.999 <= v <= high * 1.001]
        if len(values) <= most + 1:
            break
    return [(v, number(v)) for v in values]


def text(x: float, y: float, content: object, classes: str = "") -> str:
    """One line of text; classes: e (right-aligned), c (centred), m (muted), t (title)."""
    return f'<text x="{px(x)}" y="{px(y)}"{_class(classes)}>{escape(content)}</text>'


def fit(content: str, width_px: float) -> str:
    """A text cut so that it takes about `width_px`."""
    most = max(1, int(width_px / CHARACTER_PX))
    return content if len(content) <= most else content[: most - 1] + "…"


def width_px(content: str) -> float:
    """About how wide a text is."""
    return len(content) * CHARACTER_PX


def rect(x: float, y: float, width: float, height: float, classes: str = "", tip: str = "", more: str = "") -> str:
    """A rectangle; `tip` is read out, and shown under the mouse."""
    opened = (
        f'<rect x="{px(x)}" y="{px(y)}" width="{px(max(width, 0))}"'
        f' height="{px(max(height, 0))}"{_class(classes)}{more}'
    )
    return f"{opened}><title>{escape(tip)}</title></rect>" if tip else f"{opened}/>"


def line(x1: float, y1: float, x2: float, y2: float, classes: str) -> str:
    """A straight line."""
    return f'<path d="M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}"{_class(classes)}/>'


def hatch(x: float, y: float, width: float, height: float, step: float = 6.0) -> str:
    """Diagonal lines inside a rectangle, drawn out, so that no pattern has to be defined and referred to."""
    pieces = []
    for offset in np.arange(step / 2, width + height, step):
        x1, y1 = (x + offset, y) if offset <= width else (x + width, y + offset - width)
        x2, y2 = (x, y + offset) if offset <= height else (x + offset - height, y + height)
        pieces.append(f"M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}")
    return f'<path d="{"".join(pieces)}" class="h"/>' if pieces else ""


def diamond(x: float, y: float, size: float = 5.0) -> str:
    """The hollow diamond that marks a reference value."""
    return (
        f'<path d="M{px(x)} {px(y - size)}l{px(size)} {px(size)} {px(-size)} {px(size)} {px(-size)} {px(-size)}z"'
        ' class="r"/>'
    )


def path(x_px: np.ndarray, y_px: np.ndarray) -> str:
    """The `d` of a line through the points, in steps relative to the point before; NaN breaks it."""
    fine = np.isfinite(x_px) & np.isfinite(y_px)
    x = np.round(np.where(fine, x_px, 0) * 10).astype(np.int64)
    y = np.round(np.where(fine, y_px, 0) * 10).astype(np.int64)
    pieces: list[str] = []
    down = False
    for i in range(len(x)):
        if not fine[i]:
            down = False
        elif down:
            pieces.append(f"l{(x[i] - x[i - 1]) / 10:g},{(y[i] - y[i - 1]) / 10:g}")
        else:
            pieces.append(f"M{x[i] / 10:g},{y[i] / 10:g}h0")  # h0 makes a lone point visible: its ends are round
            down = True
    return "".join(pieces)


def thinned(x: np.ndarray, y: np.ndarray, pixels: float) -> tuple[np.ndarray, np.ndarray]:
    """Few enough points for a figure: the least and the largest of each pixel's worth of rows, in their order.

    Rows, not times, are grouped, so that time stamps that go back stay visible. A group without any value keeps one
    NaN, which breaks the line.
    """
    groups = max(1, int(pixels))
    if len(y) <= 3 * groups:
        return x, y
    size = -(-len(y) // groups)
    index = np.minimum(np.arange(size * groups), len(y) - 1).reshape(groups, size)
    block = y[index]
    low = np.where(np.isnan(block), np.inf, block).argmin(axis=1)
    high = np.where(np.isnan(block), -np.inf, block).argmax(axis=1)
    both = np.sort(np.stack([low, high], axis=1), axis=1) + np.arange(groups)[:, None] * size
    kept = np.unique(np.minimum(both.ravel(), len(y) - 1))
    return x[kept], y[kept]


def svg(width: float, height: float, label: str, parts: Iterable[str]) -> str:
    """The figure; `label` is what a screen reader says."""
    inner = "".join(parts)
    return (
        f'<svg class="chart" viewBox="0 0 {px(width)} {px(height)}" width="{px(width)}" role="img"'
        f' aria-label="{escape(label)}">{inner}</svg>'
    )


def no_data(width: float, height: float, title: str, reason: str = "no data") -> str:
    """The figure that stands where there is nothing to draw."""
    parts = [text(0, 13, fit(title, width), "t")] if title else []
    top = LINE_PX + 4 if title else 0
    parts += [
        rect(0.5, top + 0.5, width - 1, height - top - 1, "n"),
        text(width / 2, (height + top) / 2 + 4, reason, "c m"),
    ]
    return svg(width, height, f"{title}: {reason}" if title else reason, parts)


def _class(classes: str) -> str:
    return f' class="{classes}"' if classes else ""
