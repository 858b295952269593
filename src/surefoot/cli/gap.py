"""`surefoot gap`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from surefoot.cli.console import Console, cell, say
from surefoot.cli.inputs import changed_simulator, doctor_hint, doctor_line
from surefoot.cli.progress import StageBar
from surefoot.cli.words import command_line
from surefoot.files import write_text
from surefoot.fit.diagnose import Diagnosis
from surefoot.gap import Gap
from surefoot.gap.case import Case
from surefoot.gap.channels import UNITS
from surefoot.gap.schedule import SETTLE_S
from surefoot.pipeline.artefacts import GAP, GAP_PAGE, GAP_RECORDING, SIMULATOR
from surefoot.pipeline.gap import GapResult, GapSettings, claim_gap, run_gap
from surefoot.report.pages import page_of
from surefoot.report.rrd import refuse_missing, write_rrd

WORST = 6  # channels that are printed
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
            zero, random, trot; without it, the one that the log names
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
        write_text(folder / GAP_PAGE, page_of(result, case, f"The gap of {log.stem}", follow))
        if rrd and result.measured is not None:
            write_rrd(folder / GAP_RECORDING, result.measured, case.robot)

    console = Console()
    with doctor_hint(log, robot), StageBar(console) as bar:
        facts = {"adaptation": adaptation}
        result = run_gap(
            case, settings, physics=physics, out=out, command=again, facts=facts, draw=draw, progress=bar.show
        )
    _summary(console, result, f"{log.name} against {case.robot.name} driven by {case.driver.label}")
    for line in _warnings(result, case, log, robot):
        say(console, f"warning: {line}")
    found = result.diagnosis
    if found is not None:
        say(console, f"{found.says} ({found.sure})" if found.causes else found.says)
        if found.advice:
            say(console, found.advice)
    if physics is None:
        looking = command_line("gap", [log], replace(settings, diagnose=True), **options)
        say(console, f"next: {_next(result, case, robot, out, looking)}")
    names = (GAP, GAP_PAGE, GAP_RECORDING, SIMULATOR)
    wrote = [name for name in names if (name != GAP_RECORDING or rrd) and (name != SIMULATOR or _explains(found))]
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


def _summary(console: Console, result: GapResult, title: str) -> None:
    gap, chosen = result.gap, result.score
    head = Table(title=cell(title), title_justify="left", show_header=False)
    head.add_column(no_wrap=True)
    head.add_column(justify="right", no_wrap=True)
    head.add_column()
    if chosen.name == "wasserstein":
        low, high = gap.interval
        head.add_row("gap", f"{gap.total:.4f}", f"90 % between {low:.4f} and {high:.4f}; 1 is the robot's own spread")
        head.add_row("floor", f"{gap.total_floor:.4f}", f"simulator to itself; robot to itself {gap.robot_floor:.4f}")
        head.add_row("limit", f"{gap.total_limit:.4f}", "a gap below cannot be told from none")
    else:
        head.add_row(chosen.name, f"{chosen.value:.4f}", f"wasserstein {gap.total:.4f}")
        head.add_row("floor", f"{chosen.floor:.4f}", "simulator to itself")
        head.add_row("limit", f"{chosen.limit:.4f}", "below, it cannot be told from none")
    head.add_row(
        "compared",
        f"{gap.seconds:.0f} s",
        f"in {gap.pieces} pieces, {result.provenance['runs']} times; {gap.fallen:.0%} fell in the simulator",
    )
    console.print(head)
    if chosen.measurable:
        console.print(_worst(gap))


def _worst(gap: Gap) -> Table:
    table = Table()
    table.add_column("worst channels", no_wrap=True)
    for heading in ("gap", "limit", "in its unit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i in gap.worst[:WORST]:
        channel = gap.channels[i]
        unit = UNITS[channel.kind]
        size = f"{gap.distance[i] * gap.spread[i]:.3g}{'' if unit == '1' else f' {unit}'}"
        table.add_row(cell(channel.name), f"{gap.distance[i]:.3f}", f"{gap.limit[i]:.3f}", size)
    return table


def _warnings(result: GapResult, case: Case, path: Path, robot: str) -> list[str]:
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
