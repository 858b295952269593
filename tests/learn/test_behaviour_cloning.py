"""A head start: the actor copies a teacher that walks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.training import SMALL, small_train

from surefoot.errors import TaskError
from surefoot.learn import checkpoint
from surefoot.learn.behaviour_cloning import TEACHERS, clone_teacher
from surefoot.learn.env import WalkEnv
from surefoot.learn.ppo import Learner
from surefoot.learn.task import load_task, walk
from surefoot.learn.train import train
from surefoot.policy import OnnxPolicy
from surefoot.policy.observation import Observer
from surefoot.policy.trot import TrotAgent
from surefoot.sim import Worlds


class TestHeadStart:
    def test_the_actor_copies_the_trot(self, robot):
        """What it does where the teacher was never disturbed is nearer to the teacher than doing nothing is."""
        torch.manual_seed(0)
        env = WalkEnv(robot, load_task("walk", robot, "none"), 64)
        learner = Learner(env.get_observations(), env.num_actions, replace(SMALL, worlds=64, hidden=(128, 128)), None)
        began = clone_teacher(env, learner.actor.mlp, "trot", seed=0)
        assert began.taught
        assert "copy of the trot" in began.says
        worlds, trot = Worlds(robot, 1), TrotAgent(robot)
        observer, last = Observer(robot.contract, 1), np.zeros((1, env.num_actions))
        command = np.array([[0.5 * robot.contract.command_range[0][1], 0.0, 0.0]])
        copied, shown = [], []
        for _ in range(100):
            seen = observer.observe(worlds.sensors, command, last)
            with torch.no_grad():
                copied.append(learner.actor.mlp(torch.from_numpy(seen.copy())).numpy()[0])
            last = trot.act(worlds.sensors, command)
            shown.append(last[0])
            worlds.step(last)
        error, size = np.array(copied) - shown, np.array(shown)
        assert np.square(error[10:]).mean() < 0.7 * np.square(size[10:]).mean()

    def test_a_teacher_that_falls_is_not_copied(self, monkeypatch, tmp_path, go2):
        monkeypatch.setitem(TEACHERS, "trot", lambda env: RandomAgent(5.0))
        said: list[str] = []
        small_train(go2, tmp_path, iterations=1, say=said.append)
        assert "starts from nothing" in said[0]
        _, state = checkpoint.load(tmp_path / "checkpoint.safetensors")
        assert state["taught"] is False

    def test_an_unknown_teacher(self, go2, tmp_path):
        with pytest.raises(TaskError, match=r"unknown teacher 'trott'.*trot"):
            train(go2, replace(walk(go2), teacher="trott"), tmp_path, settings=SMALL, iterations=1)

    def test_a_taught_actor_waits_for_its_critic(self, go2, tmp_path):
        kept = []
        small_train(
            go2, tmp_path, iterations=4, inspect=lambda progress, written: kept.append(OnnxPolicy.load(written()).hash)
        )
        assert kept[0] == kept[2]
        assert kept[2] != kept[3]


class RandomAgent:
    """Flails."""

    def __init__(self, size):
        self.size, self.rng = size, np.random.default_rng(0)

    def act(self, sensors, command):
        return self.rng.normal(0, self.size, sensors.joint_position_rad.shape)
