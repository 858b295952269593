"""Channels: what is compared between robot and simulator, as one matrix of samples.

The published ones are each joint's position, velocity and action. Mechanical ones are short-window features that need
no alignment in time and say more about friction and inertia under noise. Base ones say what the trunk did.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.robot import Contract
from surefoot.robot.targets import targets, tracking_error
from surefoot.sim.residual import SLOW_RAD_S

Kind = Literal["position", "velocity", "action", "error", "change", "drag", "inertia", "gyro", "gravity"]

PUBLISHED: tuple[Kind, ...] = ("position", "velocity", "action")
MECHANICAL: tuple[Kind, ...] = ("error", "change", "drag", "inertia")
BASE: tuple[Kind, ...] = ("gyro", "gravity")
UNITS: dict[Kind, str] = {
    "position": "rad",
    "velocity": "rad/s",
    "action": "1",
    "error": "rad",
    "change": "rad/s",
    "drag": "rad",
    "inertia": "rad²/s",
    "gyro": "rad/s",
    "gravity": "1",
}
MEANINGS: dict[Kind, str] = {
    "position": "joint position",
    "velocity": "joint velocity",
    "action": "the policy's action",
    "error": "tracking error: previous target minus position",
    "change": "velocity change over one control period",
    "drag": "tracking error along the direction of motion: what friction needs",
    "inertia": "tracking error times velocity change: what inertia needs",
    "gyro": "turn rates of the base",
    "gravity": "direction of gravity in the base frame",
}


@dataclass(frozen=True)
class Channel:
    """One column of the samples."""

    where: str  # a joint, or an axis of the base
    kind: Kind

    @property
    def name(self) -> str:
        """For tables and keys."""
        return f"{self.where} {self.kind}"


def channels_of(contract: Contract, kinds: tuple[Kind, ...]) -> tuple[Channel, ...]:
    """The columns that `columns` gives, in its order."""
    channels = []
    for kind in kinds:
        places = ("x", "y", "z") if kind in BASE else contract.joints
        channels += [Channel(place, kind) for place in places]
    return tuple(channels)


def columns(
    contract: Contract,
    kinds: tuple[Kind, ...],
    position: np.ndarray,
    velocity: np.ndarray,
    action: np.ndarray,
    gyro: np.ndarray | None = None,
    gravity: np.ndarray | None = None,
) -> np.ndarray:
    """Samples (..., ticks, n_channels), single precision, of arrays (..., ticks, n_joints).

    The first tick has no previous target and the last no next velocity; both repeat their neighbour, and settling time
    drops the first.
    """
    target = targets(contract, action)
    error = np.empty_like(position)
    error[..., 1:, :] = tracking_error(contract, target[..., :-1, :], position[..., 1:, :], velocity[..., 1:, :])
    error[..., 0, :] = error[..., min(1, error.shape[-2] - 1), :]
    change = np.empty_like(velocity)
    change[..., :-1, :] = np.diff(velocity, axis=-2)
    change[..., -1, :] = change[..., -2, :] if change.shape[-2] > 1 else 0.0
    parts = {
        "position": lambda: position,
        "velocity": lambda: velocity,
        "action": lambda: action,
        "error": lambda: error,
        "change": lambda: change,
        "drag": lambda: error * np.tanh(velocity / SLOW_RAD_S),
        "inertia": lambda: error * change,
        "gyro": lambda: gyro,
        "gravity": lambda: gravity,
    }
    return np.concatenate([parts[kind]() for kind in kinds], axis=-1, dtype=np.float32, casting="same_kind")
