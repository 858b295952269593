"""The motion that brings a robot onto its hind legs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.postures import put
from support.training import NONE

from surefoot.errors import TaskError
from surefoot.learn.env import BALANCED_S, WalkEnv
from surefoot.learn.mirror import mirror_joints
from surefoot.learn.rise import Rise, _Half, find_rise, way_up
from surefoot.learn.starts import UPRIGHT, Shares
from surefoot.learn.upright import holding_action
from surefoot.sim import Worlds
from surefoot.sim.frames import in_heading_frame
from surefoot.sim.sensing import gravity_in_base


class TestRise:
    def test_the_motion_brings_robots_up(self, go2, task):
        """On the robot as it is simulated outside of training, from starts that the search did not see."""
        worlds = Worlds(go2, 40)
        joints = np.array(go2.contract.pose_rad) + np.random.default_rng(77).uniform(-0.04, 0.04, (40, 12))
        worlds.reset(joint_position_rad=joints)
        up = np.zeros(40)
        for k in range(60):
            worlds.step(np.tile(task.rise.at((k + 1) * worlds.control_dt_s), (40, 1)))
            upright = -gravity_in_base(task.posture.frame(worlds.base_quaternion))[:, 2]
            up += (upright > 0.9) & (worlds.base_position_m[:, 2] > 0.65 * task.posture.height_m)
        assert (up >= 5).mean() > 0.8

    def test_left_and_right_move_alike_from_the_default_pose_into_the_held_one(self, go2, task):
        index, sign = mirror_joints(go2)
        for time_s in (0.1, 0.33, 0.8):
            action = task.rise.at(time_s)
            np.testing.assert_allclose(action[index] * sign, action, atol=1e-12)
        assert not task.rise.at(0.0).any()
        np.testing.assert_allclose(task.rise.at(5.0), holding_action(go2, task.posture), atol=1e-4)
        line = Rise(1.0, ((2.0, 0.0), (4.0, 8.0)))
        np.testing.assert_allclose([line.at(t) for t in (0.25, 0.5, 0.75, 1.0)], [[1, 0], [2, 0], [3, 4], [4, 8]])

    def test_a_waist_turns_to_neither_side(self):
        """Of one joint of a pair, one that pitches, one that yaws, and the other of the pair."""
        half = _Half(np.array([3, 1, 2, 0]), np.array([-1.0, 1.0, -1.0, -1.0]))
        assert half.joints.tolist() == [0, 1]
        np.testing.assert_allclose(half.whole(np.array([[0.3, 0.7]])), [[0.3, 0.7, 0.0, -0.3]])

    def test_it_is_the_same_every_time(self, go2, task):
        assert find_rise(go2, task.posture, holding_action(go2, task.posture), 200.0) == task.rise

    def test_a_robot_without_a_declared_symmetry_has_none(self, go2, task):
        assert find_rise(replace(go2, mirror=None), task.posture, np.zeros(12), 200.0) is None

    def test_a_motion_that_does_not_rise_is_refused(self, go2, task):
        with pytest.raises(TaskError, match=r"\(rise\) does not bring go2 into the posture 'hind legs'; leave it out"):
            way_up(go2, task.posture, Rise(0.5, ((0.0,) * 12,)), 8, 200.0, 0)

    def test_episodes_begin_on_its_way(self, go2, task):
        """As a robot passes there: with its speed, whichever way it heads, and with the action that it was
        told last.
        """
        states = way_up(go2, task.posture, task.rise, 200, 200.0, 0)
        upright = -gravity_in_base(task.posture.frame(states.base_quaternion))[:, 2]
        assert upright.min() < 0.1
        assert upright.max() > 0.8
        assert np.abs(states.base_velocity[:, 4]).max() > 1.0  # rad/s of pitch
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.0, 1.0)), 64, seed=2)
        motion_actions = np.array([task.rise.at((k + 1) * env.dt_s) for k in range(60)])
        off = np.abs(env._action[:, None] - motion_actions).max(axis=2).min(axis=1)
        assert off.max() < 1e-9
        scale = go2.contract.action_clip  # what the policy sees of it is what it was told
        assert np.abs(env.get_observations()["actor"].numpy()).max() < 10 * scale
        assert np.abs(env.worlds.joint_velocity_rad_s).max() > 1.0

    def test_who_has_risen_and_balances_makes_room_for_another(self, go2, task):
        """Without a fall; one that began upright goes on."""
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.5, 0.0)), 16, seed=1)
        env._episode[:] = 0
        everyone = np.arange(16)
        for k in range(round(BALANCED_S * go2.contract.control_hz)):
            put(env.worlds, task.posture, everyone)
            began_upright = env._kinds.kind == UPRIGHT
            _, _, done, extras = env.step(torch.from_numpy(np.tile(holding_action(go2, task.posture), (16, 1))))
            assert bool(done.any()) == (k == round(BALANCED_S * go2.contract.control_hz) - 1)
        assert 0 < began_upright.sum() < 16
        np.testing.assert_array_equal(done.numpy().astype(bool), ~began_upright)
        np.testing.assert_array_equal(extras["time_outs"].numpy().astype(bool), ~began_upright)

    def test_a_turn_takes_the_speed_along(self, go2, task):
        states = way_up(go2, task.posture, task.rise, 50, 200.0, 0)
        turned = states.turned(np.linspace(-3, 3, 50))
        for one in (states, turned):
            assert len(one) == 50
        ahead = [
            in_heading_frame(one.base_velocity[:, :3], task.posture.frame(one.base_quaternion))
            for one in (states, turned)
        ]
        np.testing.assert_allclose(ahead[0], ahead[1], atol=1e-9)
        np.testing.assert_array_equal(states.base_velocity[:, 2:], turned.base_velocity[:, 2:])
