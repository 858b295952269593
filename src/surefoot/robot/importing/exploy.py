"""exploy: an ONNX file that reads sensors and gives joint targets; observation and action processing are in the graph.

Names of inputs and outputs say what they are (`obj.robot.joints.pos`, `output.joint_targets.robot.pos`), and metadata
names joints, gains, ranges and the rate. Outputs are targets in rad, so that the default pose plays no part.
"""

import re
from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.files import parse_limited
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.parts import Part
from surefoot.robot.importing.unitree_rl_lab import velocity_ranges

KIND = "an ONNX file of exploy"
JOINTS = re.compile(r"obj\.([^.]+)\.joints?\.(pos|vel)")
BODY = re.compile(r"(?:obj\.[^.]+\.[^.]+|sensor\.imu\.[^.]+)\.([A-Za-z_]+)")
TARGETS = re.compile(r"(output\.joint_targets(?:\.[^.]+)?)\.(pos|vel|effort)")
MEMORY = re.compile(r"memory\.(.*)\.(in|out)")
FIELDS = {
    "w_Q_b": {"name": "quaternion", "order": "wxyz"},
    "world_Q_body": {"name": "quaternion", "order": "wxyz"},
    "lin_vel_b_rt_w_in_b": {"name": "base_velocity"},
    "lin_vel_body_in_body": {"name": "base_velocity"},
    "ang_vel_b_rt_w_in_b": {"name": "gyro"},
    "ang_vel_body_in_body": {"name": "gyro"},
    "ang_vel_body": {"name": "gyro"},
}


def is_exploy(metadata: dict[str, str], outputs: dict[str, int | None]) -> bool:
    """Whether an ONNX file is of this kind."""
    return "exploy_version" in metadata or any(TARGETS.fullmatch(name) for name in outputs)


def read_exploy(
    metadata: dict[str, str], source: str, inputs: dict[str, int | None], outputs: dict[str, int | None]
) -> Description:
    """What an ONNX file says by its names and its metadata."""
    content = {
        key: _json(text, f"{source}: {key}") for key, text in metadata.items() if not key.startswith("surefoot.")
    }
    file = Part(content, source)
    found = [(match.group(1), match.group(2), name) for name in outputs if (match := TARGETS.fullmatch(name))]
    kinds = {"pos": "position", "vel": "velocity", "effort": "torque"}
    if not found:
        raise RobotError(f"{source} has no output with joint targets, such as 'output.joint_targets.robot.pos'")
    group, kind, output = found[0]  # of position, velocity and effort, the position leads
    remarks = []
    if len(found) > 1:
        remarks.append(f"{source} also gives {', '.join(name for _, _, name in found[1:])}, which are not used")
    gains = file.at(group)
    names = gains.at("names").names()
    rate = file.maybe("update_rate")
    ranges = _ranges(file)
    state = [
        {"input": name, "output": f"memory.{match.group(1)}.out"}
        for name in inputs
        if (match := MEMORY.fullmatch(name)) and match.group(2) == "in"
    ]
    terms = {name: {"terms": [_term(name, file, size)]} for name, size in inputs.items() if not MEMORY.fullmatch(name)}
    return Description(
        kind=KIND,
        source=source,
        joints=gains.at("names").value(tuple(names)),
        actions=Value(
            (Action(kinds[kind], Joints(keys=tuple(names)), 1.0, 0.0),), f"{source}: {output}", "targets in rad"
        ),
        kp_nm_per_rad=_gain(gains, "stiffness", names),
        kd_nms_per_rad=_gain(gains, "damping", names),
        control_hz=rate.value(rate.number(0.0, 1e4, above=True)) if rate else None,
        command_range=ranges,
        inputs=Value(terms, f"{source}: names of its inputs"),
        output=Value(output, f"{source}: names of its outputs"),
        state=Value(state, f"{source}: names of its inputs") if state else None,
        remarks=tuple(remarks),
    )


def _json(text: str, where: str) -> Any:
    try:
        return parse_limited(text, where, RobotError, "metadata")
    except ValueError:
        return text


def _gain(gains: Part, key: str, names: list[str]) -> Value:
    part = gains.at(key)
    return part.value(dict(zip(names, part.numbers(len(names)), strict=True)))


def _ranges(file: Part) -> Value | None:
    for key, part in file.items():
        if key.startswith("cmd.se2_velocity.") and isinstance(part.content, dict) and part.has("ranges"):
            return part.at("ranges").value(velocity_ranges(part.at("ranges")))
    return None


def _term(name: str, file: Part, size: int | None) -> dict[str, Any]:
    source = f"{file.source}: {name}"
    if match := JOINTS.fullmatch(name):
        key = next((key for key in (name.rpartition(".")[0], name) if file.has(key)), None)
        named = file.at(key) if key else None
        listed = named and (named.maybe("joint_names") or named.maybe("names"))
        joints = Joints(keys=tuple(listed.names())) if listed else Joints(patterns=(".*",))
        kind: dict[str, Any] = (
            {"name": "joint_position", "relative": False} if match.group(2) == "pos" else {"name": "joint_velocity"}
        )
        return {**kind, "joints": joints, "source": source}
    if name.startswith("cmd.se2_velocity."):
        return {"name": "command", "entries": ["vx_m_s", "vy_m_s", "wz_rad_s"], "source": source}
    if name.startswith(("sensor.ray_caster.", "sensor.height_scanner.")) and name.endswith(".height") and size:
        return {"name": "height_scan", "size": size, "source": source}
    if (match := BODY.fullmatch(name)) and match.group(1) in FIELDS:
        return {**FIELDS[match.group(1)], "source": source}
    return {"unknown": shown(name).strip("'"), "source": source}
