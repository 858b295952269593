"""`surefoot fit --rehearse`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from surefoot.cli.fit_screen import Screen
from surefoot.cli.inputs import REPLAY, make_driver, named_policy, say
from surefoot.errors import FitError
from surefoot.files import check_place, json_ready, write_text
from surefoot.fit.journal import Journal
from surefoot.fit.rehearse import Rehearsal, commands_to_rehearse, noise_of, rehearse, relative_errors
from surefoot.fit.run import FitSettings, Progress
from surefoot.gap import schedule_of
from surefoot.gap.schedule import LEAST_S, finite_rows
from surefoot.logs import read_log
from surefoot.report.fit_page import fit_page
from surefoot.robot import Robot

FIGURES, PAGE, JOURNAL = "rehearsal.json", "rehearsal.html", "rehearsal-journal"
USUAL_NOISE = {"torque_noise_nm": 1.0}


@dataclass(frozen=True)
class Planned:
    """What would be recorded."""

    rollouts: int
    seconds: float
    torque_noise_nm: float | None
    settle_s: float
    threads: int
    restart: bool


def run_rehearsal(log: Path | None, out: Path, robot: Robot, policy: str | None, settings: FitSettings, planned: Planned) -> None:
    """Plant, record in the simulator, fit, and say what would be recovered."""
    for name in (FIGURES, PAGE):
        check_place(out / name)
    console = Console()
    content = None if log is None else read_log(log)
    if policy is None and (content is None or log is None):
        raise FitError("a rehearsal without a log needs --policy, the one that will drive the robot")
    policy = policy or named_policy(content, robot, log)  # type: ignore[arg-type]
    driver = make_driver(policy, robot, settings.seed)
    with Screen(console) as screen:
        if content is None:
            if (
                planned.rollouts < 1
                or not planned.settle_s < planned.seconds
                or planned.rollouts * (planned.seconds - planned.settle_s) < LEAST_S
            ):
                raise FitError(
                    f"{planned.rollouts} rollouts of {planned.seconds:g} s are too little to rehearse; 64 of 4 s make a good log"
                )
            schedule, noise = commands_to_rehearse(robot, planned.rollouts, planned.seconds, settings.seed, planned.settle_s), USUAL_NOISE
        else:
            schedule = schedule_of(content, robot, finite_rows(content), planned.settle_s, replay=policy == REPLAY)
            noise = {}
            if policy != REPLAY and planned.torque_noise_nm is None:
                screen.show(Progress("measuring the noise of the log"))
                noise = noise_of(content, schedule, robot, driver.make, settings.seed, planned.threads)
        if planned.torque_noise_nm is not None:
            noise = noise | {"torque_noise_nm": planned.torque_noise_nm}
        identity = {
            "robot": robot.hash, "policy": driver.hash, "settings": repr(settings), "noise": noise, "commands": schedule.command.sum(axis=(0, 1)).tolist(),
            "pieces": schedule.n, "settle_s": planned.settle_s,
        }  # fmt: skip
        journal = Journal(out / JOURNAL, identity, restart=planned.restart)
        found = rehearse(
            schedule, robot, driver.make, settings, noise, seed=settings.seed, threads=planned.threads, journal=journal, settle_s=planned.settle_s,
            progress=screen.show,
        )  # fmt: skip
    facts = {"kind": "rehearsal: the robot is a simulator with planted parameters", **identity}
    write_text(out / FIGURES, json.dumps(json_ready(_figures(found, facts)), indent=1, allow_nan=False) + "\n")
    write_text(out / PAGE, fit_page(found.result, robot, facts, f"A rehearsal with {robot.name}"))
    console.print(_table(found))
    for line in _words(found, noise):
        say(console, line)
    say(console, f"wrote {out / FIGURES}, {out / PAGE}")


def _figures(found: Rehearsal, facts: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {**vars(knob), "planted": found.planted[knob.name], "covered": held} for knob, held in zip(found.found, found.covered, strict=True)
    ]
    return {
        "provenance": facts,
        "knobs": rows,
        "mean_relative_error": relative_errors(found),
        "covered": [sum(found.covered), len(found.covered)],
    }


def _table(found: Rehearsal) -> Table:
    table = Table(title="planted and found", title_justify="left")
    table.add_column("knob", no_wrap=True)
    for heading in ("planted", "found", "90 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for knob, held in zip(found.found, found.covered, strict=True):
        low, high = knob.interval
        cells = (
            f"{found.planted[knob.name]:.4g}",
            f"{knob.value:.4g}",
            f"{low:.4g} to {high:.4g}",
            knob.flag or ("" if held else "outside"),
        )
        table.add_row(Text(knob.name), *map(Text, cells))
    return table


def _words(found: Rehearsal, noise: dict[str, float]) -> list[str]:
    errors = ", ".join(f"{name} {error:.1%}" for name, error in relative_errors(found).items())
    said = ", ".join(f"{name} {value:.3g}" for name, value in noise.items())
    unknown = [knob.name for knob in found.found if knob.flag in ("not identifiable", "no effect")]
    lines = [
        f"a log like this would give, on average: {errors} (noise: {said or 'none'})",
        f"{sum(found.covered)} of {len(found.covered)} intervals hold what was planted; 9 of 10 should",
    ]
    return lines + ([f"it could not tell {', '.join(unknown)}"] if unknown else [])
