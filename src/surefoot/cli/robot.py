"""`surefoot robot`: looking at a robot, and starting the description of a new one."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from surefoot.errors import RobotError
from surefoot.files import check_place, write_text
from surefoot.robot import load_robot
from surefoot.robot.guess import guessed, starter_yaml
from surefoot.robot.picture import render
from surefoot.robot.table import describe


def check(path: Annotated[str, tyro.conf.Positional], out: Path | None = None) -> None:
    """Check a robot, show its contract and draw it in its default pose.

    Args:
        path: A shipped robot's name (go2), a robot.yaml, or the folder that holds one.
        out: Where the picture goes; NAME.png in the current folder if not given.
    """
    robot = load_robot(path)
    if out is not None:
        check_place(out)
    console = Console()
    console.print(describe(robot))
    target = out or Path(re.sub(r"[^\w.-]+", "_", robot.name) + ".png")
    try:
        render(robot, target)
    except RobotError as reason:
        _say(Console(stderr=True), f"warning: {reason}", "yellow")
    else:
        _say(console, f"picture: {target}")


def new(model: Annotated[Path, tyro.conf.Positional], out: Path | None = None, force: bool = False) -> None:
    """Write a starter robot.yaml for an MJCF or URDF model, with every guess marked.

    Args:
        model: The model, an MJCF (.xml) or URDF (.urdf) file.
        out: Where the robot.yaml goes; beside the model if not given.
        force: Overwrite a robot.yaml that is there already.
    """
    target = out or model.parent / "robot.yaml"
    if target.is_dir():
        target = target / "robot.yaml"
    text = starter_yaml(model, target.parent)
    if target.exists() and not force:
        raise RobotError(f"{target} is there already and was left as it is; choose another place with --out, or overwrite it with --force")
    write_text(target, text)
    console = Console()
    _say(console, f"wrote {target}; these values are guesses, each with its reason in the file:")
    for key, why in guessed(text):
        _say(console, f"  {key}: {why}")
    try:
        load_robot(target)
    except RobotError as reason:
        _say(Console(stderr=True), f"warning: it needs your hand before it loads: {reason}", "yellow")
    _say(console, f"next: go through the lines marked GUESS, then run: surefoot robot check {shlex.quote(str(target))}")


def _say(console: Console, text: str, style: str = "") -> None:
    """One line, never broken or coloured inside: paths and names stay copyable."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
