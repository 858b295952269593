"""A topic as a channel: the contract's joints out of its messages, in the recorder's clock or the better
one of their headers.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing import messages as kinds
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.messages import Part, TopicData
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import JOINTS, ROLES, RecordedChannel
from surefoot.logs.importing.streams import joined_joints
from surefoot.logs.importing.unitree import COMMANDS, LEGS, POSITION_OFF, STATES, motor_joints

SAME_CLOCK_S = 0.5  # a header stamp this near to the recorder's clock is of the same clock, and the better one


def topic_channel(
    role: str,
    topic: TopicData,
    joints: JointNames,
    map_file: MapFile,
    start_ns: int,
    path: Path,
    notes: list[str],
    some: bool = False,
) -> RecordedChannel | None:
    """What a topic says about a role; None where its messages leave that empty. It may be about `some` joints only."""
    key = _key(role, topic)
    parts = [part for part in topic.parts if key in part.fields]
    if not parts:
        if map_file.rule(role).sources:
            raise LogError(f"{map_file.name}: {role} is {topic.name}, but its messages ({topic.kind}) hold no {role}")
        return None
    names: tuple[str, ...] | None = None
    if role == "foot_contact" and topic.kind in STATES:
        names = LEGS
    elif (ROLES[role].width == JOINTS or role == "enabled") and topic.kind in (*STATES, *COMMANDS):
        parts, names = [_of_motors(part, topic.kind, joints, map_file) for part in parts], joints.joints
    elif ROLES[role].width == JOINTS and any(part.names for part in parts):
        sets = _of_names(parts, joints, topic, path, notes, some)
        if len(sets) > 1:
            each = [_channel(role, own, of, topic, map_file, start_ns, path, notes) for of, own in sets.items()]
            return joined_joints(role, [channel for channel in each if channel is not None], joints)
        ((names, parts),) = sets.items()
    elif ROLES[role].width == JOINTS:
        widths = [part.fields[key].shape[1] for part in parts]
        width = max(set(widths), key=widths.count)
        parts = [part for part in parts if part.fields[key].shape[1] == width]
        names = joints.order if joints.order and len(joints.order) == width else None
    return _channel(role, parts, names, topic, map_file, start_ns, path, notes)


def _channel(
    role: str,
    parts: list[Part],
    names: tuple[str, ...] | None,
    topic: TopicData,
    map_file: MapFile,
    start_ns: int,
    path: Path,
    notes: list[str],
) -> RecordedChannel | None:
    """A channel from messages, in the order in which they came."""
    key = _key(role, topic)
    order = np.argsort(np.concatenate([part.order for part in parts]), kind="stable")
    values = np.concatenate([part.fields[key] for part in parts])[order].astype(np.float64)
    if topic.kind in COMMANDS:
        values[np.abs(values) > POSITION_OFF] = np.nan
    stamps_ns = _stamps(parts, order, topic, map_file, notes)
    finite = np.asarray(np.isfinite(values).all(axis=1))
    if not finite.all():
        notes.append(
            f"{path.name}: {int((~finite).sum())} of {len(finite)} messages of {topic.name} hold no {role} and were"
            " left out"
        )
        stamps_ns, values = stamps_ns[finite], values[finite]
    return RecordedChannel((stamps_ns - start_ns) / 1e9, values, topic.name, names) if len(values) else None


def recorded_gains(topic: TopicData, joints: JointNames, map_file: MapFile) -> dict[str, list[float | None]]:
    """The gains that were sent to the motors, median over time, in the contract's order, for the doctor to compare."""
    parts = [_of_motors(part, topic.kind, joints, map_file) for part in topic.parts]
    found = {gain: np.median(np.concatenate([part.fields[gain] for part in parts]), axis=0) for gain in ("kp", "kd")}
    return {gain: [float(v) if np.isfinite(v) else None for v in values] for gain, values in found.items()}


def _key(role: str, topic: TopicData) -> str:
    if topic.kind in kinds.ARRAYS:
        return "values"
    return "joint_position" if role == "target" and topic.kind == kinds.JOINT_STATE else role


def _of_motors(part: Part, kind: str, joints: JointNames, map_file: MapFile) -> Part:
    """Motors in the contract's order."""
    of_motor = motor_joints(joints.joints, map_file, kind.split("/")[0])
    missing = [joint for joint in joints.joints if joint not in of_motor]
    if missing:
        raise LogError(f"{map_file.name}: motors does not name the joints {', '.join(missing)} of the robot")
    index = [of_motor.index(joint) for joint in joints.joints]
    return replace(
        part,
        fields={
            role: values[:, index] if values.shape[1] == len(of_motor) else values
            for role, values in part.fields.items()
        },
    )


def _of_names(
    parts: list[Part], joints: JointNames, topic: TopicData, path: Path, notes: list[str], some: bool
) -> dict[tuple[str, ...], list[Part]]:
    """The messages that name every joint, in the contract's order; where none does, those of different joints by their
    names. Messages of other joints are left out.
    """
    whole: list[Part] = []
    pieces: dict[tuple[str, ...], list[Part]] = {}
    left = 0
    for part in parts:
        found = [joints.find(name) for name in part.names or ()]
        mine = tuple(joint for joint in joints.joints if joint in found)
        picked = replace(
            part, fields={role: values[:, [found.index(j) for j in mine]] for role, values in part.fields.items()}
        )
        if mine == joints.joints:
            whole.append(picked)
        elif mine:
            pieces.setdefault(mine, []).append(picked)
        if mine != joints.joints:
            left += len(part.order)
    if whole:
        if left:
            notes.append(f"{path.name}: {left} messages of {topic.name} without all joints were left out")
        return {joints.joints: whole}
    there = [joint for names in pieces for joint in names]
    if len(there) == len(set(there)) and pieces and (some or set(there) == set(joints.joints)):
        if not some:
            notes.append(f"{path.name}: messages of {topic.name} are about some joints each and were put together")
        return pieces
    missing = [joint for joint in joints.joints if joint not in there]
    why = (
        f"lacks the joints {', '.join(missing)}; it names {', '.join(parts[0].names or ())} (other names? 'joints:"
        " {theirs: ours}' in the map file)"
        if missing
        else "has no message with all joints of the robot, and its messages overlap in the joints that they name"
    )
    raise LogError(f"{path}: {topic.name} {why}")


def _stamps(parts: list[Part], order: np.ndarray, topic: TopicData, map_file: MapFile, notes: list[str]) -> np.ndarray:
    """When the messages were made, where their header says so in the recorder's clock; else when they were recorded."""
    log_ns = np.concatenate([part.log_ns for part in parts])[order]
    headers = [part.header_ns for part in parts if part.header_ns is not None]
    if map_file.clock == "log" or len(headers) < len(parts):
        return log_ns
    header_ns = np.concatenate(headers)[order]
    apart_s = abs(float(np.median(log_ns - header_ns))) / 1e9
    if map_file.clock == "header" or apart_s < SAME_CLOCK_S:
        return header_ns
    note = (
        f"the header stamps of {topic.name} are {apart_s:.3g} s off the recorder's clock; the time of recording was"
        " used"
    )
    if note not in notes:
        notes.append(note)
    return log_ns
