"""From sensor readings to the observation vector that the contract describes."""

import numpy as np

from surefoot.robot import Contract, Sensors


class Observer:
    """Builds the observations of n robots, one row each.

    The layout is term after term; a term with history holds its frames oldest first, next to each
    other, as Isaac Lab lays them out. The array is its own history: nothing else is stored.
    """

    def __init__(self, contract: Contract, n: int) -> None:
        self._pose = np.array(contract.pose_rad)
        self._relative = np.empty((n, contract.n_joints))
        self._observation = np.zeros((n, contract.observation_size), np.float32)
        self._shown = self._observation.view()
        self._shown.flags.writeable = False
        self._fresh = np.ones(n, bool)
        self._terms: list[tuple[str, float, np.ndarray]] = []  # name, scale, newest frame
        self._past: list[
            tuple[np.ndarray, np.ndarray, np.ndarray]
        ] = []  # newest frame, older frames, all but the oldest
        start = 0
        for term in contract.observation:
            size = term.size(contract.n_joints)
            frames = self._observation[:, start : start + size].reshape(n, term.history, -1, copy=False)
            self._terms.append((term.name, term.scale, frames[:, -1]))
            if term.history > 1:
                self._past.append((frames[:, -1], frames[:, :-1], frames[:, 1:]))
            start += size

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots (all, without `ids`); the next frame then fills their whole history."""
        self._fresh[slice(None) if ids is None else ids] = True

    def observe(self, sensors: Sensors, command: np.ndarray, last_action: np.ndarray) -> np.ndarray:
        """Take in one control tick and return the observations, float32 (n, observation_size).

        `command` is (n, 3), `last_action` (n, n_joints). The result is read-only and the next call
        overwrites it: copy it to keep it.
        """
        np.subtract(sensors.joint_position_rad, self._pose, out=self._relative)
        values = {
            "gyro": sensors.gyro_rad_s,
            "gravity": sensors.gravity,
            "command": command,
            "joint_position": self._relative,
            "joint_velocity": sensors.joint_velocity_rad_s,
            "last_action": last_action,
        }
        for _, older, later in self._past:
            older[:] = later  # NumPy copies overlapping memory as if it were not
        for name, scale, newest in self._terms:
            np.multiply(values[name], scale, out=newest, casting="same_kind")
        if self._past and self._fresh.any():
            for newest, older, _ in self._past:
                older[self._fresh] = newest[self._fresh, None]
        self._fresh[:] = False
        return self._shown
