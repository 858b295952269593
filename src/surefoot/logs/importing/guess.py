"""Which column is what: by the words in its name, or as the map file says."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from surefoot.errors import LogError, nearest
from surefoot.logs.importing.mapping import MapFile, Rule
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ANY, JOINTS, ROLES, TIMES, RecordedChannel, Recording
from surefoot.logs.importing.tables import Table, text_codes

DESIRED = {
    "des",
    "desired",
    "target",
    "targets",
    "cmd",
    "command",
    "commands",
    "commanded",
    "ref",
    "reference",
    "goal",
    "setpoint",
}
NOISE = {
    "joint",
    "joints",
    "state",
    "states",
    "observation",
    "obs",
    "motor",
    "motors",
    "dof",
    "robot",
    "measured",
    "actual",
    "imu",
    "base",
    "body",
    "rad",
    "s",
    "nm",
    "m",
    "est",
}
POSITION = {"q", "pos", "position", "positions", "qpos", "angle", "angles", "jpos"}
VELOCITY = {"qd", "dq", "qdot", "qvel", "vel", "velocity", "velocities", "jvel"}
TORQUE = {"tau", "torque", "torques", "effort", "efforts"}
ONE_WORD_TARGETS = {"qdes", "desq", "qref", "qcmd", "qtarget"}
CLOCK = {"t", "time", "timestamp", "timestamps", "stamp"}
CLOCK_UNITS = {
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "ms": "ms",
    "us": "us",
    "usec": "us",
    "ns": "ns",
    "nsec": "ns",
}
AXES = {"w": 3, "x": 0, "y": 1, "z": 2, "vx": 0, "vy": 1, "wz": 2, "yaw": 2}
UNIT_WORDS = {"deg": "deg", "degree": "deg", "degrees": "deg", "rpm": "rpm"}
PLAUSIBLE_HZ = (5.0, 5000.0)  # of a log; a factor of 1000 apart, so that only one unit of time can be right


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that belong together, such as 'q_*': one for each joint, index or axis."""

    pattern: str
    columns: tuple[str, ...]
    names: tuple[str, ...] | None  # joints, where the column names say so
    axes: tuple[str, ...] | None = None


def words(name: str) -> set[str]:
    """The words of a name: 'joint_pos.FL-hip' as joint, pos, fl, hip."""
    return {word.lower() for word in re.split(r"[^A-Za-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)) if word}


def role_of(pattern: str, width: int, n_joints: int, named: bool) -> str | None:
    """What a group of columns is, by its words and its width; None where that is not obvious."""
    said = words(pattern.replace("*", " ")) - NOISE - set(UNIT_WORDS)
    desired, rest = said & DESIRED, said - DESIRED
    if named or width == n_joints:
        if rest & ONE_WORD_TARGETS or (("action" in rest or "actions" in rest) and rest & POSITION):
            return "target"
        if rest and rest <= {"action", "actions", "policy", "raw"}:
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
    if (
        width == 3
        and rest & {"gyro", "gyroscope", "omega", "angular", "ang"}
        and rest <= {"gyro", "gyroscope", "omega", "angular", "ang"} | VELOCITY
    ):
        return "gyro"
    if width == 3 and "gravity" in rest:
        return "gravity"
    if width == 3 and said & {"cmd", "command", "commands"} and rest <= VELOCITY | {"lin", "ang"}:
        return "command"
    if width == 4 and rest and rest <= {"quat", "quaternion", "orientation", "wxyz"}:
        return "quaternion"
    if width == 1 and rest & {"battery", "voltage"}:
        return "battery"
    if width == 1 and rest and rest <= {"mode", "control", "fsm"}:
        return "mode"
    if (
        width == 1
        and rest & {"episode", "trial", "rollout", "trajectory"}
        and rest <= {"episode", "trial", "rollout", "trajectory", "index", "id"}
    ):
        return "episode"
    if rest & {"foot", "feet"} and rest & {"contact", "contacts", "force", "forces"}:
        return "foot_contact"
    return None


def find_groups(table: Table, joints: JointNames) -> dict[str, ColumnGroup]:
    """All groups of columns, by pattern."""
    found: dict[str, list[tuple[str, object]]] = {}
    for name, values in table.numbers.items():
        if values.ndim == 2:
            found[name] = [(name, None)]
            continue
        pattern, label = _split(name, joints)
        found.setdefault(pattern, []).append((name, label))
    for name in table.texts:
        found[name] = [(name, None)]
    return {pattern: _group(pattern, members) for pattern, members in found.items()}


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


def _group(pattern: str, members: list[tuple[str, object]]) -> ColumnGroup:
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


def _width(group: ColumnGroup, table: Table) -> int:
    first = table.numbers.get(group.columns[0])
    return first.shape[1] if len(group.columns) == 1 and first is not None and first.ndim == 2 else len(group.columns)


def table_channels(table: Table, joints: JointNames, map_file: MapFile) -> Recording:
    """The channels of a table, with every guess said."""
    groups = find_groups(table, joints)
    guesses: list[str] = []
    notes = list(table.notes)
    assumed: dict[str, str] = {}
    time_s, clock = _clock(table, map_file, guesses, assumed)
    timed = np.isfinite(time_s)
    if not timed.all():
        notes.append(f"{table.path.name}: {int((~timed).sum())} of {table.rows} rows have no time and were left out")
        time_s = time_s[timed]
    chosen = _guessed(table, groups, joints, map_file, {clock})
    for role, rule in map_file.rules.items():
        if rule.sources:
            chosen[role] = _by_map(rule, role, table, joints, map_file)
    channels: dict[str, RecordedChannel] = {}
    for role in ROLES:
        if role not in chosen or map_file.rule(role).absent or map_file.rule(role).constant:
            continue
        group = chosen[role]
        values = _values(group, table, role)[timed]
        names = group.names
        if names is None and ROLES[role].width == JOINTS:
            names = (table.names or {}).get(group.columns[0]) or joints.order
            if names is not None and len(names) != values.shape[1]:
                raise LogError(
                    f"{table.path}: {group.pattern} has {values.shape[1]} columns and 'joints' names {len(names)}; list"
                    " one joint for each column"
                )
            if names is None and values.shape[1] == len(joints.joints):
                assumed["joint order"] = (
                    f"the columns of {table.path.name} do not name joints; they are taken in the order of robot.yaml"
                )
        elif names is None and ROLES[role].width == ANY:
            names = (
                group.columns
                if len(group.columns) == values.shape[1]
                else tuple(f"foot {i}" for i in range(values.shape[1]))
            )
        if role == "quaternion" and group.axes is None and not map_file.rule(role).sources:
            assumed["quaternion"] = f"{group.pattern} is taken as w x y z"
        filled = np.isfinite(values).all(axis=1)
        if not filled.any():
            notes.append(f"{table.path.name}: {group.pattern} is empty and was left out")
            continue
        if not filled.all():
            notes.append(f"{table.path.name}: {group.pattern} is empty in {int((~filled).sum())} of {table.rows} rows")
        whole, unit = filled.all(), unit_in(group.pattern, role)
        channels[role] = RecordedChannel(
            time_s if whole else time_s[filled], values if whole else values[filled], group.pattern, names, unit
        )
        unit = map_file.rule(role).unit or unit
        guesses.append(f"{role} <- {group.pattern}" + (f" (in {unit})" if unit else ""))
    widths = {pattern: _width(group, table) for pattern, group in groups.items()}
    offered = tuple(f"{pattern} ({width} columns)" if width > 1 else pattern for pattern, width in widths.items())
    return Recording(table.path, table.kind, channels, tuple(guesses), tuple(notes), assumed, {}, offered)


def unit_in(pattern: str, role: str) -> str | None:
    """A unit that a column's name gives away, such as 'deg' in 'q_deg_*'."""
    for word in sorted(words(pattern) & set(UNIT_WORDS)):
        for unit in (UNIT_WORDS[word], f"{UNIT_WORDS[word]}/s"):
            if unit in ROLES[role].units:
                return unit
    return None


def _guessed(
    table: Table, groups: dict[str, ColumnGroup], joints: JointNames, map_file: MapFile, taken: set[str | None]
) -> dict[str, ColumnGroup]:
    claims: dict[str, list[ColumnGroup]] = {}
    n_joints = len(joints.order or joints.joints)
    for group in groups.values():
        if group.pattern not in taken:
            role = role_of(group.pattern, _width(group, table), 0 if group.axes else n_joints, group.names is not None)
            if role and (role in ("mode", "episode") or group.columns[0] in table.numbers):
                claims.setdefault(role, []).append(group)
    if table.kind == "LeRobot" and "action" in claims and not {"action", "target"} & set(map_file.rules):
        raise LogError(
            f"{table.path}: the feature 'action' of a LeRobot folder may hold joint targets or a policy's output; say"
            f" 'target: {claims['action'][0].pattern}' or 'action: {claims['action'][0].pattern}' in the map file",
            argument="map",
        )
    for role, rivals in claims.items():
        if len(rivals) > 1 and role not in map_file.rules:
            either = " and ".join(group.pattern for group in rivals)
            raise LogError(
                f"{table.path}: {either} could each be the {role}; choose one in the map file: '{role}:"
                f' "{rivals[0].pattern}"\'',
                argument="map",
            )
    return {role: rivals[0] for role, rivals in claims.items()}


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
        return ColumnGroup(name, (name,), None)
    if "*" not in name:
        _column(name, role, columns, map_file)
    begin, end = name.split("*", 1)
    matched = [column for column in columns if fnmatchcase(column, name.replace("[", "[[]"))]
    if not matched:
        raise LogError(
            f"{map_file.name}: {role} is {name!r}, which no column of {table.path.name} matches{nearest(name, columns)}"
        )
    inner = [column[len(begin) : len(column) - len(end)] for column in matched]
    if all(joints.find(label) for label in inner):
        return ColumnGroup(name, tuple(matched), tuple(str(joints.find(label)) for label in inner))
    if ROLES[role].width == JOINTS and not all(
        label.isdigit() for label in inner
    ):  # other joints beside the contract's are no mistake
        return ColumnGroup(name, tuple(matched), tuple(joints.find(label) or label for label in inner))
    made = _group(
        name, [(column, int(label) if label.isdigit() else label) for column, label in zip(matched, inner, strict=True)]
    )
    return ColumnGroup(made.pattern, made.columns, None, made.axes)


def _column(name: str, role: str, columns: Iterable[str], map_file: MapFile) -> None:
    if name not in columns:
        raise LogError(f"{map_file.name}: {role} is {name!r}, but there is no such column{nearest(name, columns)}")


def _values(group: ColumnGroup, table: Table, role: str) -> np.ndarray:
    """The group's numbers, (rows, width); words of a mode or an episode are numbered."""
    if len(group.columns) == 1 and group.columns[0] in table.texts:
        if role not in ("mode", "episode"):
            raise LogError(f"{table.path}: the column {group.columns[0]!r}, for {role}, holds words instead of numbers")
        return text_codes(table.texts[group.columns[0]])[:, None]
    arrays = []
    for name in group.columns:
        values = table.numbers.get(name)
        if values is None or (values.ndim == 2 and len(group.columns) > 1):
            raise LogError(f"{table.path}: the column {name!r}, for {role}, does not hold one number in each row")
        arrays.append(values if values.ndim == 2 else values[:, None])
    return np.concatenate(arrays, axis=1).astype(np.float64)


def _clock(
    table: Table, map_file: MapFile, guesses: list[str], assumed: dict[str, str]
) -> tuple[np.ndarray, str | None]:
    """Seconds since the first row, and the column they come from."""
    if map_file.rate_hz is not None:
        assumed["time"] = f"no time stamps; rows are {map_file.rate_hz:g} a second, as the map file says"
        return np.arange(table.rows) / map_file.rate_hz, None
    if map_file.time is not None:
        name, unit = map_file.time.sources[0], map_file.time.unit
        _column(name, "time", table.columns, map_file)
    else:
        clocks = [
            name
            for name in table.numbers
            if words(name) & CLOCK and words(name) <= CLOCK | set(CLOCK_UNITS) | {"elapsed"}
        ]
        if len(clocks) != 1:
            problem = f"{' and '.join(clocks)} could each be the time" if clocks else "no column is called time"
            raise LogError(
                f"{table.path}: {problem}; say which in the map file: 'time: COLUMN', or 'time: {{rate_hz: 50}}'"
                f" where none was recorded{_offered(table.columns)}",
                argument="map",
            )
        name, unit = clocks[0], None
    raw = table.numbers.get(name)
    if raw is None or raw.ndim != 1 or not len(raw):
        raise LogError(f"{table.path}: the column {name!r} does not hold one time in each row")
    raw = raw.astype(np.int64) if raw.dtype.kind in "iu" else raw.astype(np.float64)
    finite = np.isfinite(raw)
    if not finite.any():
        raise LogError(f"{table.path}: the column {name!r} holds no times")
    relative = (raw - raw[finite][0]).astype(
        np.float64
    )  # subtracted before it is a float, which cannot hold nanoseconds since 1970
    unit = (
        map_file.time_unit
        or unit
        or next((CLOCK_UNITS[word] for word in words(name) if word in CLOCK_UNITS), None)
        or _unit_of(relative[finite])
    )
    guesses.append(f"time <- {name} (in {unit})")
    return relative * TIMES[unit], name


def _unit_of(time: np.ndarray) -> str:
    """The unit in which the rows come at a rate that a robot's log can have; seconds where no unit does that."""
    steps = np.diff(time)
    typical = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    for unit, factor in TIMES.items():
        if typical > 0 and PLAUSIBLE_HZ[0] < 1 / (typical * factor) <= PLAUSIBLE_HZ[1]:
            return unit
    return "s"


def _offered(columns: tuple[str, ...]) -> str:
    return f" (columns: {', '.join(columns[:8])}{', ...' if len(columns) > 8 else ''})"
