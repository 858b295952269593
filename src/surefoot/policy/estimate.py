"""Estimates of what no robot measures, for policies that observe it."""

from typing import Protocol

import numpy as np

from surefoot.errors import PolicyError
from surefoot.robot import Contract, Robot, Sensors
from surefoot.robot.estimates import TRUTH


class VelocityEstimator(Protocol):
    """Estimates the linear velocity of the base in its own frame, for n robots at once."""

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots, of all without `ids`."""
        ...

    def update(self, sensors: Sensors) -> np.ndarray:
        """Take in one control tick; (n, 3) m/s."""
        ...


def make_estimator(robot: Robot, contract: Contract, n: int) -> VelocityEstimator | None:
    """The estimator that the contract names; None where none is needed, or where the simulator itself gives the value."""
    estimator = contract.estimator("base_velocity")
    if not contract.observes("base_velocity") or estimator is None or estimator.kind == TRUTH:
        return None
    raise PolicyError(f"the estimator {estimator.kind!r} of base_velocity is not available; use {TRUTH!r}")
