"""The map file: which column or topic is what, where a reader cannot know. docs/log-import.md
describes it.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from surefoot.errors import LogError, nearest, shown
from surefoot.files import is_number, read_yaml
from surefoot.logs.importing.recording import ROLES, TIMES

OTHERS = ("time", "joints", "motors", "clock")
RULE_KEYS = ("from", "file", "unit", "sign", "scale", "offset", "shift_s", "order")
ROBOT_ORDER, UNITREE_ORDER = "robot.yaml", "unitree"


@dataclass(frozen=True)
class Rule:
    """Where one channel comes from, and how its numbers are turned into this project's units and signs."""

    sources: tuple[str, ...] = ()  # columns, one pattern, or one topic; none leaves the guess in place
    unit: str | None = None
    sign: Any = 1.0  # these three: a number, a list, or name patterns
    scale: Any = 1.0
    offset: Any = 0.0
    shift_s: float = 0.0  # added to the time stamps
    order: str = "wxyz"  # of a quaternion
    constant: tuple[float, ...] | None = None
    absent: bool = False  # leave the channel out, though it is there
    file: str | None = None  # only from files or topics that match this pattern

    @property
    def ordered(self) -> bool:
        """Whether it says something about single columns, in an order."""
        return len(self.sources) > 1 or any(not is_number(value) for value in (self.sign, self.scale, self.offset))

    def applies(self, *places: str) -> bool:
        """Whether the rule is about a file, group or topic of one of these names."""
        return self.file is None or any(fnmatchcase(place, self.file) for place in places)


@dataclass(frozen=True)
class MapFile:
    """A map file, checked; an empty one leaves everything to the readers."""

    name: str = "the map file"
    rules: dict[str, Rule] = field(default_factory=dict)
    time: Rule | None = None
    time_unit: str | None = None  # of whichever column holds the time
    rate_hz: float | None = None  # time = row / rate, where no time was recorded
    joints: tuple[str, ...] | dict[str, str] | None = None  # order of unnamed columns, or other names for joints
    motors: tuple[str | None, ...] | str | None = None  # joint of each motor, or the name of a known order
    clock: str | None = None  # of ROS messages: 'header' or 'log'

    def rule(self, role: str) -> Rule:
        """What is said about a channel, if anything."""
        return self.rules.get(role, Rule())


def read_map(path: Path) -> MapFile:
    """Read and check a map file."""
    content = read_yaml(path, LogError)
    known = (*ROLES, *OTHERS)
    for key in content:
        if key not in known:
            raise LogError(f"{path}: unknown key {shown(key)}{nearest(key, known)}")
    rules = {role: _rule(content[role], role, path) for role in ROLES if role in content}
    time, rate_hz = _time(content.get("time"), path)
    clock = content.get("clock")
    if clock not in (None, "header", "log"):
        raise LogError(
            f"{path}: clock is {shown(clock)}; it must be 'header' (stamps in the messages) or 'log' (when they were"
            " recorded)"
        )
    return MapFile(
        str(path),
        rules,
        time,
        None,
        rate_hz,
        _joints(content.get("joints"), path),
        _motors(content.get("motors"), path),
        clock,
    )


def _rule(value: Any, role: str, path: Path) -> Rule:
    if value is None or value == "none":
        return Rule(absent=True)
    if isinstance(value, str):
        return Rule((value,))
    if isinstance(value, list):
        if value and all(is_number(v) for v in value):
            if len(value) != ROLES[role].width:
                raise LogError(
                    f"{path}: {role} is {shown(value)}; only {_constants()} can be constant, with as many numbers as it"
                    " is wide"
                )
            return Rule(constant=tuple(float(v) for v in value))
        return Rule(_names(value, role, path))
    if not isinstance(value, dict):
        raise LogError(
            f"{path}: {role} is {shown(value)}; write a column or topic, a list of columns, or 'from: ...' with"
            f" {', '.join(RULE_KEYS[1:])}"
        )
    for key in value:
        if key not in RULE_KEYS:
            raise LogError(f"{path}: unknown key {shown(key)} in {role}{nearest(key, RULE_KEYS)}")
    source = value.get("from", [])
    unit, shift = value.get("unit"), value.get("shift_s", 0.0)
    units = ROLES[role].units
    if unit is not None and unit not in tuple(units):
        allowed = f"known: {', '.join(units)}" if units else "this channel has none; use scale"
        raise LogError(f"{path}: unit of {role} is {shown(unit)} ({allowed})")
    if not is_number(shift):
        raise LogError(f"{path}: shift_s of {role} is {shown(shift)}; it must be a number of seconds")
    order = value.get("order", "wxyz")
    if order not in ("wxyz", "xyzw"):
        raise LogError(f"{path}: order of {role} is {shown(order)}; it must be wxyz or xyzw")
    sources = (source,) if isinstance(source, str) else _names(source, role, path)
    file = value.get("file")
    if file is not None and not isinstance(file, str):
        raise LogError(f"{path}: file of {role} is {shown(file)}; it must be the name of a file or topic, or a pattern")
    return Rule(
        sources,
        unit,
        value.get("sign", 1.0),
        value.get("scale", 1.0),
        value.get("offset", 0.0),
        float(shift),
        order,
        file=file,
    )


def _constants() -> str:
    return ", ".join(role for role, meaning in ROLES.items() if meaning.width > 0)


def _names(value: Any, what: str, path: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise LogError(f"{path}: {what} is {shown(value)}; it must be a name or a list of names")
    return tuple(value)


def _time(value: Any, path: Path) -> tuple[Rule | None, float | None]:
    if value is None:
        return None, None
    if isinstance(value, str):
        return Rule((value,)), None
    if isinstance(value, dict) and set(value) == {"rate_hz"} and is_number(value["rate_hz"]) and value["rate_hz"] > 0:
        return None, float(value["rate_hz"])
    if isinstance(value, dict) and set(value) <= {"from", "unit"} and isinstance(value.get("from"), str):
        unit = value.get("unit")
        if unit is not None and unit not in tuple(TIMES):
            raise LogError(f"{path}: unit of time is {shown(unit)} (known: {', '.join(TIMES)})")
        return Rule((value["from"],), unit), None
    raise LogError(
        f"{path}: time is {shown(value)}; write a column, 'from: ..., unit: us', or 'rate_hz: 50' where no time was"
        " recorded"
    )


def _joints(value: Any, path: Path) -> tuple[str, ...] | dict[str, str] | None:
    if value is None:
        return None
    if isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, str) for k, v in value.items()):
        return dict(value)
    if isinstance(value, list) and value and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise LogError(
        f"{path}: joints is {shown(value)}; write a list of joint names in the file's order, or 'name in the file: name"
        " in robot.yaml'"
    )


def _motors(value: Any, path: Path) -> tuple[str | None, ...] | str | None:
    if value is None or value in (ROBOT_ORDER, UNITREE_ORDER):
        return None if value is None else str(value)
    if not isinstance(value, list) or not all(name is None or isinstance(name, str) for name in value):
        raise LogError(
            f"{path}: motors is {shown(value)}; write the joint of motor 0, 1, 2 and so on, null for a motor"
            f" without one, or '{UNITREE_ORDER}', or '{ROBOT_ORDER}' for its order"
        )
    return tuple(value)
