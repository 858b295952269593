"""Checks that hold for every page and every figure, and text that tries to break them."""

import html.parser
import itertools
import re
from xml.etree import ElementTree

HOSTILE = "<script>alert(1)</script>\"'&`]]>\x00\x1b\udcff\u202e"
VOID = {"meta", "link"}


def parsed(figure: str) -> ElementTree.Element:
    """A figure is XML by itself, and says in words what it shows."""
    root = ElementTree.fromstring(figure)
    assert root.tag == "svg"
    assert root.get("aria-label")
    assert (
        "nan" not in re.sub(r">[^<]*<", "><", figure).replace(root.get("aria-label"), "").lower()
    )  # no coordinate is NaN
    width, height = map(float, root.get("viewBox").split()[2:])
    assert width > 0 < height
    return root


def words(root: ElementTree.Element) -> str:
    return " | ".join("".join(t.itertext()) for t in root.iter("text"))


class Outline(html.parser.HTMLParser):
    """Checks that tags are closed in order; collects headings, addresses and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.addresses: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)
        self.addresses += [
            value
            for name, value in attrs
            if name in ("src", "href", "srcset", "xlink:href", "action", "data", "poster")
        ]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch(r"h\d", tag):
            self.headings.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> Outline:
    """What must hold for every page."""
    page.encode("utf-8")
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert outline.addresses == ["data:,"]  # an empty icon, so that the browser asks for none
    assert not outline.tags & {"script", "iframe", "object", "embed", "img", "image", "use", "foreignobject"}
    assert not re.search(r"https?:|url\(|@import|//\w", page)
    levels = [int(tag[1]) for tag in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    for figure in re.findall(r'<svg class="chart".*?</svg>', page, flags=re.S):
        parsed(figure)
    return outline
