"""Faults planted into a clean log: each function returns a new log, and what the doctor must say about it."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.logs import RobotLog
from surefoot.logs.doctor import Finding
from surefoot.robot import Robot

POSITION, VELOCITY, ACTION = "joint_position_rad", "joint_velocity_rad_s", "action"
SLACK_S = 0.05
ALL = (POSITION, VELOCITY, ACTION)
ROWS = (
    "episode",
    "time_s",
    "command",
    *ALL,
    "gyro_rad_s",
    "gravity",
    "quaternion",
    "torque_nm",
    "motor_temperature_c",
    "battery_v",
    "foot_contact",
)


@dataclass(frozen=True)
class Planted:
    """A log with a fault, and the finding that names it."""

    log: RobotLog
    codes: tuple[str, ...]  # any of these says it
    joints: tuple[str, ...] = ()  # that the finding must name
    when: tuple[int, float, float] | None = None  # episode, start and end, s
    also: tuple[str, ...] = ()  # what follows from the fault and may be said too


def changed(log: RobotLog, **columns: Any) -> RobotLog:
    return dataclasses.replace(log, **columns)


def taken(log: RobotLog, rows: np.ndarray) -> RobotLog:
    """The log with these rows only."""
    return dataclasses.replace(
        log, **{name: getattr(log, name)[rows] for name in ROWS if getattr(log, name) is not None}
    )


def episode_rows(log: RobotLog, share: float) -> slice:
    """An episode some way through the log, long enough to plant something into it."""
    episodes = [rows for rows in log.episodes() if rows.stop - rows.start > 100]
    return episodes[int(share * len(episodes))]


def when(log: RobotLog, start: int, stop: int) -> tuple[int, float, float]:
    return int(log.episode[start]), float(log.time_s[start]), float(log.time_s[stop - 1])


# Time


def rate(log: RobotLog, factor: float = 1.25) -> Planted:
    return Planted(changed(log, time_s=log.time_s * factor), ("rate",))


def jitter(log: RobotLog, rng: np.random.Generator, spread: float = 0.4) -> Planted:
    period = np.median(np.diff(log.time_s))
    shaken = log.time_s + np.clip(rng.normal(0, spread * period, len(log.time_s)), -0.35 * period, 0.35 * period)
    return Planted(changed(log, time_s=shaken), ("jitter",))


def dropout(log: RobotLog) -> Planted:
    rows = episode_rows(log, 0.4)
    keep = np.ones(len(log.time_s), bool)
    keep[rows.start + 60 : rows.start + 75] = False
    return Planted(taken(log, np.flatnonzero(keep)), ("time-gap",), when=when(log, rows.start + 59, rows.start + 76))


def repeated_time(log: RobotLog) -> Planted:
    rows = episode_rows(log, 0.3)
    order = np.insert(np.arange(len(log.time_s)), rows.start + 40, rows.start + 40)
    return Planted(taken(log, order), ("time-repeated",), when=when(log, rows.start + 40, rows.start + 41))


def backward_time(log: RobotLog) -> Planted:
    rows = episode_rows(log, 0.6)
    time_s = log.time_s.copy()
    time_s[rows.start + 50 : rows.stop] -= 0.5
    return Planted(
        changed(log, time_s=time_s),
        ("time-backward",),
        when=(int(log.episode[rows.start]), time_s[rows.start + 50], time_s[rows.start + 49]),
    )


# Joints


def swapped(log: RobotLog, one: str, other: str, channels: tuple[str, ...] = ALL) -> Planted:
    i, j = log.joints.index(one), log.joints.index(other)
    order = np.arange(len(log.joints))
    order[[i, j]] = j, i
    return Planted(
        changed(log, **{name: getattr(log, name)[:, order] for name in channels}), ("swapped-joints",), (one, other)
    )


def mirrored(log: RobotLog, robot: Robot, channels: tuple[str, ...] = ALL) -> Planted:
    assert robot.mirror is not None
    index, sign = np.array(robot.mirror.index), np.array(robot.mirror.sign)
    return Planted(
        changed(log, **{name: getattr(log, name)[:, index] * sign for name in channels}), ("mirrored-sides",)
    )


def sides_exchanged(log: RobotLog, robot: Robot) -> Planted:
    """Unitree's motor order taken for the model's."""
    assert robot.mirror is not None
    index = np.array(robot.mirror.index)
    return Planted(changed(log, **{name: getattr(log, name)[:, index] for name in ALL}), ("mirrored-sides",))


def flipped(log: RobotLog, joint: str, channels: tuple[str, ...] = ALL) -> Planted:
    sign = np.where(np.array(log.joints) == joint, -1.0, 1.0)
    return Planted(changed(log, **{name: getattr(log, name) * sign for name in channels}), ("flipped-sign",), (joint,))


def scaled(log: RobotLog, channel: str, factor: float, codes: tuple[str, ...], joint: str | None = None) -> Planted:
    factors = np.where((np.array(log.joints) == joint) | (joint is None), factor, 1.0)
    return Planted(changed(log, **{channel: getattr(log, channel) * factors}), codes, (joint,) if joint else ())


def degrees(log: RobotLog) -> Planted:
    both = {name: np.rad2deg(getattr(log, name)) for name in (POSITION, VELOCITY)}
    return Planted(changed(log, **both), ("unit",))


def velocity_rpm(log: RobotLog) -> Planted:
    return scaled(log, VELOCITY, 60 / (2 * np.pi), ("unit",))


def late_velocity(log: RobotLog, rows: int = 2) -> Planted:
    late = getattr(log, VELOCITY).copy()
    for part in log.episodes():
        late[part] = late[part][np.maximum(np.arange(part.stop - part.start) - rows, 0)]
    return Planted(changed(log, **{VELOCITY: late}), ("velocity-lag",))


def delayed_motion(log: RobotLog, rows: int) -> Planted:
    """Everything but action and command late: as if actions were stamped too early."""
    columns = [
        name for name in ROWS if name not in ("episode", "time_s", "command", ACTION) and getattr(log, name) is not None
    ]
    late = {name: getattr(log, name).copy() for name in columns}
    for part in log.episodes():
        at = np.maximum(np.arange(part.stop - part.start) - rows, 0)
        for values in late.values():
            values[part] = values[part][at]
    return Planted(changed(log, **late), ("delay",))


# Channels


def dead(log: RobotLog, joint: str, channel: str = POSITION) -> Planted:
    values = getattr(log, channel).copy()
    values[:, log.joints.index(joint)] = values[0, log.joints.index(joint)]
    return Planted(changed(log, **{channel: values}), ("constant-channel",), (joint,))


def frozen(log: RobotLog, joint: str, channel: str = POSITION) -> Planted:
    """One second of one value, in the episode in which the joint moves most."""
    c = log.joints.index(joint)
    moving = max(
        (part for part in log.episodes() if part.stop - part.start > 100),
        key=lambda part: np.ptp(getattr(log, POSITION)[part, c]),
    )
    start = moving.start + 40
    values = getattr(log, channel).copy()
    values[start : start + 50, c] = values[start, c]
    return Planted(changed(log, **{channel: values}), ("frozen-channel",), (joint,), when(log, start, start + 50))


def clipped(log: RobotLog, joint: str, channel: str = VELOCITY) -> Planted:
    c = log.joints.index(joint)
    values = getattr(log, channel).copy()
    values[:, c] = np.clip(values[:, c], *np.quantile(values[:, c], [0.0, 0.85]))
    return Planted(changed(log, **{channel: values}), ("clipped-channel",), (joint,), also=("position-velocity",))


def coarse(log: RobotLog, joint: str, channel: str = POSITION, levels_per_spread: float = 4.0) -> Planted:
    c = log.joints.index(joint)
    values = getattr(log, channel).copy()
    step = values[:, c].std() / levels_per_spread
    values[:, c] = np.round(values[:, c] / step) * step
    return Planted(changed(log, **{channel: values}), ("coarse-channel",), (joint,))


def not_a_number(log: RobotLog, joint: str, channel: str = VELOCITY) -> Planted:
    rows = episode_rows(log, 0.2)
    values = getattr(log, channel).copy()
    values[rows.start + 30 : rows.start + 34, log.joints.index(joint)] = np.nan
    return Planted(
        changed(log, **{channel: values}), ("not-a-number",), (joint,), when(log, rows.start + 30, rows.start + 34)
    )


def action_scale(log: RobotLog, factor: float) -> Planted:
    return dataclasses.replace(
        scaled(log, ACTION, factor, ("action-scale",)), also=("action-beyond-clip", "torque-limit")
    )


def action_offset(log: RobotLog, robot: Robot, joint: str, offset_rad: float = 0.3) -> Planted:
    c = log.joints.index(joint)
    action = log.action.copy()
    action[:, c] += offset_rad / robot.contract.action_scale_rad[c]
    return Planted(changed(log, action=action), ("action-offset",), (joint,), also=("torque-limit",))


def joint_targets(log: RobotLog, robot: Robot) -> Planted:
    """Targets in rad where actions belong."""
    contract = robot.contract
    return Planted(
        changed(log, action=np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * log.action),
        ("action-is-target", "action-offset", "action-scale"),
    )


# The robot


def fall(log: RobotLog) -> Planted:
    """The base rolls over within half a second, and stays there."""
    assert log.gravity is not None
    rows = episode_rows(log, 0.5)
    start = rows.start + 80
    angle = np.clip(np.arange(rows.stop - start) / 25.0, 0, 1) * np.pi / 2
    gravity = log.gravity.copy()
    gravity[start : rows.stop] = np.stack([0 * angle, np.sin(angle), -np.cos(angle)], axis=1)
    return Planted(changed(log, gravity=gravity), ("fall",), when=when(log, start + 10, rows.stop))


def idle(log: RobotLog, robot: Robot) -> Planted:
    rows = episode_rows(log, 0.7)
    columns = {name: getattr(log, name).copy() for name in ALL}
    columns[POSITION][rows] = columns[POSITION][rows.start] + 1e-4 * np.random.default_rng(0).standard_normal(
        (rows.stop - rows.start, len(log.joints))
    )
    columns[VELOCITY][rows] = 0.0
    columns[ACTION][rows] = columns[ACTION][rows.start]
    return Planted(changed(log, **columns), ("idle",), when=when(log, rows.start + 50, rows.stop))


def forward_only(log: RobotLog) -> Planted:
    return Planted(changed(log, command=np.abs(log.command) * [1.0, 0.0, 0.0]), ("coverage",))


def found(planted: Planted, findings: tuple[Finding, ...]) -> list[Finding]:
    """The findings that name the fault, with the right joints and time."""
    return [
        finding
        for finding in findings
        if finding.code in planted.codes and set(planted.joints) <= set(finding.joints) and _at(planted, finding)
    ]


def false_alarms(planted: Planted, findings: tuple[Finding, ...]) -> list[Finding]:
    """Warnings and errors that nothing in the log deserves."""
    return [
        f for f in findings if f.severity != "note" and f not in found(planted, findings) and f.code not in planted.also
    ]


def _at(planted: Planted, finding: Finding) -> bool:
    if planted.when is None:
        return True
    episode, start_s, end_s = planted.when
    return any(
        s.episode == episode and s.start_s <= end_s + SLACK_S and s.end_s >= start_s - SLACK_S for s in finding.spans
    )


Plant = Callable[[RobotLog], Planted]


def faults(robot: Robot, joints: tuple[str, str], rng: np.random.Generator) -> dict[str, Plant]:
    """Every fault by name, on two joints of the robot."""
    one, other = joints
    return {
        "rate off the contract": rate,
        "jitter": lambda log: jitter(log, rng),
        "dropout": dropout,
        "repeated time": repeated_time,
        "backward time": backward_time,
        "swapped in all channels": lambda log: swapped(log, one, other),
        "swapped in position and velocity": lambda log: swapped(log, one, other, (POSITION, VELOCITY)),
        "swapped in position": lambda log: swapped(log, one, other, (POSITION,)),
        "swapped in velocity": lambda log: swapped(log, one, other, (VELOCITY,)),
        "swapped in action": lambda log: swapped(log, one, other, (ACTION,)),
        "left and right mirrored": lambda log: mirrored(log, robot),
        "left and right exchanged": lambda log: sides_exchanged(log, robot),
        "sign flipped in all channels": lambda log: flipped(log, one),
        "sign flipped in position and velocity": lambda log: flipped(log, one, (POSITION, VELOCITY)),
        "sign flipped in position": lambda log: flipped(log, one, (POSITION,)),
        "sign flipped in velocity": lambda log: flipped(log, one, (VELOCITY,)),
        "sign flipped in action": lambda log: flipped(log, one, (ACTION,)),
        "degrees": degrees,
        "position in degrees": lambda log: scaled(log, POSITION, 180 / np.pi, ("unit",)),
        "velocity in rpm": velocity_rpm,
        "velocity of one joint in deg/s": lambda log: scaled(log, VELOCITY, 180 / np.pi, ("unit",), one),
        "velocity of one joint × 1.6": lambda log: scaled(log, VELOCITY, 1.6, ("velocity-scale",), one),
        "velocity two rows late": late_velocity,
        "action scale × 2": lambda log: action_scale(log, 2.0),
        "action scale × 1/2": lambda log: action_scale(log, 0.5),
        "action scale of one joint × 3": lambda log: scaled(log, ACTION, 3.0, ("action-scale",), one),
        "action offset 0.3 rad": lambda log: action_offset(log, robot, one),
        "joint targets for actions": lambda log: joint_targets(log, robot),
        "motion 140 ms late": lambda log: delayed_motion(log, 7),
        "dead encoder": lambda log: dead(log, one),
        "frozen for 1 s": lambda log: frozen(log, one),
        "clipped velocity": lambda log: clipped(log, one),
        "coarse position": lambda log: coarse(log, one),
        "not a number": lambda log: not_a_number(log, one),
        "fall": fall,
        "idle": lambda log: idle(log, robot),
        "forward commands only": forward_only,
    }
