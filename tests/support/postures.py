"""A posture on hind legs, and bases that lean."""

from dataclasses import replace

import mujoco
import numpy as np

from surefoot.robot import Posture
from surefoot.robot.load import joint_addresses
from surefoot.sim import Worlds

HIND = Posture("hind legs", np.pi / 2, 0.55, 3.0)


def pitched(angle_rad, yaw_rad=0.0, n=1):
    """Quaternions (n, 4) of bases with their nose up by an angle, then turned left."""
    (w, _, y, _), c, s = replace(HIND, pitch_rad=angle_rad).base_quaternion, np.cos(yaw_rad / 2), np.sin(yaw_rad / 2)
    return np.tile([c * w, -s * y, c * y, s * w], (n, 1))


def posed(robot, posture):
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    data.qpos[joint_addresses(model, robot.contract.joints)[0]] = posture.pose_rad
    start = model.jnt_qposadr[model.body(robot.base).jntadr[0]]
    data.qpos[start : start + 7] = (0, 0, posture.height_m, *posture.base_quaternion)
    mujoco.mj_forward(model, data)
    return model, data


def upright_worlds(robot, posture, n=1):
    worlds = Worlds(robot, n, feet=True)
    put(worlds, posture, np.arange(n))
    return worlds


def put(worlds, posture, rows, lean_rad=0.0, height_m=None):
    n = len(rows)
    turn = replace(posture, pitch_rad=posture.pitch_rad - lean_rad).base_quaternion
    worlds.reset(
        rows,
        joint_position_rad=np.tile(posture.pose_rad, (n, 1)),
        base_quaternion=np.tile(turn, (n, 1)),
        base_position_m=np.tile([0, 0, height_m or posture.height_m], (n, 1)),
    )
