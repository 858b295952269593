"""`surefoot finetune`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.table import Table

from surefoot.adapt import read_adaptation
from surefoot.cli.console import Console, cell, say
from surefoot.pipeline.finetune import FineTuneOptions, claim_finetune, require_torch, run_finetune
from surefoot.policy.driver import make_driver
from surefoot.robot import load_robot
from surefoot.verify.evaluate import Evaluation

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
    say(console, f"wrote {tuned.path}")
    if tuned.before is not None and tuned.after is not None:
        console.print(comparison(tuned.before, tuned.after, f"{driver.robot.name} in the adapted simulator"))
        failures = tuned.after.failures()
        say(console, "passes the gate" if not failures else "does not pass the gate: " + "; ".join(failures))


def comparison(before: Evaluation, after: Evaluation, title: str) -> Table:
    """The figures of two evaluations side by side, with counts."""
    table = Table(title=cell(title), title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("before", "after"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = [_figures(one) for one in (before, after)]
    for name in rows[0]:
        table.add_row(name, *(row[name] for row in rows))
    table.caption = "drift and heading: mean of the absolute values, 4 s straight ahead in each direction"
    table.caption_justify = "left"
    return table


def _figures(evaluation: Evaluation) -> dict[str, str]:
    walk, pushed, straight = evaluation.walk, evaluation.pushed, list(evaluation.directions.values())
    ahead = [direction for direction in straight if any(direction.command[:2])]
    return {
        "falls": f"{walk.falls}/{walk.episodes}",
        "falls, pushed": f"{pushed.falls}/{pushed.episodes}",
        "falls, straight": f"{sum(s.falls for s in straight)}/{sum(s.episodes for s in straight)}",
        "velocity error, m/s": _number(walk.velocity_error_m_s, 3),
        "yaw-rate error, rad/s": _number(walk.turn_error_rad_s, 3),
        "drift, m": _number(_mean([s.lateral_abs_m for s in ahead]), 2),
        "heading off, rad": _number(_mean([s.heading_abs_rad for s in ahead]), 2),
        "cost of transport": _number(walk.cost_of_transport, 2),
    }


def _mean(values: list[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
