"""Gathering the messages of a bag: bytes in, topics with arrays of the few fields that matter out."""

from dataclasses import dataclass, field

import numpy as np

from surefoot.logs.importing.cdr import Block, decode
from surefoot.logs.importing.unitree import COMMANDS, MOTORS, STATES

JOINT_STATE, IMU, BATTERY = "sensor_msgs/msg/JointState", "sensor_msgs/msg/Imu", "sensor_msgs/msg/BatteryState"
TWISTS = ("geometry_msgs/msg/Twist", "geometry_msgs/msg/TwistStamped")
ARRAYS = ("std_msgs/msg/Float64MultiArray", "std_msgs/msg/Float32MultiArray")
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
KNOWN = (JOINT_STATE, IMU, BATTERY, *TWISTS, *ARRAYS, TRAJECTORY, *STATES, *COMMANDS)
MESSAGE_BYTES = 100  # that a message takes beside its own, as a Python object
BATCH_BYTES = 32_000_000  # of raw messages kept at a time; a Unitree state is 1.2 kB, 500 times a second


@dataclass(frozen=True, eq=False)
class Part:
    """Messages of one layout."""

    order: np.ndarray  # (messages,) place within the topic
    log_ns: np.ndarray
    header_ns: np.ndarray | None
    names: tuple[str, ...] | None
    fields: dict[str, np.ndarray]  # (messages, width)


@dataclass
class TopicData:
    """One topic, growing while a bag is read."""

    name: str
    kind: str
    ros1: bool = False  # how its messages are written
    parts: list[Part] = field(default_factory=list)
    count: int = 0
    broken: int = 0
    _raw: list[bytes] = field(default_factory=list)
    _log_ns: list[int] = field(default_factory=list)

    def add(self, log_ns: int, raw: bytes) -> None:
        """Take one message; `finish` turns those that were taken into arrays."""
        self._raw.append(raw)
        self._log_ns.append(log_ns)

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        return sum(
            part.log_ns.nbytes + part.order.nbytes + sum(values.nbytes for values in part.fields.values())
            for part in self.parts
        )

    def finish(self) -> None:
        """Turn what was taken into arrays."""
        if not self._raw:
            return
        blocks, broken = decode(self._raw, self.kind, self.ros1)
        stamps = np.array(self._log_ns, dtype=np.int64)
        for block in blocks:
            header = (
                block.integers("header.stamp.sec") * 10**9 + block.integers("header.stamp.nanosec")
                if block.has("header.stamp.sec")
                else None
            )
            names = block.layout.texts.get("name") or block.layout.texts.get("joint_names")
            self.parts.append(
                Part(block.rows + self.count, stamps[block.rows], header, names, fields_of(self.kind, block))
            )
        self.count += len(self._raw)
        self.broken += broken
        self._raw, self._log_ns = [], []


def fields_of(kind: str, block: Block) -> dict[str, np.ndarray]:
    """The numbers that a log can use, by the role they can play."""
    take = block.numbers
    if kind == JOINT_STATE:
        found = {"joint_position": take("position"), "joint_velocity": take("velocity"), "torque": take("effort")}
        width = len(block.layout.texts.get("name", ()))
        return {role: values for role, values in found.items() if values.shape[1] == width and width}
    if kind in TWISTS:
        inside = "twist." if kind.endswith("Stamped") else ""
        return {
            "command": np.concatenate(
                [take(f"{inside}linear.x"), take(f"{inside}linear.y"), take(f"{inside}angular.z")], axis=1
            )
        }
    if kind == IMU:
        found = {"gyro": np.concatenate([take(f"angular_velocity.{axis}") for axis in "xyz"], axis=1)}
        if block.integers("orientation_covariance")[0] >= 0:  # -1 says that the sensor has no orientation
            found["quaternion"] = np.concatenate([take(f"orientation.{axis}") for axis in "wxyz"], axis=1)
        return found
    if kind == BATTERY:
        return {"battery": take("voltage")}
    if kind in ARRAYS:
        return {"values": take("data")}
    if kind == TRAJECTORY:
        return {"target": take("points.0.positions")} if block.has("points.0.positions") else {}
    motors = range(MOTORS[kind.split("/")[0]])
    if kind in COMMANDS:
        found = {
            role: np.concatenate([take(f"motor_cmd.{i}.{key}") for i in motors], axis=1)
            for role, key in (("target", "q"), ("kp", "kp"), ("kd", "kd"))
        }
        return found
    found = {
        role: np.concatenate([take(f"motor_state.{i}.{key}")[:, :1] for i in motors], axis=1)
        for role, key in (
            ("joint_position", "q"),
            ("joint_velocity", "dq"),
            ("torque", "tau_est"),
            ("motor_temperature", "temperature"),
            ("enabled", "mode"),  # 0: the motor is off
        )
    }
    found |= {"gyro": take("imu_state.gyroscope"), "quaternion": take("imu_state.quaternion")}
    if block.has("foot_force"):
        found |= {"foot_contact": take("foot_force"), "battery": take("power_v")}
    return found
