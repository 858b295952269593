"""Which framework wrote a file, told by its content and not by its name."""

from pathlib import Path
from typing import Any

from surefoot.errors import RobotError
from surefoot.files import parse_limited, read_text, read_yaml
from surefoot.robot.importing import (
    holosoma,
    isaaclab,
    isaaclab_agent,
    isaaclab_io,
    leapp,
    legged_gym,
    rl_sar,
    unitree_rl_lab,
)
from surefoot.robot.importing.description import Description

MOST_BYTES = 50_000_000
# Of each kind: how its content is recognised, what reads it, and what a person calls it.
KINDS = (
    (unitree_rl_lab.is_unitree_rl_lab, unitree_rl_lab.read_unitree_rl_lab, unitree_rl_lab.KIND),
    (isaaclab.is_isaaclab_env, isaaclab.read_isaaclab_env, isaaclab.KIND),
    (isaaclab_agent.is_isaaclab_agent, isaaclab_agent.read_isaaclab_agent, isaaclab_agent.KIND),
    (isaaclab_io.is_isaaclab_io, isaaclab_io.read_isaaclab_io, isaaclab_io.KIND),
    (leapp.is_leapp, leapp.read_leapp, leapp.KIND),
    (holosoma.is_holosoma_runner, holosoma.read_holosoma_runner, holosoma.KIND_RUNNER),
    (legged_gym.is_unitree_rl_gym, legged_gym.read_unitree_rl_gym, legged_gym.KIND_DEPLOY),
    (legged_gym.is_legged_gym, legged_gym.read_legged_gym, legged_gym.KIND_TASK),
    (rl_sar.is_rl_sar, rl_sar.read_rl_sar, rl_sar.KIND),
)


def read_file(path: Path) -> Description:
    """What a YAML or JSON file of another framework says."""
    return read_content(_content(path), path.name, str(path))


def read_content(content: dict[str, Any], source: str, path: str = "") -> Description:
    """What the content of such a file says; a sentence where it is of no known kind."""
    for recognises, read, _ in KINDS:
        if recognises(content):
            return read(content, source)
    if {"name", "model", "joints"} <= set(content):
        raise RobotError(
            f"{path or source} is a robot.yaml already, and nothing needs to be imported from it", argument="robot"
        )
    keys = ", ".join(str(key)[:40] for key in list(content)[:6])
    raise RobotError(
        f"{path or source} is of no kind that can be imported (its keys are {keys or 'none'}); known are"
        f" {', '.join(kind for *_, kind in KINDS)}, and ONNX files"
    )


def _content(path: Path) -> dict[str, Any]:
    if path.suffix.lower() in (".pt", ".pth", ".pkl"):
        raise RobotError(
            f"{path} is a file of PyTorch or a pickle, which can run code when it is read; give the YAML, JSON or ONNX files"
            " that lie beside it"
        )
    if path.suffix.lower() != ".json":
        return read_yaml(path, RobotError, tags_as_data=True)
    try:
        content = parse_limited(
            read_text(path, RobotError, "a JSON file", MOST_BYTES), str(path), RobotError, "such a file"
        )
    except (ValueError, RecursionError):
        raise RobotError(f"{path} is not valid JSON") from None
    if not isinstance(content, dict):
        raise RobotError(f"{path} must hold an object with keys")
    return content
