"""`surefoot robot`: looking at a robot, and starting the description of a new one."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.words import way_out
from surefoot.console import Console, say
from surefoot.errors import RobotError, SurefootError
from surefoot.files import allow_overwriting, check_place, write_text
from surefoot.policy.sources import read_sources
from surefoot.robot import load_robot
from surefoot.robot.guess import guessed, taken, write_starter
from surefoot.robot.missing import told
from surefoot.robot.table import describe

LONGEST_NAME = 100  # characters of a picture's name


def check(path: Annotated[str, tyro.conf.Positional], out: Path | None = None) -> None:
    """Check a robot, show its contract and draw it in its default pose.

    Args:
        path: A shipped robot's name (go2), a robot.yaml, or the folder that holds one.
        out: Where the picture goes; NAME.png in the current folder if not given.
    """
    robot = load_robot(path)
    target = out or Path(re.sub(r"[^\w.-]+", "_", robot.name)[:LONGEST_NAME] + ".png")
    if out is not None:
        check_place(target, (".png",))
    console = Console()
    console.print(describe(robot))
    try:
        check_place(target, (".png",))
        from surefoot.robot.picture import render

        render(robot, target)
    except SurefootError as reason:
        say(Console(stderr=True), f"warning: no picture: {reason}{way_out(reason.argument, reason.verb)}", "yellow")
    else:
        say(console, f"picture: {target}")


def new(
    model: Annotated[Path, tyro.conf.Positional],
    out: Path | None = None,
    force: bool = False,
    sources: Annotated[tuple[Path, ...], tyro.conf.arg(name="from", metavar="FILE...")] = (),
) -> None:
    """Write a starter robot.yaml for an MJCF or URDF model, with every guess marked.

    Args:
        model: The model, an MJCF (.xml) or URDF (.urdf) file.
        sources: Files that a training framework wrote about the robot and its policy: deploy.yaml, env.yaml, policy.onnx,
            and others. What they hold takes the place of a guess; the first file wins where two disagree.
        out: Where the robot.yaml goes; beside the model if not given.
        force: The same as --overwrite.
    """
    target = out or model.parent / "robot.yaml"
    if target.is_dir():
        target = target / "robot.yaml"
    if force:
        allow_overwriting()
    check_place(target, (".yaml", ".yml"))
    text, remarks = write_starter(model, target.parent, read_sources(sources))
    write_text(target, text)
    console = Console()
    for file, keys in taken(text):
        say(console, f"from {file}: {', '.join(keys)}")
    for sentence in remarks:
        say(Console(stderr=True), f"note: {sentence}", "yellow")
    say(console, f"wrote {target}; these values are guesses, each with its reason in the file:")
    for key, why in guessed(text):
        say(console, f"  {key}: {why}")
    try:
        if left_out := told(load_robot(target).left_out):
            say(console, f"note: {left_out}")
    except RobotError as reason:
        say(Console(stderr=True), f"warning: it does not load yet: {reason}", "yellow")
    say(console, f"next: go through the lines marked GUESS, then run: surefoot robot check {shlex.quote(str(target))}")
