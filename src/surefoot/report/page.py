"""`Page`: one self-contained HTML file, built from top to bottom. Every text that comes in is escaped here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from surefoot.errors import shown
from surefoot.files import mark
from surefoot.report.charts.frame import Key, swatch
from surefoot.report.charts.svg import NARROW, WIDE, escape, number
from surefoot.report.style import STYLE

State = Literal["plain", "good", "warn", "bad"]
Drawing = str | Callable[[int], str]  # a figure, or the function that draws it at a given width
MOST_FACTS = 400
_SHAPES = {
    "bad": (
        '<path d="M4 .5h6L13.5 4v6L10 13.5H4L.5 10V4z" fill="currentColor"/><path d="M4.5 4.5l5 5m0-5l-5 5"'
        ' stroke="var(--bg)" stroke-width="1.8"/>'
    ),
    "warn": (
        '<path d="M7 .8L13.7 13H.3z" fill="currentColor"/><path d="M7 5v4m0 1v1.6" stroke="var(--bg)"'
        ' stroke-width="1.8"/>'
    ),
    "good": (
        '<circle cx="7" cy="7" r="6.5" fill="currentColor"/><path d="M3.8 7.2l2.2 2.3 4.2-4.6" stroke="var(--bg)"'
        ' stroke-width="1.8" fill="none"/>'
    ),
    "plain": (
        '<circle cx="7" cy="7" r="5.8" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M7 6v4.5m0-7v1.4"'
        ' stroke="currentColor" stroke-width="1.6"/>'
    ),
}


@dataclass(frozen=True)
class Tile:
    """A headline figure; `beside` holds what it must be read with (its floor, its interval, what is needed)."""

    name: str
    value: str | float
    unit: str = ""
    beside: str = ""
    state: State = "plain"
    verdict: str = ""  # the state in a word, since colour alone says nothing


@dataclass(frozen=True)
class Card:
    """A finding: a mark with a word, a title, named paragraphs, and a figure that shows it."""

    state: State
    word: str
    title: str
    facts: Sequence[tuple[str, str]]
    code: str = ""
    figure: Drawing | None = None
    caption: str = ""
    panels: Sequence[str] = ()
    keys: Sequence[Key] = ()


class Page:
    """Collects sections in order; `render` gives the whole file."""

    # The page asks for nothing and runs nothing, and tells the browser so.
    content_policy: ClassVar[str] = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

    def __init__(self, title: str, subtitle: str = "") -> None:
        self._title = title
        self._parts = ["<header>", f"<h1>{escape(title)}</h1>"]
        if subtitle:
            self._parts.append(f'<p class="subtitle">{escape(subtitle)}</p>')
        self._parts.append("</header>")

    @staticmethod
    def begin(title: str, subtitle: str, inside: "Page | None") -> "Page":
        """A new page, or a new chapter of the page `inside`."""
        if inside is None:
            return Page(title, subtitle)
        inside._parts.append(f"<header><h2>{escape(title)}</h2>")
        inside._parts.append(f'<p class="subtitle">{escape(subtitle)}</p></header>')
        return inside

    def plain(self, text: str) -> None:
        """Text as a terminal shows it."""
        self._parts.append(f'<div class="scroll"><pre>{escape(text)}</pre></div>')

    def section(self, title: str) -> None:
        """A new section; what follows belongs to it."""
        self._parts.append(f"<h2>{escape(title)}</h2>")

    def subsection(self, title: str) -> None:
        """A heading inside a section."""
        self._parts.append(f"<h3>{escape(title)}</h3>")

    def text(self, text: str) -> None:
        """A paragraph; line breaks are kept."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def tiles(self, tiles: Sequence[Tile]) -> None:
        """Headline figures side by side."""
        self._parts.append(f'<ul class="tiles">{"".join(map(_tile, tiles))}</ul>')

    def figure(self, drawing: Drawing, caption: str = "") -> None:
        """A figure; one that is given as a function is drawn for wide pages and again for phones."""
        self._parts.append(f'<figure class="whole">{_drawn(drawing)}{_caption(caption)}</figure>')

    def panels(self, charts: Sequence[str], caption: str = "", keys: Sequence[Key] = ()) -> None:
        """Small charts side by side, as many in a row as fit, under one legend."""
        self._parts.append(_panels(charts, caption, keys))

    def table(self, headings: Sequence[str], rows: Sequence[Sequence[str | float]], caption: str = "") -> None:
        """A table; numbers are shortened and stand to the right."""
        right = [bool(rows) and all(not isinstance(row[i], str) for row in rows) for i in range(len(headings))]
        head = "".join(f'<th scope="col"{_right(r)}>{escape(h)}</th>' for h, r in zip(headings, right, strict=True))
        body = "".join(
            f"<tr>{''.join(_cell(value, r) for value, r in zip(row, right, strict=True))}</tr>" for row in rows
        )
        told = f"<caption>{escape(caption)}</caption>" if caption else ""
        self._parts.append(
            f'<div class="scroll"><table>{told}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def card(self, card: Card) -> None:
        """A finding."""
        facts = "".join(f"<dt>{escape(name)}</dt><dd>{_coded(value)}</dd>" for name, value in card.facts if value)
        code = f' <span class="code">{escape(card.code)}</span>' if card.code else ""
        figure = ""
        if card.figure is not None:
            figure = f'<figure class="whole">{_drawn(card.figure)}{_caption(card.caption)}</figure>'
        elif card.panels:
            figure = _panels(card.panels, card.caption, card.keys)
        self._parts.append(
            f'<article class="card {card.state}"><span class="mark'
            f' {card.state}">{_shape(card.state)}<span>{escape(card.word)}</span>{code}</span>'
            f"<h3>{escape(card.title)}</h3><dl>{facts}</dl>{figure}</article>"
        )

    def provenance(self, facts: Mapping[str, Any], title: str = "Provenance") -> None:
        """Where everything comes from, folded away on the screen and opened on paper; nested mappings
        become dotted names.
        """
        rows = "".join(
            f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in _flat(facts)
        )
        self._parts.append(
            f"<details><summary>{escape(title)}</summary><div"
            f" class='scroll'><table><tbody>{rows}</tbody></table></div></details>"
        )

    def render(self) -> str:
        """The file."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{self.content_policy}">\n'
            f'<meta name="generator" content="{mark()}">\n'
            '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">\n'
            f"<title>{escape(self._title)}</title>\n<style>{STYLE}</style></head>\n<body><main>\n"
            + "\n".join(self._parts)
            + "\n</main></body></html>\n"
        )


def _tile(tile: Tile) -> str:
    value = tile.value if isinstance(tile.value, str) else number(tile.value)
    unit = f'<span class="unit">{escape(tile.unit)}</span>' if tile.unit else ""
    beside = f'<span class="beside">{escape(tile.beside)}</span>' if tile.beside else ""
    state = f'<span class="state">{_shape(tile.state, 11)} {escape(tile.verdict)}</span>' if tile.verdict else ""
    return (
        f'<li class="tile {tile.state}"><span class="name">{escape(tile.name)}</span><span'
        f' class="value">{escape(value)}</span>{unit}{beside}{state}</li>'
    )


def _shape(state: str, size: int = 14) -> str:
    return f'<svg viewBox="0 0 14 14" width="{size}" height="{size}" aria-hidden="true">{_SHAPES[state]}</svg>'


def _drawn(drawing: Drawing) -> str:
    if isinstance(drawing, str):
        return drawing
    return f'<div class="wide">{drawing(WIDE)}</div><div class="narrow">{drawing(NARROW)}</div>'


def _panels(charts: Sequence[str], caption: str, keys: Sequence[Key]) -> str:
    inner = "".join(f"<div>{chart}</div>" for chart in charts)
    return f'<figure>{_legend(keys)}<div class="panels">{inner}</div>{_caption(caption)}</figure>'


def _legend(keys: Sequence[Key]) -> str:
    entries = "".join(
        '<span><svg viewBox="0 0 18 12" width="18" height="12"'
        f' aria-hidden="true">{swatch(k, 0, 6)}</svg>{escape(k.label)}</span>'
        for k in keys
    )
    return f'<div class="legend">{entries}</div>' if keys else ""


def _caption(text: str) -> str:
    return f"<figcaption>{escape(text)}</figcaption>" if text else ""


def _right(right: bool) -> str:
    return ' class="number"' if right else ""


def _cell(value: str | float, right: bool) -> str:
    return f"<td{_right(right)}>{escape(value if isinstance(value, str) else number(value))}</td>"


def _coded(value: str) -> str:
    """A paragraph in which what stands between backticks is set as code."""
    pieces = value.split("`")
    if len(pieces) % 2 == 0:  # a backtick without a partner is just a character
        return escape(value)
    return "".join(f"<code>{escape(piece)}</code>" if i % 2 else escape(piece) for i, piece in enumerate(pieces))


def _flat(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and values, mappings opened to a depth that people write by hand."""
    rows: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any, int]] = [(str(name), value, 0) for name, value in reversed(list(facts.items()))]
    while waiting and len(rows) < MOST_FACTS:
        name, value, depth = waiting.pop()
        if isinstance(value, Mapping) and depth < 4 and value:
            waiting += [(f"{name}.{key}", inner, depth + 1) for key, inner in reversed(list(value.items()))]
        elif isinstance(value, (list, tuple)) and all(isinstance(v, (str, int, float)) for v in value):
            text = ", ".join(map(str, value[:50]))
            rows.append((name, text if len(value) <= 50 else f"{text}, … ({len(value)} in all)"))
        else:
            rows.append((name, value if isinstance(value, str) and len(value) <= 400 else shown(value)))
    if waiting:
        rows.append(("…", f"{len(waiting)} more"))
    return rows
