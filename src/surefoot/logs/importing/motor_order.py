"""Which joint each column is, where columns have numbers instead of names.

Policies and MJCF files mostly list the legs of a quadruped as FL FR RL RR, Unitree's motors are FR FL RR RL: taken for
the other, left and right are swapped. Where the name of a column does not tell ('motor_3_q' does), the motion may:
- Joints follow their targets. Where one of the two is named, the order in which they agree is that of the other.
- A robot on its legs sags: its knees flex, and its hips give way outwards, because a foot stands outside of its hip's
  axis. By how much is told by position minus target, and outwards is the other way on the other side. Over virtual Go2s
  (3 robots, standing, trotting and walking) all four hips gave way outwards, by 5 to 20 % of the torque limit; a Go2 and
  an Aliengo that hang in the air do not flex their knees so, and are not judged.
The mean pose tells nothing: a robot may walk with its feet further in or out than it stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing.mapping import ROBOT_ORDER, UNITREE_ORDER, MapFile
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import JOINTS, ROLES, RecordedChannel, Recording
from surefoot.logs.importing.resample import hold, rising
from surefoot.logs.importing.unitree import LEGS, MOTORS, motor_joints, unitree_order
from surefoot.logs.importing.vocabulary import words
from surefoot.robot.contract import Contract

MOTOR_WORDS = {"motor", "motors", "motorstate", "motorcmd", "lowstate", "lowcmd", "unitree"}
PLACES = {"lowstate", "lowcmd", "unitree"}  # 'state_motor.csv' is anybody's
FEWEST_S = 2.0  # of a recording that tells
# of the distance from the targets in the other order; right orders measured 0.5 to 0.87 on virtual Go2s that stand or
# walk by a policy, 0.93 in a soft trot, and wrong ones never less than 1
CLEARLY = 0.9
SAG, FLEXED = 0.03, 0.05  # shares of the torque limit, by kp: of the hips outwards, and of the knees
HOW_TO_SAY = f"'motors: {UNITREE_ORDER}' in the map file takes Unitree's {' '.join(LEGS)}"


@dataclass(frozen=True)
class Unnamed:
    """Columns of one role without joint names."""

    pattern: str
    said: set[str]  # words of the pattern, and of the file or topic
    width: int
    ordered: bool = False  # the map file speaks of single columns: it has an order in mind, robot.yaml's


@dataclass(frozen=True)
class JointOrder:
    """The joints of columns without names."""

    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by role; no entry: the order of robot.yaml
    assumed: str | None = None
    unitree: bool = False  # whether some are in the order of Unitree's motors


def joint_widths(joints: JointNames, map_file: MapFile, said: set[str]) -> set[int]:
    """How many columns a group with one number for each joint may have."""
    widths = {len(joints.order or joints.joints)}
    if isinstance(map_file.motors, tuple):
        widths.add(len(map_file.motors))
    if said & MOTOR_WORDS and unitree_order(joints.joints) is not None:
        widths |= set(MOTORS.values())
    return widths


def said_by(pattern: str, place: str) -> set[str]:
    """The words of a pattern, and those of the file, group or topic that it is in that name Unitree's messages."""
    return words(pattern) | (words(place) & PLACES)


def joint_order(
    unnamed: Mapping[str, Unnamed], joints: JointNames, map_file: MapFile, name: str, others: bool = False
) -> JointOrder:
    """The joints of the columns of each role, by the map file and by the words of their names.

    `others` are in Unitree's order, of streams of the same recording.
    """
    if not unnamed:
        return JointOrder()
    if isinstance(map_file.motors, tuple):
        return JointOrder({role: _listed(columns, map_file, joints) for role, columns in unnamed.items()})
    unitree = unitree_order(joints.joints)
    plain = f"the columns of {name} do not name joints; they are taken in the order of robot.yaml"
    if map_file.motors == ROBOT_ORDER or unitree is None or unitree == joints.joints:
        return JointOrder(assumed=None if map_file.motors == ROBOT_ORDER else plain)
    # A policy's output is in its own order.
    known = {role: columns for role, columns in unnamed.items() if role != "action" and not columns.ordered}
    if map_file.motors is not None:
        return JointOrder({role: _padded(unitree, columns.width) for role, columns in known.items()})
    told = [columns.pattern for columns in known.values() if columns.said & MOTOR_WORDS]
    if not told and not others:
        return JointOrder(assumed=f"{plain} ({HOW_TO_SAY})" if known else plain)
    why = f"{told[0]} is about motors" if told else "as in the other streams of the recording"
    which = ", ".join(columns.pattern for columns in known.values())
    found = {role: _padded(unitree, columns.width) for role, columns in known.items()}
    return JointOrder(found, _unitree_said(which, name, why) if found else plain, bool(found))


def settled_order(recording: Recording, contract: Contract, map_file: MapFile) -> Recording:
    """The recording with the order of its unnamed columns as its motion tells, where nothing else did."""
    unitree = unitree_order(contract.joints)
    position, asked = recording.channels.get("joint_position"), _asked(recording, contract, map_file)
    if (
        unitree is None
        or unitree == contract.joints
        or map_file.motors is not None
        or "joint order" not in recording.assumed
    ):
        return recording
    if position is None or asked is None or not _plain_rules(map_file):
        return recording
    measured = _in_rad(position, "joint_position", map_file)
    if measured.shape[1] != contract.n_joints or asked.values.shape[1] != contract.n_joints:
        return recording
    at = rising(asked.time_s)
    targets, known = hold(asked.time_s[at], asked.values[at], position.time_s, np.inf)
    known &= (np.abs(targets) < 1e3).all(axis=1) & (np.abs(measured) < 1e3).all(axis=1)
    if not known.any() or np.ptp(position.time_s[known]) < FEWEST_S:
        return recording
    verdict = _verdict(measured[known], targets[known], position.names, asked.names, contract, unitree)
    if verdict is None:
        return recording
    swapped, why = verdict
    said = recording.assumed["joint order"]
    if not swapped:
        said = said.replace(f" ({HOW_TO_SAY})", f": {why} ({HOW_TO_SAY})")
        return replace(recording, assumed={**recording.assumed, "joint order": said})
    channels = dict(recording.channels)
    for role, channel in recording.channels.items():
        per_joint = ROLES[role].width == JOINTS or (role == "enabled" and channel.values.shape[1] > 1)
        if per_joint and role != "action" and channel.names is None:
            channels[role] = replace(channel, names=unitree)
    which = ", ".join(
        recording.channels[role].source for role in channels if channels[role] is not recording.channels[role]
    )
    return replace(
        recording,
        channels=channels,
        assumed={**recording.assumed, "joint order": _unitree_said(which, recording.name, why)},
    )


def _unitree_said(which: str, name: str, why: str) -> str:
    return (
        f"the columns {which} of {name} are taken in the order of Unitree's motors, {' '.join(LEGS)}: {why} ('motors:"
        f" {ROBOT_ORDER}' in the map file takes the order of robot.yaml)"
    )


def _verdict(
    measured: np.ndarray,
    targets: np.ndarray,
    measured_names: tuple[str, ...] | None,
    target_names: tuple[str, ...] | None,
    contract: Contract,
    unitree: tuple[str, ...],
) -> tuple[bool, str] | None:
    """Whether the columns that name no joint are in Unitree's order, and why; None where the motion does not tell."""
    if measured_names is None and target_names is None:
        return _by_sag(measured - targets, contract)
    if measured_names is not None and target_names is not None:
        return None
    named, unnamed = (measured, targets) if target_names is None else (targets, measured)
    names = measured_names if target_names is None else target_names
    if names is None or set(names) != set(contract.joints):
        return None
    named = named[:, [names.index(joint) for joint in contract.joints]]
    motors = [unitree.index(joint) for joint in contract.joints]
    as_is, swapped = (float(np.sqrt(np.mean((unnamed[:, order] - named) ** 2))) for order in (slice(None), motors))
    near, far = sorted((as_is, swapped))
    if near > CLEARLY * far:
        return None
    return (
        swapped < as_is,
        f"joints are {near:.2f} rad off their targets that way, and {far:.2f} rad in the other order",
    )


def _by_sag(off: np.ndarray, contract: Contract) -> tuple[bool, str] | None:
    """By the sag of a robot that stands on its legs, position minus target in robot.yaml's order, (rows, n_joints)."""
    limit_rad = np.asarray(contract.torque_limit_nm) / np.maximum(np.asarray(contract.kp_nm_per_rad), 1e-9)
    pose = np.asarray(contract.pose_rad)
    knees = [i for i, joint in enumerate(contract.joints) if "calf" in joint.lower()]
    hips = [i for i, joint in enumerate(contract.joints) if "hip" in joint.lower()]
    left = [1.0 if words(contract.joints[i]) & {"fl", "rl"} else -1.0 for i in hips]
    mean, median = (how(off, axis=0) / limit_rad for how in (np.mean, np.median))
    flexed = [float(np.mean(sag[knees] * np.sign(pose[knees]))) for sag in (mean, median)]
    outwards = np.array([sag[hips] * left for sag in (mean, median)])  # (2, 4)
    if min(flexed) < FLEXED or np.abs(outwards.mean(axis=1)).min() < SAG:
        return None
    swapped = outwards.mean() < 0
    if ((outwards < 0) == swapped).sum(axis=1).min() < 3:
        return None
    share = abs(float(outwards[0].mean()))
    return bool(
        swapped
    ), f"under its weight the robot's hips give way outwards, by {share:.0%} of their torque limit, that way"


def _asked(recording: Recording, contract: Contract, map_file: MapFile) -> RecordedChannel | None:
    """Joint targets, rad; those that actions stand for are in robot.yaml's order."""
    if "target" in recording.channels:
        channel = recording.channels["target"]
        return replace(channel, values=_in_rad(channel, "target", map_file))
    if "action" not in recording.channels:
        return None
    channel = recording.channels["action"]
    if channel.values.shape[1] != contract.n_joints:
        return None
    names = channel.names or contract.joints
    order = [contract.joints.index(name) for name in names] if set(names) == set(contract.joints) else None
    if order is None:
        return None
    pose, scale = np.asarray(contract.pose_rad)[order], np.asarray(contract.action_scale_rad)
    scale = scale[order] if scale.ndim else scale
    return replace(channel, values=pose + scale * channel.values, names=names)


def _in_rad(channel: RecordedChannel, role: str, map_file: MapFile) -> np.ndarray:
    unit = map_file.rule(role).unit or channel.unit
    return channel.values * (ROLES[role].units[unit] if unit else 1.0)


def _plain_rules(map_file: MapFile) -> bool:
    """Whether the map file leaves signs, scales and offsets as they are."""
    rules = [map_file.rule(role) for role in ("joint_position", "target", "action")]
    return all((rule.sign, rule.scale, rule.offset) == (1.0, 1.0, 0.0) and not rule.ordered for rule in rules)


def _padded(unitree: tuple[str, ...], width: int) -> tuple[str, ...]:
    return (*unitree, *(f"motor {i}" for i in range(len(unitree), width)))[:width]


def _listed(columns: Unnamed, map_file: MapFile, joints: JointNames) -> tuple[str, ...]:
    """As the map file lists them."""
    listed = motor_joints(joints.joints, map_file, None)
    if len(listed) > columns.width:
        raise LogError(
            f"{map_file.name}: motors lists {len(listed)} joints; {columns.pattern} has {columns.width} columns"
        )
    padded = [*listed, *[None] * (columns.width - len(listed))]
    return tuple(joint or f"motor {i}" for i, joint in enumerate(padded))
