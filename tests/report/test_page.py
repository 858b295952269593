"""Pages: one file that fetches nothing, in light and dark, on a phone and on paper."""

import math
import re

import pytest
from support.pages import HOSTILE, checked

from surefoot.report import Card, Page, Tile
from surefoot.report.charts import NARROW, WIDE, Key, Series, line_chart


class TestPage:
    def test_everything_a_page_can_hold(self) -> None:
        page = Page(HOSTILE, HOSTILE)
        page.tiles(
            [
                Tile(HOSTILE, HOSTILE, HOSTILE, HOSTILE, "bad", HOSTILE),
                Tile("Gap", 0.165, "", "floor 0.012", "good", "fine"),
            ]
        )
        page.section(HOSTILE)
        page.subsection(HOSTILE)
        page.text(HOSTILE)
        page.table([HOSTILE, "n"], [[HOSTILE, 0.5], ["b", math.nan]], HOSTILE)
        page.figure(lambda width: line_chart([], "", "", width=width), HOSTILE)
        page.panels([line_chart([], "", "")], HOSTILE, [Key(HOSTILE, 0)])
        page.card(Card("warn", HOSTILE, HOSTILE, [(HOSTILE, HOSTILE)], HOSTILE, line_chart([], "", ""), HOSTILE))
        page.provenance({HOSTILE: {HOSTILE: [HOSTILE]}, "n": None}, HOSTILE)
        rendered = page.render()
        checked(rendered)
        assert "<script" not in rendered
        assert "\x00" not in rendered
        assert "floor 0.012" in rendered
        assert rendered.count("–") >= 1  # the missing number of the table

    def test_a_kind_of_page_says_what_a_browser_may_show(self) -> None:
        """Whatever the texts of the page are."""

        class Film(Page):
            content_policy = "default-src 'none'; media-src data:"

        for kind in (Page, Film):
            page = kind("img-src data:", "img-src data:")
            page.text("img-src data:")
            policies = re.findall(r'Content-Security-Policy" content="([^"]*)"', page.render())
            assert policies == [kind.content_policy]

    def test_a_figure_is_drawn_for_wide_and_for_narrow(self) -> None:
        page = Page("t")
        page.figure(lambda width: line_chart([Series("", [0, 1], [0, 1])], "s", "rad", width=width))
        boxes = re.findall(r'viewBox="0 0 (\d+) ', page.render())
        assert boxes == [str(WIDE), str(NARROW)]

    def test_fixes_between_backticks_are_code(self) -> None:
        page = Page("t")
        page.section("s")
        page.card(Card("bad", "error", "x", [("Fix", "run `surefoot doctor <log>` again"), ("Why", "a ` alone")]))
        assert "run <code>surefoot doctor &lt;log&gt;</code> again" in page.render()
        assert "a ` alone" in page.render()

    def test_deep_and_long_metadata_is_cut(self) -> None:
        deep: dict = {}
        inner = deep
        for _ in range(2000):
            inner["k"] = {}
            inner = inner["k"]
        page = Page("t")
        page.provenance({"deep": deep, "long": ["x" * 10] * 100_000, "wide": {str(i): i for i in range(100_000)}})
        assert len(page.render()) < 100_000

    def test_light_dark_phone_and_paper(self) -> None:
        rendered = Page("t").render()
        for rule in (
            "prefers-color-scheme:dark",
            "@media print",
            "max-width:600px",
            "details::details-content",
            'name="viewport"',
        ):
            assert rule in rendered

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_stands_out_from_its_ground(self, scheme) -> None:
        """WCAG asks for a contrast of 4.5 for text and 3 for lines."""
        from surefoot.report import style

        colours = dict(re.findall(r"--(\w+):(#\w+)", {"light": style._LIGHT_ROOT, "dark": style._DARK_ROOT}[scheme]))
        for name in ("fg", "muted", "good", "warn", "bad"):
            for ground in ("bg", "soft"):
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        assert min(contrast(colours["fg"], colours[ground]) for ground in ("heat", "cold")) >= 4.5
        for i in range(6):
            assert contrast(colours[f"k{i}"], colours["bg"]) >= 3


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.1 between two colours."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
