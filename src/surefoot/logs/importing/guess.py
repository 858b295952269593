"""The channels of a table: which column is what by the words in its name, or as the map file says."""

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from surefoot.errors import LogError, nearest
from surefoot.logs.importing.columns import ColumnGroup, find_groups, group, offered, role_of, unit_in, width_of
from surefoot.logs.importing.lerobot import FOLLOWS, LEROBOT, off_motion
from surefoot.logs.importing.mapping import MapFile, Rule
from surefoot.logs.importing.motor_order import Unnamed, joint_order, joint_widths, said_by
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ANY, JOINTS, ROLES, Clock, RecordedChannel, Recording
from surefoot.logs.importing.tables import Table, text_codes, text_matches
from surefoot.logs.importing.vocabulary import (
    ACTION,
    ASKED,
    MEASURED,
    POSITION,
    TORQUE,
    VELOCITY,
    names_asked,
    says_off,
    words,
)

PLACE_WORDS = ASKED | MEASURED | POSITION | VELOCITY | TORQUE | ACTION  # of a file or topic that say what it holds


def table_channels(
    table: Table, joints: JointNames, map_file: MapFile, clock: Clock, unitree_others: bool = False
) -> Recording:
    """The channels of a table, with every guess said; those of other tables may make it complete.

    `unitree_others`: other tables of the recording list their columns as Unitree's motors.
    """
    table = _about_one_joint(table, joints)
    groups = find_groups(table, joints)
    notes, assumed = list(table.notes), {}
    guesses = [*table.guesses, *([] if clock.name is None else [f"time <- {clock.name} (in {clock.unit})"])]
    if clock.name is None:
        assumed["time"] = f"no time stamps; rows are {map_file.rate_hz:g} a second, as the map file says"
    time_s = clock.time_s
    timed = np.isfinite(time_s)
    if not timed.all():
        notes.append(f"{table.short}: {int((~timed).sum())} of {table.rows} rows have no time and were left out")
        time_s = time_s[timed]
    chosen, misfits = _guessed(table, groups, joints, map_file, set(clock.columns))
    unmatched = _mapped(chosen, table, joints, map_file)
    if table.kind == LEROBOT and "action" in chosen and not {"action", "target"} & set(map_file.rules):
        assumed["action"] = _as_targets(chosen, table)
    values = {role: _values(chosen[role], table, role)[timed] for role in ROLES if role in chosen}
    names, unitree = _joint_names(chosen, values, table, joints, map_file, assumed, unitree_others)
    channels: dict[str, RecordedChannel] = {}
    for role, numbers in values.items():
        columns = chosen[role]
        if role == "quaternion" and columns.axes is None and not map_file.rule(role).sources:
            assumed["quaternion"] = f"{columns.pattern} is taken as w x y z"
        filled = np.isfinite(numbers).all(axis=1)
        if not filled.any():
            notes.append(f"{table.short}: {columns.pattern} is empty and was left out")
            continue
        if not filled.all():
            empty = int((~filled).sum())
            notes.append(f"{table.short}: {columns.pattern} is empty in {empty} of {table.rows} rows")
        whole, unit = filled.all(), unit_in(columns.pattern, role)
        channels[role] = RecordedChannel(
            time_s if whole else time_s[filled],
            numbers if whole else numbers[filled],
            columns.pattern,
            names.get(role),
            unit,
        )
        unit = map_file.rule(role).unit or unit
        guesses.append(f"{role} <- {columns.pattern}" + (f" (in {unit})" if unit else ""))
    _off_by_words(channels, chosen, table, timed, time_s, guesses)
    return Recording(
        table.path,
        table.kind,
        channels,
        tuple(guesses),
        tuple(notes),
        assumed,
        {},
        offered(groups.values(), table, clock.columns),
        table.label or table.path.name,
        clock,
        frozenset(role for role in channels if map_file.rule(role).sources),
        unmatched,
        misfits,
        unitree=unitree,
    )


def _about_one_joint(table: Table, joints: JointNames) -> Table:
    """A table whose name is a joint's, with columns that name none, is about this joint: 'FL_hip.csv'."""
    if table.joint is not None or len(joints.joints) < 2:
        return table
    found = joints.split(table.label or table.path.stem)
    if found is None or any(joints.split(name) for name in table.columns):
        return table
    if any(width_of(columns, table) == len(joints.joints) for columns in find_groups(table, joints).values()):
        return table
    return replace(table, joint=found[1])


def _guessed(
    table: Table, groups: dict[str, ColumnGroup], joints: JointNames, map_file: MapFile, taken: set[str]
) -> tuple[dict[str, ColumnGroup], dict[str, str]]:
    """A group for each role, and what would be one for a robot with another number of joints."""
    claims: dict[str, list[ColumnGroup]] = {}
    misfits: dict[str, str] = {}
    place = table.label or table.path.stem
    context = " ".join(sorted(words(place) & PLACE_WORDS))
    asked = names_asked([place])
    for columns in groups.values():
        if taken & set(columns.columns):
            continue
        width, named = width_of(columns, table), columns.names is not None
        fits = (
            0
            if columns.axes
            else width
            if width in joint_widths(joints, map_file, said_by(columns.pattern, place))
            else -1
        )
        role = role_of(columns.pattern, width, fits, named)
        if role is None and (named or fits > 0) and context:  # 'targets.csv' with a column for each joint
            role = role_of(f"{context} {columns.pattern}", width, fits, named)
        if role and (role in ("mode", "episode") or columns.columns[0] in table.numbers):
            claims.setdefault(role, []).append(columns)
        elif role is None and width > 1 and not columns.axes:
            would_be = role_of(columns.pattern, width, width, named)
            if would_be in ("joint_position", "target", "action"):
                key = "target" if would_be == "joint_position" and asked else would_be
                misfits[key] = f"{columns.pattern} ({width} columns)"
    if asked and "joint_position" in claims and not {"target", "action"} & set(claims):
        claims["target"] = claims.pop("joint_position")
        for role in ("joint_velocity", "torque"):  # that were asked for, too
            claims.pop(role, None)
    _refuse_rivals(claims, table, map_file)
    return {role: rivals[0] for role, rivals in claims.items()}, misfits


def _refuse_rivals(claims: dict[str, list[ColumnGroup]], table: Table, map_file: MapFile) -> None:
    for role, rivals in claims.items():
        if len(rivals) > 1 and role not in map_file.rules:
            either = " and ".join(columns.pattern for columns in rivals)
            raise LogError(
                f"{table.where}: {either} could each be the {role}; choose one in the map file: '{role}:"
                f' "{rivals[0].pattern}"\'',
                argument="map",
            )


def _as_targets(chosen: dict[str, ColumnGroup], table: Table) -> str:
    """Take the 'action' of a LeRobot folder for joint targets where the joints follow it; refuse to guess otherwise."""
    action, state = chosen["action"], chosen.get("joint_position")
    apart = None
    if state is not None and sorted(state.names or ()) == sorted(action.names or ()):
        order = [action.names.index(name) for name in state.names] if state.names and action.names else slice(None)
        apart = off_motion(_values(state, table, "joint_position"), _values(action, table, "action")[:, order])
    if apart is None or apart > FOLLOWS:
        raise LogError(
            f"{table.path}: the feature 'action' of a LeRobot folder may hold joint targets or a policy's output; say"
            f" 'target: {action.pattern}' or 'action: {action.pattern}' in the map file",
            argument="map",
        )
    chosen["target"] = chosen.pop("action")
    return f"{action.pattern} is taken as joint targets: the joints follow it, {apart:.2f} of their motion off"


def _mapped(chosen: dict[str, ColumnGroup], table: Table, joints: JointNames, map_file: MapFile) -> dict[str, str]:
    """Put what the map file says in place of the guesses; by role, why its columns are not in this table."""
    unmatched: dict[str, str] = {}
    for role, rule in map_file.rules.items():
        if rule.absent or rule.constant:
            chosen.pop(role, None)
            continue
        if not rule.applies(table.path.name, table.label):
            chosen.pop(role, None)
            unmatched[role] = (
                f"{map_file.name}: {role} is in {rule.file!r}, but there is no such file or topic{nearest(rule.file, [table.label or table.path.name])}"
            )
            continue
        if rule.sources:
            try:
                chosen[role] = _by_map(rule, role, table, joints, map_file)
            except LogError as reason:
                chosen.pop(role, None)
                unmatched[role] = str(reason)
    return unmatched


def _by_map(rule: Rule, role: str, table: Table, joints: JointNames, map_file: MapFile) -> ColumnGroup:
    """The columns that the map file names."""
    columns = table.columns
    if len(rule.sources) > 1:
        for name in rule.sources:
            _column(name, role, columns, map_file)
        return ColumnGroup(
            ", ".join((*rule.sources[:2], "...") if len(rule.sources) > 3 else rule.sources), rule.sources, None
        )
    name = rule.sources[0]
    if name in columns:
        return ColumnGroup(name, (name,), (table.joint,) if table.joint else None)
    if "*" not in name:
        _column(name, role, columns, map_file)
    begin, end = name.split("*", 1)
    matched = [column for column in columns if fnmatchcase(column, name.replace("[", "[[]"))]
    if not matched:
        raise LogError(
            f"{map_file.name}: {role} is {name!r}, which no column of {table.short} matches{nearest(name, columns)}"
        )
    inner = [column[len(begin) : len(column) - len(end)] for column in matched]
    if all(joints.find(label) for label in inner):
        return ColumnGroup(name, tuple(matched), tuple(str(joints.find(label)) for label in inner))
    if ROLES[role].width == JOINTS and not all(
        label.isdigit() for label in inner
    ):  # other joints beside the contract's are no mistake
        return ColumnGroup(name, tuple(matched), tuple(joints.find(label) or label for label in inner))
    made = group(
        name, [(column, int(label) if label.isdigit() else label) for column, label in zip(matched, inner, strict=True)]
    )
    return ColumnGroup(made.pattern, made.columns, None, made.axes)


def _column(name: str, role: str, columns: Iterable[str], map_file: MapFile) -> None:
    if name not in columns:
        raise LogError(f"{map_file.name}: {role} is {name!r}, but there is no such column{nearest(name, columns)}")


def _values(columns: ColumnGroup, table: Table, role: str) -> np.ndarray:
    """The group's numbers, (rows, width); words of a mode or an episode are numbered."""
    if len(columns.columns) == 1 and columns.columns[0] in table.texts:
        if role not in ("mode", "episode"):
            raise LogError(
                f"{table.where}: the column {columns.columns[0]!r}, for {role}, holds words instead of numbers"
            )
        return text_codes(table.texts[columns.columns[0]])[:, None]
    arrays = []
    for name in columns.columns:
        values = table.numbers.get(name)
        if values is None or (values.ndim == 2 and len(columns.columns) > 1):
            raise LogError(f"{table.where}: the column {name!r}, for {role}, does not hold one number in each row")
        arrays.append(values if values.ndim == 2 else values[:, None])
    return np.concatenate(arrays, axis=1).astype(np.float64)


def _joint_names(
    chosen: dict[str, ColumnGroup],
    values: dict[str, np.ndarray],
    table: Table,
    joints: JointNames,
    map_file: MapFile,
    assumed: dict[str, str],
    others: bool,
) -> tuple[dict[str, tuple[str, ...] | None], bool]:
    """The names of the columns of each role: as the columns, the file or the map file have them, or by their order; and
    whether that is Unitree's.
    """
    found: dict[str, tuple[str, ...] | None] = {}
    unnamed: dict[str, Unnamed] = {}
    for role, numbers in values.items():
        columns, width = chosen[role], numbers.shape[1]
        names = columns.names
        if names is None and ROLES[role].width == JOINTS:
            names = (table.names or {}).get(columns.columns[0]) or joints.order
            if names is not None and len(names) != width:
                raise LogError(
                    f"{table.where}: {columns.pattern} has {width} columns and 'joints' names {len(names)}; list one"
                    " joint for each column"
                )
        elif names is None and role == "foot_contact":
            names = columns.columns if len(columns.columns) == width else tuple(f"foot {i}" for i in range(width))
        per_joint = ROLES[role].width == JOINTS or (ROLES[role].width == ANY and role == "enabled" and width > 1)
        if names is None and per_joint:
            said = said_by(columns.pattern, table.label or table.path.stem)
            unnamed[role] = Unnamed(columns.pattern, said, width, map_file.rule(role).ordered)
        found[role] = tuple(joints.find(name) or name for name in names) if per_joint and names is not None else names
    order = joint_order(unnamed, joints, map_file, table.short, others)
    if order.assumed is not None:
        assumed["joint order"] = order.assumed
    return {**found, **order.names}, order.unitree


def _off_by_words(
    channels: dict[str, RecordedChannel],
    chosen: dict[str, ColumnGroup],
    table: Table,
    timed: np.ndarray,
    time_s: np.ndarray,
    guesses: list[str],
) -> None:
    """Where a mode or an event is called off, disabled or the like, the motors do not hold the joints."""
    if "mode" not in channels or "enabled" in channels or chosen["mode"].columns[0] not in table.texts:
        return
    column = chosen["mode"].columns[0]
    off, words_off = text_matches(table.texts[column], says_off)
    if off.any():
        on = (~off)[timed][:, None].astype(np.float64)
        said = " or ".join(repr(word[:40]) for word in words_off[:4])
        channels["enabled"] = RecordedChannel(time_s, on, f"{column} is {said}")
        guesses.append(f"motors off <- {column} is {said}")
