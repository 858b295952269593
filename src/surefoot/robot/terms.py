"""Observation terms: the blocks that an observation is made of, and how each entry is scaled.

An entry of the observation is `scale * clip(value - offset, low, high)`. A term may hold several frames of its quantity
(`history`), every `stride` control ticks, the oldest or the newest first.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.errors import SurefootError, nearest, shown
from surefoot.files import is_number
from surefoot.robot.values import match

# Entries of each term; None: it depends on the contract or on the term's own keys.
TERM_SIZES: dict[str, int | None] = {
    "gyro": 3,  # angular velocity in the IMU frame, rad/s
    # direction of gravity in the IMU frame, unit vector; (0, 0, -1) when upright, for an IMU mounted level
    "gravity": 3,
    "command": None,  # forward m/s, left m/s, turn rad/s, then the further commands of the contract
    "joint_position": None,  # relative to the default pose, rad
    "joint_velocity": None,  # rad/s
    "last_action": None,  # the previous output of the policy, before the action scale
    "last_target": None,  # the previous joint targets, relative to the default pose, rad
    "base_velocity": 3,  # linear velocity of the base in its own frame, m/s; no robot measures it: an estimate
    "gait_phase": None,  # a clock for each foot
    "quaternion": 4,  # orientation of the base in the world
    "roll_pitch_yaw": 3,  # the same as angles, rad
    "foot_contact": None,  # 1 for each foot on the ground, else 0
    "constant": None,  # the same numbers at every tick
    "height_scan": None,  # heights of the ground around the robot
    "motion_reference": None,  # a motion to be tracked
}
# Keys of a term beside those that every term has.
COMMON_KEYS = ("name", "scale", "offset", "clip", "history", "stride", "newest_first")
OWN_KEYS: dict[str, tuple[str, ...]] = {
    "command": ("entries",),
    "joint_position": ("joints", "relative"),
    "joint_velocity": ("joints",),
    "last_target": ("relative",),
    "gait_phase": ("frequency_hz", "frequency_command", "offsets", "form", "standing"),
    "quaternion": ("order",),
    "foot_contact": ("size",),
    "constant": ("value",),
    "height_scan": ("size",),
    "motion_reference": ("size",),
}
UNKNOWN_HERE = {
    "height_scan": "no map of the terrain is known",
    "motion_reference": "no motion is known",
}  # terms that can be declared and not yet be filled in
# What other frameworks call a term of ours; the nearest spelling would mislead.
OTHER_NAMES = {
    "base_lin_vel": "base_velocity",
    "base_linear_velocity": "base_velocity",
    "lin_vel": "base_velocity",
    "linear_velocity": "base_velocity",
    "base_ang_vel": "gyro",
    "ang_vel": "gyro",
    "angular_velocity": "gyro",
    "projected_gravity": "gravity",
    "gravity_vec": "gravity",
    "velocity_commands": "command",
    "commands": "command",
    "joint_pos": "joint_position",
    "joint_pos_rel": "joint_position",
    "dof_pos": "joint_position",
    "joint_vel": "joint_velocity",
    "joint_vel_rel": "joint_velocity",
    "dof_vel": "joint_velocity",
    "actions": "last_action",
    "previous_action": "last_action",
    "prev_actions": "last_action",
    "phase": "gait_phase",
    "clock": "gait_phase",
    "rpy": "roll_pitch_yaw",
    "euler": "roll_pitch_yaw",
    "contacts": "foot_contact",
    "feet_contact": "foot_contact",
    "orientation": "quaternion",
}
FORMS = ("sin_cos", "cos_sin", "sin_then_cos", "cos_then_sin", "sin", "cos", "phase", "phase_rad")
ORDERS = ("wxyz", "xyzw")
LARGEST_SCALE = 1e6  # of an observation
MOST_FRAMES = 1000
MOST_ENTRIES = 100_000  # of one term
FASTEST_GAIT_HZ = 100.0
HOLD, RUN = "hold", "run"  # what a clock does while the robot stands: it stops where it is, or runs on


@dataclass(frozen=True)
class GaitPhase:
    """A clock for each foot, in cycles: it starts at `offsets` and runs at one frequency.

    The frequency is a number, or one of the commands. While no velocity command is larger than `standing_below`, the
    clocks are set to `standing_phase`, stop (hold) or run on (run). After a phase that was set they start at `offsets`
    again.
    """

    offsets: tuple[float, ...]
    frequency_hz: float | None = None
    frequency_command: str = ""
    form: str = "sin_cos"
    standing_below: float = 0.0
    standing_phase: tuple[float, ...] | str = RUN

    @property
    def width(self) -> int:
        """Entries of the observation."""
        return len(self.offsets) * (2 if "sin" in self.form and "cos" in self.form else 1)


@dataclass(frozen=True)
class Term:
    """One block of the observation: `history` frames of a quantity, oldest first unless it says otherwise."""

    name: str
    scale: float | tuple[float, ...] = 1.0  # one number, or one for each entry
    history: int = 1
    offset: float | tuple[float, ...] = 0.0
    clip: tuple[tuple[float, float], ...] = ()  # of value minus offset: none, one pair, or one for each entry
    stride: int = 1
    newest_first: bool = False
    joints: tuple[str, ...] = ()  # of a term about joints; empty: those that the policy drives
    relative: bool = True  # to the default pose
    entries: tuple[str, ...] = ()  # of the command; empty: all
    gait: GaitPhase | None = None
    order: str = "wxyz"  # of a quaternion
    value: tuple[float, ...] = ()  # of a constant
    declared: int = 0  # entries of a term whose size nothing else tells

    def width(self, n_driven: int, n_commands: int) -> int:
        """Entries of one frame, for a policy that drives `n_driven` joints and hears `n_commands` commands."""
        own = TERM_SIZES[self.name]
        if own is not None:
            return own
        if self.name in ("last_action", "last_target"):
            return n_driven
        if self.name in ("joint_position", "joint_velocity"):
            return len(self.joints) or n_driven
        if self.name == "command":
            return len(self.entries) or n_commands
        if self.gait is not None:
            return self.gait.width
        return len(self.value) if self.name == "constant" else self.declared

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults, and always the name, the scale and the history."""
        content: dict[str, Any] = {"name": self.name, "scale": self.scale, "history": self.history}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in content and field.name != "gait" and value != field.default:
                content[{"declared": "size"}.get(field.name, field.name)] = value
        if self.gait is not None:
            gait = self.gait
            content |= {"offsets": gait.offsets, "form": gait.form}
            content |= (
                {"frequency_command": gait.frequency_command}
                if gait.frequency_command
                else {"frequency_hz": gait.frequency_hz}
            )
            if gait.standing_phase != RUN:
                content["standing"] = {"below": gait.standing_below, "phase": gait.standing_phase}
        return content


@dataclass(frozen=True)
class TermNames:
    """What the terms of a contract may name."""

    joints: tuple[str, ...]
    n_driven: int
    commands: tuple[str, ...]
    n_feet: int | None = None  # None: not known, a term that needs it gives its size itself


def parse_terms(value: Any, what: str, error: type[SurefootError], names: TermNames) -> tuple[Term, ...]:
    """Observation terms from a list of names or of mappings."""
    if not isinstance(value, (list, tuple)) or not value:
        raise error(f"{what} must be a list of terms, such as [gyro, gravity, command, joint_position]")
    return tuple(_term(item, what, error, names) for item in value)


def _term(item: Any, what: str, error: type[SurefootError], names: TermNames) -> Term:
    entry = {"name": item} if isinstance(item, str) else item
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        raise error(f"{what}: {shown(item)} is not a term; write a name, or 'name: ..., scale: ...'")
    name = entry["name"]
    if name not in TERM_SIZES:
        other = OTHER_NAMES.get(name)
        hint = f" (did you mean {other!r}?)" if other else nearest(name, TERM_SIZES)
        raise error(f"{what}: unknown term {shown(name)}{hint}")
    allowed = COMMON_KEYS + OWN_KEYS.get(name, ())
    for key in entry:
        if key not in allowed:
            raise error(f"{what}: unknown key {shown(key)} in term {shown(name)}{nearest(key, allowed)}")
    what = f"{what}: {name}"
    term = Term(
        name,
        history=_whole(entry.get("history", 1), "history", what, error),
        stride=_whole(entry.get("stride", 1), "stride", what, error),
        newest_first=_flag(entry.get("newest_first", False), "newest_first", what, error),
        relative=_flag(entry.get("relative", True), "relative", what, error),
        **_own(name, entry, what, error, names),
    )
    width = term.width(names.n_driven, len(names.commands))
    if not 0 < width * term.history <= MOST_ENTRIES:
        raise error(f"{what} has {width * term.history:,} entries; it must have 1 to {MOST_ENTRIES:,}")
    if (term.history - 1) * term.stride >= MOST_FRAMES:
        raise error(f"{what} looks {(term.history - 1) * term.stride} ticks back; {MOST_FRAMES - 1} is the most")
    return dataclasses.replace(
        term,
        scale=per_entry(entry.get("scale", 1.0), "scale", width, what, error),
        offset=per_entry(entry.get("offset", 0.0), "offset", width, what, error),
        clip=_clip(entry.get("clip"), width, what, error),
    )


def _own(name: str, entry: Mapping[str, Any], what: str, error: type[SurefootError], names: TermNames) -> Any:
    """The fields that only some terms have."""
    fields: dict[str, Any] = {}
    if entry.get("joints"):
        fields["joints"] = pick_names(entry["joints"], names.joints, f"{what}: joints", error)
    if entry.get("entries"):
        fields["entries"] = pick_names(entry["entries"], names.commands, f"{what}: entries", error)
    if name == "gait_phase":
        fields["gait"] = _gait(entry, what, error, names)
    if name == "quaternion":
        fields["order"] = _choice(entry.get("order", "wxyz"), ORDERS, "order", what, error)
    if name == "constant":
        fields["value"] = numbers(entry.get("value"), f"{what}: value", error)
    if name in ("foot_contact", "height_scan", "motion_reference"):
        size = entry.get("size", names.n_feet if name == "foot_contact" else None)
        if size is None:
            raise error(f"{what} needs its size, the number of its entries, such as 'size: 187'")
        fields["declared"] = _whole(size, "size", what, error, MOST_ENTRIES)
        if name == "foot_contact" and names.n_feet not in (None, fields["declared"]):
            raise error(f"{what}: size is {fields['declared']}, and the robot has {names.n_feet} feet")
    return fields


def _gait(entry: Mapping[str, Any], what: str, error: type[SurefootError], names: TermNames) -> GaitPhase:
    offsets = numbers(entry.get("offsets", [0.0]), f"{what}: offsets", error)
    frequency, command = entry.get("frequency_hz"), entry.get("frequency_command", "")
    if (frequency is None) == (not command):
        raise error(f"{what} needs either frequency_hz, a number, or frequency_command, the name of a command")
    if command and command not in names.commands:
        raise error(f"{what}: frequency_command {shown(command)} is none of {', '.join(names.commands)}")
    if frequency is not None and not (is_number(frequency) and 0 < frequency <= FASTEST_GAIT_HZ):
        raise error(f"{what}: frequency_hz is {shown(frequency)}; it must be above 0, up to {FASTEST_GAIT_HZ:g}")
    standing = entry.get("standing") or {}
    if not isinstance(standing, dict) or set(standing) - {"below", "phase"}:
        raise error(f"{what}: standing must give 'below', a size of the command, and 'phase'")
    below, phase = standing.get("below", 0.0), standing.get("phase", RUN)
    if not is_number(below) or below < 0:
        raise error(f"{what}: below of standing is {shown(below)}; it must be a number from 0 on")
    if isinstance(phase, str):
        _choice(phase, (HOLD, RUN), "phase of standing", what, error)
    else:
        phase = numbers([phase] * len(offsets) if is_number(phase) else phase, f"{what}: phase of standing", error)
        if len(phase) != len(offsets):
            raise error(f"{what}: phase of standing has {len(phase)} numbers for {len(offsets)} clocks")
    form = _choice(entry.get("form", "sin_cos"), FORMS, "form", what, error)
    return GaitPhase(offsets, None if frequency is None else float(frequency), str(command), form, float(below), phase)


def pick_names(value: Any, names: Sequence[str], what: str, error: type[SurefootError]) -> tuple[str, ...]:
    """Names from a list of names and patterns, in that order; none may come twice."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(name, str) for name in value):
        raise error(f"{what} is {shown(value)}; it must be a list of names or patterns")
    picked = [name for pattern in value for name in match(pattern, names, what, error)]
    for name in picked:
        if picked.count(name) > 1:
            raise error(f"{what} names {shown(name)} twice")
    return tuple(picked)


def numbers(value: Any, what: str, error: type[SurefootError]) -> tuple[float, ...]:
    """A non-empty list of finite numbers."""
    if is_number(value):
        value = [value]
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= MOST_ENTRIES or not all(map(is_number, value)):
        raise error(f"{what} is {shown(value)}; it must be a list of finite numbers")
    return tuple(float(number) for number in value)


def per_entry(value: Any, key: str, width: int, what: str, error: type[SurefootError]) -> float | tuple[float, ...]:
    """One number, or one for each entry; a list of equal numbers is one number."""
    single = is_number(value)
    if not single and (not isinstance(value, (list, tuple)) or not all(map(is_number, value))):
        raise error(f"{what}: {key} is {shown(value)}; it must be a finite number, or one for each entry")
    given = (float(value),) if single else tuple(float(number) for number in value)
    if len(given) not in (1, width) or not given:
        raise error(f"{what}: {key} has {len(given)} numbers for {width} entries; give one each, or one for all")
    if max(map(abs, given)) > LARGEST_SCALE:
        raise error(f"{what}: {key} is {max(given, key=abs):g}; it must be within ±{LARGEST_SCALE:g}")
    return given[0] if len(set(given)) == 1 else given


def _clip(value: Any, width: int, what: str, error: type[SurefootError]) -> tuple[tuple[float, float], ...]:
    if value is None or value == ():
        return ()
    if is_number(value):
        value = [-abs(value), abs(value)]
    pairs = [value] if isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_number, value)) else value
    if (
        not isinstance(pairs, (list, tuple))
        or len(pairs) not in (1, width)
        or not all(isinstance(p, (list, tuple)) and len(p) == 2 and all(map(is_number, p)) for p in pairs)
        or any(low > high for low, high in pairs)
    ):
        raise error(f"{what}: clip is {shown(value)}; it must be [lowest, highest], or one such pair for each entry")
    return tuple((float(low), float(high)) for low, high in pairs)


def _whole(value: Any, key: str, what: str, error: type[SurefootError], most: int = MOST_FRAMES) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise error(f"{what}: {key} is {shown(value)}; it must be a whole number from 1 to {most}")
    return value


def _flag(value: Any, key: str, what: str, error: type[SurefootError]) -> bool:
    if not isinstance(value, bool):
        raise error(f"{what}: {key} is {shown(value)}; it must be true or false")
    return value


def _choice(value: Any, allowed: Sequence[str], key: str, what: str, error: type[SurefootError]) -> str:
    if value not in allowed:
        raise error(f"{what}: {key} is {shown(value)}; it must be one of {', '.join(allowed)}")
    return str(value)
