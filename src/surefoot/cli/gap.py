"""`surefoot gap`."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from surefoot.cli.console import Console, cell, say
from surefoot.cli.inputs import (
    REPLAY,
    VERSIONS,
    Driver,
    changed_simulator,
    make_driver,
    named_policy,
    provenance,
    refuse_ill,
    virtual_robot,
)
from surefoot.errors import GapError, OutputError, SurefootError
from surefoot.files import check_folder, file_hash, write_json, write_text
from surefoot.gap import Gap, Measured, Score, measure, schedule_of, scores
from surefoot.gap.channels import UNITS
from surefoot.gap.costs import check_cost
from surefoot.gap.match_state import HORIZONS, refuse_unknown_base
from surefoot.gap.schedule import SETTLE_S, finite_rows
from surefoot.gap.scores import state_score
from surefoot.journal import Journal
from surefoot.logs import RobotLog, read_log
from surefoot.logs.doctor import LogReport, check_log
from surefoot.policy.agents import with_policy_posture
from surefoot.report.gap_page import gap_page
from surefoot.report.rrd import refuse_missing, write_rrd
from surefoot.robot import load_robot

if TYPE_CHECKING:
    from surefoot.fit.diagnose import Diagnosis

SIMULATOR, JOURNAL = "simulator.yaml", "gap-journal"
WORST = 6  # channels that are printed


def measure_gap(
    log: Annotated[Path, tyro.conf.Positional],
    out: Path,
    robot: str = "go2",
    policy: str | None = None,
    adaptation: str | None = None,
    cost: str = "wasserstein",
    settle_s: float = SETTLE_S,
    seed: int = 0,
    threads: int = 0,
    rrd: bool = False,
    diagnose: bool = True,
) -> None:
    """Measure how far the simulator is from a log, beside the distance of the robot and the simulator to themselves.

    The policy runs in the loop under the log's own commands, from several starts. Writes gap.json and gap.html: the
    distance of every joint's position, velocity and action in units of the robot's own spread, the noise floor, what
    kind of gap it is and the command to run next; and simulator.yaml, a virtual robot with what explains the log best.
    A gap inside the floor is called no measurable gap. Killed or stopped with Ctrl-C, the same command continues.

    Args:
        log: a log that 'surefoot record' or 'surefoot log import' wrote
        out: the folder to write into
        robot: a shipped robot or the path of a robot.yaml
        policy: the policy that drove the robot: path of an ONNX file, the name of one that ships with the robot, or
            zero, random, trot; without it, the one that the log names
        adaptation: measure against a changed simulator: the folder that fit wrote, a simulator.yaml that gap wrote, or
            any file of a virtual robot; causes are then not looked for
        cost: the distance whose total decides, one of wasserstein, quantiles, match-o, mmd, sliced, lagged, and
            match-s-1, match-s-20, match-s for a log with the base's state (docs/gap.md says what each assumes); all are
            in the report
        settle_s: time dropped at the start of every episode, on both sides, s
        seed: of starts and noise
        threads: of the simulator; 0 takes all cores
        rrd: also write gap.rrd, a Rerun recording of the traces (needs the extra 'view')
        diagnose: look for the kind of gap, which takes a few minutes of simulation
    """
    names: tuple[str, ...] = ("gap.json", "gap.html", *(("gap.rrd",) if rrd else ()))
    explains = diagnose and adaptation is None  # writes the simulator that explains the log best
    check_folder(out, (*names, *((SIMULATOR,) if explains else ()), f"{JOURNAL}/"))
    if rrd:
        refuse_missing()
    if cost not in HORIZONS:
        check_cost(cost)
    described, content = load_robot(robot), read_log(log)
    if cost in HORIZONS:
        refuse_unknown_base(content)
    policy = policy or named_policy(content, described, log)
    if policy == REPLAY:
        raise GapError(
            "a gap is measured with the policy in the loop; legs in the air are fitted with `surefoot fit LOG --policy"
            " replay`"
        )
    described = with_policy_posture(described, policy)
    change = None if adaptation is None else changed_simulator(adaptation, described)
    diagnose = diagnose and change is None
    driver = make_driver(policy, described, seed)
    schedule_of(
        content, described, finite_rows(content), settle_s
    )  # what is missing altogether is said at once, and better than by its symptoms
    console = Console()
    bar = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*bar, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("", total=None)

        def stage(what: str) -> Callable[[int, int], None]:
            shown.reset(task, description=what, total=None)
            return lambda done, total: shown.update(task, completed=done, total=total)

        stage("checking the log")
        checked = check_log(content, described, driver.policy)
        refuse_ill(checked, log, robot)
        schedule = schedule_of(content, described, checked.usable, settle_s)
        identity = {
            "log": file_hash(log),
            "robot": described.hash,
            "policy": driver.hash,
            "seed": seed,
            "settle_s": settle_s,
            "versions": VERSIONS,
            "physics": None if change is None else change.hash,
        }
        journal = Journal(out / JOURNAL, identity, forget_other=True)
        found: Diagnosis | None = None
        try:
            measured = measure(
                content,
                schedule,
                described,
                driver.make,
                physics=change,
                seed=seed,
                threads=threads,
                journal=journal,
                progress=stage("simulating"),
            )
            stage("scoring")
            scored = {one.name: one for one in scores(measured)}
            if cost in HORIZONS:
                scored[cost] = state_score(measured, content, cost, seed, change)
            if diagnose:
                from surefoot.fit.diagnose import diagnose_gap

                cause = stage("looking for the cause")
                found = diagnose_gap(
                    content,
                    schedule,
                    described,
                    driver.make,
                    measured,
                    seed=seed,
                    threads=threads,
                    journal=journal,
                    progress=cause,
                )
        except OutputError:  # a full disk, say: the same command continues
            raise
        except SurefootError:  # it would end so again
            journal.remove()
            raise
        if found is not None:
            known = {"LOG": str(log), "ROBOT": robot, "POLICY": policy, "SIMULATOR": str(out / SIMULATOR)}
            found = replace(
                found,
                next_command=" ".join(
                    shlex.quote(known[word]) if word in known else word for word in found.next_command.split(" ")
                ),
            )
    again = _command(log, robot, policy, adaptation, cost, settle_s, seed, out)
    facts = provenance(again if diagnose or change else f"{again} --no-diagnose", log, content, described, driver)
    facts |= {"runs": len(measured.runs), "cost": cost, "seed": seed, "settle_s": settle_s, "adaptation": adaptation}
    figures = {
        "provenance": facts,
        "gap": measured.gap.to_dict(),
        "costs": {name: one.to_dict() for name, one in scored.items()},
        "diagnosis": None if found is None else found.to_dict(),
        "doctor": checked.to_dict(),
    }
    page = gap_page(
        measured, found, checked, content, described, facts, f"The gap of {log.stem}", tuple(scored.values()), cost
    )
    write_json(out / "gap.json", figures)
    write_text(out / "gap.html", page)
    if found is not None and found.settings:
        head = (
            f"What explains {log.name} best so far: {found.causes[0].name}. A virtual robot: try policies on it with"
            " --twin."
        )
        write_text(out / SIMULATOR, virtual_robot(found.settings, robot, head))
        names = (*names, SIMULATOR)
    if rrd:
        write_rrd(out / "gap.rrd", measured, described)
    journal.remove()
    _summary(console, measured, scored[cost], f"{log.name} against {described.name} driven by {driver.label}")
    for line in _warnings(content, driver, checked, measured, log, robot):
        say(console, f"warning: {line}")
    if found is not None:
        say(console, f"{found.says} ({found.sure})" if found.causes else found.says)
        if found.advice:
            say(console, found.advice)
    if change is None:
        say(console, f"next: {_next(found, scored[cost], again, out)}")
    say(console, f"wrote {', '.join(str(out / name) for name in names)}")


def _summary(console: Console, measured: Measured, chosen: Score, title: str) -> None:
    gap = measured.gap
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
        f"in {gap.pieces} pieces, {len(measured.runs)} times; {gap.fallen:.0%} fell in the simulator",
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


def _warnings(
    log: RobotLog, driver: Driver, checked: LogReport, measured: Measured, path: Path, robot: str
) -> list[str]:
    said = log.metadata.get("policy_hash")
    found = []
    if isinstance(said, str) and said != driver.hash:
        found.append(
            f"the log was driven by another policy ({log.metadata.get('policy', 'unnamed')}, {said[:12]}) than this"
            f" {driver.label} ({driver.hash[:12]}); the gap then holds the difference of the two"
        )
    warned = [finding.title for finding in checked.findings if finding.severity != "note"]
    if warned:
        more = f", and {len(warned) - 1} more" if len(warned) > 1 else ""
        found.append(
            f"the doctor says: {warned[0]}{more} (`surefoot doctor {shlex.join([str(path), '--robot', robot])}`)"
        )
    if measured.gap.fallen > 0.1:
        found.append(f"the policy falls in {measured.gap.fallen:.0%} of the simulated episodes; falls count as a gap")
    return found


def _next(found: "Diagnosis | None", chosen: Score, again: str, out: Path) -> str:
    if found is not None:
        return found.next_command
    return f"{again}, which looks for the cause" if chosen.measurable else f"open {out / 'gap.html'}"


def _command(
    log: Path, robot: str, policy: str, adaptation: str | None, cost: str, settle_s: float, seed: int, out: Path
) -> str:
    words = ["surefoot", "gap", str(log), "--robot", robot, "--policy", policy, "--out", str(out)]
    words += ["--adaptation", adaptation] if adaptation is not None else []
    words += ["--cost", cost] if cost != "wasserstein" else []
    words += ["--settle-s", f"{settle_s:g}"] if settle_s != SETTLE_S else []
    words += ["--seed", str(seed)] if seed else []
    return shlex.join(words)
