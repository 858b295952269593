"""Putting passive joints where the loops of a model want them, whenever worlds are put into a state."""

import mujoco
import numpy as np

from surefoot.robot.load import Robot
from surefoot.robot.loops import loops_of


class Settling:
    """The loops of one robot, settled in its default pose; any other pose is reached from there."""

    def __init__(self, robot: Robot, model: mujoco.MjModel) -> None:
        self._loops = loops_of(model, robot.contract.joints)
        if self._loops is None:
            return
        self._pose = np.array(robot.contract.pose_rad)
        self._rest = self._loops.settle(self._pose)
        self._rest_motion = self._loops.motion(self._rest)

    def put(self, qpos: np.ndarray, qvel: np.ndarray, rows: np.ndarray, joints: np.ndarray, speeds: np.ndarray) -> None:
        """Write passive joints of the worlds `rows` into qpos (n, nq) and qvel (n, nv), for the positions and speeds
        of their policy joints, (len(rows), n_joints).
        """
        if self._loops is None:
            return
        for row, position, speed in zip(rows, joints, speeds, strict=True):
            state, motion = self._rest, self._rest_motion
            if not np.array_equal(position, self._pose):
                state = self._loops.settle(position, self._rest)
                motion = self._loops.motion(state) if speed.any() else motion
            qpos[row, self._loops.passive_qpos] = state[self._loops.passive_qpos]
            qvel[row, self._loops.passive_dofs] = motion[self._loops.passive_dofs] @ speed
