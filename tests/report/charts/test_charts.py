"""Every figure is well-formed whatever the data, and says what it shows without colour."""

import math
import re

import numpy as np
import pytest
from support.pages import HOSTILE, parsed, words

from surefoot.report.charts import (
    NARROW,
    PANEL,
    SIMULATOR,
    WIDE,
    Bar,
    Cloud,
    Interval,
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
    ridges,
    scatter,
    timeline,
)
from surefoot.report.charts.svg import fit

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
