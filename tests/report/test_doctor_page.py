"""The page of the doctor: every finding at its place."""

import dataclasses
import math
import re

import numpy as np
import pytest
from support.pages import HOSTILE, checked, parsed

from surefoot.logs.doctor.findings import Delay, Finding, LogReport, TimeSpan
from surefoot.report.charts.svg import escape
from surefoot.report.doctor_page import doctor_page


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
            "velocity",
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

    @pytest.mark.parametrize(
        ("channel", "drawn"), [("velocity", "from positions"), ("position", "target"), ("", "target")]
    )
    def test_the_channel_decides_what_is_drawn_and_not_the_words(self, log, robot, diagnosis, channel, drawn) -> None:
        (finding,) = (one for one in diagnosis.findings if one.code == "position-velocity")
        for title in ("velocity and position", "something is off"):
            report = dataclasses.replace(
                diagnosis, findings=(dataclasses.replace(finding, title=title, channel=channel),)
            )
            (card,) = re.findall(r"<article.*?</article>", doctor_page(report, log, robot, "Doctor"), flags=re.S)
            assert [word for word in ("from positions", "target") if word in card] == [drawn]

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
