"""`surefoot fit`."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table

from surefoot.adapt import ADAPTATION, write_adaptation
from surefoot.adapt.export import write_mjcf
from surefoot.cli.adapt import adaptation_table
from surefoot.cli.console import Console, say
from surefoot.cli.fit_screen import FitScreen
from surefoot.cli.inputs import REPLAY, TOO_SHORT, make_driver, named_policy, provenance, refuse_ill, virtual_robot
from surefoot.cli.rehearsal import FILES as REHEARSAL_FILES
from surefoot.cli.rehearsal import Planned, run_rehearsal
from surefoot.errors import FitError, SurefootError
from surefoot.files import check_folder, read_text, write_json, write_text
from surefoot.fit.family import STAND, STATIC, WALKING, Family, FitSettings, SearchName, make_space
from surefoot.fit.ladder import JOINT, NETWORK, RUNGS, climb
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit, FitProgress
from surefoot.gap import schedule_of
from surefoot.gap.match_state import HORIZONS, refuse_clock, refuse_unknown_base
from surefoot.gap.schedule import SETTLE_S, finite_rows
from surefoot.journal import Journal
from surefoot.logs import read_log
from surefoot.logs.doctor import LogReport, check_log
from surefoot.policy.agents import with_policy_posture
from surefoot.report.added_figures import adds_of
from surefoot.report.fit_page import fit_page, verdict
from surefoot.report.torque_words import torque_words
from surefoot.robot import Robot, load_robot

MODEL, SIMULATOR, PAGE, FIGURES, JOURNAL = "adapted.xml", "simulator.yaml", "fit.html", "fit.json", "journal"
FamilyName = Literal["auto", "static", "residual", "action-delta"]
NO_COMMAND = "no-command"  # the doctor's word for a log without velocity commands


def fit(
    log: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[LOG]")] = None,
    /,
    *,
    out: Path,
    robot: str = "go2",
    policy: str | None = None,
    family: FamilyName = "auto",
    per_joint: bool = False,
    free: tuple[str, ...] = (),
    fix: tuple[str, ...] = (),
    tie: str = "none",
    priors: Path | None = None,
    search: SearchName = "quantile",
    cost: str = "wasserstein",
    held_out: float = 0.2,
    most_evaluations: int = 2000,
    most_simulated_s: float | None = None,
    settle_s: float = SETTLE_S,
    seed: int = 0,
    threads: int = 0,
    restart: bool = False,
    rehearse: bool = False,
    rollouts: int = 64,
    seconds: float = 4.0,
    torque_noise_nm: float | None = None,
) -> None:
    """Find the parameters of the simulator with which it moves as the robot did, with intervals and what
    the log cannot tell.

    Free are, for each joint, armature, dry and viscous friction, and for all together the command's delay and the
    torque noise: what walking identifies. The gains kp and kd are not: scaled together with inertia and damping they
    give the same motion; free them only when those are known. Writes adaptation.json, adapted.xml (the robot's model
    with the parameters in it), simulator.yaml (a virtual robot for --twin), fit.json and fit.html. Killed or stopped
    with Ctrl-C, the same command continues, and ends in the same numbers as without the stop.

    Args:
        log: a log that 'surefoot record' or 'surefoot log import' wrote
        out: the folder to write into
        robot: a shipped robot or the path of a robot.yaml
        policy: the policy that drove the robot: path of an ONNX file, the name of one that ships with the robot, or
            trot; replay for legs in the air without a policy, where the recorded targets are played again; without it,
            the one that the log names
        family: static, numbers of the model alone; residual, with a torque that the model has no part for (a spring, a
            belt, a cable), first in plain terms, then as a small network where these leave a gap; action-delta, the
            same as a shift of the policy's targets, at its rate; auto, static first, then residual where the held-out
            gap stays above its floor
        per_joint: let what is missing differ from joint to joint, not only from type to type
        free: more parameters to search, such as motor_strength encoder_bias_rad floor_friction base_mass_kg
            base_com_offset_m, or "motor_strength[*_calf_joint]" for some joints
        fix: parameters to hold at a value instead, as name=value or "name[joints]=value", such as delay_s=0.005
        tie: which joints share a value: none, mirror (left = right), type (the same joint of all legs), all
        priors: a YAML file with start, bounds and step of parameters, over the shipped ones (docs/fit.md)
        search: quantile (Gauss-Newton on quantiles), cma (CMA-ES, the published way, many more evaluations), or sep-cma
            (CMA-ES without correlations, for hundreds of parameters)
        cost: the cost that cma and sep-cma minimize, one of wasserstein, quantiles, match-o, mmd, sliced, lagged, and
            match-s-1, match-s-20, match-s for a log with the base's state (docs/gap.md says what each assumes)
        held_out: share of the episodes that the fit never sees; the gap there is the one to believe
        most_evaluations: simulated candidates after which the search ends in any case
        most_simulated_s: simulated time after which the search ends in any case, s, for each family; searches and costs
            compare fairly at the same time, since an evaluation may take all episodes or a few
        settle_s: time dropped at the start of every episode, on both sides, s
        seed: of starts, noise and which episodes are held back
        threads: of the simulator; 0 takes all cores
        restart: forget an earlier run in the same folder
        rehearse: plant known parameters in the simulator instead, walk the log's commands (or random ones, without a
            log) and tell what would be recovered, before any hardware time
        rollouts: episodes to rehearse, without a log
        seconds: length of an episode to rehearse, without a log
        torque_noise_nm: noise to rehearse with; default: that of the log, or 1 N·m without a log
    """
    check_folder(out, REHEARSAL_FILES if rehearse else (ADAPTATION, MODEL, SIMULATOR, PAGE, FIGURES, f"{JOURNAL}/"))
    if not 0 <= held_out <= 0.5:
        raise FitError(f"held_out is {held_out:g}; it must be a share from 0 to 0.5")
    if seed < 0:
        raise FitError(f"the seed is {seed}; it must be a whole number from 0 on")
    described = load_robot(robot)
    replay = policy == REPLAY
    settings = FitSettings(
        free=(*(STAND if replay else WALKING), *free),
        fix=_fixed(fix),
        tie=tie,
        priors=priors,
        search=search,
        cost=cost,
        held_out=held_out,
        seed=seed,
        most_evaluations=most_evaluations,
        most_simulated_s=most_simulated_s,
    )
    rungs = _rungs(family, per_joint, replay)
    make_space(described, replace(settings, family=rungs[0]))  # what is wrong with it is said before any work
    _refuse_idle(settings, family, per_joint, replay, rehearse, free, torque_noise_nm)
    if rehearse:
        planned = Planned(rollouts, seconds, torque_noise_nm, settle_s, threads, restart)
        return run_rehearsal(log, out, described, policy, settings, planned, shlex.join(["surefoot", *sys.argv[1:]]))
    if log is None:
        raise FitError("give a log to fit, or --rehearse to see what a log would tell")
    content = read_log(log)
    policy = policy or named_policy(content, described, log)
    described = described if replay else with_policy_posture(described, policy)
    driver = make_driver(policy, described, seed)
    if cost in HORIZONS:
        refuse_unknown_base(content)
        refuse_clock(driver.make(1))
    schedule = schedule_of(
        content, described, finite_rows(content), settle_s, replay=replay
    )  # what is missing altogether is said at once
    console = Console()
    command = _command(log, robot, policy, out, free, fix, settings, settle_s) + _family_words(family, per_joint)
    facts = provenance(command, log, content, described, driver)
    identity = {
        "log": facts["log"]["sha256"],
        "robot": described.hash,
        "policy": driver.hash,
        **{name: repr(value) for name, value in vars(settings).items()},
        "priors": "" if priors is None else read_text(priors, FitError),
        "settle_s": settle_s,
        "versions": facts["versions"],
    }
    with FitScreen(console) as screen:
        screen.show(FitProgress("checking the log"))
        checked = check_log(content, described, driver.policy)
        refuse_ill(checked, log, robot, allowed=(TOO_SHORT, NO_COMMAND) if replay else (TOO_SHORT,))
        _refuse_falls(checked)
        if (
            not replay
        ):  # at rest on a stand, friction holds the legs, which tells of it; at rest on the floor nothing is told
            schedule = schedule_of(content, described, checked.usable, settle_s)

        for rung in {
            *rungs,
            *(replace(rung, per_joint=True) for rung in rungs if rung.curved),
        }:  # other settings are refused before any work
            Journal(out / JOURNAL / rung.name.replace(" ", "-"), identity, restart=restart)

        def fit_one(asked: FitSettings, start: Mapping[str, float], base: Mapping[str, Any]) -> FitResult:
            journal = Journal(out / JOURNAL / asked.family.name.replace(" ", "-"), identity)
            show = screen.named(asked.family.name)
            return Fit(
                content,
                schedule,
                described,
                driver.make,
                asked,
                journal,
                threads=threads,
                progress=show,
                start=start,
                base=base,
            ).run()

        result = climb(settings, fit_one, rungs)
    warnings = [
        finding.title
        for finding in checked.findings
        if finding.severity != "note" or finding.code in ("fall", "near-fall")
    ]
    result = replace(result, remarks=(*(f"the doctor says: {title}" for title in warnings), *result.remarks))
    facts |= {"seed": seed, "settle_s": settle_s, "held_out": held_out}
    facts |= {"most_evaluations": most_evaluations, "most_simulated_s": most_simulated_s}
    result = replace(result, adaptation=replace(result.adaptation, provenance=facts))
    _write(out, result, described, robot, facts, log)
    for line in (
        *_summary(console, result),
        *torque_words(result.adaptation.knobs, described, result.knots, adds_of(result)),
    ):
        say(console, line)
    say(
        console,
        "wrote"
        f" {', '.join(str(out / name) for name in (ADAPTATION, MODEL, SIMULATOR, PAGE, FIGURES) if (out / name).exists())}",
    )
    if not replay:
        say(
            console,
            f"next: {shlex.join(['surefoot', 'evaluate', policy, '--twin', str(out / SIMULATOR)])}, what the policy"
            " does on the fitted robot",
        )


def _refuse_idle(
    settings: FitSettings,
    family: FamilyName,
    per_joint: bool,
    replay: bool,
    rehearse: bool,
    free: tuple[str, ...],
    torque_noise_nm: float | None,
) -> None:
    """Options that would do nothing are refused rather than ignored."""
    if rehearse and (family in ("residual", "action-delta") or per_joint):
        raise FitError("a rehearsal plants and fits the static family; leave --family and --per-joint out")
    if rehearse and settings.cost in HORIZONS:
        raise FitError(
            f"a rehearsal records what the robot's own sensors say, and {settings.cost} needs the base's state; give"
            " another --cost"
        )
    if per_joint and family == "static":
        raise FitError("--per-joint is about the missing torque, which --family static does not search")
    if replay and settings.search != "quantile":
        raise FitError("replayed recordings are compared tick by tick, by the quantile search; leave --search out")
    if torque_noise_nm is not None and not rehearse:
        raise FitError("--torque-noise-nm is for --rehearse; hold the fitted noise with --fix torque_noise_nm=...")
    both = {name.partition("[")[0] for name in free} & {
        name for name, value in settings.fix.items() if not isinstance(value, dict)
    }
    if both:
        raise FitError(f"{', '.join(sorted(both))} is both free and fixed; give one")


def _refuse_falls(checked: LogReport) -> None:
    """A log that is mostly falls: the search would find a simulator that falls in the same way, without any meaning."""
    for finding in checked.findings:
        if finding.code == "fall" and finding.severity != "note":
            raise FitError(f"{finding.title}, and too little walking is left to fit: {finding.why}; {finding.fix}")


def _family_words(family: FamilyName, per_joint: bool) -> str:
    return (f" --family {family}" if family != "auto" else "") + (" --per-joint" if per_joint else "")


def _rungs(family: FamilyName, per_joint: bool, replay: bool) -> tuple[Family, ...]:
    """The families to climb, simplest first; a stand has no floor to stop at, so what is asked for is fitted."""
    if family == "static" or (family == "auto" and replay):
        return (STATIC,)
    if family == "auto":
        return (STATIC, JOINT, NETWORK) if per_joint else RUNGS
    plain = Family("torque" if family == "residual" else "action", per_joint=per_joint)
    return plain, replace(plain, curved=True)


def _write(out: Path, result: FitResult, described: Robot, robot: str, facts: dict[str, Any], log: Path) -> None:
    """All files of a fit; the adaptation last, since it says that the others are there."""
    adaptation = result.adaptation
    write_json(out / FIGURES, _figures(result, facts))
    write_text(out / PAGE, fit_page(result, described, facts, f"The fit of {log.stem}"))
    head = f"The simulator fitted to {log.name}. A virtual robot: try policies on it with --twin."
    write_text(out / SIMULATOR, virtual_robot(adaptation.settings, robot, head, adaptation.network))
    try:
        write_mjcf(out / MODEL, adaptation, described)
    except SurefootError as reason:
        say(Console(stderr=True), f"warning: {MODEL} was not written: {reason}")
    write_adaptation(out / ADAPTATION, adaptation)


def _figures(result: FitResult, facts: dict[str, Any]) -> dict[str, Any]:
    gaps = {
        "before": result.before,
        "after": result.after,
        "held_out_before": result.held_before,
        "held_out_after": result.held_after,
    }
    return {
        "provenance": facts,
        "search": result.search,
        "cost": result.cost,
        "stopped": result.stopped,
        "remarks": list(result.remarks),
        "verdict": verdict(result).says,
        "gaps": {name: None if one is None else one.gap.to_dict() for name, one in gaps.items()},
        "knobs": [vars(knob) for knob in result.adaptation.knobs],
        "correlation": result.correlation.tolist(),
        "families": [vars(one) for one in result.tried],
        "knots": [vars(one) for one in result.knots],
        "steps": [vars(step) for step in result.steps],
        "traces_rad": None if result.traces is None else [one and vars(one) for one in result.traces],
    }


def _fixed(words: tuple[str, ...]) -> dict[str, Any]:
    """`name=value` and `name[joints]=value` as values for the simulator."""
    fixed: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name, bracket, pattern = name.strip().partition("[")
        try:
            value = float(text)
        except ValueError:
            raise FitError(f"--fix {word!r} must be name=value, such as delay_s=0.005") from None
        if not equals or (bracket and not pattern.endswith("]")):
            raise FitError(f"--fix {word!r} must be name=value or name[joints]=value, such as delay_s=0.005")
        if bracket:
            held = fixed.setdefault(name, {})
            if not isinstance(held, dict):
                raise FitError(f"{name} is fixed twice, for all joints and for some; give it once")
            held[pattern.removesuffix("]")] = value
        elif name in fixed:
            raise FitError(f"{name} is fixed twice; give it once")
        else:
            fixed[name] = value
    return fixed


def _command(
    log: Path,
    robot: str,
    policy: str,
    out: Path,
    free: tuple[str, ...],
    fix: tuple[str, ...],
    settings: FitSettings,
    settle_s: float,
) -> str:
    words = ["surefoot", "fit", str(log), "--robot", robot, "--policy", policy, "--out", str(out)]
    words += ["--free", *free] if free else []
    words += ["--fix", *fix] if fix else []
    words += ["--priors", str(settings.priors)] if settings.priors is not None else []
    given = {
        "tie": settings.tie,
        "search": settings.search,
        "cost": settings.cost,
        "held_out": settings.held_out,
        "seed": settings.seed,
    }
    given |= {
        "most_evaluations": settings.most_evaluations,
        "most_simulated_s": settings.most_simulated_s,
        "settle_s": settle_s,
    }
    usual = {"settle_s": SETTLE_S} | {name: getattr(FitSettings(), name) for name in given if name != "settle_s"}
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", str(value)] if value != usual[name] else []
    return shlex.join(words)


def _summary(console: Console, result: FitResult) -> list[str]:
    """The table of parameters, and the lines to print below it."""
    console.print(adaptation_table(result.adaptation))
    judged = verdict(result)
    if len(result.tried) > 1:
        console.print(_families(result))
    lines = [f"{judged.word}: {judged.says}", judged.advice] + [f"warning: {remark}" for remark in result.remarks]
    if result.steps:
        last = result.steps[-1]
        lines.append(
            f"{result.stopped}: {last.evaluations} evaluations, {last.simulated_s:,.0f} simulated s,"
            f" {last.wall_s / 60:.1f} min"
        )
    return [line for line in lines if line]


def _families(result: FitResult) -> Table:
    """What each family left, and what it took."""
    table = Table(title="families, simplest first", title_justify="left")
    table.add_column("family", no_wrap=True)
    for heading in ("numbers", "gap", "floor", "evaluations", "minutes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in result.tried:
        table.add_row(
            one.family,
            str(one.parameters),
            f"{one.gap:.4f}",
            f"{one.floor:.4f}",
            str(one.evaluations),
            f"{one.wall_s / 60:.1f}",
            "chosen" if one.chosen else "",
        )
    table.caption = (
        "gap on held-out episodes" if result.tried[0].held_out else "gap on the fitted episodes: none were held back"
    )
    return table
