"""Who is down: robots that left their posture, or sank in it, after they held it or should have."""

import numpy as np

from surefoot.robot.posture import Posture
from surefoot.sim.sensing import gravity_in_base

FALLEN_GRAVITY_Z = -0.5  # the base is tilted by more than 60 degrees out of its posture
RISEN_GRAVITY_Z = -0.9  # it is within 26 degrees of it
SUNK = 0.65  # of the posture's height: a Go2 that sits on its tail, upright, is at half of it


class Falls:
    """Looks at n robots at every control tick. A robot that starts in its posture is down as soon as it has left it."""

    def __init__(self, posture: Posture, n: int, control_dt_s: float) -> None:
        self._posture, self._dt_s = posture, control_dt_s
        self.risen = np.full(n, posture.rise_s == 0)  # have held the posture since their start
        self.age_s = np.zeros(n)

    def reset(self, ids: np.ndarray) -> None:
        """These robots start anew."""
        self.risen[ids] = self._posture.rise_s == 0
        self.age_s[ids] = 0.0

    def look(self, quaternion: np.ndarray, height_m: np.ndarray) -> np.ndarray:
        """Which of the robots are down now, (n,), from quaternions (n, 4) of their bases and heights (n,) of their
        trunks."""
        self.age_s += self._dt_s
        gravity_z = gravity_in_base(self._posture.frame(quaternion))[:, 2]
        out = gravity_z > FALLEN_GRAVITY_Z
        if self._posture.height_m:
            sunk = height_m < SUNK * self._posture.height_m
            self.risen |= (gravity_z < RISEN_GRAVITY_Z) & ~sunk
            out |= sunk
        else:
            self.risen |= gravity_z < RISEN_GRAVITY_Z
        return out & (self.risen | (self.age_s > self._posture.rise_s))
