"""The report of a loop from made-up results."""

import dataclasses
import re
from typing import Any

import pytest
from support.loop_files import LEFT, doctor_figures, evaluation, fit_figures, gap_figures, verdict_figures
from support.pages import HOSTILE, Outline, parsed

from surefoot.adapt import Fitted
from surefoot.report.loop_page import Found, Story, loop_page

KNOB = Fitted("delay_s", "delay_s", (), "s", 0.0, 0.004, (0.003, 0.005), (0.0, 0.06))
SIDE = {"path_m": [[0.0, 0.0], [1.0, 0.2], [0.1, 0.3]], "falls": 0}
WALKED = {
    "says": "10 s",
    "place": "go2-identified",
    "commanded_m": [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]],
    "before": SIDE,
    "after": SIDE,
}


def run_of(exit_code: int, *steps: str) -> dict:
    done = {"state": "done", "says": "a sentence", "wall_s": 3.2, "command": "surefoot gap a.parquet", "files": {}}
    return {
        "command": "surefoot loop a.parquet",
        "outcome": {"says": "so it ended", "exit_code": exit_code},
        "versions": {"surefoot": "0.1.0"},
        "inputs": {"policy": {"name": "walk"}, "twin": {"name": "go2-identified"}},
        "steps": dict.fromkeys(steps, done),
    }


def whole(**change: Any) -> Story:
    story = Story(
        "go2: a",
        run_of(0, "doctor", "gap", "fit"),
        {name: f"{name}/{name}.html" for name in ("doctor", "gap", "fit", "verdict")},
        doctor_figures(),
        gap_figures(),
        Found(fit_figures(), (KNOB,), ("At calf_joint it looks like a spring.",)),
        {"before": evaluation(1.2, 0.1), "after": evaluation(0.2, 0.1)},
        verdict_figures(),
        WALKED,
        b"frames",
        "video/before_after.mp4",
        "finetune/policy.onnx",
        "record/log.parquet",
    )
    return dataclasses.replace(story, **change)


def checked(page: str) -> Outline:
    """What must hold for this page: closed tags, figures that draw, nothing fetched but what lies beside it."""
    outline = Outline()
    outline.feed(page)
    assert outline.open == []
    assert not outline.tags & {"script", "iframe", "object", "embed", "img"}
    assert not re.search(r"https?:|url\(|@import", page)
    for figure in re.findall(r'<svg class="chart".*?</svg>', page, flags=re.S):
        parsed(figure)
    return outline


class TestPage:
    def test_the_whole_story(self):
        page = loop_page(whole())
        outline = checked(page)
        for words in (
            "The new policy may go onto the robot.",
            "friction and inertia of the joints",
            "FL_calf_joint position is off by 0.08 rad",
            "The gap fell from 0.192 to 0.012",
            "looks like a spring",
            "total drift",
            "twin go2-identified",
            "surefoot loop a.parquet",
            "fell",
        ):
            assert words in page
        links = {
            "gap/gap.html",
            "fit/fit.html",
            "verdict/verdict.html",
            "doctor/doctor.html",
            "finetune/policy.onnx",
            "record/log.parquet",
            "run.json",
        }
        assert links <= set(outline.addresses)

    def test_where_the_policies_walked_is_drawn_for_the_virtual_robot(self):
        page = loop_page(whole())
        assert "On the virtual robot go2-identified. Straight walks" in page
        without = verdict_figures()
        drawn = page.count('class="chart"')
        del without["paths"]["twin go2-identified"]
        assert "In the adapted simulator. Straight walks" in loop_page(whole(verdict=without))
        without["paths"] = {}
        assert loop_page(whole(verdict=without)).count('class="chart"') == drawn - 2  # a chart for each direction

    def test_what_the_fit_left_stands_under_the_verdict(self):
        says = "The fit left 0.031 of a gap of 0.160 (floor 0.012) on held-out episodes"
        assert says in loop_page(whole(verdict=verdict_figures(fit=LEFT)))
        assert says not in loop_page(whole())
        assert "is not known" in loop_page(whole(verdict=verdict_figures(fit=None)))

    def test_the_video_travels_inside_and_the_browser_may_show_it(self):
        page = loop_page(whole())
        assert 'src="data:video/mp4;base64,ZnJhbWVz"' in page
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert policy[1] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"

    def test_a_large_video_is_linked_and_a_missing_one_is_told(self):
        page = loop_page(whole(video=None))
        assert "<video" not in page
        assert 'href="video/before_after.mp4"' in page
        page = loop_page(whole(video=None, video_link="", walks=WALKED | {"says": "none: no EGL here"}))
        assert "There is no video: no EGL here." in page
        assert "before_after.mp4" not in page

    @pytest.mark.parametrize(
        ("code", "left", "says"),
        [
            (
                2,
                {"gap": None, "fit": None, "tuned": None, "verdict": None, "walks": None, "video": None},
                "The log cannot be used.",
            ),
            (
                4,
                {"fit": None, "tuned": None, "verdict": None, "walks": None, "video": None},
                "Nothing measurable is there to close.",
            ),
            (3, {"tuned": None, "verdict": None, "walks": None, "video": None}, "The fit came no nearer to the robot."),
            (3, {"verdict": verdict_figures(go=False)}, "Keep the old policy on the robot."),
        ],
    )
    def test_as_far_as_it_went(self, code, left, says):
        finding = {"code": "sign", "severity": "error", "title": "turned round", "why": "because", "fix": "negate it"}
        page = loop_page(whole(run=run_of(code), doctor=doctor_figures(2, [finding]), **left))
        checked(page)
        assert says in page
        assert ("negate it" in page) == (code == 2)
        assert "may go onto the robot" not in page

    def test_hostile_words_stay_text(self):
        gap = gap_figures()
        gap["gap"] |= {
            "channels": [
                {"where": HOSTILE, "kind": HOSTILE, "distance": 0.4, "floor": 0.0, "limit": 0.0, "spread": 1.0}
            ]
        }
        gap["diagnosis"] |= {"says": HOSTILE}
        run = run_of(0, "gap")
        run["outcome"]["says"] = run["command"] = run["inputs"]["policy"]["name"] = HOSTILE
        page = loop_page(whole(title=HOSTILE, run=run, gap=gap, walks=WALKED | {"place": HOSTILE}))
        checked(page)
        assert "<script>alert" not in page

    def test_a_walk_without_numbers_draws_something(self):
        side = {"path_m": [[None, None], [0.0, 0.0]], "falls": 2}
        page = loop_page(whole(walks=WALKED | {"before": side}))
        checked(page)
        assert "Falls: 2 before, 0 after." in page
