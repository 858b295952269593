"""The words of column, topic and file names, and what they mean."""

import re
from collections.abc import Iterable

# fmt: off
DESIRED = {
    "des", "desired", "target", "targets", "cmd", "cmds", "command", "commands", "commanded", "ref", "reference", "goal",
    "setpoint", "setpoints",
}
NOISE = {
    "joint", "joints", "state", "states", "observation", "observations", "obs", "motor", "motors", "dof", "robot",
    "measured", "actual", "imu", "base", "body", "rad", "s", "nm", "m", "est", "data", "field", "lowstate", "low",
    "servo", "feedback", "present",
}
POSITION = {"q", "pos", "position", "positions", "qpos", "angle", "angles", "jpos"}
VELOCITY = {"qd", "dq", "qdot", "qvel", "vel", "velocity", "velocities", "jvel", "speed", "speeds"}
TORQUE = {"tau", "torque", "torques", "effort", "efforts"}
ACTION = {"action", "actions"}
ONE_WORD_TARGETS = {"qdes", "desq", "qref", "qcmd", "qtarget"}
CLOCK = {"t", "time", "timestamp", "timestamps", "stamp"}
CLOCK_UNITS = {
    "s": "s", "sec": "s", "secs": "s", "seconds": "s",
    "ms": "ms", "msec": "ms", "millis": "ms", "milliseconds": "ms",
    "us": "us", "usec": "us", "micros": "us", "microseconds": "us",
    "ns": "ns", "nsec": "ns", "nanos": "ns", "nanoseconds": "ns", "nanosec": "ns",
}
# what may stand beside the time in the name of its column
WHOSE_CLOCK = {"elapsed", "header", "log", "ros", "rosbag", "unix", "epoch", "boot", "system", "host", "sim", "field"}
SECONDS = {"sec", "secs", "seconds"}
NANOSECONDS = {"nanosec", "nanosecs", "nsec", "nsecs", "nanos", "nanoseconds"}
UNIT_WORDS = {"deg": "deg", "degree": "deg", "degrees": "deg", "rpm": "rpm"}
# a file or topic that is called so holds what was asked of the joints, not what they did
ASKED = DESIRED | {"control", "controls", "ctrl", "lowcmd"}
MEASURED = {"state", "states", "measured", "actual", "feedback", "lowstate", "present"}
ENABLED = {"enable", "enabled", "on", "armed", "powered", "active"}
# values of a mode or an event: the motors do not hold the joints any more
OFF = {
    "off", "disable", "disabled", "idle", "passive", "damp", "damping", "limp", "relax", "relaxed", "estop", "unpowered",
    "freewheel", "zerotorque",
}
# fmt: on


def words(name: str) -> set[str]:
    """The words of a name: 'joint_pos.FL-hip' as joint, pos, fl, hip."""
    return set(words_in_order(name))


def words_in_order(name: str) -> tuple[str, ...]:
    """The words of a name, as they come."""
    cased = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return tuple(word.lower() for word in re.split(r"[^A-Za-z0-9]+", cased) if word)


def is_clock(name: str) -> bool:
    """Whether a column is called a time."""
    said = words(name)
    return bool(said & CLOCK) and said <= CLOCK | set(CLOCK_UNITS) | WHOSE_CLOCK


def unit_of_clock(name: str) -> str | None:
    """The unit that the name of a clock gives away."""
    return next((CLOCK_UNITS[word] for word in sorted(words(name)) if word in CLOCK_UNITS), None)


def says_off(text: str) -> bool:
    """Whether a mode or an event says that the motors do not hold the joints."""
    said = words(text)
    return bool(said & OFF) or {"zero", "torque"} <= said


def names_asked(names: Iterable[str]) -> bool:
    """Whether the name of a file, group or topic says that it holds targets."""
    said = {word for name in names for word in words(name)}
    return bool(said & ASKED) and not said & MEASURED
