"""Reports: every figure is well-formed whatever the data, and a page is one file that fetches nothing and
stays small.
"""

import dataclasses
import html.parser
import itertools
import math
import re
import time
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from robot_files import HEXAPOD

from surefoot.cli.main import run
from surefoot.errors import LogError
from surefoot.logs import RobotLog, record, write_log
from surefoot.logs.doctor.findings import Delay, Finding, LogReport, TimeSpan
from surefoot.report import Card, Page, Tile
from surefoot.report.charts import (
    NARROW,
    PANEL,
    SIMULATOR,
    WIDE,
    Bar,
    Cloud,
    Interval,
    Key,
    Level,
    Piece,
    Sample,
    Series,
    Shade,
    bars,
    convergence,
    correlation_matrix,
    distributions,
    heat_map,
    intervals,
    line_chart,
    number,
    ridges,
    scatter,
    timeline,
)
from surefoot.report.charts.svg import Scale, escape, fit, limits, path, thinned
from surefoot.report.doctor_page import doctor_page
from surefoot.report.log_page import log_page
from surefoot.report.traces import joint_targets, liveliest
from surefoot.sim import load_twin

HOSTILE = "<script>alert(1)</script>\"'&`]]>\x00\x1b\udcff\u202e"
LARGEST_PAGE = 3_000_000  # bytes, of a 10-minute log at 500 Hz
VOID = {"meta", "link"}


@pytest.fixture(scope="session")
def log(robot, tmp_path_factory) -> RobotLog:
    """A short walk of each robot."""
    if robot.name == "go2":
        return record(load_twin("go2-identified"), "trot", rollouts=8, seconds=4.0, threads=1)
    path = tmp_path_factory.mktemp("twin") / "six.yaml"
    path.write_text(yaml.safe_dump({"robot": str(HEXAPOD), "time_jitter_s": 0.001}))
    return record(load_twin(path), "trot", rollouts=4, seconds=2.0, threads=1)


@pytest.fixture
def diagnosis(log) -> LogReport:
    """Every kind of finding once; the second episode is cut in its middle."""
    first = log.joints[0]
    rows = log.episodes()[1]
    usable = np.ones(len(log.time_s), dtype=bool)
    usable[rows.start + 30 : rows.start + 60] = False
    cut = TimeSpan(1, float(log.time_s[rows.start + 30]), float(log.time_s[rows.start + 60]))
    findings = (
        Finding(
            "flipped-sign",
            "error",
            f"position and velocity of {first} have the wrong sign",
            "correlation −0.8",
            "wrong",
            "`signs: -1`",
            (first,),
        ),
        Finding("fall", "warning", "the robot fell", "gravity", "cut", "nothing", (), (cut,)),
        Finding(
            "time-gap",
            "warning",
            "a gap of 0.3 s",
            "rows 30 to 31",
            "velocity",
            "queue",
            (),
            (cut, TimeSpan(0, 0.1, 0.2)),
        ),
        Finding(
            "position-velocity",
            "warning",
            f"velocity of {first} disagrees with its position",
            "x",
            "y",
            "z",
            (first,),
            (cut,),
        ),
        Finding("saturated", "warning", "all joints at the limit", "2 %", "clipped", "slower", log.joints, (cut,)),
        Finding(
            "idle",
            "note",
            "stands still",
            "1 s",
            "little",
            "nothing",
            (),
            (TimeSpan(0, 0.0, 1.0), TimeSpan(999, 0.0, 1.0)),
        ),
    )
    coverage = np.zeros((5, 3, 3))
    coverage[2, 1] = (0.25, 0.5, 0.25)
    return LogReport(
        findings, usable, ((cut, "fall"),), Delay(0.012, 0.009, 0.016), 12.0, 60.0, coverage, "walk sideways"
    )


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


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "−1.5"),
            (0.012345, "0.0123"),
            (123.456, "123"),
            (1234.5, "1234"),
            (99999.0, "99999"),
            (1e5, "1e5"),
            (1.5e-5, "1.5e−5"),
            (0.9996, "1"),
            (100.0, "100"),
            (math.nan, "–"),
            (math.inf, "∞"),
            (-math.inf, "−∞"),
            (5e-324, "4.94e−324"),
            (1.7e308, "1.7e308"),
        ],
    )
    def test_short(self, value, shown) -> None:
        assert number(value) == shown

    @pytest.mark.parametrize(
        ("low", "high"), [(0, 1), (-3, 17), (0.1999, 0.2001), (1e6, 1e6 + 0.01), (-1e-7, 2e-7), (0, 5e99), (-4.2, 4.3)]
    )
    @pytest.mark.parametrize("most", [2, 3, 5, 12])
    def test_ticks_are_few_distinct_and_inside(self, low, high, most) -> None:
        ticks = Scale(low, high, 0, 100).ticks(most)
        assert 2 <= len(ticks) <= 2.6 * most + 1
        assert all(low - 1e-6 * (high - low) <= value <= high + 1e-6 * (high - low) for value, _ in ticks)
        assert len({shown for _, shown in ticks}) == len(ticks)
        for value, shown in ticks:
            assert float(shown.replace("−", "-")) == pytest.approx(value, rel=1e-9, abs=1e-9 * (high - low))

    def test_logarithmic_ticks(self) -> None:
        assert [shown for _, shown in Scale(0.012, 3.0, 0, 100, log=True).ticks(4)] == ["0.03", "0.1", "0.3", "1", "3"]
        assert len(Scale(1e-12, 1e12, 0, 100, log=True).ticks(5)) <= 6

    def test_limits_are_never_empty(self) -> None:
        assert limits(np.array([])) is None
        assert limits(np.array([np.nan, np.inf])) is None
        for values in ([0.0], [5.0, 5.0], [-1e-300], [1e9, 1e9 + 1e-6], [np.nan, 2.0], [1e300, 3.0]):
            low, high = limits(np.array(values))
            assert low < high
        assert limits(np.array([0.0, 10.0])) == (-0.5, 10.5)

    def test_values_outside_are_put_on_the_edge(self) -> None:
        np.testing.assert_allclose(Scale(0, 10, 100, 200)([-5, 0, 5, 20]), [100, 100, 150, 200])


class TestPaths:
    def test_relative_steps_lead_back_to_the_points(self) -> None:
        """Rounding must not add up along a line."""
        rng = np.random.default_rng(0)
        x, y = np.sort(rng.uniform(0, 800, 2000)), rng.uniform(0, 200, 2000)
        places = re.findall(r"([Ml])(-?[\d.]+),(-?[\d.]+)", path(x, y))
        assert [kind for kind, _, _ in places] == ["M"] + ["l"] * 1999
        drawn = np.cumsum([(float(a), float(b)) for _, a, b in places], axis=0)
        np.testing.assert_allclose(drawn, np.stack([x, y], axis=1), atol=0.051)

    def test_nan_breaks_the_line(self) -> None:
        assert path(np.array([0, 1, 2, 3.0]), np.array([0, np.nan, 5, 6.0])).count("M") == 2
        assert path(np.array([np.nan]), np.array([1.0])) == ""

    def test_thinning_keeps_spikes_ends_of_gaps_and_order(self) -> None:
        x, y = np.arange(100_000.0), np.sin(np.arange(100_000) / 50)
        y[31_415], y[77_777] = 40.0, -40.0
        y[50_000:52_000] = np.nan
        few_x, few_y = thinned(x, y, 300)
        assert len(few_x) <= 600
        assert np.nanmax(few_y) == 40
        assert np.nanmin(few_y) == -40
        assert (np.diff(few_x) > 0).all()
        assert np.isnan(few_y[(few_x > 50_400) & (few_x < 51_600)]).all()
        assert np.isnan(few_y).any()

    def test_short_series_stay_whole_and_backward_time_is_kept(self) -> None:
        x = np.array([0, 1, 2, 1.5, 1.6, 3.0])
        assert thinned(x, x, 300)[0] is x


BAD = {
    "empty": [],
    "one": [1.0],
    "constant": [3.3] * 50,
    "zeros": [0.0] * 50,
    "nan": [np.nan] * 50,
    "infinite": [np.inf, -np.inf, np.inf],
    "mixed": [1.0, np.nan, np.inf, -2.0],
    "huge": [1e308, -1e308, 0.0],
    "tiny": [5e-324, 0.0],
    "offset": [1e15, 1e15 + 1],
}


@pytest.mark.parametrize("values", BAD.values(), ids=BAD)
@pytest.mark.parametrize("width", [WIDE, NARROW, PANEL])
class TestAnyData:
    """Whatever the data, each figure is one, and says so where there is nothing to show."""

    def test_lines(self, values, width) -> None:
        x = np.arange(len(values))
        for log_y in (False, True):
            root = parsed(
                line_chart(
                    [
                        Series("a", x, values, low=values, high=values),
                        Series("b", x, values, low=values, high=values, dots=True),
                    ],
                    "s",
                    "rad",
                    log_y=log_y,
                    levels=[Level(math.nan, "n"), Level(1.0, "floor")],
                    width=width,
                )
            )
            assert ("no data" in words(root)) == (
                not (np.isfinite(values) & (np.abs(values) <= 1e100) & (not log_y or np.array(values) > 0)).any()
            )
        parsed(
            line_chart(
                [Series("", values, x)], "s", "rad", shades=[Shade(math.nan, 1.0), Shade(0, 1, "r", True)], width=width
            )
        )
        parsed(convergence(x, values, 0.1, "iteration", "gap", width=width))

    def test_spreads(self, values, width) -> None:
        pair = [Sample("robot", values), Sample("simulator", [1.0, 2.0], SIMULATOR)]
        parsed(distributions(pair, "rad", marks=[(0.5, "m")], width=width))
        parsed(distributions(pair[:1], "rad", width=width))
        parsed(ridges([("a", pair), ("b", pair[:1])], "rad", marks=[0.0, math.nan], mark_label="pose", width=width))
        parsed(
            scatter(
                [Cloud("robot", values, values), Cloud("simulator", values, values, SIMULATOR, True)],
                "x",
                "y",
                polygon=[(0, 0), (1, 0), (1, math.inf)],
                width=width,
            )
        )

    def test_cells_and_rows(self, values, width) -> None:
        names = [f"n{i}" for i in range(len(values))]
        parsed(heat_map([values], ["row"], names, "gap", floor=0.5, width=width))
        parsed(heat_map(np.array(values)[:, None], names, ["column"], "gap", width=width))
        parsed(correlation_matrix(np.resize(np.array(values or [0.0]), (len(names), len(names))), names, width=width))
        parsed(
            intervals(
                [Interval(n, v, v, v, (v, v), v, True) for n, v in zip(names, values, strict=True)], "N·m", width=width
            )
        )
        parsed(bars([Bar(n, v, v, v) for n, v in zip(names, values, strict=True)], "gap", floor=math.nan, width=width))
        parsed(
            timeline(
                [(n, [Piece(0.0, v), Piece(v, v, "cut")]) for n, v in zip(names, values, strict=True)], "s", width=width
            )
        )


class TestFigures:
    def test_hostile_names_are_text(self) -> None:
        figures = [
            line_chart(
                [Series(HOSTILE, [0, 1], [0, 1])],
                HOSTILE,
                HOSTILE,
                title=HOSTILE,
                shades=[Shade(0, 1, HOSTILE)],
                levels=[Level(0.5, HOSTILE)],
            ),
            line_chart([], HOSTILE, HOSTILE, title=HOSTILE),
            distributions([Sample(HOSTILE, [1, 2])], HOSTILE, title=HOSTILE, marks=[(1.5, HOSTILE)]),
            ridges([(HOSTILE, [Sample(HOSTILE, [1, 2])])], HOSTILE),
            scatter(
                [Cloud(HOSTILE, [1], [2])],
                HOSTILE,
                HOSTILE,
                title=HOSTILE,
                polygon=[(0, 0), (1, 1)],
                polygon_label=HOSTILE,
            ),
            heat_map(
                [[1.0] * 9] * 2, [HOSTILE, "b"], [HOSTILE] * 9, HOSTILE, title=HOSTILE, floor=2, floor_label=HOSTILE
            ),
            correlation_matrix(np.eye(2), [HOSTILE, HOSTILE]),
            correlation_matrix(np.eye(60), [HOSTILE] * 60, width=NARROW),
            intervals([Interval(HOSTILE, 1.0, 0.0, 2.0, (0, 3), 1.5)], HOSTILE, title=HOSTILE, reference_label=HOSTILE),
            bars([Bar(HOSTILE, 1.0)], HOSTILE, title=HOSTILE, keys=[(HOSTILE, 0)], floor=0.5, floor_label=HOSTILE),
            timeline([(HOSTILE, [Piece(0, 1, HOSTILE)])], HOSTILE, title=HOSTILE),
        ]
        for figure in figures:
            assert not {e.tag for e in parsed(figure).iter()} - {
                "svg",
                "text",
                "tspan",
                "rect",
                "path",
                "circle",
                "title",
            }
            assert "<script" not in figure

    def test_robot_and_simulator_differ_by_more_than_colour(self) -> None:
        from surefoot.report.style import STYLE

        dashes = {i: re.search(rf"\.k{i}{{[^}}]*?(?:stroke-dasharray:([^}};]*))?}}", STYLE).group(1) for i in range(6)}
        assert dashes[0] is None
        assert len(set(dashes.values())) == 6
        pair = parsed(distributions([Sample("robot", [1.0, 2, 3]), Sample("simulator", [1.0, 2, 3], SIMULATOR)], "rad"))
        drawn = [e.get("class") for e in pair.iter() if e.get("class") in ("f0", "f1")]
        assert drawn.count("f0") == 2  # legend and data: the robot is filled
        assert "f1" not in drawn

    def test_cells_within_the_floor_are_hatched(self) -> None:
        cells = [[0.01, 0.5], [0.02, math.nan]]
        root = parsed(heat_map(cells, ["a", "b"], ["x", "y"], "W1", floor=0.02))
        assert sum(e.get("class") == "h" for e in root.iter("path")) == 2 + 1  # two cells and the legend
        assert "within the floor" in words(root)
        assert all(shown in words(root) for shown in ("0.01", "0.5", "0.02", "–"))
        strength = [float(e.get("fill-opacity")) for e in root.iter("rect") if e.get("class") == "u"]
        assert max(strength) == strength[1] > 10 * max(strength[0], strength[2])
        assert not any(
            e.get("class") == "h" for e in parsed(heat_map(cells, ["a", "b"], ["x", "y"], "W1")).iter("path")
        )

    def test_flags_of_parameters_are_words(self) -> None:
        rows = [
            Interval("a", 1.0, 0.5, 1.5),
            Interval("b", 2.0, 1.0, 2.0, (0.0, 2.0), at_bound=True),
            Interval("c", 1.0, 0.0, 2.0, identifiable=False),
        ]
        shown = words(parsed(intervals(rows, "N·m")))
        assert "at bound" in shown
        assert "not seen" in shown
        assert "search bounds" in shown

    def test_floor_is_in_view_even_far_below_the_curve(self) -> None:
        root = parsed(convergence(np.arange(5), [3.0, 2.9, 2.8, 2.7, 2.6], 0.01, "iteration", "gap"))
        assert "floor 0.01" in words(root)
        height = float(root.get("viewBox").split()[3])
        level = next(e for e in root.iter("path") if e.get("class") == "l")
        assert 0 < float(re.match(r"M[\d.]+ ([\d.]+)", level.get("d")).group(1)) < height

    def test_points_that_are_measurements_have_dots_and_whiskers(self) -> None:
        """A point alone is seen, and one without a spread has no whisker."""
        nan = math.nan
        root = parsed(
            line_chart(
                [Series("a", [0, 1, 2, 3], [1, 2, nan, 4], 2, [0.5, nan, nan, 3], [1.5, nan, nan, 5], dots=True)],
                "s",
                "rad",
            )
        )
        dots = [one for one in root.iter() if one.tag.endswith("circle")]
        assert [one.get("class") for one in dots] == ["d2"] * 3
        whiskers = [one.get("d") for one in root.iter() if one.get("class") == "k2 o"]
        assert len(whiskers) == 2
        assert [one.split()[0] for one in whiskers] == [f"M{dots[k].get('cx')}" for k in (0, 2)]

    def test_a_shade_of_one_row_is_visible(self) -> None:
        root = parsed(
            line_chart([Series("", np.arange(100), np.arange(100))], "s", "rad", shades=[Shade(50, 50, "dropout")])
        )
        mark = next(e for e in root.iter("rect") if e.get("class") == "p")
        assert float(mark.get("width")) >= 2
        assert "dropout" in words(root)

    def test_a_large_cloud_stays_small_and_the_same(self) -> None:
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(2, 300_000))
        figure = scatter([Cloud("", x, y)], "rad/s", "N·m")
        assert len(figure) < 60_000
        assert figure == scatter([Cloud("", x, y)], "rad/s", "N·m")

    def test_many_parameters_on_a_phone_become_the_strongest_pairs(self) -> None:
        matrix = np.eye(30)
        matrix[7, 3] = matrix[3, 7] = -0.97
        names = [f"friction of joint {i}" for i in range(30)]
        assert "friction of joint 7, friction of joint 3" in words(
            parsed(correlation_matrix(matrix, names, width=NARROW))
        )
        assert (
            sum(e.tag == "circle" for e in parsed(correlation_matrix(matrix, names)).iter()) == 1
        )  # negative ones are circles

    def test_long_names_are_cut_where_they_would_run_out(self) -> None:
        assert fit("short", 200) == "short"
        assert fit("x" * 100, 64) == "x" * 9 + "…"
        root = parsed(bars([Bar("y" * 300, 1.0)], "gap", width=NARROW))
        assert max(len(t) for t in words(root).split(" | ")) < 40

    def test_a_timeline_of_many_episodes_shows_those_with_cuts(self) -> None:
        rows = [(f"e{i}", [Piece(0, 3), *([Piece(3, 4, "fell")] if i == 499 else [])]) for i in range(500)]
        root = parsed(timeline(rows, "s"))
        assert "120 of 500 episodes" in words(root)
        assert any("fell" in (e.text or "") for e in root.iter("title"))


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


class TestLogPage:
    def test_of_each_robot(self, log, robot) -> None:
        page = log_page(log, robot, f"A walk of {robot.name}")
        outline = checked(page)
        assert outline.headings.count("h2") >= 5
        for joint in log.joints:
            assert (
                page.count(f">{joint}") >= 2 + 3 * 2
            )  # traces of position and velocity; three distributions, wide and narrow
        assert f"A walk of {robot.name}" in page
        assert robot.hash in page
        assert len(page) < 500_000

    def test_without_a_robot_actions_are_shown_as_they_are(self, log) -> None:
        page = log_page(log, None, "t")
        checked(page)
        assert "<h3>Actions</h3>" in page
        assert "target" not in page
        assert "default pose" not in page

    def test_targets_follow_the_contract_by_name(self, log, robot) -> None:
        contract = robot.contract
        order = np.random.default_rng(0).permutation(contract.n_joints)
        shuffled = dataclasses.replace(
            log,
            joints=tuple(log.joints[i] for i in order),
            action=log.action[:, order].copy(),
            joint_position_rad=log.joint_position_rad[:, order],
        )
        shuffled.action[0, 0] = 1e9
        targets = joint_targets(shuffled, robot)
        expected = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * log.action
        np.testing.assert_allclose(targets[1:], expected[1:, order])
        first = order[0]
        assert targets[0, 0] == pytest.approx(
            contract.pose_rad[first] + contract.action_scale_rad[first] * contract.action_clip
        )

    def test_joints_that_the_robot_lacks(self, log, robot) -> None:
        one_known = dataclasses.replace(log, joints=(log.joints[0], *(f"other{i}" for i in range(1, len(log.joints)))))
        checked(log_page(one_known, robot, "t"))
        with pytest.raises(LogError, match=f"none of {robot.name}'s"):
            log_page(dataclasses.replace(log, joints=tuple(f"other{i}" for i in range(len(log.joints)))), robot, "t")

    def test_chosen_episodes(self, log, robot) -> None:
        page = log_page(log, robot, "t", episodes=[0, 2])
        assert "<h2>Episode 0</h2>" in page
        assert "<h2>Episode 2</h2>" in page
        assert "<h2>Episode 1</h2>" not in page
        with pytest.raises(LogError, match="no episode 77"):
            log_page(log, robot, "t", episodes=[77])

    def test_the_liveliest_seconds_are_shown(self, log) -> None:
        rows = log.episodes()[0]
        still = np.zeros_like(log.joint_velocity_rad_s)
        still[rows.start + 55 : rows.start + 70] = 3.0
        part = liveliest(dataclasses.replace(log, joint_velocity_rad_s=still), rows, 0.5)
        assert part.start <= rows.start + 55
        assert part.stop >= rows.start + 70
        assert part.stop - part.start == pytest.approx(25, abs=1)

    def test_everything_recorded_and_everything_broken(self, log, robot) -> None:
        n, joints = log.joint_position_rad.shape
        rng = np.random.default_rng(0)
        full = dataclasses.replace(
            log,
            torque_nm=rng.normal(0, 5, (n, joints)),
            motor_temperature_c=rng.uniform(30, 60, (n, joints)),
            battery_v=np.linspace(29, 27, n)[:, None],
            quaternion=np.tile([1.0, 0, 0, 0], (n, 1)),
            foot_contact=np.ones((n, 4)),
        )
        page = log_page(full, robot, "t")
        checked(page)
        for heading in ("Torque against speed", "hottest motor", "battery"):
            assert heading in page
        broken = dataclasses.replace(
            full,
            joints=(HOSTILE, *full.joints[1:]),
            metadata={
                "robot": HOSTILE,
                "control_hz": HOSTILE,
                "fallen_episodes": HOSTILE,
                HOSTILE: {"source": HOSTILE},
            },
            **{
                name: np.full_like(getattr(full, name), np.nan)
                for name in ("command", "joint_velocity_rad_s", "action", "torque_nm", "gravity", "battery_v")
            },
        )
        broken = dataclasses.replace(broken, joint_position_rad=np.full_like(log.joint_position_rad, np.inf))
        checked(log_page(broken, robot, HOSTILE))

    @pytest.mark.parametrize("times", ["nan", "constant", "backward", "one row each"])
    def test_clocks_that_are_wrong(self, log, robot, times) -> None:
        time_s = {
            "nan": np.full_like(log.time_s, np.nan),
            "constant": np.zeros_like(log.time_s),
            "backward": log.time_s[::-1].copy(),
            "one row each": log.time_s,
        }[times]
        episode = np.arange(len(time_s), dtype=np.int32) if times == "one row each" else log.episode
        checked(log_page(dataclasses.replace(log, time_s=time_s, episode=episode), robot, "t"))

    def test_missing_values_are_counted(self, log, robot) -> None:
        position = log.joint_position_rad.copy()
        position[3, 1] = np.nan
        position[4, 1] = np.inf
        tile = re.search(
            r'<li class="tile bad"><span class="name">Missing values</span><span class="value">(\d+)<',
            log_page(dataclasses.replace(log, joint_position_rad=position), robot, "t"),
        )
        assert tile.group(1) == "2"

    def test_ten_minutes_at_500_hz_stay_small_and_quick(self, log, robot) -> None:
        n = 300_000
        rng = np.random.default_rng(0)
        pick = np.arange(n) % len(log.time_s)

        def long(values: np.ndarray) -> np.ndarray:
            return values[pick] + rng.normal(0, 0.01, (n, values.shape[1]))

        names = ("command", "joint_position_rad", "joint_velocity_rad_s", "action", "gyro_rad_s", "gravity")
        whole = dataclasses.replace(
            log,
            episode=np.zeros(n, np.int32),
            time_s=np.arange(n) / 500,
            torque_nm=long(log.action),
            **{name: long(getattr(log, name)) for name in names},
        )
        began = time.perf_counter()
        page = log_page(whole, robot, "t")
        took = time.perf_counter() - began
        checked(page)
        assert len(page.encode()) < LARGEST_PAGE
        assert took < 60  # a few seconds where nothing else runs


class TestDoctorPage:
    def test_of_each_robot(self, log, robot, diagnosis) -> None:
        page = doctor_page(diagnosis, log, robot, "Doctor")
        checked(page)
        assert page.count('<article class="card') == 6
        words_ = re.findall(r'<span class="mark \w+"><svg.*?</svg><span>(\w+)</span>', page)
        assert words_ == ["error", "warning", "warning", "warning", "warning", "note"]
        shapes = {
            word: shape for shape, word in re.findall(r'<span class="mark \w+">(<svg.*?</svg>)<span>(\w+)</span>', page)
        }
        assert len(set(shapes.values())) == 3  # told apart without colour
        for finding in diagnosis.findings:
            assert escape(finding.title) in page
        assert "not usable" in page
        assert "95 %: 9 to 16 ms" in page
        assert "walk sideways" in page
        assert "42 of 45 cells were never driven" in page
        assert "a fit needs about 60 s" in page
        assert f"{len(log.joints) - 6} more joints are not drawn" in page

    def test_a_finding_shows_its_place(self, log, robot, diagnosis) -> None:
        page = doctor_page(diagnosis, log, robot, "Doctor")
        cards = dict(
            zip(
                [f.code for f in diagnosis.findings],
                re.findall(r"<article.*?</article>", page, flags=re.S),
                strict=True,
            )
        )
        cut = diagnosis.cuts[0][0]
        for code in ("fall", "time-gap", "saturated", "position-velocity"):
            assert f"episode 1, {cut.start_s:.2f} to {cut.end_s:.2f} s" in cards[code]
            assert 'class="p"' in cards[code]
        assert "gravity along" in cards["fall"]
        assert "time since the row before, ms" in cards["time-gap"]
        assert "One of 2 places" in cards["time-gap"]
        assert "from positions" in cards["position-velocity"]
        assert "mean speed of all joints" in cards["idle"]
        assert "row before" not in cards["saturated"]  # which has the word "rate" in it
        assert "episode 999" not in cards["idle"]
        assert "target" in cards["flipped-sign"]

    def test_the_timeline_shows_used_and_cut_parts(self, log, robot, diagnosis) -> None:
        page = doctor_page(diagnosis, log, robot, "Doctor")
        wide = next(f for f in re.findall(r'<svg class="chart".*?</svg>', page, flags=re.S) if "cut parts" in f)
        root = parsed(wide)
        used = [e for e in root.iter("rect") if e.get("class") == "f0 y"]
        assert len(used) == log.n_episodes + 1  # the cut splits one of them
        assert any("fall" in (e.text or "") for e in root.iter("title"))

    def test_rows_without_a_reason_are_left_out_visibly(self, log, robot, diagnosis) -> None:
        page = doctor_page(dataclasses.replace(diagnosis, cuts=()), log, robot, "Doctor")
        wide = next(f for f in re.findall(r'<svg class="chart".*?</svg>', page, flags=re.S) if "cut parts" in f)
        assert [e.text.split(": ")[1] for e in parsed(wide).iter("title")] == ["left out"]

    def test_a_clean_log(self, log, robot, diagnosis) -> None:
        rows = len(log.time_s)
        clean = dataclasses.replace(
            diagnosis, findings=(), cuts=(), delay=None, usable=np.ones(rows, dtype=bool), proposal=None, usable_s=90.0
        )
        page = doctor_page(clean, log, robot, "Doctor")
        checked(page)
        assert "Nothing was found." in page
        assert "could not be estimated" in page
        assert 'class="tile good"' in page
        assert 'class="tile bad"' not in page

    def test_nothing_usable_and_hostile_words(self, log, robot, diagnosis) -> None:
        finding = Finding(
            HOSTILE,
            "error",
            HOSTILE,
            HOSTILE,
            HOSTILE,
            HOSTILE,
            (HOSTILE, log.joints[0]),
            (TimeSpan(0, math.nan, math.nan), TimeSpan(0, -5.0, 1e9)),
        )
        worst = dataclasses.replace(
            diagnosis,
            findings=(finding,),
            cuts=((TimeSpan(0, math.nan, 1.0), HOSTILE), (TimeSpan(0, 0.0, 1e9), HOSTILE)),
            usable=np.zeros(len(log.time_s), dtype=bool),
            delay=Delay(math.nan, math.nan, math.inf),
            usable_s=math.nan,
            coverage=np.full((1, 1, 1), np.nan),
        )
        checked(doctor_page(worst, dataclasses.replace(log, gravity=None), robot, HOSTILE))
        checked(doctor_page(dataclasses.replace(worst, coverage=np.zeros((0, 0, 0))), log, robot, HOSTILE))


class TestCommand:
    def test_plot(self, log, robot, tmp_path, capsys) -> None:
        write_log(log, tmp_path / "walk.parquet")
        out = tmp_path / "new" / "walk.html"
        assert run(["log", "plot", str(tmp_path / "walk.parquet"), "--out", str(out), "--robot", str(robot.path)]) == 0
        assert f"wrote {out}" in capsys.readouterr().out.replace("\n", "")
        page = out.read_text(encoding="utf-8")
        checked(page)
        assert "<title>walk.parquet</title>" in page
        assert (
            run(
                [
                    "log",
                    "plot",
                    str(tmp_path / "walk.parquet"),
                    "--out",
                    str(out),
                    "--episode",
                    "1",
                    "2",
                    "--title",
                    "Tuesday",
                ]
            )
            == 0
        )
        assert "<title>Tuesday</title>" in out.read_text(encoding="utf-8")
        assert "<h2>Episode 2</h2>" in out.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["none.parquet", "--out", "x.html"], "does not exist"),
            (["walk.parquet", "--out", "."], "is a folder"),
            (["walk.parquet", "--out", "x.html", "--robot", "cat"], "no robot 'cat'"),
            (["walk.parquet", "--out", "x.html", "--episode", "55"], "no episode 55"),
        ],
    )
    def test_mistakes_are_one_sentence(self, log, tmp_path, monkeypatch, capsys, arguments, says) -> None:
        write_log(log, tmp_path / "walk.parquet")
        monkeypatch.chdir(tmp_path)
        assert run(["log", "plot", *arguments]) == 2
        shown = capsys.readouterr().err
        assert says in shown
        assert shown.count("\n") == 1
        assert not (tmp_path / "x.html").exists()
