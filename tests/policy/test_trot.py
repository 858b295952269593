"""The built-in trot, in plain MuJoCo."""

import dataclasses

import mujoco
import numpy as np
import pytest
from support.policy_files import sensors_of

from surefoot.policy import TrotAgent
from surefoot.policy.trot import find_legs, phase_groups
from surefoot.robot import Robot, Sensors
from surefoot.robot.load import joint_addresses


def scene(robot: Robot) -> mujoco.MjModel:
    contract, spec = robot.contract, robot.spec()
    spec.option.timestep = 1 / robot.physics_hz
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05])
    for joint, kp, kd, limit in zip(
        contract.joints, contract.kp_nm_per_rad, contract.kd_nms_per_rad, contract.torque_limit_nm, strict=True
    ):
        motor = spec.add_actuator(
            name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT, forcelimited=True, forcerange=[-limit, limit]
        )
        motor.gainprm[0], motor.biastype, motor.biasprm[1], motor.biasprm[2] = (
            kp,
            mujoco.mjtBias.mjBIAS_AFFINE,
            -kp,
            -kd,
        )
    return spec.compile()


def trot(
    robot: Robot, model: mujoco.MjModel, command: tuple[float, float, float], seconds: float
) -> tuple[np.ndarray, float]:
    """Mean velocity (forward, left, turn) in the base's axes after the first second, and the lowest uprightness."""
    data, agent, contract = mujoco.MjData(model), TrotAgent(robot), robot.contract
    qpos, qvel = joint_addresses(model, contract.joints)
    data.qpos[2], data.qpos[qpos] = robot.base_height_m, contract.pose_rad
    motion, upright = [], 1.0
    for k in range(int(seconds * contract.control_hz)):
        entries = np.zeros(9)
        mujoco.mju_quat2Mat(entries, data.qpos[3:7])
        turn = entries.reshape(3, 3)
        seen = Sensors(
            np.array([data.time]), data.qpos[None, qpos], data.qvel[None, qvel], data.qvel[None, 3:6], -turn[None, 2]
        )
        data.ctrl[:] = contract.pose_rad + contract.action_scale_rad * agent.act(seen, np.array([command]))[0]
        for _ in range(robot.substeps()):
            mujoco.mj_step(model, data)
        upright = min(upright, turn[2, 2])
        if k >= contract.control_hz:
            motion.append([*(turn.T @ data.qvel[:3])[:2], data.qvel[5]])
    return np.mean(motion, axis=0), upright


class TestTrot:
    @pytest.mark.parametrize(
        ("command", "seconds"),
        [
            ((0.5, 0, 0), 10),
            ((-0.5, 0, 0), 3),
            ((0, 0.3, 0), 3),
            ((0, -0.3, 0), 3),
            ((0, 0, 0.8), 3),
            ((0, 0, -0.8), 3),
        ],
    )
    def test_follows_the_command(self, go2: Robot, command: tuple[float, float, float], seconds: float) -> None:
        motion, upright = trot(go2, scene(go2), command, seconds)
        axis = int(np.argmax(np.abs(command)))
        assert upright > 0.9
        assert motion[axis] / command[axis] > 0.4

    @pytest.mark.parametrize("command", [(0.3, 0, 0), (-0.3, 0, 0), (0, 0, 0.6)])
    def test_walks_on_four_legs_and_on_six(self, robot: Robot, command: tuple[float, float, float]) -> None:
        motion, upright = trot(robot, scene(robot), command, 3)
        axis = int(np.argmax(np.abs(command)))
        assert upright > 0.9
        assert motion[axis] / command[axis] > 0.3

    def test_stands_without_a_command(self, go2: Robot, random: np.random.Generator) -> None:
        assert not TrotAgent(go2).act(sensors_of(random, 2, time_s=0.3), np.zeros((2, 3))).any()

    def test_each_robot_has_its_own_time_and_command(self, robot: Robot, random: np.random.Generator) -> None:
        """To the last bit, whoever walks beside it."""
        agent, seen = TrotAgent(robot), sensors_of(random, 8, robot.contract.n_joints)
        seen = dataclasses.replace(seen, time_s=random.uniform(0, 9, 8))
        command = random.uniform(-1, 1, (8, 3))
        together = agent.act(seen, command)
        for k in range(8):
            alone = seen.of(slice(k, k + 1))
            np.testing.assert_array_equal(agent.act(alone, command[k : k + 1])[0], together[k])

    def test_legs_of_the_go2(self, go2: Robot) -> None:
        legs = find_legs(go2)
        assert [leg.feet for leg in legs] == [("FL_foot",), ("FR_foot",), ("RL_foot",), ("RR_foot",)]
        assert [leg.joints.tolist() for leg in legs] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]

    def test_neighbours_alternate(self) -> None:
        def groups(*feet: tuple[float, float]) -> list[int]:
            return phase_groups(np.array([[x, y, 0.0] for x, y in feet])).tolist()

        assert groups((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)) == [0, 1, 1, 0]
        assert groups((0, 0.1), (0, -0.1)) == [0, 1]
        assert groups((0.3, 1), (0, 1), (-0.3, 1), (0.3, -1), (0, -1), (-0.3, -1)) == [0, 1, 0, 1, 0, 1]
