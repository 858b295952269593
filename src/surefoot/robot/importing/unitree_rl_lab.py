"""`deploy.yaml` of unitree_rl_lab, unitree_rl_mjlab and their forks: what Unitree's C++ runner reads.

Joints have numbers here and no names. `joint_ids_map` gives the motor of each of the policy's joints; `stiffness` and
`damping` are in the order of the motors, everything else in that of the policy. Its exporter writes three significant
digits.
"""

from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.parts import Part, rate_hz
from surefoot.robot.importing.terms import configured_term, term_of

KIND = "a deploy.yaml of unitree_rl_lab"
ACTIONS = {"JointPositionAction": "position", "JointVelocityAction": "velocity", "JointEffortAction": "torque"}
SETTINGS = ("use_gym_history", "scale_first")  # of a group, beside its terms
RANGES = {"lin_vel_x": "vx_m_s", "lin_vel_y": "vy_m_s", "ang_vel_z": "wz_rad_s", "ang_vel_yaw": "wz_rad_s"}


def is_unitree_rl_lab(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    return "joint_ids_map" in content and "step_dt" in content


def read_unitree_rl_lab(content: dict[str, Any], source: str) -> Description:
    """What a deploy.yaml says."""
    file = Part(content, source)
    motors = file.at("joint_ids_map").indices()
    count = len(motors)
    if not count:
        raise RobotError(f"{source}: joint_ids_map is empty; it must list the motor of each joint")
    pose = file.at("default_joint_pos")
    actions = _actions(file.at("actions"), motors)
    ranges = _ranges(file)
    driven = sum(len(action.joints.keys) if action.joints else count for action in actions.value)
    return Description(
        kind=KIND,
        source=source,
        order="breadth_first",
        joints=file.at("joint_ids_map").value(tuple(motors)),
        actions=actions,
        action_count=Value(driven, actions.source),
        pose_rad=pose.value(dict(zip(motors, pose.numbers(count), strict=True))),
        kp_nm_per_rad=_by_motor(file.at("stiffness"), motors),
        kd_nms_per_rad=_by_motor(file.at("damping"), motors),
        control_hz=file.at("step_dt").value(rate_hz(file.at("step_dt"))),
        command_range=ranges,
        **_observations(file.at("observations"), motors),
    )


def velocity_ranges(part: Part) -> dict[str, list[float]]:
    """Ranges of commands by Surefoot's names; a heading is steered by turning, and is no command of its own."""
    return {
        RANGES[key]: list(entry.pair()) for key, entry in part.items() if key in RANGES and entry.content is not None
    }


def _by_motor(part: Part, motors: list[int]) -> Value:
    """A list in the order of the motors: with a place for each motor, or without those that the robot lacks."""
    values = part.numbers()
    if max(motors) < len(values):
        return part.value({motor: values[motor] for motor in motors})
    if len(values) == len(motors):
        return part.value(dict(zip(sorted(motors), values, strict=True)))
    raise RobotError(
        f"{part.where} has {len(values)} numbers, and joint_ids_map names {len(motors)} motors up to number"
        f" {max(motors)}; one number for each motor is needed"
    )


def _ranges(file: Part) -> Value | None:
    commands = file.maybe("commands")
    velocity = commands.maybe("base_velocity") if commands else None
    ranges = velocity.maybe("ranges") if velocity else None
    return ranges.value(velocity_ranges(ranges)) if ranges else None


def _actions(part: Part, motors: list[int]) -> Value:
    actions = []
    for name, term in part.items():
        if name not in ACTIONS:
            raise RobotError(f"{term.where} is an action that Surefoot does not know (known: {', '.join(ACTIONS)})")
        ids = term.maybe("joint_ids")
        some = ids is not None and isinstance(ids.content, list) and any(item is not None for item in ids.content)
        places = ids.indices() if some and ids else list(range(len(motors)))
        if max(places, default=0) >= len(motors):
            raise RobotError(f"{part.where}.{name}.joint_ids holds {max(places)}, and there are {len(motors)} joints")
        keys = [motors[place] for place in places]
        numbers = {}
        for key in ("scale", "offset"):
            entry = term.at(key)
            values = entry.numbers() if isinstance(entry.content, list) else [entry.number()] * len(keys)
            if len(values) == len(motors) != len(keys):  # forks list all joints beside some joint_ids
                values = [values[place] for place in places]
            if len(values) != len(keys):
                raise RobotError(f"{entry.where} has {len(values)} numbers for {len(keys)} joints")
            numbers[key] = dict(zip(keys, values, strict=True))
        clip = None
        if limits := term.maybe("clip"):
            pairs = limits.sequence(len(keys), "pairs")
            clip = {key: Part(pair, limits.source, limits.path).pair() for key, pair in zip(keys, pairs, strict=True)}
        actions.append(
            Action(ACTIONS[name], Joints(keys=tuple(keys)), numbers["scale"], numbers["offset"], target_clip=clip)
        )
    if not actions:
        raise RobotError(f"{part.where} is {shown(part.content)}; it must hold an action ({', '.join(ACTIONS)})")
    remark = Part([list(a.scale.values()) for a in actions], part.source, part.path)
    return part.value(tuple(actions), remark.value(remark.content).remark)


def _observations(part: Part, motors: list[int]) -> dict[str, Any]:
    """One list of terms, or several groups that are the inputs of a network, as fields of a description."""
    entries = [(name, entry) for name, entry in part.items() if name not in SETTINGS]
    if entries and all(_is_group(entry) for _, entry in entries):
        inputs = {}
        for name, entry in entries:
            terms, frames = _group(entry, motors)
            inputs[name] = {"terms": terms} | ({"frames": frames} if frames else {})
        return {"inputs": part.value(inputs)}
    terms, frames = _group(part, motors)
    return {"groups": part.value({"policy": terms})} | ({"observation_frames": part.value(frames)} if frames else {})


def _is_group(entry: Part) -> bool:
    return (
        isinstance(entry.content, dict)
        and not {"params", "scale", "history_length"} & set(entry.content)
        and any(isinstance(inner, dict) for inner in entry.content.values())
    )


def _group(part: Part, motors: list[int]) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """The terms of a group; with use_gym_history all of them are repeated frame by frame."""
    terms = []
    for name, entry in part.items():
        if name in SETTINGS:
            continue
        if not isinstance(entry.content, dict):
            raise entry.refuse("a term, with params, scale, clip and history_length")
        terms.append(configured_term(entry, term_of(name), order=motors) | {"source": entry.where})
    if not terms:
        raise RobotError(f"{part.where} lists no terms")
    if (first := part.maybe("scale_first")) and first.flag():
        raise RobotError(f"{first.where} is true for all terms, which cannot be imported; set it for each term")
    gym = part.maybe("use_gym_history")
    lengths = {term.get("history", 1) for term in terms}
    if gym is None or not gym.flag() or lengths == {1}:
        return terms, None
    if len(lengths) > 1:
        raise RobotError(
            f"{part.where} has use_gym_history and terms with different history_length, which has no order"
        )
    terms = [{key: value for key, value in term.items() if key != "history"} for term in terms]
    return terms, {"history": lengths.pop(), "order": "oldest_first"}
