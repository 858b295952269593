"""What every reader hands over: the channels of one file, each with its own clock, and what was guessed on the way."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

JOINTS = -1  # as wide as the robot has joints
ANY = -2  # as wide as it comes

ANGLES = {"rad": 1.0, "deg": math.pi / 180}
SPEEDS = {"rad/s": 1.0, "deg/s": math.pi / 180, "rpm": math.pi / 30}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@dataclass(frozen=True)
class Role:
    """What a channel means: the log's column, its width, how it is carried to other time stamps, its units."""

    column: str | None  # of RobotLog; None for what only helps to build one
    width: int
    hold: bool = False  # the last value holds; others are interpolated
    units: dict[str, float] = field(default_factory=dict)


ROLES = {
    "joint_position": Role("joint_position_rad", JOINTS, units=ANGLES),
    "joint_velocity": Role("joint_velocity_rad_s", JOINTS, units=SPEEDS),
    "target": Role(None, JOINTS, hold=True, units=ANGLES),
    "action": Role("action", JOINTS, hold=True),
    "command": Role("command", 3, hold=True),
    "gyro": Role("gyro_rad_s", 3, units=SPEEDS),
    "gravity": Role("gravity", 3),
    "quaternion": Role("quaternion", 4),
    "torque": Role("torque_nm", JOINTS),
    "motor_temperature": Role("motor_temperature_c", JOINTS),
    "battery": Role("battery_v", 1, units={"V": 1.0, "mV": 1e-3}),
    "foot_contact": Role("foot_contact", ANY),
    "enabled": Role(None, ANY, hold=True),  # 0 where a motor does not hold its joint
    "mode": Role(None, 1, hold=True),
    "episode": Role(None, 1, hold=True),
}


@dataclass(frozen=True, eq=False)
class Clock:
    """The time of a table's rows or of a bag's messages, as numbers since the first one."""

    name: str | None  # of the column; None where the rows were counted
    columns: tuple[str, ...]  # that it is made of
    ticks: np.ndarray  # (rows,) float64
    origin: int | float  # the number of the first row
    unit: str  # of both
    said: bool = True  # by a name, the map file or the caller; otherwise it is a guess

    @property
    def time_s(self) -> np.ndarray:
        """Seconds since the first row, (rows,)."""
        return self.ticks * TIMES[self.unit]

    def after_s(self, other: "Clock") -> float:
        """How much later the first row is than another clock's."""
        if self.unit == other.unit:  # subtracted as integers: a float cannot hold nanoseconds since 1970
            return float(self.origin - other.origin) * TIMES[self.unit]
        return float(self.origin) * TIMES[self.unit] - float(other.origin) * TIMES[other.unit]


@dataclass(frozen=True, eq=False)
class RecordedChannel:
    """Samples of one quantity. Channels that share one clock share one `time_s` object."""

    time_s: np.ndarray  # (samples,), from the beginning of the recording
    values: np.ndarray  # (samples, width) float64
    source: str  # the columns or the topic that it comes from
    names: tuple[str, ...] | None = None  # of the columns: joints, feet; None where the source does not name them
    unit: str | None = None  # that the source gives away; the map file has the last word


@dataclass(frozen=True, eq=False)
class Recording:
    """One file or folder, read; or one of the streams that make a recording together."""

    path: Path
    kind: str
    channels: dict[str, RecordedChannel]  # by role
    guesses: tuple[str, ...] = ()  # 'time <- t_s', for the user to check
    notes: tuple[str, ...] = ()  # what was left out or damaged
    assumed: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    offered: tuple[str, ...] = ()  # columns or topics, for the sentence about a missing one
    label: str = ""  # of a stream: its file, group or topic
    clock: Clock | None = None
    by_map: frozenset[str] = frozenset()  # roles that the map file gave their columns
    unmatched: dict[str, str] = field(
        default_factory=dict
    )  # roles whose columns are not here, as the map file has them
    # by role, what would be it for a robot with another number of joints, as 'positions (23 columns)'
    misfits: dict[str, str] = field(default_factory=dict)
    unitree: bool = False  # whether columns without names are in the order of Unitree's motors
    parts: tuple[Path, ...] = ()  # the files of its streams, where it was put together

    @property
    def name(self) -> str:
        """What it is called in notes: its file or folder, or the files that it was put together from."""
        return _together(self.parts) if self.parts else self.path.name

    @property
    def where(self) -> str:
        """The same with folders, for a sentence that refuses it."""
        return _together(self.parts) if self.parts else str(self.path)

    def covers(self, role: str, joints: tuple[str, ...]) -> bool:
        """Whether a channel is there with all joints of the robot."""
        channel = self.channels.get(role)
        return channel is not None and (channel.names is None or set(joints) <= set(channel.names))

    def complete(self, joints: tuple[str, ...]) -> bool:
        """Whether a log can be made from this recording alone."""
        return self.covers("joint_position", joints) and any(self.covers(role, joints) for role in ("target", "action"))


def _together(files: tuple[Path, ...]) -> str:
    """'control.csv + state.csv', with the folder where they have one."""
    names = [file.name for file in files]
    joined = " + ".join(names) if len(names) <= 3 else f"{' + '.join(names[:2])} + {len(names) - 2} more"
    folder = files[0].parent.name
    return f"{folder} ({joined})" if folder else joined
