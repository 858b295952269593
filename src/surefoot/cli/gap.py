"""`surefoot gap`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.inputs import changed_simulator, doctor_hint, doctor_line
from surefoot.cli.progress import StageBar
from surefoot.cli.words import command_line
from surefoot.console import Console, say
from surefoot.fit.diagnose import Diagnosis
from surefoot.gap.case import Case
from surefoot.gap.schedule import SETTLE_S
from surefoot.pipeline.artefacts import GAP, GAP_PAGE, GAP_RECORDING, SIMULATOR
from surefoot.pipeline.gap import GapResult, GapSettings, claim_gap, run_gap
from surefoot.report.pages import write_page
from surefoot.report.rrd import refuse_missing, write_rrd
from surefoot.report.text import show_result

NO_CAUSE = "nothing to close: walk in other ways, or record more"


def measure_gap(
    log: Annotated[Path, tyro.conf.Positional],
    out: Path,
    robot: str = "go2",
    policy: str | None = None,
    adaptation: str | None = None,
    settle_s: float = SETTLE_S,
    rrd: bool = False,
    settings: Annotated[GapSettings, tyro.conf.arg(name="")] = GapSettings(),  # noqa: B008
) -> None:
    """Measure how far the simulator is from a log, beside the distance of the robot and the simulator to themselves.

    The policy runs in the loop under the log's own commands, from several starts. Writes gap.json and gap.html: the
    distance of every joint's position, velocity and action in units of the robot's own spread, the noise floor, what
    kind of gap it is and the command to run next; and simulator.yaml, a virtual robot with what explains the log best.
    A gap inside the noise floor is called no measurable gap. Killed or stopped with Ctrl-C, the same command continues.

    Args:
        log: a log that 'surefoot record' or 'surefoot log import' wrote
        out: the folder to write into
        robot: a shipped robot or the path of a robot.yaml
        policy: the policy that drove the robot: path of an ONNX file, the name of one that ships with the robot, or
            zero, random, trot, step; without it, the one that the log names
        adaptation: measure against a changed simulator: the folder that fit wrote, a simulator.yaml that gap wrote, or
            any file of a virtual robot; causes are then not looked for
        settle_s: time dropped at the start of every episode, on both sides, s
        rrd: also write gap.rrd, a Rerun recording of the traces (needs the extra 'view')
    """
    claim_gap(out, settings, adaptation is not None, (GAP_RECORDING,) if rrd else ())
    if rrd:
        refuse_missing()
    case = Case(robot, policy, log, settle_s=settle_s, seed=settings.seed)
    physics = None if adaptation is None else changed_simulator(adaptation, case.robot)
    options = {"robot": robot, "policy": case.driver.word, "out": out, "adaptation": adaptation}
    options |= {"settle_s": None if settle_s == SETTLE_S else settle_s}
    again = command_line("gap", [log], settings, **options)

    def draw(result: GapResult, folder: Path) -> None:
        follow = "" if result.diagnosis is None else next_command(result.diagnosis, case, robot, out)
        write_page(result, case, folder, follow)
        if rrd and result.measured is not None:
            write_rrd(folder / GAP_RECORDING, result.measured, case.robot)

    console = Console()
    with doctor_hint(log, robot), StageBar(console) as bar:
        facts = {"adaptation": adaptation}
        result = run_gap(
            case, settings, physics=physics, out=out, command=again, facts=facts, draw=draw, progress=bar.show
        )
    show_result(result, console)
    for line in gap_warnings(result, case, log, robot):
        say(console, f"warning: {line}")
    if physics is None:
        looking = command_line("gap", [log], replace(settings, diagnose=True), **options)
        say(console, f"next: {_next(result, case, robot, out, looking)}")
    names = (GAP, GAP_PAGE, GAP_RECORDING, SIMULATOR)
    wrote = [
        name for name in names if (name != GAP_RECORDING or rrd) and (name != SIMULATOR or _explains(result.diagnosis))
    ]
    say(console, f"wrote {', '.join(str(out / name) for name in wrote)}")


def next_command(diagnosis: Diagnosis, case: Case, robot: str, out: Path) -> str:
    """The command that follows from a diagnosis; what is to blame is free in a fit, or is made so."""
    if not diagnosis.causes:
        return NO_CAUSE
    kind, word = diagnosis.causes[0].kind, case.driver.word
    if kind == "world":
        return command_line("evaluate", [word], twin=out / SIMULATOR)
    free = diagnosis.free if kind == "numbers" else ()
    return command_line("fit", [case.name], robot=robot, policy=word, out="fit/", free=free)


def _explains(diagnosis: Diagnosis | None) -> bool:
    return diagnosis is not None and bool(diagnosis.settings)


def gap_warnings(result: GapResult, case: Case, path: Path, robot: str) -> list[str]:
    """What a gap must be read with."""
    metadata, driver = case.log.metadata, case.driver
    recorded = metadata.get("policy_hash")
    lines = []
    if isinstance(recorded, str) and recorded != driver.hash:
        lines.append(
            f"the log was driven by another policy ({metadata.get('policy', 'unnamed')}, {recorded[:12]}) than this"
            f" {driver.label} ({driver.hash[:12]}); the gap then holds the difference of the two"
        )
    warned = [finding.title for finding in result.report.findings if finding.severity != "note"]
    if warned:
        more = f", and {len(warned) - 1} more" if len(warned) > 1 else ""
        lines.append(f"the doctor says: {warned[0]}{more} (`{doctor_line(path, robot)}`)")
    if result.gap.fallen > 0.1:
        lines.append(f"the policy falls in {result.gap.fallen:.0%} of the simulated episodes; falls count as a gap")
    return lines


def _next(result: GapResult, case: Case, robot: str, out: Path, again: str) -> str:
    if result.diagnosis is not None:
        return next_command(result.diagnosis, case, robot, out)
    if not result.measurable:
        return f"open {out / GAP_PAGE}"
    return f"{again}, which looks for the cause"
