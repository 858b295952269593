"""A robot.yaml beside what other frameworks' files say: where the two disagree, and a robot from files alone."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from surefoot.errors import RobotError
from surefoot.files import parse_yaml, read_yaml
from surefoot.robot.guess import guessed, model_joints, write_starter
from surefoot.robot.importing import Description, Imported, resolve
from surefoot.robot.importing.resolve import agree
from surefoot.robot.load import Robot, load_robot
from surefoot.robot.model import compile_spec, load_spec
from surefoot.robot.starter_lines import imported_lines

# What decides over the meaning of an observation or an action: none of it may be a guess in a policy's contract.
MEANING = (
    *("joints", "pose_rad", "kp_nm_per_rad", "kd_nms_per_rad", "action_scale_rad", "control_hz"),
    *("observation", "inputs", "output"),
)
WHOLE = (
    *(
        "action_kind",
        "action_offset",
        "action_clip",
        "target_clip",
        "control_hz",
        "observation",
        "inputs",
        "observation_frames",
    ),
    *("observation_clip", "observation_normalizer", "output", "state"),
)


def robot_from(model: Path, descriptions: Sequence[Description]) -> Robot:
    """The robot that a model and files describe; a sentence where they leave open what a policy's contract needs."""
    text, _ = write_starter(model, None, descriptions)
    open_keys = [key for key, _ in guessed(text) if key in MEANING]
    if open_keys:
        raise RobotError(
            f"no file says {', '.join(open_keys)}, which the contract of a policy needs; write a robot.yaml from the model and"
            " these files, go through its lines marked GUESS, and give that robot",
            verb="robot new",
        )
    return _loaded(parse_yaml(text, "the starter", RobotError), model)


def refuse_contradictions(robot: Robot, descriptions: Sequence[Description]) -> Imported:
    """What files say about a robot, where nothing in it contradicts its robot.yaml; a sentence otherwise."""
    spec = load_spec(robot.model_path)
    model = compile_spec(spec, robot.model_path)
    base = model.body(robot.base).id
    ids = sorted(model.joint(name).id for name in robot.contract.joints)
    imported = resolve(descriptions, model_joints(model, base, ids))
    found = _by_joint(robot, imported) + _whole(robot, imported)
    if found:
        raise RobotError(
            f"{robot.path} and the imported files contradict each other: {'; '.join(found)}; make robot.yaml say what the policy"
            " was trained with, or leave out the file that is wrong"
        )
    return imported


def _by_joint(robot: Robot, imported: Imported) -> list[str]:
    """A sentence for each key with joints for which the two differ by more than the rounding of an exporter."""
    contract, found = robot.contract, []
    for key in ("pose_rad", "kp_nm_per_rad", "kd_nms_per_rad", "action_scale_rad"):
        ours = dict(zip(contract.joints, getattr(contract, key), strict=True))
        for name, value in imported.per_joint.get(key, {}).items():
            if not value.guess and name in ours and not agree(ours[name], value.value):
                found.append(f"{key} of {name} is {ours[name]:g} in robot.yaml and {value.value:g} by {value.source}")
                break
    return found


def _whole(robot: Robot, imported: Imported) -> list[str]:
    """A sentence for each other key in which the contract would differ with what the files say."""
    content = _with_absolute_files(read_yaml(robot.path, RobotError), robot.path.parent)
    pose = dict(zip(robot.contract.joints, robot.contract.pose_rad, strict=True))
    changes: dict[str, Any] = {}
    sources = {}
    for key, lines in imported_lines(imported, pose).items():
        value = imported.whole.get(key)
        if key in WHOLE and not (value and value.guess):
            changes |= parse_yaml("\n".join(lines), "the imported files", RobotError)
            sources[key] = value.source if value else "the imported files"
    if not imported.order.guess:
        changes |= _order(robot, imported)
        sources["joints"] = imported.order.source
    if "inputs" in changes:
        content.pop("observation", None)
    if "estimators" in imported.whole:
        content.setdefault("estimators", imported.whole["estimators"].value)
    found = []
    rate = imported.whole.get("control_hz")
    if rate is not None and not rate.guess and rate.value != robot.contract.control_hz:
        found.append(f"control_hz is {robot.contract.control_hz:g} in robot.yaml and {rate.value:g} by {rate.source}")
    for sentence in robot.contract.differences(_loaded(content | changes, robot.model_path).contract):
        key = sentence.split(":")[0].split(" of ")[0]
        found.append(f"{sentence} (robot.yaml against {sources.get(key, 'the imported files')})")
    return found


def _order(robot: Robot, imported: Imported) -> dict[str, Any]:
    """The joints in the order of the files, with what robot.yaml lists by place put into that order too."""
    contract = robot.contract
    rest = [name for name in contract.joints if name not in imported.driven]
    names = [*imported.driven, *rest]
    if set(names) != set(contract.joints):
        missing = next(name for name in names if name not in contract.joints)
        raise RobotError(f"{robot.path} does not list the joint {missing}, which {imported.order.source} drives")
    keys = (
        "pose_rad",
        "kp_nm_per_rad",
        "kd_nms_per_rad",
        "torque_limit_nm",
        "velocity_limit_rad_s",
        "action_scale_rad",
    )
    values = {key: dict(zip(contract.joints, getattr(contract, key), strict=True)) for key in keys}
    changes: dict[str, Any] = {"joints": names} | values
    return changes | ({"driven": list(imported.driven)} if rest else {})


def _with_absolute_files(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Estimators whose files are found from any folder."""
    estimators = content.get("estimators")
    if not isinstance(estimators, dict):
        return content
    named = {
        term: entry | {"file": str((folder / entry["file"]).absolute())}
        if isinstance(entry, dict) and isinstance(entry.get("file"), str)
        else entry
        for term, entry in estimators.items()
    }
    return content | {"estimators": named}


def _loaded(content: dict[str, Any], model: Path) -> Robot:
    """A robot that no file describes; its contract is wanted, and nothing is kept of it."""
    with tempfile.TemporaryDirectory(prefix="surefoot-") as folder:
        path = Path(folder) / "robot.yaml"
        path.write_text(yaml.safe_dump(content | {"model": str(model.absolute())}, sort_keys=False), encoding="utf-8")
        try:
            return load_robot(path)
        except RobotError as reason:
            raise RobotError(str(reason).replace(str(path), f"{model.name} with the imported files")) from None
