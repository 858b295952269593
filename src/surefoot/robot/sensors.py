"""What a robot tells about itself at one control tick, real or simulated."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sensors:
    """Readings of n robots. All a policy may see, and all a log may hold."""

    time_s: np.ndarray  # (n,)
    joint_position_rad: np.ndarray  # (n, n_joints), in the order of the contract's joints
    joint_velocity_rad_s: np.ndarray  # (n, n_joints)
    gyro_rad_s: np.ndarray  # (n, 3), IMU frame
    gravity: np.ndarray  # (n, 3), unit vector in the IMU frame, (0, 0, -1) when upright, for an IMU mounted level
    # What only some policies observe; None where nobody asked for it.
    quaternion: np.ndarray | None = None  # (n, 4) of the base, w x y z
    foot_contact: np.ndarray | None = None  # (n, n_feet) 0 or 1
    base_velocity_m_s: np.ndarray | None = None  # (n, 3) in the frame of the base: an estimate

    def readings(self) -> dict[str, np.ndarray]:
        """What is there, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def of(self, rows: np.ndarray | slice) -> "Sensors":
        """The readings of some robots."""
        return Sensors(**{name: value[rows] for name, value in self.readings().items()})
