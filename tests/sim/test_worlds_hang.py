"""A robot that hangs: its base is held, its legs swing as on a model without a free joint."""

import mujoco
import numpy as np
import pytest

from surefoot.policy.replay import ReplayAgent
from surefoot.robot import Robot
from surefoot.robot.load import joint_addresses
from surefoot.sim import Worlds
from surefoot.sim.rollout import rollout

TICKS = 100


def fixed_base(robot: Robot, worlds: Worlds) -> mujoco.MjModel:
    """The robot without its free joint, with the joints and motors of world 0."""
    spec = robot.spec()
    spec.option.timestep = worlds.physics_dt_s
    base = spec.body(robot.base)
    spec.delete(next(joint for joint in base.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE))
    base.pos, base.quat = [0, 0, 10], [1, 0, 0, 0]
    contract = robot.contract
    for i, joint in enumerate(contract.joints):
        motor = spec.add_actuator(name=f"motor_{i}", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=contract.kp_nm_per_rad[i], kv=contract.kd_nms_per_rad[i])
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-contract.torque_limit_nm[i], contract.torque_limit_nm[i]]
    model = spec.compile()
    dof = joint_addresses(model, contract.joints)[1]
    model.dof_armature[dof] = worlds.get("armature_kgm2")[0]
    model.dof_frictionloss[dof] = worlds.get("dry_friction_nm")[0]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


class TestHang:
    @pytest.fixture
    def action(self, robot: Robot) -> np.ndarray:
        rng = np.random.default_rng(0)
        t, shape = np.arange(TICKS)[:, None] * robot.contract.control_dt_s, (1, 1, robot.contract.n_joints)
        swing = 0.4 * np.sin(2 * np.pi * rng.uniform(0.5, 2.5, shape) * t + rng.uniform(0, 6, shape))
        return (swing + 0.1 * rng.normal(size=swing.shape)) / np.array(robot.contract.action_scale_rad)

    @pytest.mark.parametrize("friction", [0.0, 0.3])
    def test_legs_swing_as_on_a_fixed_base(self, robot, action, friction):
        worlds = Worlds(robot, 1, threads=1, hang=True)
        worlds.set("dry_friction_nm", friction)
        worlds.set("armature_kgm2", 0.02)
        worlds.reset()
        run = rollout(worlds, ReplayAgent(action), np.zeros((1, TICKS, 3)), truth=True)
        model, contract = fixed_base(robot, worlds), robot.contract
        data, (qpos, _) = mujoco.MjData(model), joint_addresses(model, contract.joints)
        data.qpos[qpos] = contract.pose_rad
        for k in range(TICKS):
            np.testing.assert_allclose(run.joint_position_rad[0, k], data.qpos[qpos], atol=1e-6)
            data.ctrl[:] = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * action[0, k]
            mujoco.mj_step(model, data, worlds.scene.substeps)
        assert np.ptp(run.joint_position_rad, axis=1).max() > 0.5
        assert np.abs(run.base_position_m - run.base_position_m[:, :1]).max() < 1e-5
        assert np.abs(run.gyro_rad_s).max() < 1e-6
        assert not run.fallen.any()

    def test_it_stays_tilted_where_it_is_put(self, robot, action):
        worlds = Worlds(robot, 1, threads=1, hang=True)
        tilt = np.array([[np.cos(0.5), np.sin(0.5), 0.0, 0.0]])
        worlds.reset(base_quaternion=tilt, base_position_m=np.array([[1.0, 2.0, 5.0]]))
        rollout(worlds, ReplayAgent(action), np.zeros((1, TICKS, 3)))
        np.testing.assert_allclose(worlds.base_quaternion, tilt, atol=1e-6)
        np.testing.assert_allclose(worlds.base_position_m, [[1.0, 2.0, 5.0]], atol=1e-5)
