"""Long tables: a row for each joint at each time, with a column that says which joint."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from surefoot.logs.importing.columns import role_of
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.tables import Table, text_matches
from surefoot.logs.importing.unitree import unitree_order
from surefoot.logs.importing.vocabulary import words

WHICH = {
    "joint",
    "joints",
    "motor",
    "motors",
    "servo",
    "actuator",
    "dof",
    "name",
    "names",
    "id",
    "index",
    "idx",
    "number",
}
OF_JOINT = {"joint", "joints", "motor", "motors", "servo", "actuator", "dof"}


def split_long(table: Table, joints: JointNames) -> list[Table]:
    """One table for each joint of a long table; any other table as it is."""
    for name in table.columns:
        said = words(name)
        if not said & WHICH or not said <= WHICH or not table.rows:
            continue
        if name in table.texts:
            parts = _by_name(table, name, joints)
        elif said & OF_JOINT and table.numbers[name].ndim == 1:
            parts = _by_number(table, name, joints)
        else:
            continue
        if len(parts) > 1:
            return parts
    return [table]


def _by_name(table: Table, column: str, joints: JointNames) -> list[Table]:
    rows = {
        joint: text_matches(table.texts[column], lambda text, joint=joint: joints.find(text) == joint)[0]  # type: ignore[misc]
        for joint in joints.joints
    }
    said = f"joints <- {column}, one row for each joint and time"
    return _parts(table, column, {joint: which for joint, which in rows.items() if which.any()}, said)


def _by_number(table: Table, column: str, joints: JointNames) -> list[Table]:
    """Numbered joints: from 0 or from 1, in robot.yaml's order; numbered motors of a quadruped in Unitree's."""
    numbers = table.numbers[column]
    finite = numbers[np.isfinite(numbers)]
    different = np.unique(finite[:: max(1, len(finite) // 100_000)])
    count = len(joints.joints)
    first = int(different[0]) if len(different) and abs(different[0]) < 2 else -1
    if first not in (0, 1) or not np.array_equal(different, np.arange(first, first + count)):
        return []
    if not any(_per_joint(name) for name in table.columns if name != column):
        return []
    motors = unitree_order(joints.joints) if words(column) & {"motor", "motors"} else None
    order = motors or joints.joints
    how = "Unitree's motors, FR FL RR RL" if motors else "robot.yaml"
    said = f"joints <- {column}, one row for each joint and time, {first} to {first + count - 1} in the order of {how}"
    return _parts(table, column, {joint: numbers == first + i for i, joint in enumerate(order)}, said)


def _per_joint(name: str) -> bool:
    return role_of(name, 1, 1, False) in ("joint_position", "target", "action")


def _parts(table: Table, column: str, rows: dict[str, np.ndarray], said: str) -> list[Table]:
    """The rows of each joint as a table of its own; the guess and the notes go with the first."""
    parts: list[Table] = []
    for joint, which in rows.items():
        index = pa.array(np.flatnonzero(which))
        parts.append(
            replace(
                table,
                rows=int(which.sum()),
                numbers={name: values[which] for name, values in table.numbers.items() if name != column},
                texts={name: values.take(index) for name, values in table.texts.items() if name != column},
                joint=joint,
                label=f"{table.label} {joint}".strip(),
                notes=() if parts else table.notes,
                guesses=() if parts else (*table.guesses, said),
            )
        )
    return parts
