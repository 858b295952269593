"""Recorded actions played again, whatever the sensors say: for motions that no policy steers, such as a
robot on a stand.
"""

import numpy as np

from surefoot.errors import PolicyError
from surefoot.files import sha256
from surefoot.robot import Sensors


class ReplayAgent:
    """Plays one row of actions a tick, from the first after a reset, and holds the last beyond the end."""

    label = "replay"

    def __init__(self, action: np.ndarray) -> None:
        """`action` is (n, ticks, n_joints), each robot its own recording."""
        action = np.array(action, dtype=np.float64, order="C")  # a copy: what is played, and hashed, cannot change
        if action.ndim != 3 or 0 in action.shape:
            raise PolicyError(
                f"the recorded actions have the shape {action.shape}; it must be (robots, ticks, joints), none of"
                " them 0"
            )
        if not np.isfinite(action).all():
            robot, tick, joint = np.argwhere(~np.isfinite(action))[0]
            raise PolicyError(
                f"the recorded action of robot {robot}, tick {tick}, joint {joint} is {action[robot, tick, joint]}; cut"
                " such rows out"
            )
        self.hash = sha256(b"replay", repr(action.shape).encode(), action.tobytes())
        self._action = action
        self._tick = np.zeros(len(action), dtype=int)

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Begin the recording of some robots again, of all without `ids`."""
        self._tick[slice(None) if ids is None else ids] = 0

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """The recorded actions of this tick, (n, n_joints)."""
        n, ticks, joints = self._action.shape
        if sensors.joint_position_rad.shape != (n, joints):
            raise PolicyError(
                f"the recording is of {n} robots with {joints} joints; the sensors are of"
                f" {' with '.join(map(str, sensors.joint_position_rad.shape))}"
            )
        action = self._action[np.arange(n), self._tick]
        self._tick = np.minimum(self._tick + 1, ticks - 1)
        return action
