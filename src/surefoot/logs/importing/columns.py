"""Columns that belong together, and what they are by the words in their names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ROLES
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.vocabulary import (
    ACTION,
    DESIRED,
    ENABLED,
    NOISE,
    ONE_WORD_TARGETS,
    POSITION,
    TORQUE,
    UNIT_WORDS,
    VELOCITY,
    words,
)

AXES = {"w": 3, "x": 0, "y": 1, "z": 2, "vx": 0, "vy": 1, "wz": 2, "yaw": 2}
GYRO = {"gyro", "gyroscope", "omega", "angular", "ang"}
EPISODE = {"episode", "trial", "rollout", "trajectory"}


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that belong together, such as 'q_*': one for each joint, index or axis."""

    pattern: str
    columns: tuple[str, ...]
    names: tuple[str, ...] | None  # joints, where the column names say so
    axes: tuple[str, ...] | None = None


def role_of(pattern: str, width: int, n_joints: int, named: bool) -> str | None:
    """What a group of columns is, by its words and its width; None where that is not obvious."""
    said = words(pattern.replace("*", " ")) - NOISE - set(UNIT_WORDS)
    desired, rest = said & DESIRED, said - DESIRED
    per_joint = named or width == n_joints
    if rest & ENABLED and rest <= ENABLED | TORQUE | {"power", "is"} and (per_joint or width == 1):
        return "enabled"
    if per_joint and (role := _joint_role(pattern, said, desired, rest)):
        return role
    if width == 3 and rest & GYRO and rest <= GYRO | VELOCITY:
        return "gyro"
    if width == 3 and "gravity" in rest:
        return "gravity"
    if width == 3 and said & {"cmd", "command", "commands"} and rest <= VELOCITY | {"lin", "ang"}:
        return "command"
    if width == 4 and rest and rest <= {"quat", "quaternion", "orientation", "wxyz"}:
        return "quaternion"
    if width == 1 and rest & {"battery", "voltage"}:
        return "battery"
    if width == 1 and rest and rest <= {"mode", "control", "fsm", "event", "events"}:
        return "mode"
    if width == 1 and rest & EPISODE and rest <= EPISODE | {"index", "id"}:
        return "episode"
    if rest & {"foot", "feet"} and rest & {"contact", "contacts", "force", "forces"}:
        return "foot_contact"
    return None


def _joint_role(pattern: str, said: set[str], desired: set[str], rest: set[str]) -> str | None:
    """What one number for each joint is."""
    if rest & ONE_WORD_TARGETS or (rest & ACTION and rest & POSITION):
        return "target"
    if rest and rest <= ACTION | {"policy", "raw"}:
        return "action"
    if not said and words(pattern) & {"state", "states"}:  # observation.state
        return "joint_position"
    if rest <= POSITION and said:
        return "target" if desired else "joint_position"
    if rest and not desired and rest <= VELOCITY:
        return "joint_velocity"
    if rest and not desired and rest <= TORQUE:
        return "torque"
    if rest and rest <= {"temp", "temperature", "c"}:
        return "motor_temperature"
    return "enabled" if rest == {"mode"} and not desired else None


def find_groups(table: Table, joints: JointNames) -> dict[str, ColumnGroup]:
    """All groups of columns, by pattern."""
    found: dict[str, list[tuple[str, object]]] = {}
    for name, values in table.numbers.items():
        if values.ndim == 2:
            found[name] = [(name, None)]
            continue
        pattern, label = (name, table.joint) if table.joint else _split(name, joints)
        found.setdefault(pattern, []).append((name, label))
    for name in table.texts:
        found[name] = [(name, None)]
    return {pattern: group(pattern, members) for pattern, members in found.items()}


def _split(name: str, joints: JointNames) -> tuple[str, object]:
    """Pattern and label of a column: a joint, an index, an axis, or nothing."""
    inside = joints.split(name)
    if inside:
        return inside
    numbers = list(re.finditer(r"\d+", name))
    if numbers:
        last = numbers[-1]
        return f"{name[: last.start()]}*{name[last.end() :]}", int(last.group()) if last.end() - last.start() < 6 else 0
    for part in re.finditer(r"(?<![A-Za-z0-9])(vx|vy|wz|yaw|[wxyz])(?![A-Za-z0-9])", name):
        if part.group() != name:  # a column that is only called x is no axis of anything
            return f"{name[: part.start()]}*{name[part.end() :]}", part.group()
    return name, None


def group(pattern: str, members: list[tuple[str, object]]) -> ColumnGroup:
    """Columns with their labels as a group: numbered ones in order, axes as this project has them."""
    labels = [label for _, label in members]
    columns = [name for name, _ in members]
    if all(isinstance(label, int) for label in labels):
        return ColumnGroup(pattern, tuple(name for _, name in sorted(zip(labels, columns, strict=True))), None)
    if all(label in AXES for label in labels):
        ordered = sorted(zip(labels, columns, strict=True), key=lambda pair: AXES[str(pair[0])])
        if len(ordered) == 4:
            ordered = [ordered[3], *ordered[:3]]  # w first
        return ColumnGroup(pattern, tuple(name for _, name in ordered), None, tuple(str(label) for label, _ in ordered))
    if labels == [None]:
        return ColumnGroup(pattern, tuple(columns), None)
    return ColumnGroup(pattern, tuple(columns), tuple(str(label) for label in labels))


def width_of(columns: ColumnGroup, table: Table) -> int:
    """How many numbers a group has in each row."""
    first = table.numbers.get(columns.columns[0])
    wide = len(columns.columns) == 1 and first is not None and first.ndim == 2
    return first.shape[1] if wide and first is not None else len(columns.columns)


def unit_in(pattern: str, role: str) -> str | None:
    """A unit that a column's name gives away, such as 'deg' in 'q_deg_*'."""
    for word in sorted(words(pattern) & set(UNIT_WORDS)):
        for unit in (UNIT_WORDS[word], f"{UNIT_WORDS[word]}/s"):
            if unit in ROLES[role].units:
                return unit
    return None


def offered(groups: Iterable[ColumnGroup], table: Table, clock: Iterable[str]) -> tuple[str, ...]:
    """What there is beside the time, for a sentence about what is missing."""
    times = set(clock)
    widths = ((columns.pattern, width_of(columns, table)) for columns in groups if not times & set(columns.columns))
    return tuple(f"{pattern} ({width} columns)" if width > 1 else pattern for pattern, width in widths)
