"""`surefoot loop`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.loop_lines import LoopLines
from surefoot.cli.loop_screen import LoopScreen
from surefoot.errors import SurefootError
from surefoot.files import path_of, write_text
from surefoot.pipeline.artefacts import REPORT
from surefoot.pipeline.loop import claim_loop, run_loop
from surefoot.pipeline.loop_inputs import (
    DEFAULT_ROBOT,
    LoopInputs,
    LoopOptions,
    resolve_inputs,
    step_names,
    usual_recording,
)
from surefoot.pipeline.record import RecordOptions
from surefoot.report.loop_page import loop_page
from surefoot.robot import load_robot
from surefoot.robot.load import shipped_robots
from surefoot.sim.twin import Twin, load_twin

USUAL = LoopOptions()


def loop(
    logs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[LOG ...]")] = (),
    /,
    *,
    out: Path,
    robot: str | None = None,
    policy: str | None = None,
    twin: str | None = None,
    minutes: float = USUAL.finetune.minutes,
    rollouts: int | None = None,
    seconds: float | None = None,
    seed: int = USUAL.seed,
    threads: int = USUAL.threads,
    restart: bool = False,
) -> int:
    """Do the whole loop: check the log, measure the gap, fit the simulator, fine-tune the policy in it, and
    judge the result.

    Each step is a verb of its own and writes into a folder of its own, doctor/, gap/, fit/, finetune/, verdict/ and
    video/, with what it printed in log.txt. run.json holds every input, command, time and result, report.html the whole
    story. Killed or stopped with Ctrl-C, the same command continues; what is done is not done again. Exit code 0 for
    GO, 3 for NO-GO (or a fit that came no nearer to the robot), 4 where no gap can be measured, 2 for a log or anything
    else that cannot be used.

    Args:
        logs: logs that 'surefoot record' or 'surefoot log import' wrote, of one robot and one policy; none:
            --twin records one
        out: the folder to write into
        robot: a shipped robot or the path of a robot.yaml; default: that of --twin, or go2
        policy: the policy that drove the robot and is to be fine-tuned: path of an ONNX file, or the name of one that
            ships with the robot; default: the one that the log names, or walk
        twin: a virtual robot, by name or path, that records the log where none is given, and that the
            verdict and the video also use
        minutes: how long to fine-tune; more than before goes on from there, and less keeps what has been
            trained longer and says so
        rollouts: episodes that the virtual robot records (64)
        seconds: length of each of them, s (4, and the time to rise, for a policy of another posture than level)
        seed: of everything random
        threads: of simulator and learner; 0 takes all cores
        restart: forget an earlier loop in the same folder
    """
    claim_loop(out)
    if logs and (rollouts is not None or seconds is not None):
        raise SurefootError("--rollouts and --seconds are for a virtual robot that records; with a log, leave them out")
    hidden = None if twin is None else load_twin(twin)
    inputs = resolve_inputs(logs, None if robot is None else load_robot(robot), policy, hidden)
    options = LoopOptions(
        record=None if logs else _recording(inputs, rollouts, seconds),
        finetune=replace(USUAL.finetune, minutes=minutes),
        seed=seed,
        threads=threads,
    )
    lines = LoopLines(out, robot or _robot_word(hidden), inputs.driver.word, twin)
    spare = [path_of(word) for word in (robot, policy, twin) if word is not None]
    with LoopScreen(step_names(inputs), lines) as screen:
        result = run_loop(
            inputs,
            options,
            out=out,
            restart=restart,
            spare=spare,
            command=lines.whole(logs, options),
            watch=screen,
        )
    write_text(out / REPORT, loop_page(result))
    screen.print(result.says)
    screen.print(f"report: {out / REPORT}" + ("" if result.video is None else f"; video: {result.video}"))
    return result.exit_code


def _recording(inputs: LoopInputs, rollouts: int | None, seconds: float | None) -> RecordOptions:
    usual = usual_recording(inputs)
    return replace(
        usual,
        rollouts=usual.rollouts if rollouts is None else rollouts,
        seconds=usual.seconds if seconds is None else seconds,
    )


def _robot_word(twin: Twin | None) -> str:
    """By which name or path the robot of a virtual robot is known."""
    if twin is None:
        return DEFAULT_ROBOT
    folder = twin.robot.path.parent
    return folder.name if folder in shipped_robots() else str(twin.robot.path)
