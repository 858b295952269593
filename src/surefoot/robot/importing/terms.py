"""Observation terms: what other frameworks call them, and what robot.yaml calls them.

A term is a mapping as robot.yaml writes it. Its `joints`, where it has any, are still those of the file (`Joints`), and
`unknown` is the name of a term that robot.yaml has no word for.
"""

from collections.abc import Sequence
from typing import Any

from surefoot.errors import RobotError
from surefoot.robot.importing.description import JointKey, Joints
from surefoot.robot.importing.parts import Part

# Functions of Isaac Lab and mjlab (the last part of their path), and names that their tasks give to terms.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "base_lin_vel": {"name": "base_velocity"},
    "base_ang_vel": {"name": "gyro"},
    "imu_ang_vel": {"name": "gyro"},
    "projected_gravity": {"name": "gravity"},
    "imu_projected_gravity": {"name": "gravity"},
    "generated_commands": {"name": "command"},
    "velocity_commands": {"name": "command"},
    "joint_pos_rel": {"name": "joint_position"},
    "joint_pos": {"name": "joint_position", "relative": False},
    "joint_vel_rel": {"name": "joint_velocity"},
    "joint_vel": {"name": "joint_velocity"},
    "last_action": {"name": "last_action"},
    "last_actions": {"name": "last_action"},
    "root_quat_w": {"name": "quaternion", "order": "wxyz"},
    "imu_orientation": {"name": "quaternion", "order": "wxyz"},
    "height_scan": {"name": "height_scan"},
    "gait_phase": {"name": "gait_phase"},
    "motion_command": {"name": "motion_reference"},
    "motion_anchor_pos_b": {"name": "motion_reference", "size": 3},
    "motion_anchor_ori_b": {"name": "motion_reference", "size": 6},
}
# Where only the name of a term is known: what Isaac Lab's and mjlab's own tasks mean by it.
NAMES: dict[str, dict[str, Any]] = FUNCTIONS | {
    "joint_pos": {"name": "joint_position"},  # their tasks name joint_pos_rel so
    "actions": {"name": "last_action"},
    "command": {"name": "command"},
    "commands": {"name": "command"},
}
FAR = 1e9  # a clip of infinity is none
JOINT_TERMS = ("joint_position", "joint_velocity", "last_target")
WIDTHS = {"gyro": 3, "gravity": 3, "base_velocity": 3, "quaternion": 4, "roll_pitch_yaw": 3}


def term_of(name: str, table: dict[str, dict[str, Any]] = FUNCTIONS) -> dict[str, Any]:
    """The term that a name means, or one that is marked as unknown."""
    return dict(table.get(name, {"unknown": name}))


def with_numbers(
    term: dict[str, Any], scale: Any = None, clip: Any = None, history: int = 1, scale_first: bool = False
) -> dict[str, Any]:
    """A term with scale, clip and history where they are not the usual ones (1, none and 1).

    robot.yaml clips before it scales; `scale_first` converts a clip that comes after.
    """
    if clip is not None:
        low, high = max(clip[0], -FAR), min(clip[1], FAR)
        if scale_first and scale is not None:
            scales = scale if isinstance(scale, list) else [scale]
            pairs = [sorted((low / s, high / s)) if s else [low, high] for s in scales]
            term["clip"] = pairs[0] if len(pairs) == 1 else pairs
        elif low != -FAR or high != FAR:
            term["clip"] = [low, high]
    if scale is not None and scale != 1.0:
        term["scale"] = scale
    if history > 1:
        term["history"] = history
    return term


def configured_term(
    part: Part, term: dict[str, Any], group_history: int | None = None, order: Sequence[JointKey] = ()
) -> dict[str, Any]:
    """A term as Isaac Lab, mjlab and unitree_rl_lab configure it: scale, clip, history_length and params.

    The oldest of several frames comes first, term by term, as their managers flatten them. `order` are the joints that
    numbers in `joint_ids` mean.
    """
    history = part.maybe("history_length")
    frames = group_history if group_history is not None else history.whole(0, 1000) if history else 1
    scale = part.maybe("scale")
    clip = part.maybe("clip")
    first = part.maybe("scale_first")
    term = with_numbers(
        term,
        scale.scale() if scale else None,
        clip.pair() if clip else None,
        max(1, frames),
        first is not None and first.flag(),
    )
    params = part.maybe("params")
    if params is not None and params.content:
        _add_params(term, params, order)
    if term.get("name") in JOINT_TERMS and "joints" not in term:
        term["joints"] = Joints(patterns=(".*",))  # all joints of the robot, driven or not
    if term.get("name") == "gait_phase" and "frequency_hz" not in term:
        return {"unknown": "gait_phase without a period"}
    if (
        term.get("name") in ("height_scan", "motion_reference")
        and scale is not None
        and isinstance(scale.content, list)
    ):
        term.setdefault("size", len(scale.content))
    return term


def _add_params(term: dict[str, Any], params: Part, order: Sequence[JointKey]) -> None:
    if period := params.maybe("period"):
        seconds = period.number(1e-3, 100.0)
        term |= {"frequency_hz": 1.0 / seconds, "offsets": [0.0], "form": "sin_cos"}
    entity = params.maybe("asset_cfg")
    if entity is None or term.get("name") not in JOINT_TERMS:
        return
    names, ids, keep = entity.maybe("joint_names"), entity.maybe("joint_ids"), entity.maybe("preserve_order")
    kept = keep is not None and keep.flag()
    if names is not None:
        term["joints"] = Joints(patterns=tuple(names.names()), keep_order=kept)
    elif ids is not None and isinstance(ids.content, list) and any(item is not None for item in ids.content):
        places = ids.indices()
        if any(place >= len(order) for place in places):
            raise RobotError(f"{ids.where} holds {max(places)}, and the file lists {len(order)} joints")
        term["joints"] = Joints(keys=tuple(order[place] for place in places))
