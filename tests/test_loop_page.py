"""The report of a loop from made-up results, and the video side by side."""

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from loop_files import LEFT, doctor_figures, evaluation, fit_figures, gap_figures, verdict_figures
from robot_files import HEXAPOD
from test_play import frames_of, gl  # noqa: F401
from test_report import HOSTILE, Outline, parsed

from surefoot.adapt import Fitted
from surefoot.cli import loop_video
from surefoot.cli.loop_steps import VIDEO, WALKS, read_figures
from surefoot.policy.agents import make_agent
from surefoot.report.loop_page import Found, Story, loop_page
from surefoot.robot import load_robot
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import directions_of
from surefoot.verify.side_by_side import film_side_by_side, straight_lines
from surefoot.verify.video import walk

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


def whole(**change: object) -> Story:
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


class TestVideo:
    def test_commands_go_there_and_back(self, robot):
        command = straight_lines(robot, 10.0)
        hz = robot.contract.control_hz
        assert len(command) == round(10 * hz)
        known = [list(value) for value in directions_of(robot).values() if not value[2]]
        assert all(value in command.tolist() for value in known)
        assert not command[:, 2].any()
        assert not command[0].any()
        assert not command[-1].any()

    @pytest.mark.usefixtures("gl")
    def test_each_half_shows_its_own_walk(self, go2, tmp_path):
        command = np.tile([0.5, 0.0, 0.0], (20, 1))
        trotting = walk(Worlds(go2, 1, threads=1), make_agent("trot", go2, 1), command)
        fixed = {
            name: np.repeat(getattr(trotting, name)[:1], len(trotting.time_s), axis=0)
            for name in ("qpos", "base_m", "smooth_base_m")
        }
        walks = {"before": dataclasses.replace(trotting, **fixed), "after": trotting}
        film_side_by_side(tmp_path / "v.mp4", go2, walks, size=(161, 97), comment="made here")
        about, frames = frames_of(tmp_path / "v.mp4")
        assert about["fps"] == 25.0
        assert frames.shape == (10, 96, 320, 3)
        moved = np.abs(np.diff(frames[:, 45:], axis=0)).mean(axis=(0, 1, 3))
        assert moved[170:].mean() > 3 * moved[:150].mean()  # on the left it is still, on the right it trots
        assert frames[:, 40:60, 159:161].mean() < frames[:, 40:60, 130:150].mean() - 50  # the rule between them

    def test_without_graphics_the_walk_is_told(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MUJOCO_GL", "off")
        monkeypatch.setattr(loop_video, "SECONDS", 1.0)
        (tmp_path / "twin.yaml").write_text(f"robot: {HEXAPOD}\n")
        loop_video.film_both(tmp_path, str(tmp_path / "twin.yaml"), "zero", "trot", 0)
        assert not (tmp_path / VIDEO).exists()
        found = read_figures(tmp_path / WALKS)
        assert "no picture can be drawn" in found["says"]
        assert found["provenance"]["robot_hash"] == load_robot(HEXAPOD).hash
        assert found["provenance"]["mujoco"] == mujoco.__version__
        before, after = (np.array(found[side]["path_m"]) for side in ("before", "after"))
        assert np.abs(before).max() < np.abs(after).max()
        assert len(found["commanded_m"]) == len(before) == len(after)
