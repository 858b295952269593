"""Progress where there is no terminal: a line now and then."""

import io

import pytest

from surefoot.cli import progress
from surefoot.cli.progress import StageBar
from surefoot.console import Console


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now_s = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now_s[0])
    return now_s


def test_a_line_every_few_seconds_with_what_is_left(clock) -> None:
    text = io.StringIO()
    with StageBar(Console(file=text)) as bar:
        for frame in range(1, 41):
            clock[0] += 1.0
            bar.show("drawing", frame, 40, "frames")
    lines = text.getvalue().splitlines()
    assert lines[0] == "drawing: 6 of 40 frames, about 34 s left"
    assert 5 <= len(lines) <= 8
    assert all("drawing: " in line for line in lines)


def test_a_short_job_prints_nothing(clock) -> None:
    text = io.StringIO()
    with StageBar(Console(file=text)) as bar:
        for stage in ("walking", "drawing"):
            clock[0] += 1.0
            bar.show(stage, 1, 2)
            bar.show(stage, 2, 2)
    assert text.getvalue() == ""


def test_a_job_of_unknown_length_names_its_stage(clock) -> None:
    text = io.StringIO()
    with StageBar(Console(file=text)) as bar:
        clock[0] += 60.0
        bar.show("noise floor", 3, None)
    assert text.getvalue() == "noise floor\n"
