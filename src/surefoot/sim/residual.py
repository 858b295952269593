"""A small network per joint that adds torque at the physics rate, in NumPy, for a batch of worlds."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

INPUTS = 3  # tracking error rad, position rad, velocity rad/s


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
