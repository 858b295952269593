"""What is added to a robot's model in plain NumPy, for a batch of worlds: torque at the physics rate,
targets at the policy's.

Both are functions of tracking error, position and velocity of a joint: plain terms here, curves for a search, and a
small network (`network.py`) for what was found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.robot import Contract
from surefoot.robot.sensors import Sensors
from surefoot.robot.targets import tracking_error, zero_targets

Residual = Callable[
    [np.ndarray, np.ndarray, np.ndarray], np.ndarray
]  # error rad, position rad, velocity rad/s, each (n, n_joints)
Adds = Literal["torque", "action"]
Input = Literal["error", "position", "velocity"]
INPUTS: tuple[Input, ...] = ("error", "position", "velocity")
# Parameters that weigh 1, position away from the pose, velocity, direction of motion, error; of what is added to
# targets, the constant is `action_offset_rad`, which the motors know, and direction has no meaning.
TORQUE_TERMS = (
    "residual_constant_nm",
    "residual_position_nm_per_rad",
    "residual_velocity_nms",
    "residual_direction_nm",
    "residual_error_nm_per_rad",
)
ACTION_TERMS = ("", "delta_position_rad_per_rad", "delta_velocity_s", "", "delta_error_rad_per_rad")
TERMS = frozenset(name for name in (*TORQUE_TERMS, *ACTION_TERMS) if name)
SLOW_RAD_S = 0.5  # speed over which the direction of motion is blended, so that noise around standstill counts little


def terms(values: dict[str, np.ndarray], names: tuple[str, ...], pose_rad: np.ndarray) -> Residual | None:
    """The sum of those terms that are not zero everywhere, each (n, n_joints); None where all are."""
    constant, position, velocity, direction, error = (values.get(name) for name in names)
    if all(weight is None or not weight.any() for weight in (constant, position, velocity, direction, error)):
        return None

    def added(error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
        total = np.zeros(position_rad.shape) if constant is None else constant.copy()
        if position is not None:
            total += position * (position_rad - pose_rad)
        if velocity is not None:
            total += velocity * velocity_rad_s
        if direction is not None:
            total += direction * np.tanh(velocity_rad_s / SLOW_RAD_S)
        if error is not None:
            total += error * error_rad
        return total

    return added


@dataclass(frozen=True, eq=False)
class Axis:
    """Straight lines between evenly spaced knots over one input, level beyond them."""

    input: int  # place in INPUTS
    low: np.ndarray  # (n_joints,) first knot
    apart: np.ndarray  # (n_joints,) from knot to knot
    value: np.ndarray  # (n, n_joints, knots)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values at x (n, n_joints)."""
        knots = self.value.shape[2]
        place = np.clip(
            np.nan_to_num((x - self.low) / self.apart), 0.0, knots - 1.0
        )  # a world that blew up has no place
        before = np.minimum(place.astype(np.intp), knots - 2)
        share = place - before
        before += knots * np.arange(x.size).reshape(x.shape)
        flat = self.value.reshape(-1)
        return flat[before] * (1.0 - share) + flat[before + 1] * share


@dataclass(frozen=True, eq=False)
class Curves:
    """A sum of curves over single inputs."""

    axes: tuple[Axis, ...]

    def __call__(self, error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
        """What is added, for inputs of shape (n, n_joints)."""
        inputs = (error_rad, position_rad, velocity_rad_s)
        return np.sum([axis(inputs[axis.input]) for axis in self.axes], axis=0)


@dataclass(frozen=True, eq=False)
class ActionDelta:
    """A function of the joints' state that moves the policy's targets, rad, as what `Worlds` adds to actions."""

    function: Residual
    contract: Contract

    def __call__(self, sensors: Sensors, action: np.ndarray) -> np.ndarray:
        """Added to the action, in its own units."""
        scale = np.array(self.contract.action_scale_rad)
        position = sensors.joint_position_rad
        target = zero_targets(self.contract) + scale * action
        error = tracking_error(self.contract, target, position, sensors.joint_velocity_rad_s)
        return self.function(error, position, sensors.joint_velocity_rad_s) / scale


@dataclass(frozen=True)
class TorqueCurve:
    """Torque over position of some joints: straight lines between points, level beyond them."""

    joints: tuple[int, ...]
    position_rad: tuple[float, ...]
    torque_nm: tuple[float, ...]

    def __call__(self, error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
        """Torques of all joints."""
        torque = np.zeros(position_rad.shape)
        torque[:, list(self.joints)] = np.interp(position_rad[:, list(self.joints)], self.position_rad, self.torque_nm)
        return torque


def summed(functions: Sequence[Residual]) -> Residual | None:
    """One function for several; None for none."""
    if len(functions) < 2:
        return functions[0] if functions else None
    return lambda error, position, velocity: np.sum([one(error, position, velocity) for one in functions], axis=0)
