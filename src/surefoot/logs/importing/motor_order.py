"""Which joint each column is, where columns have numbers instead of names.

Policies and MJCF files mostly list the legs of a quadruped as FL FR RL RR, Unitree's motors are FR FL RR RL: taken for
the other, left and right are swapped. The words of a name tell ('motor_3_q'), and so does the pose: a robot stands with
its left hips out to the left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing.mapping import ROBOT_ORDER, UNITREE_ORDER, MapFile
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.unitree import LEGS, MOTORS, motor_joints, unitree_order
from surefoot.logs.importing.vocabulary import words

MOTOR_WORDS = {"motor", "motors", "motorstate", "motorcmd", "lowstate", "lowcmd", "unitree"}
PLACES = {"lowstate", "lowcmd", "unitree"}  # 'state_motor.csv' is anybody's
TELLING_RAD = (
    0.05  # by which one order must be nearer to the pose than the other, in the mean over the joints that tell
)
ERRORS = 4.0  # standard errors of the mean that the difference must have, too
ABSURD = 1e6  # no angle
TELLING = ("joint_position", "target")  # are near the pose


@dataclass(frozen=True)
class Unnamed:
    """Columns of one role without joint names."""

    pattern: str
    said: set[str]  # words of the pattern, and of the file or topic
    mean: np.ndarray  # (width,) over time, rad
    error: np.ndarray  # (width,) standard error of it, rad
    ordered: bool = False  # the map file speaks of single columns: it has an order in mind, robot.yaml's


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over time and its standard error, (width,); values of one swing are not independent: swings count."""
    with np.errstate(all="ignore"):
        known = np.abs(values) < ABSURD
        count = np.maximum(known.sum(axis=0), 1)
        mean = np.where(known, values, 0.0).sum(axis=0) / count
        off = np.where(known, values - mean, 0.0)
        swings = np.maximum((np.diff(np.sign(off), axis=0) != 0).sum(axis=0), 1)
        error = np.sqrt((off**2).sum(axis=0) / count / swings)
    return np.where(known.any(axis=0), mean, np.nan), error


def joint_widths(joints: JointNames, map_file: MapFile, said: set[str]) -> set[int]:
    """How many columns a group with one number for each joint may have."""
    widths = {len(joints.order or joints.joints)}
    if isinstance(map_file.motors, tuple):
        widths.add(len(map_file.motors))
    if said & MOTOR_WORDS and unitree_order(joints.joints) is not None:
        widths |= set(MOTORS.values())
    return widths


@dataclass(frozen=True)
class JointOrder:
    """The joints of columns without names."""

    names: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by role; no entry: the order of robot.yaml
    assumed: str | None = None
    unitree: bool | None = None  # whether it is that of Unitree's motors; None where nothing tells


def joint_order(
    unnamed: Mapping[str, Unnamed], joints: JointNames, map_file: MapFile, name: str, others: bool = False
) -> JointOrder:
    """The joints of the columns of each role; `others` are in Unitree's order, of streams of the same recording."""
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
        return JointOrder({role: _padded(unitree, len(columns.mean)) for role, columns in known.items()})
    verdicts = {role: _verdict(known[role], unitree, joints) for role in TELLING if role in known}
    told = [verdict for verdict in verdicts.values() if verdict is not None]
    told = told or ([(True, "as in the other streams of the recording")] if others else [])
    found: dict[str, tuple[str, ...]] = {}
    for role, columns in known.items():
        # Columns that do not tell are in the order of those that do, the measured ones first.
        verdict = verdicts.get(role) or (told[0] if told else _by_words(columns))
        if verdict is not None and verdict[0]:
            found[role] = _padded(unitree, len(columns.mean))
    if not known:
        return JointOrder(assumed=plain)
    order, reasons = " ".join(LEGS), [reason for _, reason in told]
    if not found:
        said = f"{plain}{_why(reasons)} ('motors: {UNITREE_ORDER}' in the map file takes Unitree's {order})"
        return JointOrder({}, said, False if told else None)
    which = ", ".join(unnamed[role].pattern for role in found)
    said = (
        f"the columns {which} of {name} are taken in the order of Unitree's motors, {order}{_why(reasons)} ('motors:"
        f" {ROBOT_ORDER}' in the map file takes the order of robot.yaml)"
    )
    return JointOrder(found, said, True)


def _why(reasons: Sequence[str]) -> str:
    return f": {'; '.join(dict.fromkeys(reasons))}" if reasons else ""


def _verdict(columns: Unnamed, unitree: tuple[str, ...], joints: JointNames) -> tuple[bool, str] | None:
    """Whether columns are in Unitree's order, and why: by the pose where it tells, by the words of the name."""
    if len(columns.mean) != len(joints.joints):
        return _by_words(columns)
    own_rad, unitree_rad, error_rad = _off_pose(columns, unitree, joints)
    near, far = sorted((own_rad, unitree_rad))
    if far - near <= max(TELLING_RAD, ERRORS * error_rad) or near >= 0.5 * far:
        return _by_words(columns)
    return unitree_rad < own_rad, (
        f"in the mean over time {columns.pattern} is {near:.2f} rad off the pose of robot.yaml that way, and {far:.2f}"
        " rad in the other order"
    )


def _by_words(columns: Unnamed) -> tuple[bool, str] | None:
    return (True, f"{columns.pattern} is about motors") if columns.said & MOTOR_WORDS else None


def _off_pose(columns: Unnamed, unitree: tuple[str, ...], joints: JointNames) -> tuple[float, float, float]:
    """Mean distance from the pose in robot.yaml's order and in Unitree's, over the joints that tell them apart, and its
    standard error.
    """
    if joints.pose_rad is None:
        return 0.0, 0.0, 0.0
    index = [joints.joints.index(joint) for joint in unitree]
    own, other = joints.pose_rad, joints.pose_rad[index]
    tells = np.abs(own - other) > TELLING_RAD
    if not tells.any() or not np.isfinite(columns.mean[tells]).all():
        return 0.0, 0.0, 0.0
    error = float(np.sqrt((columns.error[tells] ** 2).sum()) / tells.sum())
    return float(np.abs(columns.mean - own)[tells].mean()), float(np.abs(columns.mean - other)[tells].mean()), error


def _padded(unitree: tuple[str, ...], width: int) -> tuple[str, ...]:
    return (*unitree, *(f"motor {i}" for i in range(len(unitree), width)))[:width]


def _listed(columns: Unnamed, map_file: MapFile, joints: JointNames) -> tuple[str, ...]:
    """As the map file lists them."""
    width = len(columns.mean)
    listed = motor_joints(joints.joints, map_file, None)
    if len(listed) > width:
        raise LogError(f"{map_file.name}: motors lists {len(listed)} joints; {columns.pattern} has {width} columns")
    return tuple(listed[i] if i < len(listed) and listed[i] else f"motor {i}" for i in range(width))  # type: ignore[misc]


def said_by(pattern: str, place: str) -> set[str]:
    """The words of a pattern, and those of the file, group or topic that it is in that name Unitree's messages."""
    return words(pattern) | (words(place) & PLACES)
