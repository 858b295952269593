"""The true state of a batch of worlds, which no sensor of a robot tells."""

import numpy as np
from mujoco.batch import Batch

from surefoot.errors import WorldsError
from surefoot.sim.actuation import Motors
from surefoot.sim.scene import FootSensors, Scene


class Truth:
    """What only a simulator knows. Arrays are copies, (n, ...), with joints in policy order."""

    scene: Scene

    def __init__(self, batch: Batch, feet: bool):
        self._qpos, self._qvel, self._time = batch.bind("qpos"), batch.bind("qvel"), batch.bind("time")
        self._force = batch.bind("actuator_force")
        self._sensordata = batch.bind("sensordata") if feet else None
        self._fresh = np.ones(batch.nsim, dtype=bool)  # not stepped since the reset
        self._motors: Motors

    @property
    def time_s(self) -> np.ndarray:
        """Simulated time since the reset, (n,)."""
        return self._time.copy()

    @property
    def joint_position_rad(self) -> np.ndarray:
        """True joint positions, (n, n_joints)."""
        return self._qpos[:, self.scene.joint_qpos].copy()

    @property
    def joint_velocity_rad_s(self) -> np.ndarray:
        """True joint velocities, (n, n_joints)."""
        return self._qvel[:, self.scene.joint_dof].copy()

    @property
    def base_position_m(self) -> np.ndarray:
        """True position of the base, (n, 3)."""
        return self._qpos[:, self.scene.base_qpos][:, :3].copy()

    @property
    def base_quaternion(self) -> np.ndarray:
        """True orientation of the base, (n, 4) as w, x, y, z."""
        return self._qpos[:, self.scene.base_qpos][:, 3:].copy()

    @property
    def trunk_height_m(self) -> np.ndarray:
        """True height of the trunk (`Robot.trunk_m`) above the world's origin, (n,)."""
        height = self._qpos[:, self.scene.base_qpos][:, 2].copy()
        if self.scene.trunk_m is not None:
            w, x, y, z = self._qpos[:, self.scene.base_qpos][:, 3:].T
            up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
            height += up @ self.scene.trunk_m
        return height

    @property
    def base_velocity(self) -> np.ndarray:
        """True velocity of the base, (n, 6): m/s in the world frame, then rad/s in the base frame."""
        return self._qvel[:, self.scene.base_dof].copy()

    @property
    def torque_nm(self) -> np.ndarray:
        """Motor torque in the last physics step, without residual and noise, (n, n_joints); 0 after a reset."""
        return self._torque().copy()

    @property
    def foot_contact(self) -> np.ndarray:
        """Whether each foot touched the floor in the last physics step, (n, n_feet)."""
        return self._feet_data()[0][:, self._feet_data()[1].contact] > 0

    @property
    def foot_position_m(self) -> np.ndarray:
        """World positions of the feet in the last physics step, (n, n_feet, 3)."""
        return self._feet_data()[0][:, self._feet_data()[1].position]

    @property
    def foot_velocity_m_s(self) -> np.ndarray:
        """World velocities of the feet in the last physics step, (n, n_feet, 3)."""
        return self._feet_data()[0][:, self._feet_data()[1].velocity]

    @property
    def body_contact(self) -> np.ndarray:
        """Whether anything but the feet touched the floor in the last physics step, (n,)."""
        data, feet = self._feet_data()
        return data[:, feet.floor] > data[:, feet.contact].sum(axis=1)

    @property
    def temperature_c(self) -> np.ndarray:
        """Winding temperatures, (n, n_joints)."""
        return self._motors.heat.temperature_c.copy()

    def _torque(self) -> np.ndarray:
        """Reading the feet after a reset computes a torque that never acted; it must not heat a motor."""
        return np.where(self._fresh[:, None], 0.0, self._force) if self._fresh.any() else self._force

    def _feet_data(self) -> tuple[np.ndarray, FootSensors]:
        if self._sensordata is None or self.scene.feet is None:
            raise WorldsError("the feet have no sensors; make the worlds with feet=True")
        return self._sensordata, self.scene.feet
