"""Legs as chains, against MuJoCo's own kinematics."""

import mujoco
import numpy as np
import pytest
from support.robot_files import BIPED

from surefoot.policy.leg_kinematics import body_of, leg_state
from surefoot.robot import load_robot
from surefoot.robot.load import joint_addresses, upright


@pytest.mark.parametrize("robot", ["go2", "g1", "phantomx", BIPED], ids=str)
def test_agrees_with_mujoco(robot, random) -> None:
    robot = load_robot(robot)
    contract = robot.contract
    body, n = body_of(robot), 3
    low, high = np.array(contract.position_limit_rad).T
    angles = np.clip(np.array(contract.pose_rad) + random.uniform(-0.5, 0.5, (n, contract.n_joints)), low, high)
    states = [leg_state(leg, angles) for leg in body.legs]
    model = robot.spec().compile()
    qpos, dofs = joint_addresses(model, contract.joints)
    standing = upright(model, contract, robot.base)
    for row in range(n):
        data = upright(model, contract, robot.base)
        data.qpos[qpos] = angles[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        for leg, state in zip(body.legs, states, strict=True):
            last = _body_of_foot(model, leg.foot)
            place = data.xpos[last] + data.xmat[last].reshape(3, 3) @ leg.sole_m
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jac(model, data, linear, angular, place, last)
            np.testing.assert_allclose(state.sole_m[row], place, atol=1e-12)
            np.testing.assert_allclose(state.linear[row], linear[:, dofs[leg.joints]].T, atol=1e-12)
            np.testing.assert_allclose(state.angular[row], angular[:, dofs[leg.joints]].T, atol=1e-12)
            turned = data.xmat[last].reshape(3, 3) @ standing.xmat[last].reshape(3, 3).T
            np.testing.assert_allclose(state.rotation[row], turned, atol=1e-12)


@pytest.mark.parametrize("robot", ["g1", BIPED], ids=str)
def test_the_centre_of_mass_of_a_robot_that_bends_its_legs(robot, random) -> None:
    robot = load_robot(robot)
    body, legs = body_of(robot), np.zeros(robot.contract.n_joints, dtype=bool)
    for leg in body.legs:
        legs[leg.joints] = True
    angles = np.array([robot.contract.pose_rad]) + np.where(legs, random.uniform(-0.2, 0.2, legs.shape), 0.0)
    model = robot.spec().compile()
    data = upright(model, robot.contract, robot.base)
    data.qpos[joint_addresses(model, robot.contract.joints)[0]] = angles[0]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    moment = body.rest_moment_kgm + sum(leg_state(leg, angles).moment_kgm[0] for leg in body.legs)
    np.testing.assert_allclose(moment / body.mass_kg, data.subtree_com[model.body(robot.base).id], atol=1e-12)


def _body_of_foot(model: mujoco.MjModel, foot: str) -> int:
    geom = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, foot)
    return int(model.geom_bodyid[geom]) if geom >= 0 else model.body(foot).id
