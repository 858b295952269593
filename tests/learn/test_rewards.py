"""Rewards: what is paid for, and what costs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.postures import put
from support.training import NONE

from surefoot.learn import rewards
from surefoot.learn.env import WalkEnv
from surefoot.learn.randomize import load_randomization
from surefoot.learn.rewards import LASTING_S, Motion
from surefoot.learn.starts import Shares
from surefoot.learn.task import walk, weighted

LEVEL_GRAVITY = np.array([[1.0, 0.0, 0.0]])  # on four legs, the belly is down, and that is ahead


class TestLasting:
    def test_a_robot_that_stands_lags_by_its_command(self, robot):
        """The error of a single stride averages out; that of not walking at all adds up, from each command on."""
        task = replace(
            walk(robot),
            rewards=weighted(lasting=-1.0),
            command_hold_s=(1.0, 1.0),
            randomization=load_randomization("none"),
        )
        env = WalkEnv(robot, replace(task, standing_share=0.0), 8, seed=0)
        still = torch.zeros(8, env.num_actions)
        ticks = round(0.9 / env.dt_s)
        command = env.command.copy()
        reward = [env.step(still)[1] for _ in range(ticks)][-1].numpy()
        share = 1 - (1 - env.dt_s / LASTING_S) ** ticks
        speed = np.linalg.norm(command[:, :2], axis=1)
        wanted = share * (speed + (0.5 + 2.0 * speed) * np.abs(command[:, 2])) * env.dt_s
        np.testing.assert_allclose(-reward, wanted, atol=0.1 * env.dt_s)
        after = [env.step(still)[1] for _ in range(round(0.2 / env.dt_s))][-1].numpy()
        assert (-after < 0.5 * wanted).mean() > 0.7  # another command, and counted anew


class TestActions:
    def test_changes_of_the_action_and_changes_of_the_change_cost(self, robot):
        """In the environment: two robots, three ticks, and one of them begins anew before the third."""
        task = replace(walk(robot), randomization=NONE, fall_cost=0.0)
        n_joints = robot.contract.n_joints
        first, second, third = (torch.full((2, n_joints), value) for value in (0.1, 0.4, 0.2))
        paid = {}
        for name in ("action_rate", "action_jerk"):
            env = WalkEnv(robot, replace(task, rewards=weighted(**{name: -1.0})), 2)
            paid[name] = [env.step(first)[1], env.step(second)[1]]
            env._reset(np.array([1]))
            paid[name].append(env.step(third)[1])
            paid[name] = -np.array([reward.numpy() for reward in paid[name]]) / (n_joints * env.dt_s)
        np.testing.assert_allclose(paid["action_rate"], np.square([[0.1, 0.1], [0.3, 0.3], [0.2, 0.2]]), rtol=1e-4)
        np.testing.assert_allclose(paid["action_jerk"], np.square([[0.1, 0.1], [0.2, 0.2], [0.5, 0.2]]), rtol=1e-4)

    def test_power_is_what_the_motors_give_and_not_what_they_take(self):
        assert rewards.power(motion(torque=np.array([[2.0, -3.0]]), joint_velocity=np.array([[4.0, 1.0]]))) == 8.0


def motion(n=1, **changed):
    """A robot of two standing feet and two hands that stands still in its posture, told to walk forward."""
    still: dict[str, Any] = {
        "command": np.tile([0.5, 0.0, 0.0], (n, 1)),
        "velocity": np.zeros((n, 3)),
        "angular_velocity": np.zeros((n, 3)),
        "gravity": np.tile([0.0, 0.0, -1.0], (n, 1)),
        "height_m": np.full(n, 0.5),
        "nominal_height_m": 0.5,
        "joint_position": np.zeros((n, 2)),
        "joint_velocity": np.zeros((n, 2)),
        "joint_acceleration": np.zeros((n, 2)),
        "pose": np.zeros(2),
        "position_limit": np.array([[-1.0, 1.0]] * 2),
        "torque": np.zeros((n, 2)),
        "torque_limit": np.ones(2),
        "action": np.zeros((n, 2)),
        "last_action": np.zeros((n, 2)),
        "before_last_action": np.zeros((n, 2)),
        "foot_contact": np.tile([False, False, True, True], (n, 1)),
        "foot_landed": np.zeros((n, 4), bool),
        "foot_air_s": np.zeros((n, 4)),
        "foot_velocity": np.zeros((n, 4, 3)),
        "body_contact": np.zeros(n, bool),
        "lasting_error": np.ones((n, 3)),
        "standing_foot": np.array([False, False, True, True]),
        "rises": True,
    }
    return Motion(**(still | changed))


class TestRewards:
    def test_standing_up_pays_all_the_way(self):
        angles = np.linspace(np.pi, 0, 9)
        turning = motion(
            9, gravity=np.stack([np.sin(angles), 0 * angles, -np.cos(angles)], axis=1), height_m=np.full(9, 0.5)
        )
        assert (np.diff(rewards.stand_up(turning)) > 0).all()
        assert rewards.stand_up(turning)[-1] == pytest.approx(1.0)
        assert rewards.stand_up(turning)[0] == pytest.approx(0.0)

    def test_neither_sitting_upright_nor_tall_on_four_legs_pays_much(self):
        assert rewards.stand_up(motion(height_m=np.array([0.22]))) < 0.5
        assert rewards.stand_up(motion(gravity=LEVEL_GRAVITY)) <= 0.25
        assert rewards.stand_up(motion(height_m=np.array([0.6]))) == pytest.approx(1.0)  # higher is not better

    def test_on_four_legs_nothing_is_paid_for_walking(self):
        fast = {
            "velocity": np.array([[0.5, 0.0, 0.0]]),
            "foot_landed": np.ones((1, 4), bool),
            "foot_air_s": np.full((1, 4), 0.3),
        }
        for reward in (
            rewards.track_velocity,
            rewards.track_turn,
            rewards.stride,
            rewards.one_foot,
            rewards.flight,
            rewards.lasting,
        ):
            assert reward(motion(gravity=LEVEL_GRAVITY, **fast)) == 0
        for reward in (rewards.track_velocity, rewards.track_turn, rewards.stride, rewards.lasting):
            assert reward(motion(**fast)) > 0

    def test_a_fast_turn_costs_and_a_slow_one_does_not(self):
        rates = np.array([[0.0, 2.9, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, -4.0]])
        assert rewards.rush(motion(3, angular_velocity=rates)) == pytest.approx([0.0, 4.0, 1.0])

    def test_a_level_task_is_paid_whatever_the_tilt(self):
        leaning = {"gravity": np.array([[0.6, 0.0, -0.8]]), "velocity": np.array([[0.5, 0.0, 0.0]])}
        assert rewards.track_velocity(motion(rises=False, **leaning)) == pytest.approx(1.0)

    def test_hands_are_to_be_off_the_floor(self):
        assert rewards.hands_off(motion()) == 1
        assert rewards.hands_off(motion(foot_contact=np.array([[True, False, True, True]]))) == 0.5

    def test_a_posture_on_all_feet_has_no_hands(self):
        assert rewards.hands_off(motion(2, standing_foot=np.ones(4, bool))).tolist() == [1, 1]

    @pytest.mark.parametrize(("feet", "one", "none"), [((1, 0), 1, 0), ((1, 1), 0, 0), ((0, 0), 0, 1)])
    def test_one_foot_at_a_time(self, feet, one, none):
        seen = motion(foot_contact=np.array([[True, True, *feet]], dtype=bool))
        assert rewards.one_foot(seen) == one
        assert rewards.flight(seen) == none
        assert rewards.one_foot(replace(seen, command=np.zeros((1, 3)))) == 0

    def test_only_steps_of_standing_feet_count(self):
        tapping = motion(foot_landed=np.array([[True, True, False, False]]), foot_air_s=np.full((1, 4), 0.3))
        assert rewards.stride(tapping) == 0

    def test_living_pays_on_four_legs_too(self, go2, task):
        """A robot that loses by living learns to fall: on four legs, at rest, nothing costs more than it brings."""
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.0, 0.0)), 8)
        total = np.mean([env.step(torch.zeros(8, 12))[1].numpy() for _ in range(40)], axis=0)
        assert (total > 0).all()

    def test_standing_pays_more_than_all_fours(self, go2, task):
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.0, 0.0)), 2)
        put(env.worlds, task.posture, np.array([1]))
        hold = torch.from_numpy(
            (np.array(task.posture.pose_rad) - go2.contract.pose_rad) / go2.contract.action_scale_rad
        )
        env._action[1] = env._last_action[1] = hold.numpy()
        _, reward, *_ = env.step(torch.stack([torch.zeros(12), hold]))
        assert reward[1] > 3 * reward[0]
