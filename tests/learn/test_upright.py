"""The pose on hind legs: balanced, held by the motors, and refused where it cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from support.postures import posed, upright_worlds
from support.robot_files import BIPED, HEXAPOD

from surefoot.errors import TaskError
from surefoot.learn.mirror import mirror_joints
from surefoot.learn.task import biped
from surefoot.learn.upright import hind_legs, holding_torque_nm, stand_on_hind_legs
from surefoot.robot import LEVEL, load_robot
from surefoot.robot.load import foot_geoms
from surefoot.robot.model import lowest_point
from surefoot.sim import Worlds


@pytest.fixture(scope="module")
def stand(go2):
    return stand_on_hind_legs(go2)


class TestPose:
    def test_the_centre_of_mass_is_above_the_hind_feet(self, go2, stand):
        model, data = posed(go2, stand.posture)
        feet = data.geom_xpos[[foot_geoms(model, foot)[0] for foot in stand.posture.feet]]
        assert set(stand.posture.feet) == {"RL_foot", "RR_foot"}
        np.testing.assert_allclose(data.subtree_com[model.body(go2.base).id][:2], feet.mean(axis=0)[:2], atol=0.003)
        for foot in go2.feet:
            height = lowest_point(model, data, foot_geoms(model, foot)[0])
            assert height == pytest.approx(0.0, abs=1e-3) if foot in stand.posture.feet else height > 0.5

    def test_left_is_the_image_of_right(self, go2, stand):
        index, sign = mirror_joints(go2)
        np.testing.assert_allclose(np.array(stand.posture.pose_rad)[index] * sign, stand.posture.pose_rad)

    def test_the_torques_hold_it(self, go2, stand):
        """With targets off by torque / kp the joints stay where they are; without, the knees sink."""
        sag, scale = stand.sag_rad(go2), np.array(go2.contract.action_scale_rad)
        action = (np.array(stand.posture.pose_rad) - go2.contract.pose_rad) / scale
        worlds = upright_worlds(go2, stand.posture, 2)
        for _ in range(10):
            worlds.step(np.stack([action + sag / scale, action]))
        held, sunk = np.abs(worlds.joint_position_rad - stand.posture.pose_rad).max(axis=1)
        assert held < 0.03
        assert sunk > 0.1

    def test_a_posture_alone_tells_them_too(self, go2, stand):
        assert holding_torque_nm(go2, stand.posture) == pytest.approx(stand.torque_nm)

    def test_level_the_torques_hold_it_too(self, robot):
        """Every robot carries its weight at rest: targets that are off the pose by torque / kp keep it from sinking."""
        torque, kp = holding_torque_nm(robot, LEVEL), np.array(robot.contract.kp_nm_per_rad)
        sunk = []
        for target in (np.zeros(len(kp)), torque / kp):
            worlds = Worlds(robot, 1)
            for _ in range(round(robot.contract.control_hz)):
                worlds.step((target / np.array(robot.contract.action_scale_rad))[None])
            sunk.append(robot.base_height_m - worlds.base_position_m[0, 2])
        assert abs(sunk[1]) < 0.5 * sunk[0]

    def test_the_motors_of_a_go2_have_plenty(self, go2, stand):
        share = np.abs(stand.torque_nm) / go2.contract.torque_limit_nm
        assert 0.1 < share.max() < 0.3

    def test_a_robot_that_is_too_weak_is_refused(self, go2):
        weak = replace(go2, contract=replace(go2.contract, torque_limit_nm=(6.0,) * 12))
        with pytest.raises(TaskError, match=r"R[LR]_calf_joint would need .* N·m of 6 at rest.*a task of your own"):
            biped(weak)

    def test_a_pose_beyond_the_actions_is_refused(self, go2):
        short = replace(go2, contract=replace(go2.contract, action_clip=2.0))
        with pytest.raises(
            TaskError, match=r"R[LR]_thigh_joint would need an action of .*, and action_clip is 2; raise"
        ):
            biped(short)

    def test_a_robot_without_such_commands_is_refused(self, go2):
        sideways = replace(go2, contract=replace(go2.contract, command_range=((-1.0, 1.0), (0.1, 0.3), (-1.0, 1.0))))
        with pytest.raises(
            TaskError, match=r"go2 has vy_m_s from 0.1 to 0.3, and none of it is in the 0 to 0 .*; widen it"
        ):
            biped(sideways)

    def test_robots_that_cannot_are_told_so_in_a_sentence(self, go2):
        hexapod, two_legs = load_robot(HEXAPOD), load_robot(BIPED)
        assert [leg.feet[0] for leg in hind_legs(hexapod)] == ["L3.tip", "R3.tip"]
        with pytest.raises(TaskError, match=r"hexapod cannot hold itself on L3.tip and R3.tip.* N·m of 4"):
            biped(hexapod)
        with pytest.raises(TaskError, match=r"has 2 legs.*the task 'walk'"):
            biped(two_legs)
        with pytest.raises(TaskError, match="declares no symmetry"):
            biped(replace(go2, mirror=None))
