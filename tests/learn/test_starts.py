"""Where episodes begin: level, rising or upright, each with its share."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch
from support.postures import posed
from support.training import NONE

from surefoot.learn.env import WalkEnv
from surefoot.learn.starts import ON_ALL_FEET, RISING, UPRIGHT, Kinds, Shares, make_starts
from surefoot.learn.task import load_task
from surefoot.robot.model import lowest_point
from surefoot.sim.frames import yaw_of
from surefoot.sim.sensing import gravity_in_base


class TestStarts:
    def test_states_rest_on_the_floor(self, go2, task):
        starts = make_starts(go2, task.posture, np.linspace(0, 1, 12), 0.15, np.random.default_rng(0))
        model, data = posed(go2, task.posture)
        solid = [g for g in range(model.ngeom) if model.geom_conaffinity[g]]
        for k in range(len(starts)):
            data.qpos[:7] = (0, 0, starts.height_m[k], *starts.base_quaternion[k])
            data.qpos[7:] = starts.joint_position_rad[k]
            mujoco.mj_kinematics(model, data)
            assert min(lowest_point(model, data, g) for g in solid) == pytest.approx(0, abs=1e-9)
        upright = -gravity_in_base(task.posture.frame(starts.base_quaternion))[:, 2]
        assert upright[0] < 0.2
        assert upright[-1] > 0.98

    def test_worlds_begin_where_the_shares_say(self, go2, task):
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.5, 0.25)), 400, seed=3)
        upright = -gravity_in_base(task.posture.frame(env.worlds.base_quaternion))[:, 2]
        assert (upright > 0.98).mean() == pytest.approx(0.5, abs=0.1)
        assert (np.abs(upright) < 1e-9).mean() == pytest.approx(0.25, abs=0.1)  # level, to the last bit
        assert len(np.unique(yaw_of(task.posture.frame(env.worlds.base_quaternion[upright > 0.98])).round(1))) > 20
        *_, done, _ = env.step(torch.zeros(400, 12))
        assert not done[upright > 0.98].any()
        assert done.float().mean() < 0.02

    def test_each_kind_of_start_has_its_share_of_the_time(self):
        """Though episodes that begin upright end at once, and others last long."""
        kinds, rng, n = Kinds(Shares(0.5, 0.2), 300), np.random.default_rng(0), 300
        lasts_s = np.array([0.5, 1.0, 3.0])
        kind = kinds.draw(np.arange(n), rng)
        age, spent = np.zeros(n), np.zeros(3)
        for tick in range(4000):
            age += 0.02
            if tick > 1000:
                spent += np.bincount(kind, minlength=3)
            done = np.flatnonzero(age >= lasts_s[kind] * rng.uniform(0.8, 1.2, n))
            kinds.ended(done, age[done])
            kind[done] = kinds.draw(done, rng)
            age[done] = 0.0
        assert spent / spent.sum() == pytest.approx([0.5, 0.2, 0.3], abs=0.05)

    def test_lengths_are_those_of_the_episodes(self, go2, task):
        """A robot on four legs that does not rise has 3 s; their mean moves there from its first value, 1 s."""
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.0, 0.0)), 4)
        env._episode[:] = 0
        for _ in range(round(2 * task.posture.rise_s * go2.contract.control_hz)):
            env.step(torch.zeros(4, 12))
        assert env._kinds._length_s[ON_ALL_FEET] == pytest.approx(3.0 - 2.0 * (1 - 1 / 200) ** 8)
        assert env._kinds._length_s[UPRIGHT] == 1.0

    @pytest.mark.parametrize(
        ("shares", "kinds"),
        [(Shares(1.0, 0.0), {UPRIGHT}), (Shares(0.0, 0.0), {ON_ALL_FEET}), (Shares(0.0, 1.0), {RISING})],
    )
    def test_a_share_of_nothing_is_never_drawn(self, shares, kinds):
        assert set(Kinds(shares, 1000).draw(np.arange(1000), np.random.default_rng(1))) == kinds

    def test_walking_still_begins_level(self, go2):
        env = WalkEnv(go2, load_task("walk", go2, "none"), 50)
        np.testing.assert_allclose(
            gravity_in_base(env.worlds.base_quaternion), np.tile([0, 0, -1], (50, 1)), atol=1e-12
        )
