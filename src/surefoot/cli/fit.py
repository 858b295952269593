"""`surefoot fit`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro

from surefoot.adapt import ADAPTATION
from surefoot.cli.fit_screen import FitScreen
from surefoot.cli.inputs import doctor_hint
from surefoot.cli.rehearsal import FILES as REHEARSAL_FILES
from surefoot.cli.rehearsal import Planned, run_rehearsal
from surefoot.cli.words import command_line
from surefoot.console import Console, say
from surefoot.errors import FitError
from surefoot.files import check_folder
from surefoot.gap.case import Case
from surefoot.gap.match_state import HORIZONS
from surefoot.gap.schedule import SETTLE_S
from surefoot.pipeline.artefacts import ADAPTED_MODEL, FIT, FIT_PAGE, SIMULATOR
from surefoot.pipeline.fit import FitOptions, claim_fit, run_fit
from surefoot.policy.driver import REPLAY
from surefoot.report.pages import write_page
from surefoot.report.text import show_result
from surefoot.robot import load_robot

FILES = (ADAPTATION, ADAPTED_MODEL, SIMULATOR, FIT_PAGE, FIT)


def fit(
    log: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="[LOG]")] = None,
    /,
    *,
    out: Path,
    robot: str = "go2",
    policy: str | None = None,
    settle_s: float = SETTLE_S,
    options: Annotated[FitOptions, tyro.conf.arg(name="")] = FitOptions(),  # noqa: B008
    restart: bool = False,
    rehearse: bool = False,
    rollouts: int = 64,
    seconds: float = 4.0,
    torque_noise_nm: float | None = None,
) -> None:
    """Find the parameters of the simulator with which it moves as the robot did, with intervals and what the log cannot
    tell.

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
        settle_s: time dropped at the start of every episode, on both sides, s
        restart: forget an earlier run in the same folder
        rehearse: plant known parameters in the simulator instead, walk the log's commands (or random ones, without a
            log) and tell what would be recovered, before any hardware time
        rollouts: episodes to rehearse, without a log
        seconds: length of an episode to rehearse, without a log
        torque_noise_nm: noise to rehearse with; default: that of the log, or 1 N·m without a log
    """
    if rehearse:
        check_folder(out, REHEARSAL_FILES)
        _refuse_rehearsal(options)
        described = load_robot(robot)
        planned = Planned(rollouts, seconds, torque_noise_nm, settle_s, options.threads, restart)
        settings = options.check(described, policy == REPLAY)
        run_rehearsal(log, out, described, policy, settings, planned, shlex.join(["surefoot", *sys.argv[1:]]))
        return
    claim_fit(out)
    options.check(load_robot(robot), policy == REPLAY)  # what is wrong with it is said before any work
    if torque_noise_nm is not None:
        raise FitError("--torque-noise-nm is for --rehearse; hold the fitted noise with --fix torque_noise_nm=...")
    if log is None:
        raise FitError("give a log to fit, or --rehearse to see what a log would tell")
    case = Case(robot, policy, log, settle_s=settle_s, seed=options.seed)
    dropped = None if settle_s == SETTLE_S else settle_s
    command = command_line("fit", [log], options, robot=robot, policy=case.driver.word, out=out, settle_s=dropped)
    console = Console()

    with doctor_hint(log, robot), FitScreen(console) as screen:
        fit = run_fit(
            case,
            options,
            out=out,
            restart=restart,
            command=command,
            draw=lambda fit, folder: write_page(fit, case, folder),
            warn=lambda text: say(Console(stderr=True), f"warning: {text}"),
            progress=screen.show_family,
        )
    show_result(fit, console)
    say(console, f"wrote {', '.join(str(out / name) for name in FILES if (out / name).exists())}")
    if not case.replay:
        follow = command_line("evaluate", [case.driver.word], twin=out / SIMULATOR)
        say(console, f"next: {follow}, what the policy does on the fitted robot")


def _refuse_rehearsal(options: FitOptions) -> None:
    if options.family in ("residual", "action-delta") or options.per_joint:
        raise FitError("a rehearsal plants and fits the static family; leave --family and --per-joint out")
    if options.cost in HORIZONS:
        raise FitError(
            f"a rehearsal records what the robot's own sensors say, and {options.cost} needs the base's state; give"
            " another --cost"
        )
