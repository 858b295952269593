"""The sensing chain between the true state and what the policy sees: delay, then bias, noise and drift."""

from collections.abc import Callable

import numpy as np

from surefoot.robot.estimates import TRUTH
from surefoot.robot.load import Robot
from surefoot.robot.sensors import Sensors
from surefoot.sim.delay import split
from surefoot.sim.frames import in_base_frame
from surefoot.sim.scene import Scene
from surefoot.sim.values import Values

NOISE = (
    "encoder_noise_rad",
    "encoder_bias_rad",
    "velocity_noise_rad_s",
    "gyro_noise_rad_s",
    "gravity_noise",
    "gyro_drift_rad_s_per_sqrt_s",
)

Draw = Callable[[int], np.ndarray]  # width -> (n, width) standard normal numbers


def gravity_in_base(quaternion: np.ndarray) -> np.ndarray:
    """Unit direction of gravity in the frame of bodies with these world quaternions (w, x, y, z): (..., 4)
    -> (..., 3).
    """
    w, x, y, z = (quaternion[..., i] for i in range(4))
    return np.stack([2 * (w * y - x * z), -2 * (y * z + w * x), 2 * (x * x + y * y) - 1], axis=-1)


class Past:
    """The last readings at the physics rate, so that sensors can be read late by any time."""

    def __init__(self, n: int, width: int, dt_s: float):
        self._dt_s = dt_s
        self._samples = np.zeros((n, 1, width))  # (n, memory, width), newest last
        self._whole = np.zeros(n, dtype=np.intp)
        self._fraction = np.zeros(n)

    def set_delay(self, delay_s: np.ndarray) -> None:
        """Age of the reading of each world, (n,)."""
        self._whole, self._fraction = split(delay_s, self._dt_s)
        memory = int(self._whole.max()) + 2
        missing = memory - self._samples.shape[1]
        if missing > 0:
            self._samples = np.concatenate([np.repeat(self._samples[:, :1], missing, axis=1), self._samples], axis=1)
        else:
            self._samples = self._samples[:, -memory:].copy()

    def fill(self, ids: np.ndarray | slice, sample: np.ndarray) -> None:
        """After a reset: as if the robot had always been there, (len(ids), width)."""
        self._samples[ids] = sample[:, None]

    def push(self, samples: np.ndarray, rows: np.ndarray | slice = slice(None)) -> None:
        """Append the readings of one or several physics steps of the worlds `rows`, (len(rows), steps, width)."""
        memory = self._samples.shape[1]
        self._samples[rows] = np.concatenate([self._samples[rows], samples], axis=1)[:, -memory:]

    def read(self) -> np.ndarray:
        """The delayed readings, linear between physics steps, (n, width)."""
        world = np.arange(len(self._samples))
        newest = self._samples.shape[1] - 1
        newer = self._samples[world, newest - self._whole]
        older = self._samples[world, newest - self._whole - 1]
        return newer + self._fraction[:, None] * (older - newer)


class Senses:
    """What the sensors make of the true state: age, bias, noise and drift."""

    def __init__(self, values: Values, robot: Robot, scene: Scene, n: int, draw: Draw):
        self._values, self._scene, self._n, self._draw = values, scene, n, draw
        self._nj = robot.contract.n_joints
        self._control_dt_s = robot.contract.control_dt_s
        self._gyro_bias = np.zeros((n, 3))
        contract = robot.contract
        estimator = contract.estimator("base_velocity") if contract.observes("base_velocity") else None
        self._estimator = estimator if estimator is not None and estimator.kind == TRUTH else None
        self._with_quaternion = contract.observes("quaternion") or contract.observes("roll_pitch_yaw")
        self._lagged = np.zeros((n, 3))  # estimate of the base's velocity, before its noise
        self.past: Past | None = None

    def changed(self, name: str, reading: np.ndarray) -> None:
        """Follow a change of a parameter; `reading` is the present one."""
        if name == "observation_delay_s":
            if not self._values[name].any():
                self.past = None
                return
            if self.past is None:
                self.past = Past(self._n, reading.shape[1], float(self._scene.model.opt.timestep))
                self.past.fill(slice(None), reading)
            self.past.set_delay(self._values[name])

    def reset(self, rows: np.ndarray, reading: np.ndarray) -> None:
        """As if these robots had always been there; `reading` is (n, width)."""
        self._gyro_bias[rows] = 0.0
        if self.past is not None:
            self.past.fill(rows, reading[rows])
        if self._estimator is not None:
            self._lagged[rows] = reading[rows, -3:]

    def advance(self, read: Callable[[], np.ndarray]) -> None:
        """Drift and lag, once per control period; `read` gives the present reading."""
        if self._estimator is not None:
            lag_s = self._estimator.lag_s
            share = 1.0 if lag_s == 0 else -np.expm1(-self._control_dt_s / lag_s)
            present = read() if self.past is None else self.past.read()
            self._lagged += share * (present[:, -3:] - self._lagged)
        if self._values.has("gyro_drift_rad_s_per_sqrt_s"):
            drift = self._values["gyro_drift_rad_s_per_sqrt_s"][:, None] * np.sqrt(self._control_dt_s)
            self._gyro_bias += drift * self._draw(3)

    def reading(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """Joint positions and velocities, gyro and gravity of states in one array, (..., 2 n_joints + 6); then what
        only some policies observe: the base's quaternion, and its velocity in its own frame.
        """
        scene = self._scene
        gravity = gravity_in_base(qpos[..., scene.base_qpos][..., 3:])
        gyro = qvel[..., scene.base_dof][..., 3:]
        if scene.imu_rotation is not None:
            gravity, gyro = gravity @ scene.imu_rotation, gyro @ scene.imu_rotation
        parts = [qpos[..., scene.joint_qpos], qvel[..., scene.joint_dof], gyro, gravity]
        quaternion = qpos[..., scene.base_qpos][..., 3:]
        if self._with_quaternion:
            parts.append(quaternion)
        if self._estimator is not None:
            parts.append(in_base_frame(qvel[..., scene.base_dof][..., :3], quaternion))
        return np.concatenate(parts, axis=-1)

    def measure(
        self,
        time_s: np.ndarray,
        reading: np.ndarray,
        draw_from: Draw | None = None,
        foot_contact: np.ndarray | None = None,
    ) -> Sensors:
        """The sensors at a control tick, from the present reading or, where there is a delay, from a past one."""
        if self.past is not None:
            reading = self.past.read()
        nj, values = self._nj, self._values
        sizes = [nj, 2 * nj, 2 * nj + 3, 2 * nj + 6]
        position, velocity, gyro, gravity, more = np.split(reading, sizes, axis=1)
        if any(values.has(name) for name in NOISE):
            draw = (draw_from or self._draw)(2 * nj + 6)
            position = position + values["encoder_bias_rad"] + values["encoder_noise_rad"] * draw[:, :nj]
            velocity = velocity + values["velocity_noise_rad_s"] * draw[:, nj : 2 * nj]
            gyro = gyro + self._gyro_bias + values["gyro_noise_rad_s"][:, None] * draw[:, 2 * nj : 2 * nj + 3]
            gravity = gravity + values["gravity_noise"][:, None] * draw[:, 2 * nj + 3 :]
            gravity = gravity / np.linalg.norm(gravity, axis=1, keepdims=True)
        quaternion = more[:, :4] / np.linalg.norm(more[:, :4], axis=1, keepdims=True) if self._with_quaternion else None
        estimate = None
        if self._estimator is not None:
            estimate = self._lagged.copy()
            if self._estimator.noise_m_s > 0:
                estimate += self._estimator.noise_m_s * (draw_from or self._draw)(3)
        contact = None if foot_contact is None else foot_contact.astype(float)
        return Sensors(time_s.copy(), position, velocity, gyro, gravity, quaternion, contact, estimate)
