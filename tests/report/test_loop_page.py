"""The report of a loop, from what a real loop at toy size left."""

import dataclasses
import re
from typing import Any

import pytest
from support.pages import HOSTILE, Outline, parsed

from surefoot.logs.doctor import Finding
from surefoot.pipeline.loop_result import LoopResult
from surefoot.report.loop_page import loop_page
from surefoot.verify.fit_gap import FitGap
from surefoot.verify.rules import Reason

LEFT = FitGap(0.16, 0.031, 0.012, measurable=True, nearer=True, held_out=True)


@pytest.fixture
def whole(toy_loop, tmp_path):
    """A GO with a video."""
    (tmp_path / "video").mkdir()
    (tmp_path / "video" / "before_after.mp4").write_bytes(b"frames")
    verdict = dataclasses.replace(toy_loop.verdict, reasons=(), gains=("total drift 1 → 0.5 m",))
    return ended(dataclasses.replace(toy_loop, folder=tmp_path, verdict=verdict), 0)


def ended(result: LoopResult, exit_code: int, **change: Any) -> LoopResult:
    run = result.run | {
        "outcome": {"says": "so it ended", "exit_code": exit_code},
        "command": "surefoot loop a.parquet",
    }
    return dataclasses.replace(result, run=run, **change)


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
    def test_the_whole_story(self, whole):
        page = loop_page(whole)
        outline = checked(page)
        for words in (
            "The new policy may go onto the robot.",
            whole.gap.diagnosis.causes[0].name,
            "is off by",
            "The gap fell from",
            "total drift",
            "twin go2-identified",
            "surefoot loop a.parquet",
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

    def test_where_the_policies_walked_is_drawn_for_the_virtual_robot(self, whole):
        page = loop_page(whole)
        assert "On the virtual robot go2-identified. Straight walks" in page
        drawn = page.count('class="chart"')
        paths = dict(whole.verdict.paths)
        directions = len(paths.pop("twin go2-identified")[0])
        without = dataclasses.replace(whole.verdict, paths=paths)
        assert "In the adapted simulator. Straight walks" in loop_page(dataclasses.replace(whole, verdict=without))
        without = dataclasses.replace(whole.verdict, paths={})
        bare = loop_page(dataclasses.replace(whole, verdict=without))
        assert bare.count('class="chart"') == drawn - directions  # a chart for each direction

    def test_what_the_fit_left_stands_under_the_verdict(self, whole):
        says = "The fit left 0.031 of a gap of 0.160 (floor 0.012) on held-out episodes"
        assert says in loop_page(dataclasses.replace(whole, verdict=dataclasses.replace(whole.verdict, fit=LEFT)))
        assert says not in loop_page(whole)
        unknown = dataclasses.replace(whole.verdict, fit=None)
        assert "is not known" in loop_page(dataclasses.replace(whole, verdict=unknown))

    def test_the_video_travels_inside_and_the_browser_may_show_it(self, whole):
        page = loop_page(whole)
        assert 'src="data:video/mp4;base64,ZnJhbWVz"' in page
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        assert policy[1] == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"

    def test_a_large_video_is_linked_and_a_missing_one_is_told(self, whole, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr("surefoot.report.loop_page.MOST_EMBEDDED_BYTES", 3)
            page = loop_page(whole)
        assert "<video" not in page
        assert 'href="video/before_after.mp4"' in page
        whole.video.unlink()
        walks = dataclasses.replace(whole.walks, says="none: no EGL here")
        page = loop_page(dataclasses.replace(whole, walks=walks))
        assert "There is no video: no EGL here." in page
        assert "before_after.mp4" not in page

    @pytest.mark.parametrize(
        ("code", "left", "says"),
        [
            (2, ("gap", "fit", "tuned", "verdict", "walks"), "The log cannot be used."),
            (4, ("fit", "tuned", "verdict", "walks"), "Nothing measurable is there to close."),
            (3, ("tuned", "verdict", "walks"), "The fit came no nearer to the robot."),
            (3, (), "Keep the old policy on the robot."),
        ],
    )
    def test_as_far_as_it_went(self, whole, code, left, says):
        finding = Finding("sign", "error", "turned round", "evidence", "because", "negate it")
        report = dataclasses.replace(whole.report, findings=(finding,))
        against = dataclasses.replace(whole.verdict, reasons=(Reason("worse", "adapted", "worse", "worse"),))
        results = {"report": report, "verdict": against} | dict.fromkeys(left)
        page = loop_page(ended(whole, code, **results))
        checked(page)
        assert says in page
        assert ("negate it" in page) == (code == 2)
        assert "may go onto the robot" not in page

    def test_hostile_words_stay_text(self, whole):
        channels = tuple(dataclasses.replace(channel, where=HOSTILE) for channel in whole.gap.gap.channels)
        gap = dataclasses.replace(
            whole.gap,
            gap=dataclasses.replace(whole.gap.gap, channels=channels),
            diagnosis=dataclasses.replace(whole.gap.diagnosis, says=HOSTILE),
        )
        inputs = whole.run["inputs"] | {"policy": {"name": HOSTILE}, "logs": [{"file": HOSTILE}]}
        run = whole.run | {"command": HOSTILE, "inputs": inputs, "outcome": {"says": HOSTILE, "exit_code": 0}}
        walks = dataclasses.replace(whole.walks, place=HOSTILE)
        page = loop_page(dataclasses.replace(whole, run=run, gap=gap, walks=walks))
        checked(page)
        assert "<script>alert" not in page

    def test_a_walk_without_numbers_draws_something(self, whole):
        nowhere: Any = ((float("nan"), float("nan")), (0.0, 0.0))
        before = dataclasses.replace(whole.walks.before, path_m=nowhere, falls=2)
        page = loop_page(dataclasses.replace(whole, walks=dataclasses.replace(whole.walks, before=before)))
        checked(page)
        assert "Falls: 2 before, 0 after." in page
