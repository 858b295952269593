"""Channels in the contract's terms: its joint order, this project's units, and the signs and offsets of the
map file.
"""

from pathlib import Path

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ANY, JOINTS, ROLES, RecordedChannel, Recording
from surefoot.robot.contract import Contract
from surefoot.robot.values import per_name

AXES = {"quaternion": ("w", "x", "y", "z"), "command": ("vx", "vy", "wz")}


def in_contract_terms(recording: Recording, contract: Contract, map_file: MapFile) -> dict[str, RecordedChannel]:
    """Channels in the contract's joint order, units and signs."""
    joints = JointNames(contract.joints, map_file)
    done = {}
    for role, channel in recording.channels.items():
        rule, width = map_file.rule(role), ROLES[role].width
        values = channel.values
        if width == JOINTS:
            values = _in_order(channel, role, joints, recording.where)
        elif width != ANY and values.shape[1] != width:
            raise LogError(
                f"{recording.where}: {channel.source}, for {role}, has {values.shape[1]} columns; it must have {width}"
            )
        if role == "quaternion" and rule.order == "xyzw":
            values = values[:, [3, 0, 1, 2]]
        unit = rule.unit or channel.unit
        names = contract.joints if width == JOINTS else AXES.get(role, tuple("xyz"))[: values.shape[1]]
        if width == ANY or width == 1:
            names = tuple(f"{role} {i}" for i in range(values.shape[1]))
        what = f"{map_file.name}: {{}} of {role}"
        scale, sign, offset = (
            np.array(per_name(value, names, what.format(key), LogError, default=[default] * len(names)))
            for key, value, default in (
                ("scale", rule.scale, 1.0),
                ("sign", rule.sign, 1.0),
                ("offset", rule.offset, 0.0),
            )
        )
        values = values * (ROLES[role].units[unit] if unit else 1.0) * scale * sign + offset
        done[role] = RecordedChannel(
            channel.time_s + rule.shift_s if rule.shift_s else channel.time_s, values, channel.source, channel.names
        )
    for role, rule in map_file.rules.items():
        if rule.constant:
            time_s = done["joint_position"].time_s
            done[role] = RecordedChannel(
                time_s, np.tile(rule.constant, (len(time_s), 1)), f"{list(rule.constant)} in {Path(map_file.name).name}"
            )
    return done


def _in_order(channel: RecordedChannel, role: str, joints: JointNames, where: str) -> np.ndarray:
    values = channel.values
    if channel.names is None:
        if values.shape[1] != len(joints.joints):
            raise LogError(
                f"{where}: {channel.source}, for {role}, has {values.shape[1]} columns without names for"
                f" {len(joints.joints)} joints; list the joint of each column in the map file: 'joints: [...]'",
                argument="map",
            )
        return values
    found = [joints.find(name) for name in channel.names]
    missing = [joint for joint in joints.joints if joint not in found]
    if missing:
        raise LogError(
            f"{where}: {channel.source}, for {role}, lacks the joints {', '.join(missing)} of the robot; where they have"
            " other names, say 'joints: {theirs: ours}' in the map file",
            argument="map",
        )
    return values[:, [found.index(joint) for joint in joints.joints]]
