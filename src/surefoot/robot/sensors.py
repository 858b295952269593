"""What a robot tells about itself at one control tick, real or simulated."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sensors:
    """Readings of n robots. All a policy may see, and all a log may hold."""

    time_s: np.ndarray  # (n,)
    joint_position_rad: np.ndarray  # (n, n_joints), policy order
    joint_velocity_rad_s: np.ndarray  # (n, n_joints)
    gyro_rad_s: np.ndarray  # (n, 3), IMU frame
    gravity: np.ndarray  # (n, 3), unit vector in the IMU frame, (0, 0, -1) when upright, for an IMU mounted level
