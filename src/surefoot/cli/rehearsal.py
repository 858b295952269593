"""`surefoot fit --rehearse`."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from surefoot.adapt import read_priors
from surefoot.cli.fit_screen import FitScreen
from surefoot.console import Console, cell, say
from surefoot.errors import FitError
from surefoot.files import read_text, sha256, write_json, write_text
from surefoot.fit.family import FitSettings
from surefoot.fit.rehearse import Rehearsal, commands_to_rehearse, noise_of, rehearse, relative_errors
from surefoot.gap import schedule_of
from surefoot.gap.case import Case, named_policy
from surefoot.gap.schedule import LEAST_S, Schedule, finite_rows
from surefoot.journal import Journal
from surefoot.logs import read_log
from surefoot.logs.recorder import USUAL_WALK_S
from surefoot.pipeline.artefacts import VERSIONS
from surefoot.policy.driver import REPLAY, make_driver
from surefoot.report.fit_page import fit_page
from surefoot.robot import Robot

FIGURES, PAGE, JOURNAL = "rehearsal.json", "rehearsal.html", "rehearsal-journal"
FILES = (FIGURES, PAGE, f"{JOURNAL}/")
MOST_ROLLOUTS, MOST_S = 1000, 600.0
USUAL_NOISE: dict[str, float] = {"torque_noise_nm": 1.0}


@dataclass(frozen=True)
class Planned:
    """What would be recorded."""

    rollouts: int
    seconds: float
    torque_noise_nm: float | None
    settle_s: float
    threads: int
    restart: bool


def run_rehearsal(
    log: Path | None, out: Path, robot: Robot, policy: str | None, settings: FitSettings, planned: Planned, command: str
) -> None:
    """Plant, record in the simulator, fit, and say what would be recovered."""
    _refuse(log, policy, settings, planned)
    console = Console()
    content = None if log is None else read_log(log)
    if policy is None:
        assert log is not None
        assert content is not None
        policy = named_policy(content, robot)
    driver = make_driver(policy, robot, settings.seed)
    robot = driver.robot
    known: dict[str, Any] = {
        "robot": robot.hash,
        "policy": driver.hash,
        **{name: repr(value) for name, value in vars(settings).items()},
        "settle_s": planned.settle_s,
        "priors": "" if settings.priors is None else read_text(settings.priors, FitError),
        "versions": VERSIONS,
    }
    with FitScreen(console) as screen:
        if content is None:
            schedule = _commands(robot, planned, settings.seed)
            noise = USUAL_NOISE
        else:
            schedule, noise = (
                schedule_of(content, robot, finite_rows(content), planned.settle_s, replay=policy == REPLAY),
                {},
            )
        parts = (
            schedule.command,
            schedule.start_rad,
            schedule.counted,
            *(() if schedule.replay is None else (schedule.replay,)),
        )
        known["commands"] = sha256(*(np.ascontiguousarray(part).tobytes() for part in parts))
        if content is not None and policy != REPLAY and planned.torque_noise_nm is None:
            journal = Journal(out / JOURNAL / "noise", known, restart=planned.restart)
            noise = noise_of(
                Case(robot, driver, content, schedule=schedule),
                journal,
                settings.seed,
                planned.threads,
                screen.named("noise of the log"),
            )
        if planned.torque_noise_nm is not None:
            noise = noise | {"torque_noise_nm": planned.torque_noise_nm}
        known["noise"] = noise
        journal = Journal(out / JOURNAL / "fit", known, restart=planned.restart)
        found = rehearse(
            driver,
            schedule,
            settings,
            noise,
            seed=settings.seed,
            threads=planned.threads,
            journal=journal,
            settle_s=planned.settle_s,
            progress=screen.show,
        )
    facts = {"kind": "rehearsal: the robot is a simulator with planted parameters", "command": command, **known}
    write_json(out / FIGURES, _figures(found, facts))
    write_text(out / PAGE, fit_page(found.result, robot, facts, f"A rehearsal with {robot.name}"))
    console.print(_table(found))
    for line in _words(found, noise):
        say(console, line)
    say(console, f"wrote {out / FIGURES}, {out / PAGE}")


def _commands(robot: Robot, planned: Planned, seed: int) -> Schedule:
    """Random commands, and none while the robot rises to its posture, as `surefoot record` would give them."""
    schedule = commands_to_rehearse(robot, planned.rollouts, planned.seconds, seed, planned.settle_s)
    if robot.posture.level:
        return schedule
    rise_s = robot.posture.rise_s
    if planned.seconds <= rise_s:
        raise FitError(
            f"--seconds is {planned.seconds:g} and the robot takes up to {rise_s:g} s to rise to the posture"
            f" {robot.posture.name!r}, under no commands; rehearse episodes of {rise_s + USUAL_WALK_S:g} s"
        )
    command = schedule.command.copy()
    command[:, : round(rise_s * robot.contract.control_hz)] = 0.0
    return replace(schedule, command=command)


def _refuse(log: Path | None, policy: str | None, settings: FitSettings, planned: Planned) -> None:
    if log is None and policy is None:
        raise FitError("a rehearsal without a log needs --policy, the one that will drive the robot")
    if log is None and policy == REPLAY:
        raise FitError("replay plays the actions of a log again; give the log, or the policy that will walk")
    moving_s = planned.seconds - planned.settle_s
    if log is None and not (
        1 <= planned.rollouts <= MOST_ROLLOUTS and 0 < moving_s <= MOST_S and planned.rollouts * moving_s >= LEAST_S
    ):
        raise FitError(
            f"{planned.rollouts} rollouts of {planned.seconds:g} s cannot be rehearsed; 64 of 4 s make a good log"
        )
    if planned.torque_noise_nm is None:
        return
    if "torque_noise_nm" in settings.fix:
        raise FitError("torque_noise_nm is fixed; give --fix or --torque-noise-nm, not both")
    high = read_priors(settings.priors)["torque_noise_nm"].high
    if not 0 <= planned.torque_noise_nm <= high:
        raise FitError(f"torque_noise_nm is {planned.torque_noise_nm:g}; it must be from 0 to {high:g} N·m")


def _figures(found: Rehearsal, facts: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {**vars(knob), "planted": found.planted[knob.name], "covered": held}
        for knob, held in zip(found.estimates, found.covered, strict=True)
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
    for knob, held in zip(found.estimates, found.covered, strict=True):
        low, high = knob.interval
        cells = (
            f"{found.planted[knob.name]:.4g}",
            f"{knob.value:.4g}",
            f"{low:.4g} to {high:.4g}",
            knob.flag or ("" if held else "outside"),
        )
        table.add_row(cell(knob.name), *map(cell, cells))
    return table


def _words(found: Rehearsal, noise: dict[str, float]) -> list[str]:
    errors = ", ".join(f"{name} {error:.1%}" for name, error in relative_errors(found).items())
    said = ", ".join(f"{name} {value:.3g}" for name, value in noise.items())
    unknown = [knob.name for knob in found.estimates if knob.flag in ("not identifiable", "no effect")]
    lines = [
        f"a log like this would give, on average: {errors} (noise: {said or 'none'})",
        f"{sum(found.covered)} of {len(found.covered)} intervals hold what was planted; 9 of 10 should",
    ]
    return lines + ([f"it could not tell {', '.join(unknown)}"] if unknown else [])
