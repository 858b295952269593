"""Logs that no robot wrote."""

from typing import Any

import numpy as np

from surefoot.logs import RobotLog
from surefoot.robot import Robot


def log_of(robot: Robot, seed: int = 0, gyro: bool = True, **metadata: Any) -> RobotLog:
    """Four episodes of a second; numbers without any meaning."""
    contract, rng = robot.contract, np.random.default_rng(seed)
    ticks = round(contract.control_hz) + 1
    rows = 4 * ticks
    joints: dict[str, Any] = {
        name: rng.normal(size=(rows, contract.n_joints)).astype(np.float32)
        for name in ("joint_position_rad", "joint_velocity_rad_s", "action")
    }
    return RobotLog(
        joints=contract.joints,
        episode=np.repeat(np.arange(4, dtype=np.int32), ticks),
        time_s=np.tile(np.arange(ticks) / contract.control_hz, 4),
        command=np.zeros((rows, 3), np.float32),
        gyro_rad_s=np.zeros((rows, 3), np.float32) if gyro else None,
        gravity=np.tile(np.array([0, 0, -1], np.float32), (rows, 1)),
        **joints,
        metadata={"control_hz": contract.control_hz, "robot_hash": robot.hash, "fallen_episodes": 1, **metadata},
    )
