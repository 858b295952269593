"""`surefoot evaluate`."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.progress import StageBar
from surefoot.console import Console, say
from surefoot.files import check_place, write_json
from surefoot.pipeline.evaluate import EvaluateOptions, run_evaluate
from surefoot.report.text.evaluation import show_evaluation
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin


def evaluate_policy(
    policy: Annotated[str, tyro.conf.Positional],
    robot: str = "go2",
    twin: str | None = None,
    out: Path | None = None,
    options: Annotated[EvaluateOptions, tyro.conf.arg(name="")] = EvaluateOptions(),  # noqa: B008
) -> None:
    """Measure how well a policy walks: tracking, drift, falls, cost of transport and smoothness, with counts.

    Runs 10 s episodes under random commands, the same with pushes of 0.5 m/s every 4 s, and 4 s straight ahead at full
    speed in each direction. The gate is at most 1 fall (5 when pushed) in 100, a mean planar velocity error of at most
    0.15 m/s and a yaw-rate error of at most 0.2 rad/s.

    A policy whose file names another posture, as those of `surefoot train biped` do, first has the time to rise; its
    gate is that it then stands for 10 s in 90 of 100 episodes, told to stand.

    Args:
        policy: path of an ONNX policy, the name of one that ships with the robot, or zero, random, trot, step
        robot: a shipped robot or the path of a robot.yaml; not needed with --twin
        twin: measure on a virtual robot instead of the nominal one
        out: also write the figures as JSON
    """
    console = Console()
    if out is not None:
        check_place(out, (".json",))
    hidden = None if twin is None else load_twin(twin)
    described = load_robot(robot) if hidden is None else hidden.robot
    with StageBar(console) as bar:
        result = run_evaluate(
            policy,
            described,
            options,
            twin=hidden,
            progress=lambda done, total: bar.show("walking", done, total, "control ticks"),
        )
    show_evaluation(result, console, f"{policy} on {hidden.name if hidden else described.name}")
    if out is not None:
        write_json(out, result.to_dict())
        say(console, f"wrote {out}")
