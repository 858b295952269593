"""`IO_descriptors.yaml` of Isaac Lab: a policy's inputs and outputs with joint names, in the order of the policy."""

from typing import Any

from surefoot.errors import RobotError
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.isaaclab import ACTIONS, POLICY_GROUPS
from surefoot.robot.importing.parts import Part, rate_hz
from surefoot.robot.importing.terms import FUNCTIONS, configured_term

KIND = "an IO_descriptors.yaml of Isaac Lab"


def is_isaaclab_io(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    return "articulations" in content and isinstance(content.get("actions"), list)


def read_isaaclab_io(content: dict[str, Any], source: str) -> Description:
    """What an IO_descriptors.yaml says."""
    file = Part(content, source)
    robot = file.at("articulations").at("robot")
    names = robot.at("joint_names").names()
    remarks, gains = [], {}
    for field, key in (("kp_nm_per_rad", "default_joint_stiffness"), ("kd_nms_per_rad", "default_joint_damping")):
        part = robot.maybe(key)
        if part is not None and not any(part.numbers(len(names))):
            remarks.append(f"{part.where} is 0 for all joints, as explicit actuators leave it; it is not imported")
        elif part is not None:
            gains[field] = part.value(dict(zip(names, part.numbers(len(names)), strict=True)))
    scene = file.maybe("scene")
    period = scene.maybe("dt") if scene else None
    pose = robot.maybe("default_joint_pos")
    return Description(
        kind=KIND,
        source=source,
        order="breadth_first",
        joints=robot.at("joint_names").value(tuple(names)),
        actions=_actions(file.at("actions")),
        pose_rad=pose.value(dict(zip(names, pose.numbers(len(names)), strict=True))) if pose else None,
        control_hz=period.value(rate_hz(period)) if period else None,
        groups=_groups(file.at("observations")),
        remarks=tuple(remarks),
        **gains,
    )


def _actions(part: Part) -> Value:
    actions = []
    for i, item in enumerate(part.sequence()):
        term = Part(item, part.source, f"{part.path}[{i}]")
        path = term.at("full_path").text()
        kind = next((ACTIONS[known] for known in ACTIONS if path.endswith(known)), None)
        if kind is None:
            raise RobotError(
                f"{term.where}.full_path is {path!r}, an action that cannot be imported (known: {', '.join(ACTIONS)})"
            )
        names = term.at("joint_names").names()

        def numbers(key: str, default: float, term: Part = term, names: list[str] = names) -> Any:
            entry = term.maybe(key)
            if entry is None:
                return default
            if isinstance(entry.content, list):
                return dict(zip(names, entry.numbers(len(names)), strict=True))
            return entry.number()

        clip = term.maybe("clip")
        pairs = None
        if clip is not None:
            rows = clip.sequence(len(names), "pairs")
            pairs = {name: Part(row, clip.source, clip.path).pair() for name, row in zip(names, rows, strict=True)}
        actions.append(Action(kind, Joints(keys=tuple(names)), numbers("scale", 1.0), numbers("offset", 0.0), pairs))
    return part.value(tuple(actions))


def _groups(part: Part) -> Value:
    groups = {}
    for name, group in part.items():
        if name not in POLICY_GROUPS:
            continue
        terms = []
        for i, item in enumerate(group.sequence()):
            entry = Part(item, group.source, f"{group.path}[{i}]")
            function = entry.at("full_path").text().split(".")[-1]
            settings = entry.maybe("overloads") or entry
            term = configured_term(settings, dict(FUNCTIONS.get(function, {"unknown": function})))
            if (joints := entry.maybe("joint_names")) and "joints" in term:
                term["joints"] = Joints(keys=tuple(joints.names()))
            shape = entry.maybe("shape")
            if shape and term.get("name") in ("height_scan", "motion_reference"):
                term["size"] = int(shape.numbers()[-1])
            terms.append(term | {"source": f"{entry.source}: observations.{name}.{function}"})
        groups[name] = terms
    if not any(groups.values()):
        raise RobotError(f"{part.where} has no group 'policy' with terms")
    return part.value(groups)
