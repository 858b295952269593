"""Torque added at the physics rate, in NumPy, for a batch of worlds: plain terms, a small network per joint."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

Residual = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # error, position, velocity, each (n, n_joints) -> N·m
TERMS = (
    "residual_constant_nm",
    "residual_position_nm_per_rad",
    "residual_velocity_nms",
    "residual_direction_nm",
    "residual_error_nm_per_rad",
)
SLOW_RAD_S = 0.5  # speed over which the direction of motion is blended
INPUTS = 3  # tracking error rad, position rad, velocity rad/s


def terms(values: dict[str, np.ndarray], pose_rad: np.ndarray) -> Residual | None:
    """The sum of those `TERMS` that are not zero everywhere, each (n, n_joints); None where all are."""
    constant, position, velocity, direction, error = (values.get(name) for name in TERMS)
    if all(weight is None or not weight.any() for weight in (constant, position, velocity, direction, error)):
        return None

    def torque(error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
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

    return torque


@dataclass(frozen=True, eq=False)
class ResidualNet:
    """torque = limit · tanh(W3 tanh(W2 tanh(W1 x + b1) + b2) + b3), with weights of its own for each joint.

    Weights are (n_joints, outputs, inputs), biases (n_joints, outputs, 1). Single precision: its rounding is
    far below the torque noise of any motor, and twice as many numbers pass through a vector unit.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    scale: np.ndarray  # (INPUTS,) what the inputs are multiplied with
    limit_nm: np.ndarray  # (n_joints,)

    def __call__(self, error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
        """Torques for inputs of shape (n, n_joints)."""
        n, joints = error_rad.shape
        hidden = np.empty((joints, INPUTS, n), dtype=np.float32)
        for i, values in enumerate((error_rad, position_rad, velocity_rad_s)):
            np.multiply(values.T, self.scale[i], out=hidden[:, i], casting="same_kind")
        for weight, bias in zip(self.weights, self.biases, strict=True):
            hidden = np.matmul(weight, hidden)
            hidden += bias
            np.tanh(hidden, out=hidden)
        return (hidden[:, 0].T * self.limit_nm).astype(float)


def random_net(joints: int, limit_nm: np.ndarray, hidden: tuple[int, ...] = (8, 4), seed: int = 0) -> ResidualNet:
    """A network with weights of unit gain, to look at and to measure with."""
    rng = np.random.default_rng(seed)
    sizes = (INPUTS, *hidden, 1)
    weights = tuple(rng.normal(0, a**-0.5, (joints, b, a)).astype(np.float32) for a, b in pairwise(sizes))
    biases = tuple(np.zeros((joints, b, 1), dtype=np.float32) for b in sizes[1:])
    return ResidualNet(weights, biases, np.array([2.0, 1.0, 0.1], dtype=np.float32), np.asarray(limit_nm, dtype=np.float32))
