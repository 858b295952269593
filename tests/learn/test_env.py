"""The environment of training: what is seen, when an episode ends, which commands are given."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from surefoot.learn.env import WalkEnv
from surefoot.learn.task import load_task, walk
from surefoot.policy.observation import Observer


class TestEnvironment:
    def test_the_actor_sees_what_a_deployed_policy_sees(self, go2):
        """The actor's observation is the Observer's, term by term; there is no base velocity in it."""
        robot = go2
        env = WalkEnv(robot, load_task("walk", robot, "none"), 4, seed=1)
        action = torch.full((4, robot.contract.n_joints), 0.3)
        obs, *_ = env.step(action)
        expected = Observer(robot.contract, 4).observe(env.worlds.sensors, env._command, action.numpy())
        np.testing.assert_allclose(obs["actor"].numpy(), expected, atol=1e-6)
        assert obs["actor"].shape[1] == robot.contract.observation_size
        assert obs["critic"].shape[1] > obs["actor"].shape[1]

    def test_a_fall_ends_the_episode_and_costs(self, go2):
        env = WalkEnv(go2, load_task("walk", go2, "none"), 3)
        env.worlds.reset(
            np.array([1]), base_quaternion=np.array([[0.0, 1.0, 0.0, 0.0]]), base_position_m=np.array([[0, 0, 0.2]])
        )
        _, reward, done, extras = env.step(torch.zeros((3, 12)))
        assert done.tolist() == [0, 1, 0]
        assert reward[1] < reward[0] - 1
        assert extras["time_outs"].tolist() == [0, 0, 0]
        assert env.worlds.base_quaternion[1, 1] == 0  # stands again

    def test_an_old_episode_times_out(self, go2):
        env = WalkEnv(go2, load_task("walk", go2, "none"), 3)
        env._episode[:] = [0, env.max_episode_length - 1, 5]
        _, _, done, extras = env.step(torch.zeros((3, 12)))
        assert done.tolist() == [0, 1, 0]
        assert extras["time_outs"].tolist() == [0, 1, 0]
        assert env._episode[1] == 0


class TestCommands:
    def test_some_go_along_one_axis(self, robot):
        env = WalkEnv(robot, replace(walk(robot), straight_share=0.5, standing_share=0.0), 400, seed=0)
        axes = (env.command != 0).sum(axis=1)
        assert set(axes) == {1, 3}
        assert (axes == 1).mean() == pytest.approx(0.5, abs=0.1)
        assert set(np.flatnonzero(env.command[axes == 1].any(axis=0))) == {0, 1, 2}

    def test_an_axis_that_is_not_commanded_is_not_chosen(self, go2):
        forward = ((-1.0, 1.0), (0.0, 0.0), (0.0, 0.0))
        env = WalkEnv(
            go2, replace(walk(go2), straight_share=1.0, standing_share=0.0, command_range=forward), 50, seed=0
        )
        assert (env.command[:, 0] != 0).all()
        assert not env.command[:, 1:].any()
