"""Walking on hind legs, from the task to the commands: falls, symmetry, training, verdict and video."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.postures import put
from support.robot_files import HEXAPOD
from support.training import NONE, SMALL

from surefoot.cli.rehearsal import Planned, _commands
from surefoot.errors import TaskError
from surefoot.learn.behaviour_cloning import clone_teacher
from surefoot.learn.env import WalkEnv
from surefoot.learn.march import HoldAgent, MarchAgent, steps_of
from surefoot.learn.mirror import SymmetryAugmentation, mirror_joints
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.starts import Shares
from surefoot.learn.task import load_task, weighted
from surefoot.learn.train import settings_of, train
from surefoot.learn.upright import holding_torque_nm
from surefoot.logs import read_log
from surefoot.policy import OnnxPolicy, ZeroAgent, with_policy_posture
from surefoot.sim import Worlds
from surefoot.sim.physics import Physics
from surefoot.verify.trial import Place, run_trials
from surefoot.verify.video import walk


@pytest.fixture(scope="module")
def trained(go2, task, tmp_path_factory):
    """A policy that has learned nothing much, and the folder of its training."""
    return train(go2, task, tmp_path_factory.mktemp("biped"), settings=SMALL, iterations=2)


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
            joint_position_rad=np.stack([joints, joints[index] * sign]),
            base_quaternion=turn,
            base_position_m=np.tile([0, 0, 0.56], (2, 1)),
            base_velocity=np.array([[0.1, 0.2, 0, 0.3, 0.1, 0.2], [0.1, -0.2, 0, -0.3, 0.1, -0.2]]),
        )
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
        lifts = np.array(lifted)  # (ticks, robots, legs); what carries the weight is nearly the opposite of lifting
        up = lifts > 0.5
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
        code, _, err = surefoot("train", "biped", "--robot", HEXAPOD, "--out", "run")
        assert code == 2
        assert err.startswith("surefoot: hexapod cannot hold itself on L3.tip")
        assert not (here / "run").exists()
