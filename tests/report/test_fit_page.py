"""The page of a fit: its verdict in every case, marks that need no colour, and one small file whatever the
robot and the names.
"""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from support.fit_results import made, measured
from support.pages import HOSTILE, checked, parsed, words
from support.robot_files import HEXAPOD

from surefoot.fit.judgement import judge_fit
from surefoot.fit.result import FitResult
from surefoot.report.charts import NARROW, WIDE, Interval, intervals
from surefoot.report.fit_figures import gap_maps, most_correlated, parameter_chart, plain_name, strongest_pairs
from surefoot.report.fit_page import fit_page
from surefoot.robot import load_robot

LARGEST_PAGE = 3_000_000


@pytest.fixture(scope="module")
def closed(robot) -> FitResult:
    """The gap falls into its floor, on held-out episodes too."""
    return made(
        robot,
        measured(robot, 0.229, 0.003, 0.0036, 51),
        measured(robot, 0.0035, 0.003, 0.0036, 51),
        measured(robot, 0.231, 0.004, 0.005, 13),
        measured(robot, 0.0042, 0.004, 0.005, 13),
    )


@pytest.fixture(scope="module")
def page(closed, robot) -> str:
    return fit_page(
        closed, robot, {"command": "surefoot fit log.parquet --seed 3", "seed": 3, "log": {"sha256": "0a1b"}}, "A fit"
    )


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def marked(result: FitResult, **changes: dict[str, Any]) -> FitResult:
    """With fields of some knobs changed, by their place: _3={...}."""
    knobs = list(result.adaptation.knobs)
    for place, fields in changes.items():
        i = int(place[1:])
        knobs[i] = dataclasses.replace(knobs[i], **fields)
    return dataclasses.replace(result, adaptation=dataclasses.replace(result.adaptation, knobs=tuple(knobs)))


class TestVerdict:
    def test_closed_on_both(self, closed, page) -> None:
        found = judge_fit(closed)
        assert (found.state, found.word) == ("good", "closed")
        assert (
            found.says
            == "The gap fell from 0.229 to 0.004 (floor 0.003); on 13 held-out episodes from 0.231 to 0.004 (floor"
            " 0.004)."
        )
        assert found.says in page
        assert "the gap reached its floor" in page
        assert "2 pieces fell and count less" in page

    def test_nothing_was_there(self, closed, robot) -> None:
        nothing = measured(robot, 0.0032, 0.003, 0.0036)
        found = judge_fit(dataclasses.replace(closed, before=nothing, held_before=closed.held_after))
        assert (found.state, found.word) == ("good", "no gap")
        assert (
            found.says
            == "Nothing measurable was there to close: the gap was 0.003 (floor 0.003), and can be told from none only"
            " above 0.0036."
        )

    def test_what_stays_above_the_floor_is_missing_physics(self, closed, robot) -> None:
        after, held = measured(robot, 0.034, 0.003, 0.004), measured(robot, 0.036, 0.004, 0.005)
        found = judge_fit(dataclasses.replace(closed, after=after, held_after=held))
        assert (found.state, found.word) == ("warn", "above its floor")
        assert "It stays 0.031 above its floor, where 0.001 would be chance." in found.says
        assert "Physics is missing, not numbers" in found.advice
        assert f"largest in {robot.contract.joints[0]} position" in found.advice

    def test_a_bound_and_an_early_end_come_before_missing_physics(self, closed, robot) -> None:
        after, held = measured(robot, 0.034, 0.003, 0.004), measured(robot, 0.036, 0.004, 0.005)
        remains = dataclasses.replace(closed, after=after, held_after=held)
        bounded = judge_fit(marked(remains, _2={"flag": "at its bound"})).advice
        assert "1 parameter ended at its bound: let the search go further" in bounded
        early = made(robot, closed.before, after, closed.held_before, held, costs=(0.2, 0.1, 0.06, 0.034))
        assert "still falling when the search stopped" in judge_fit(early).advice

    def test_a_gap_on_held_out_episodes_only_is_not_called_closed(self, closed, robot) -> None:
        held = measured(
            robot, 0.006, 0.004, 0.005, 13, error=0.6
        )  # above its limit, and not clearly above the fitted one
        found = judge_fit(dataclasses.replace(closed, held_after=held))
        assert found.word == "above its floor"
        assert "on the held-out episodes" in found.says

    @pytest.mark.parametrize("total", [0.09, 0.25])
    def test_overfit(self, closed, robot, total) -> None:
        found = judge_fit(dataclasses.replace(closed, held_after=measured(robot, total, 0.004, 0.005, 13)))
        assert (found.state, found.word) == ("bad", "overfit")
        assert (
            f"from 0.231 to {total:.3f} (floor 0.004): clearly worse than on the episodes that were fitted."
            in found.says
        )
        assert "Free fewer parameters" in found.advice

    def test_too_little_to_hold_any_back(self, closed, robot) -> None:
        alone = dataclasses.replace(closed, held_before=None, held_after=None)
        found = judge_fit(alone)
        assert (found.state, found.word) == ("warn", "closed, not checked")
        assert "too little was recorded to hold any episodes back" in found.says
        page = fit_page(alone, robot, {}, "t")
        checked(page)
        assert "held out" not in page
        assert "Held-out gap" not in page

    def test_worse_than_before(self, closed, robot) -> None:
        found = judge_fit(dataclasses.replace(closed, after=measured(robot, 0.4, 0.003, 0.004)))
        assert (found.state, found.word) == ("bad", "worse")
        assert "The gap went from 0.229 to 0.400" in found.says


class TestPage:
    def test_it_is_one_whole_file_that_asks_for_nothing(self, page) -> None:
        outline = checked(page)
        assert outline.headings.count("h2") == 7
        assert len(page.encode()) < LARGEST_PAGE / 3

    def test_hexapod_with_56_knobs_is_legible_and_small(self) -> None:
        robot = load_robot(HEXAPOD)
        before, after = (measured(robot, total, 0.003, 0.004, 40) for total in (0.2, 0.01))
        result = made(robot, before, after, before, after)
        assert len(result.adaptation.knobs) == 56
        page = fit_page(result, robot, {}, "t")
        checked(page)
        assert len(page.encode()) < LARGEST_PAGE
        assert len(most_correlated(result)) == 24
        assert "The 24 of 56 parameters with the strongest partners." in page
        for knob in result.adaptation.knobs:
            assert (knob.where[0] if knob.where else knob.name) in page

    def test_every_number_has_its_neighbours(self, page, closed) -> None:
        said = text_of(page)
        for part in (
            "was, N·m",
            "is, N·m",
            "90 % interval",
            "searched",
            "measurable above",
            "robot to itself",
            "no measurable gap",
        ):
            assert part in said
        assert "51 episodes" in said  # not the 52 pieces
        assert f"{len(closed.adaptation.knobs)} of {len(closed.adaptation.knobs)}" in said

    def test_effort_and_the_command(self, page) -> None:
        said = text_of(page)
        assert "<code>surefoot fit log.parquet --seed 3</code>" in page
        assert "Evaluations 300 candidate simulators in 5 iterations" in said
        assert "Simulated walking 12 h 262 times real time" in said
        assert "Wall clock 2.8 min" in said
        assert "log.sha256 0a1b" in said

    def test_hostile_text_stays_text(self, closed, robot) -> None:
        hostile = marked(
            dataclasses.replace(closed, stopped=HOSTILE, remarks=(HOSTILE, HOSTILE), search=HOSTILE),
            _0={"flag": "not identifiable", "note": HOSTILE, "name": f"dry_friction_nm[{HOSTILE}]"},
            _1={"unit": HOSTILE, "parameter": HOSTILE, "name": HOSTILE},
        )
        page = fit_page(hostile, robot, {HOSTILE: HOSTILE, "command": HOSTILE}, HOSTILE)
        checked(page)
        assert "<script" not in page

    @pytest.mark.parametrize("steps", [0, 1])
    def test_hardly_any_search_and_no_knobs(self, closed, robot, steps) -> None:
        page = fit_page(dataclasses.replace(closed, steps=closed.steps[:steps]), robot, {}, "t")
        checked(page)
        bare = dataclasses.replace(
            closed, adaptation=dataclasses.replace(closed.adaptation, knobs=()), steps=(), correlation=np.zeros((0, 0))
        )
        page = fit_page(bare, robot, {}, "t")
        checked(page)
        assert "None was free." in page
        assert "nothing can trade" in page


class TestParameters:
    def test_flags_are_words_with_what_would_help(self, closed, robot) -> None:
        note = "the joint hardly moves; record sideways commands"
        flagged = marked(
            closed,
            _0={"flag": "at its bound", "note": "widen it"},
            _1={"flag": "not identifiable", "note": note},
            _2={"flag": "not identifiable", "note": note},
            _3={"flag": "no effect", "note": "nothing changed"},
        )
        page = fit_page(flagged, robot, {}, "t")
        said = text_of(page)
        first = closed.adaptation.knobs[0].where[0]
        assert f"▲ at its bound dry friction {first} widen it" in said
        pair = ", ".join(closed.adaptation.knobs[i].where[0] for i in (1, 2))
        assert f"? not identifiable dry friction {pair} {note}" in said  # told once for both
        assert "○ no effect" in said
        assert "1 at its bound, 2 not identifiable, 1 no effect" in said
        assert f"{len(closed.adaptation.knobs) - 4} of {len(closed.adaptation.knobs)}" in said
        for width, mark in ((WIDE, "? not identifiable"), (NARROW, "? not seen")):
            assert mark in words(parsed(parameter_chart(flagged.adaptation.knobs[:5], width)))

    def test_what_cannot_be_told_does_not_squeeze_the_rest(self, closed) -> None:
        """An interval as wide as all bounds goes out of view; the others keep theirs."""
        knobs = [
            dataclasses.replace(k, value=0.5, interval=(0.4, 0.6), start=0.2, bounds=(0.0, 400.0))
            for k in closed.adaptation.knobs[:4]
        ]
        knobs[0] = dataclasses.replace(knobs[0], interval=(-900.0, 900.0), flag="not identifiable")
        bars = [
            e.get("d") for e in parsed(parameter_chart(knobs, WIDE)).iter("path") if e.get("class") in ("k0 i", "k3 i")
        ]
        ends = [
            [float(v) for v in re.findall(r"[ML](-?[\d.]+) ", bar)] for bar in bars[::3]
        ]  # a line, and its two ends
        assert all(b - a > 150 for a, b in ends)
        assert ends[0][1] - ends[0][0] > 2 * (ends[1][1] - ends[1][0])
        assert len(set(re.findall(r"[ML](-?[\d.]+) ", bars[2]))) == 2  # cut: an arrow
        assert len(set(re.findall(r"[ML](-?[\d.]+) ", bars[4]))) == 1  # whole: a bar across

    def test_an_interval_wider_than_its_bounds_is_cut_there(self) -> None:
        root = parsed(intervals([Interval("a", 1.0, -5.0, 9.0, (0.0, 2.0))], "N·m", legend=False))
        bar = next(e for e in root.iter("path") if e.get("class") == "k0 i")
        bounds = next(e for e in root.iter("rect") if e.get("class") == "b3")
        left, right = (float(v) for v in re.findall(r"[ML](-?[\d.]+) ", bar.get("d")))
        assert left == pytest.approx(float(bounds.get("x")), abs=0.2)
        assert right == pytest.approx(left + float(bounds.get("width")), abs=0.2)

    def test_names_in_words(self, closed) -> None:
        names = {plain_name(knob) for knob in closed.adaptation.knobs}
        first = closed.adaptation.knobs[0].where[0]
        assert {
            f"dry friction of {first}",
            f"armature of {first}",
            f"viscous friction of {first}",
            "delay",
            "torque noise",
        } <= names


class TestFigures:
    def test_pairs_that_trade_are_told_in_words(self, page, closed) -> None:
        said = text_of(page)
        first, second, third = (closed.adaptation.knobs[i].where[0] for i in range(3))
        assert f"Dry friction of {first} and delay trade against each other: 0.93. Raised together" in said
        assert (
            f"Dry friction of {second} and dry friction of {third} trade against each other: −0.88. One raised and the"
            " other lowered" in said
        )
        assert "Another excitation would part them" in said

    def test_independent_parameters_are_called_so(self, closed, robot) -> None:
        apart = dataclasses.replace(closed, correlation=np.eye(len(closed.adaptation.knobs)))
        said = text_of(fit_page(apart, robot, {}, "t"))
        assert "No two are hard to tell apart" in said
        assert "Another excitation" not in said

    def test_what_has_no_effect_correlates_with_nothing(self, closed) -> None:
        without = marked(closed, _0={"flag": "no effect"})
        assert all(0 not in pair[1:] for pair in strongest_pairs(without))
        assert 0 not in most_correlated(without)
        value, i, j = strongest_pairs(closed)[0]
        assert (value, i, j) == (0.93, 0, len(closed.adaptation.knobs) - 2)

    def test_three_samples_in_each_panel_of_the_worst_channels(self, page, closed, robot) -> None:
        panels = [
            figure
            for figure in re.findall(r'<svg class="chart".*?</svg>', page, flags=re.S)
            if "Distribution of" in figure
        ]
        assert len(panels) == 6
        for panel, i in zip(panels, closed.before.gap.worst, strict=False):
            looks = [e.get("class") for e in parsed(panel).iter("path")]
            assert {"f0", "k0", "k1", "k2"} <= set(looks)
            assert f"{closed.before.gap.channels[i].name}: " in panel
            assert "→" in panel

    def test_heat_maps_share_their_scale(self, closed) -> None:
        before, after = closed.before.gap, closed.after.gap
        strength = [float(v) for v in re.findall(r'class="u" fill-opacity="([\d.]+)"', gap_maps(before, after, WIDE))]
        n = len(before.channels)
        assert len(strength) == 2 * n
        assert max(strength[:n]) == 0.85
        assert max(strength[n:]) < 0.05

    def test_a_heat_map_without_numbers_is_still_one(self, closed) -> None:
        nothing = dataclasses.replace(closed.before.gap, distance=np.full(len(closed.before.gap.channels), math.nan))
        for figure in re.findall(r"<svg.*?</svg>", gap_maps(nothing, nothing, NARROW), flags=re.S):
            parsed(figure)

    def test_paths_are_drawn_in_halves_of_the_interval(self, page) -> None:
        said = text_of(page)
        assert "halves of its 90 % interval" in said
        assert "evaluations" in said
        assert "floor 0.003" in said
