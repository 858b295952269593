"""`surefoot adapt`: looking at an adaptation, and handing it to other programs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro

from surefoot.adapt.adaptation import Adaptation, read_adaptation
from surefoot.adapt.export import (
    isaaclab_config,
    mjlab_config,
    numpy_class,
    randomization_table,
    write_mjcf,
    write_onnx,
)
from surefoot.console import Console, say
from surefoot.files import check_place, write_text
from surefoot.report.text.adaptation import adaptation_table
from surefoot.robot import Robot, load_robot

TEXT: dict[str, Callable[[Adaptation, Robot], str]] = {
    "mjlab": mjlab_config,
    "isaaclab": isaaclab_config,
    "randomization": randomization_table,
    "numpy": numpy_class,
}
ENDINGS = {
    "mjlab": (".py",),
    "isaaclab": (".py",),
    "randomization": (".yaml", ".yml"),
    "numpy": (".py",),
    "mjcf": (".xml",),
    "onnx": (".onnx",),
}
FILES: dict[str, Callable[[Path, Adaptation, Robot], None]] = {"mjcf": write_mjcf, "onnx": write_onnx}


def export(
    fit: Annotated[Path, tyro.conf.Positional],
    out: Path,
    to: Literal["mjcf", "mjlab", "isaaclab", "randomization", "numpy", "onnx"],
    robot: str = "go2",
) -> None:
    """Write an adaptation for another program, at full precision; what the program cannot say is listed in
    the file's head.

    Args:
        fit: the folder that 'surefoot fit' wrote, or its adaptation.json
        out: the file to write
        to: mjcf, the robot's model with the adaptation in it; mjlab or isaaclab, a Python file with actuator configs
            and ranges; randomization, a table for 'surefoot train'; numpy or onnx, what the fit adds to torques or
            targets that no model holds, as a Python class or a network
        robot: the robot that was fitted: a shipped name, or the path of a robot.yaml
    """
    check_place(out, ENDINGS[to])
    described = load_robot(robot)
    adaptation = read_adaptation(fit, described)
    if to in FILES:
        FILES[to](out, adaptation, described)
    else:
        write_text(out, TEXT[to](adaptation, described))
    place = (
        "metadata say where it comes from, and what goes in and out"
        if to == "onnx"
        else "head says where it comes from, and what is not in it"
    )
    say(Console(), f"wrote {out}; its {place}")


def show(fit: Annotated[Path, tyro.conf.Positional], robot: str = "go2") -> None:
    """Print what a fit changed: each knob with its value before and after, its 90 % interval and its flag.

    Args:
        fit: the folder that 'surefoot fit' wrote, or its adaptation.json
        robot: the robot that was fitted: a shipped name, or the path of a robot.yaml
    """
    adaptation = read_adaptation(fit, load_robot(robot))
    console = Console()
    console.print(adaptation_table(adaptation))
    known = {knob.parameter for knob in adaptation.knobs}
    also = [name for name in adaptation.settings if name not in known]
    if also:
        say(console, f"also set, without a knob: {', '.join(also)}")
    if adaptation.network is not None:
        say(
            console,
            f"a network adds to {'torques' if adaptation.network.adds == 'torque' else 'targets'} of the joints;"
            " 'surefoot adapt export' writes it with --to numpy or --to onnx",
        )
    for knob in adaptation.knobs:
        if knob.flag:
            say(console, f"{knob.name} is {knob.flag}{f': {knob.note}' if knob.note else ''}")
