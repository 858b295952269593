"""Standing up on hind legs and walking on them: pose, rewards, starts, falls, symmetry, and the way through
the commands.
"""

import json
from dataclasses import replace

import mujoco
import numpy as np
import pytest
import torch

from surefoot.cli.rehearsal import Planned, _commands
from surefoot.learn import rewards
from surefoot.learn.behaviour_cloning import clone_teacher
from surefoot.learn.env import BALANCED_S, WalkEnv
from surefoot.learn.march import HoldAgent, MarchAgent, steps_of
from surefoot.learn.mirror import SymmetryAugmentation, mirror_joints
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.randomize import TaskError, load_randomization
from surefoot.learn.rewards import Motion
from surefoot.learn.rise import Rise, _Half, find_rise, way_up
from surefoot.learn.starts import ON_ALL_FEET, RISING, UPRIGHT, Kinds, Shares, make_starts
from surefoot.learn.task import biped, load_task, weighted
from surefoot.learn.train import settings_of, train
from surefoot.learn.upright import hind_legs, holding_action, holding_torque_nm, stand_on_hind_legs
from surefoot.logs import read_log
from surefoot.policy import OnnxPolicy, ZeroAgent, with_policy_posture
from surefoot.robot import LEVEL, load_robot
from surefoot.robot.load import foot_geoms, joint_addresses
from surefoot.robot.model import lowest_point
from surefoot.sim import Worlds
from surefoot.sim.frames import in_heading_frame, yaw_of
from surefoot.sim.physics import Physics
from surefoot.sim.sensing import gravity_in_base
from surefoot.verify.trial import Place, run_trials
from surefoot.verify.video import walk

SMALL = PPOSettings(worlds=16, steps=6, epochs=2, minibatches=2, hidden=(16, 16))
NONE = load_randomization("none")


@pytest.fixture(scope="module")
def stand(go2):
    return stand_on_hind_legs(go2)


@pytest.fixture(scope="module")
def task(go2):
    return biped(go2)


@pytest.fixture(scope="module")
def trained(go2, task, tmp_path_factory):
    """A policy that has learned nothing much, and the folder of its training."""
    return train(go2, task, tmp_path_factory.mktemp("biped"), settings=SMALL, iterations=2)


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
        with pytest.raises(TaskError, match=r"R[LR]_calf_joint would need .* N·m of 6 at rest.*my_task.py"):
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
        hexapod, two_legs = (
            load_robot(__file__.replace("test_biped.py", f"robots/{name}")) for name in ("hexapod", "biped")
        )
        assert [leg.feet[0] for leg in hind_legs(hexapod)] == ["L3.tip", "R3.tip"]
        with pytest.raises(TaskError, match=r"hexapod cannot hold itself on L3.tip and R3.tip.* N·m of 4"):
            biped(hexapod)
        with pytest.raises(TaskError, match=r"has 2 legs.*surefoot train walk"):
            biped(two_legs)
        with pytest.raises(TaskError, match="declares no symmetry"):
            biped(replace(go2, mirror=None))


def motion(n=1, **changed):
    """A robot of two standing feet and two hands that stands still in its posture, told to walk forward."""
    still = {
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


LEVEL_GRAVITY = np.array([[1.0, 0.0, 0.0]])  # on four legs, the belly is down, and that is ahead


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


class TestFalls:
    def env(self, go2, task, n):
        return WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(1.0, 0.0), start_spread_rad=0.0), n)

    def test_leaving_the_posture_ends_an_episode_and_costs(self, go2, task):
        env = self.env(go2, task, 4)
        hold = torch.from_numpy(
            (np.array(task.posture.pose_rad) - go2.contract.pose_rad) / go2.contract.action_scale_rad
        ).tile(4, 1)
        env.step(hold)
        for row, lean in ((1, 1.2), (2, -1.2)):  # on its hands, and on its back
            put(env.worlds, task.posture, np.array([row]), lean_rad=lean)
        put(
            env.worlds, task.posture, np.array([3]), height_m=0.3
        )  # through the floor, as far as the height goes: it sits
        _, reward, done, extras = env.step(hold)
        assert done.tolist() == [0, 1, 1, 1]
        assert (reward[1:] < reward[0] - 1).all()
        assert not extras["time_outs"].any()

    @pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
    def test_a_robot_on_its_way_up_has_not_tipped_over(self, go2, task, pitch):
        """Level is where it comes from, with the nose up as with the nose down; as far on the other side it
        lies on its back.
        """
        env = self.env(go2, replace(task, posture=replace(task.posture, pitch_rad=pitch), rise=None), 2)
        env._falls.reset(np.arange(2))
        for row, at in ((0, 0.0), (1, 1.5 * pitch)):
            put(env.worlds, replace(task.posture, pitch_rad=at), np.array([row]), height_m=0.5)
        assert env._fallen(env._motion(env._last_action)).tolist() == [False, True]

    def test_who_does_not_rise_starts_anew_without_a_fall(self, go2, task):
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(0.0, 0.0)), 4)
        env._episode[:] = 0
        ticks = round(task.posture.rise_s * go2.contract.control_hz)
        for k in range(ticks):
            _, _, done, extras = env.step(torch.zeros(4, 12))
            assert bool(done.all()) == (k == ticks - 1)
            assert bool(done.any()) == (k == ticks - 1)
        assert extras["time_outs"].all()
        assert env.tally.falls == 0


class TestSymmetry:
    def test_mirrored_robots_stay_mirrored_and_are_paid_alike(self, go2, task):
        """Rewards, and all that the critic sees, know left from right only as their image."""
        whole = replace(
            task, randomization=NONE, starts=Shares(1.0, 0.0), rewards=(*task.rewards, *weighted(lasting=-1.0))
        )
        env = WalkEnv(go2, whole, 2)
        mirror = SymmetryAugmentation(go2, env.mirror_parts())
        index, sign = mirror_joints(go2)
        rng = np.random.default_rng(1)
        joints = np.array(task.posture.pose_rad) + rng.normal(0, 0.05, 12)
        (w, _, y, _), roll = task.posture.base_quaternion, 0.05
        turn = np.array([[w, -y * roll, y, w * roll], [w, y * roll, y, -w * roll]])
        env.worlds.reset(
            joint_position_rad=np.stack([joints, joints[index] * sign]), base_quaternion=turn, base_position_m=np.tile([0, 0, 0.56], (2, 1)),
            base_velocity=np.array([[0.1, 0.2, 0, 0.3, 0.1, 0.2], [0.1, -0.2, 0, -0.3, 0.1, -0.2]]),
        )  # fmt: skip
        env._command = np.array([[0.4, 0.1, 0.3], [0.4, -0.1, -0.3]])
        for _ in range(6):
            action = (joints - go2.contract.pose_rad) / 0.5 + rng.normal(0, 0.2, 12)
            obs, reward, done, _ = env.step(torch.from_numpy(np.stack([action, action[index] * sign])))
            assert not done.any()
            assert reward[0] == pytest.approx(float(reward[1]), abs=1e-4)
            image, _ = mirror(None, obs[:1], None)
            for name in ("actor", "critic"):
                torch.testing.assert_close(image[name][1], obs[name][1], atol=5e-3, rtol=5e-3)


class TestTraining:
    def test_the_policy_says_how_it_means_to_stand(self, go2, task, trained):
        loaded = OnnxPolicy.load(trained)
        loaded.check(go2)
        meant = with_policy_posture(go2, trained)
        assert meant.posture == task.posture
        assert meant.contract.command_range == task.command_range == ((-0.5, 0.5), (0.0, 0.0), (-0.5, 0.5))
        config = json.loads((trained.parent / "config.json").read_text())
        assert config["task"]["posture"]["feet"] == ["RL_foot", "RR_foot"]

    def test_it_begins_around_the_pose(self, go2, task):
        """Also in the first tick, when there is no last action to repeat."""
        torch.manual_seed(0)
        env = WalkEnv(go2, replace(task, randomization=NONE, rise=None), 48)
        learner = Learner(env.get_observations(), 12, replace(SMALL, worlds=48, hidden=(64, 64)), None)
        began = clone_teacher(env, learner.actor.mlp, "hold", seed=0)
        assert "around the pose" in began.says
        assert not began.taught
        upright = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(1.0, 0.0)), 32)
        with torch.no_grad():
            action = learner.actor.mlp(upright.get_observations()["actor"]).numpy()
        target = np.array(go2.contract.pose_rad) + 0.5 * action.mean(axis=0)
        held = np.array(task.posture.pose_rad) + holding_torque_nm(go2, task.posture) / np.array(
            go2.contract.kp_nm_per_rad
        )
        off, way = np.abs(target - held), np.abs(held - go2.contract.pose_rad)
        assert off.max() < 0.4 * way.max()
        calves = [
            k for k in range(12) if go2.contract.joints[k] in ("RL_calf_joint", "RR_calf_joint")
        ]  # which carry the weight
        assert (off[calves] < np.abs(target - task.posture.pose_rad)[calves]).all()

    def test_marching_lifts_one_foot_after_the_other(self, go2, task):
        """In the air, so that nothing but the targets moves the feet."""
        env = WalkEnv(go2, replace(task, randomization=NONE, starts=Shares(1.0, 0.0), start_spread_rad=0.0), 8)
        teacher, rng = MarchAgent(env), np.random.default_rng(0)
        env._episode[:] = 0
        sensors = replace(env.worlds.sensors, gyro_rad_s=rng.normal(0, 0.3, (8, 3)))
        rolls = task.posture.turned(sensors.gyro_rad_s)[:, 0]
        steps, lifted = steps_of(go2, task.posture), []
        assert len(steps) == 2
        for tick in range(17):  # one stride
            env._episode[:] = tick
            action = teacher.act(sensors, env.command)
            lifted.append(
                np.stack([(action - teacher._bare) @ step.lift / (step.lift @ step.lift) for step in steps], axis=1)
            )
            assert not (np.abs(action[:, :6] - teacher._bare[:6]) > 0.2).any()  # the hands do nothing
        lifted = np.array(lifted)  # (ticks, robots, legs); what carries the weight is nearly the opposite of lifting
        up = lifted > 0.5
        assert up.any(axis=0).all()
        assert not up.all(axis=2).any()
        first = np.argmax(up, axis=0).argmin(axis=1)
        np.testing.assert_array_equal(first, np.where(rolls > 0, 0, 1))

    def test_one_that_marches_stays_up_as_long_as_one_that_holds(self, go2, task):
        """Roughly, so that whoever copies it begins with no less."""
        lives = {}
        for name, make in (("march", MarchAgent), ("hold", HoldAgent), ("nothing", lambda env: ZeroAgent())):
            env = WalkEnv(
                go2, replace(task, randomization=NONE, starts=Shares(1.0, 0.0), start_spread_rad=0.05), 32, seed=1
            )
            env._episode[:] = 0
            teacher, alive, lived = make(env), np.ones(32, dtype=bool), 0
            for _ in range(100):
                action = np.broadcast_to(teacher.act(env.worlds.sensors, env.command), (32, 12))
                *_, done, _ = env.step(torch.from_numpy(np.array(action)))
                alive &= ~done.numpy().astype(bool)
                lived += alive.sum()
            lives[name] = lived / 32 * go2.contract.control_dt_s
        assert lives["march"] > 0.8 * lives["hold"]
        assert lives["march"] > 1.3 * lives["nothing"]

    def test_it_learns_as_the_task_says(self, go2, task):
        assert settings_of(load_task("walk", go2)) == PPOSettings()
        asked = settings_of(task)
        assert asked == replace(PPOSettings(), start_std=0.4, worlds=512, epochs=2, desired_kl=0.02)
        assert settings_of(task, 32) == replace(asked, worlds=32)
        with pytest.raises(TaskError, match=r"asks for 'epoch' of PPO \(did you mean 'epochs'"):
            settings_of(replace(task, learning={"epoch": 3}))

    def test_a_walk_says_nothing_of_a_posture(self, go2, tmp_path):
        policy = OnnxPolicy.load(train(go2, load_task("walk", go2), tmp_path, settings=SMALL, iterations=1))
        assert policy.contract == go2.contract
        assert list(policy.metadata) == ["surefoot.training"]


class TestVerify:
    """A robot that stays on four legs is down once it should have risen, in the verdict as in a video."""

    def test_a_verdict_counts_who_did_not_rise(self, go2, task):
        meant = replace(go2, posture=task.posture, contract=replace(go2.contract, command_range=task.command_range))
        (trial,) = run_trials(
            meant, [Place("nominal", Physics(meant), 2, 1)], lambda n: ZeroAgent(), seconds=1.0, threads=1
        )
        assert trial.fell.all()
        assert trial.directions == ("+x", "-x")
        assert trial.fell_straight.all()
        (level,) = run_trials(
            go2, [Place("nominal", Physics(go2), 2, 1)], lambda n: ZeroAgent(), seconds=1.0, threads=1
        )
        assert not level.fell.any()

    def test_a_video_lets_it_try(self, go2, task):
        ticks = round((task.posture.rise_s + 0.5) * go2.contract.control_hz)
        walked = walk(Worlds(replace(go2, posture=task.posture), 1), ZeroAgent(), np.zeros((ticks, 3)))
        assert walked.falls == 1
        begun = walked.time_s[[state == "fallen" for state in walked.state]][0]
        assert begun == pytest.approx(task.posture.rise_s, abs=0.1)


class TestCommands:
    def test_evaluate_counts_who_stands(self, surefoot, trained, here):
        code, out, _ = surefoot("evaluate", trained, "--episodes", 2, "--straight-episodes", 1, "--out", "eval.json")
        content = json.loads((here / "eval.json").read_text())
        assert code == 0
        assert content["stand"]["episodes"] == 2
        assert content["stand"]["stood"] <= content["stand"]["rose"]
        assert set(content["directions"]) == {"+x", "-x", "turn left", "turn right"}
        assert content["directions"]["+x"]["command"] == [0.5, 0.0, 0.0]
        assert content["gate"]["limits"] == {"stood": 90}
        assert "stood 10 s" in out

    def test_record_lets_it_rise_before_it_is_told_to_walk(self, surefoot, trained, here, go2):
        code, _, err = surefoot(
            "record", "--twin", "go2-worn", "--policy", trained, "--rollouts", 4, "--seconds", 5, "--out", "log.parquet"
        )
        assert code == 0, err
        log = read_log(here / "log.parquet")
        early = log.time_s < with_policy_posture(go2, trained).posture.rise_s - 0.1
        assert not log.command[early].any()
        assert np.abs(log.command).max() <= 0.5
        assert log.metadata["posture"] == "hind legs"
        assert log.metadata["fallen_episodes"] == 4  # two iterations teach nobody to stand

    def test_an_episode_that_ends_before_it_has_risen_is_refused(self, surefoot, trained, here):
        for command in (("record", "--twin", "go2-worn", "--rollouts", 4), ("fit", "--rehearse", "--rollouts", 6)):
            code, _, err = surefoot(*command, "--policy", trained, "--seconds", 3, "--out", "short.parquet")
            assert code == 2
            assert "3 s to rise to the posture 'hind legs'" in err
            assert "episodes of 7 s" in err
            assert not (here / "short.parquet").exists()

    def test_a_rehearsal_lets_it_rise_too(self, go2, task):
        planned = Planned(4, 5.0, None, 0.5, 1, False)
        meant, ticks = replace(go2, posture=task.posture), round(task.posture.rise_s * go2.contract.control_hz)
        upright, level = (_commands(robot, planned, seed=0) for robot in (meant, go2))
        assert not upright.command[:, :ticks].any()
        np.testing.assert_array_equal(upright.command[:, ticks:], level.command[:, ticks:])
        assert level.command[:, :ticks].any()

    def test_a_robot_that_cannot_is_refused_on_the_command_line(self, surefoot, here):
        robot = __file__.replace("test_biped.py", "robots/hexapod")
        code, _, err = surefoot("train", "biped", "--robot", robot, "--out", "run")
        assert code == 2
        assert err.startswith("surefoot: hexapod cannot hold itself on L3.tip")
        assert not (here / "run").exists()
