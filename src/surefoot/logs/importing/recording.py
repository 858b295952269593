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
    "mode": Role(None, 1, hold=True),
    "episode": Role(None, 1, hold=True),
}


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
    """One file or folder, read."""

    path: Path
    kind: str
    channels: dict[str, RecordedChannel]  # by role
    guesses: tuple[str, ...] = ()  # 'time <- t_s', for the user to check
    notes: tuple[str, ...] = ()  # what was left out or damaged
    assumed: dict[str, str] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    offered: tuple[str, ...] = ()  # columns or topics, for the sentence about a missing one
