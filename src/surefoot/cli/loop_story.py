"""What the steps of a loop left, read back for its report."""

from pathlib import Path
from typing import Any

from surefoot.adapt import read_adaptation
from surefoot.cli.loop_steps import JOINED, TUNED, VIDEO, WALKS, Plan, read_figures
from surefoot.fit.result import Point
from surefoot.report.loop_page import Found, Story
from surefoot.report.torque_words import torque_words
from surefoot.robot import Robot

MOST_EMBEDDED_BYTES = 4_000_000  # of a video inside the page
PAGES = {"doctor": "doctor.html", "gap": "gap.html", "fit": "fit.html", "verdict": "verdict.html"}


def read_story(plan: Plan, run: dict[str, Any], robot: Robot) -> Story:
    """The story as far as it went: only what steps left that are done."""
    done = [name for name, entry in run["steps"].items() if entry["state"] == "done"]

    def figures(step: str, name: str) -> dict[str, Any] | None:
        return read_figures(plan.folder(step) / name) if step in done else None

    fitted = figures("fit", "fit.json")
    walks = figures("video", WALKS)
    video = plan.folder("video") / VIDEO
    there = walks is not None and video.is_file()
    small = there and video.stat().st_size <= MOST_EMBEDDED_BYTES
    log = ", ".join(path.stem for path in plan.logs) or f"a recording of {plan.twin}"
    return Story(
        title=f"{robot.name}: {log}",
        run=run,
        pages={name: f"{name}/{page}" for name, page in PAGES.items() if name in done},
        doctor=figures("doctor", "doctor.json"),
        gap=figures("gap", "gap.json"),
        fit=None if fitted is None else _found(plan.folder("fit"), fitted, robot),
        tuned=figures(TUNED, "eval.json"),
        verdict=figures("verdict", "verdict.json"),
        walks=walks,
        video=video.read_bytes() if small else None,
        video_link=f"video/{VIDEO}" if there else "",
        policy=f"{TUNED}/policy.onnx" if TUNED in done else "",
        log=f"{JOINED if plan.logs else 'record'}/log.parquet" if len(plan.logs) != 1 else "",
    )


def _found(place: Path, figures: dict[str, Any], robot: Robot) -> Found:
    knobs = read_adaptation(place, robot).knobs
    knots = tuple(Point(**{**point, "joints": tuple(point["joints"])}) for point in figures.get("knots", ()))
    return Found(figures, knobs, tuple(torque_words(knobs, robot, knots)))
