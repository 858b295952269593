"""`surefoot finetune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from surefoot.adapt import read_adaptation
from surefoot.console import Console, say
from surefoot.pipeline.finetune import FineTuneOptions, claim_finetune, require_torch, run_finetune
from surefoot.policy.driver import make_driver
from surefoot.report.text.finetune import show_tuned
from surefoot.robot import load_robot

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress


def finetune_policy(
    policy: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")],
    adaptation: Path,
    out: Path,
    robot: str = "go2",
    options: Annotated[FineTuneOptions, tyro.conf.arg(name="")] = FineTuneOptions(),  # noqa: B008
    restart: bool = False,
) -> None:
    """Go on training a policy in the simulator that a fit found, and measure it there before and after.

    What the policy is off by, command for command, is measured there and taken out first, and again at the end (the
    trim). In between, every world draws its own numbers from a little more than the fit's 90 % intervals. The policy is
    held near its old actions, less and less, so that the gait changes where the gap asks for it; of a training after
    which it falls or strays more than before, half or a quarter of the way is kept, or nothing. Writes policy.onnx
    (with the contract and, where it has one, the normalization inside), begun.onnx (what training began from),
    checkpoint.safetensors, config.json, eval.json and TensorBoard files to the folder --out. Interrupted with Ctrl-C or
    killed, the same command continues.

    Args:
        policy: path of an ONNX policy, or the name of one that ships with the robot
        adaptation: the folder that 'surefoot fit' wrote, or its adaptation.json
        out: the folder to train into
        robot: the robot that was fitted: a shipped name, or the path of a robot.yaml
        restart: forget an earlier run in the same folder
    """
    require_torch()
    from surefoot.cli.train import TrainingScreen

    console = Console()
    claim_finetune(out)
    described = load_robot(robot)
    fitted = read_adaptation(adaptation, described)
    driver = make_driver(policy, described, options.seed)
    last: list[TrainingProgress] = []
    with TrainingScreen(console, out) as screen:

        def show(progress: "TrainingProgress") -> None:
            last[:] = [progress]
            screen.show(progress)

        tuned = run_finetune(
            driver, fitted, options, out=out, restart=restart, say=lambda text: say(console, text), show=show
        )
    if last:
        trimmed = ", trimmed," if options.trim_s else ""
        say(
            console,
            f"training moved the actions by {last[0].off_old:.3f} rms from the old policy's{trimmed} where the new one"
            " comes by",
        )
    show_tuned(tuned, console, f"{driver.robot.name} in the adapted simulator")
