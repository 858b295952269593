"""Training: rewards, randomization, symmetry, resuming, and what is refused. Learning itself is measured in bench/."""

import json
import resource
from dataclasses import replace

import numpy as np
import pytest
import torch

from surefoot.errors import SurefootError
from surefoot.learn import checkpoint
from surefoot.learn.behaviour_cloning import TEACHERS, clone_teacher
from surefoot.learn.env import WalkEnv
from surefoot.learn.mirror import SymmetryAugmentation, mirror_joints, mirror_observation
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.randomize import TaskError, load_randomization
from surefoot.learn.rewards import LASTING_S
from surefoot.learn.task import load_task, walk, weighted
from surefoot.learn.train import TrainingProgress, train
from surefoot.policy import OnnxPolicy
from surefoot.policy.observation import Observer
from surefoot.policy.trot import TrotAgent
from surefoot.robot import load_robot
from surefoot.sim import Worlds

SMALL = PPOSettings(worlds=16, steps=6, epochs=2, minibatches=2, hidden=(16, 16))


def small_train(robot, out, iterations=2, **options):
    return train(robot, walk(robot), out, settings=SMALL, iterations=iterations, **options)


class TestRandomization:
    @pytest.mark.parametrize("preset", ["none", "mild", "seed"])
    def test_presets_give_each_world_its_own_robot(self, robot, preset):
        worlds = Worlds(robot, 8)
        seen = load_randomization(preset).draw(worlds, np.random.default_rng(0))
        assert seen.shape[0] == 8
        assert np.abs(seen).max(initial=0) <= 1
        if preset == "none":
            assert seen.shape[1] == 0
            return
        friction = worlds.get("floor_friction")
        assert len(np.unique(friction)) == 8
        assert len(np.unique(worlds.get("delay_s")[0])) == 1  # together

    def test_drawing_again_does_not_pile_up(self, go2):
        worlds, table, rng = Worlds(go2, 4), load_randomization("mild"), np.random.default_rng(0)
        for _ in range(30):
            table.draw(worlds, rng)
        assert (worlds.get("kp_nm_per_rad") <= 1.1 * 25 + 1e-9).all()
        assert (worlds.get("kp_nm_per_rad") >= 0.9 * 25 - 1e-9).all()

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("floor_fricton: {set: [0.1, 1]}", "did you mean 'floor_friction'"),
            ("floor_friction: {set: [1, 0.1]}", "lowest, highest"),
            ("floor_friction: {times: [1, 2]}", "set, scale, add"),
            ("floor_friction: {set: [.nan, 1]}", "lowest, highest"),
            ("push: {velocity: 1}", "velocity_m_s"),
        ],
    )
    def test_bad_tables(self, tmp_path, text, says):
        (tmp_path / "table.yaml").write_text(text)
        with pytest.raises(TaskError, match=says):
            load_randomization(str(tmp_path / "table.yaml"))

    def test_unknown_preset(self):
        with pytest.raises(TaskError, match="mild, none, seed"):
            load_randomization("wild")


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


class TestTask:
    def test_unknown_reward(self):
        with pytest.raises(TaskError, match="did you mean 'track_velocity'"):
            weighted(track_velocty=1.0)

    def test_a_users_own_task(self, go2, tmp_path):
        file = tmp_path / "mine.py"
        file.write_text(
            "from dataclasses import replace\nfrom surefoot.learn.task import Reward, walk\n"
            "def hop(m):\n    return m.velocity[:, 2]\n"
            "def task(robot):\n    return replace(walk(robot), name='hop', rewards=(Reward(hop, 2.0),))\n"
        )
        task = load_task(str(file), go2)
        assert task.name == "hop"
        env = WalkEnv(go2, task, 4)
        env.step(torch.zeros((4, 12)))
        assert "hop" in env.tally.by_reward

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("x = 1", "no function task"),
            ("def task(robot): return 3", "returned int"),
            ("import nonsense_xyz", "cannot be imported"),
        ],
    )
    def test_bad_task_files(self, go2, tmp_path, text, says):
        (tmp_path / "bad.py").write_text(text)
        with pytest.raises(TaskError, match=says):
            load_task(str(tmp_path / "bad.py"), go2)


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


class TestSymmetry:
    def test_mirrored_worlds_stay_mirrored(self, robot):
        """The declared symmetry is one of the physics: mirrored actions give mirrored observations."""
        joints, signs = mirror_joints(robot)
        index, sign = mirror_observation(robot)
        worlds = Worlds(robot, 2)
        observer = Observer(robot.contract, 2)
        rng = np.random.default_rng(0)
        command = np.array([[0.5, 0.2, 0.3], [0.5, -0.2, -0.3]])
        for _ in range(8):
            action = rng.normal(0, 0.3, robot.contract.n_joints)
            both = np.stack([action, action[joints] * signs])
            worlds.step(both)
            seen = observer.observe(worlds.sensors, command, both).copy()
            np.testing.assert_allclose(seen[1], seen[0][index] * sign, atol=2e-3)

    def test_twice_mirrored_is_the_same(self, robot):
        env = WalkEnv(robot, walk(robot), 4)
        mirror = SymmetryAugmentation(robot, env.mirror_parts())
        obs = env.get_observations()
        action = torch.randn(4, robot.contract.n_joints)
        once, moved = mirror(None, obs, action)
        image = once[4:]
        twice, back = mirror(None, image, moved[4:])
        for name in ("actor", "critic"):
            torch.testing.assert_close(twice[name][4:], obs[name])
            assert not torch.equal(image[name], obs[name])
        torch.testing.assert_close(back[4:], action)


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


class TestTraining:
    def test_the_result_is_a_folder_with_everything(self, robot, tmp_path):
        shown: list[TrainingProgress] = []
        policy = small_train(robot, tmp_path, show=shown.append)
        assert policy == tmp_path / "policy.onnx"
        loaded = OnnxPolicy.load(policy)
        loaded.refuse_mismatch(robot.contract)
        config = json.loads((tmp_path / "config.json").read_text())
        assert config["robot_hash"] == robot.hash
        assert config["task"]["rewards"]["track_velocity"] > 0
        assert [p.iteration for p in shown] == [1, 2]
        assert shown[-1].physics_share + shown[-1].collect_share + shown[-1].learn_share == pytest.approx(1, abs=0.02)

    def test_onnx_equals_torch(self, go2, tmp_path):
        policy = OnnxPolicy.load(
            train(go2, walk(go2), tmp_path, settings=PPOSettings(worlds=16, steps=4), iterations=1)
        )
        tensors, _ = checkpoint.load(tmp_path / "checkpoint.safetensors")
        env = WalkEnv(go2, walk(go2), 1)
        learner = Learner(env.get_observations(), 12, PPOSettings(worlds=1, steps=4), None)
        learner.restore(tensors)
        obs = np.random.default_rng(0).normal(size=(1000, go2.contract.observation_size)).astype(np.float32)
        with torch.no_grad():
            expected = learner.actor.mlp(torch.from_numpy(obs)).numpy()
        np.testing.assert_allclose(policy.run(obs), expected, atol=1e-5)

    def test_looking_at_the_policy_does_not_change_it(self, go2, tmp_path):
        one = small_train(go2, tmp_path / "one", iterations=5)
        two = small_train(go2, tmp_path / "two", iterations=5, inspect=lambda progress, written: written())
        assert OnnxPolicy.load(one).hash == OnnxPolicy.load(two).hash

    def test_the_same_call_continues(self, go2, tmp_path):
        small_train(go2, tmp_path, iterations=2)
        shown: list[TrainingProgress] = []
        small_train(go2, tmp_path, iterations=3, show=shown.append)
        assert [p.iteration for p in shown] == [3]
        before = (tmp_path / "policy.onnx").read_bytes()
        small_train(go2, tmp_path, iterations=3)
        assert (tmp_path / "policy.onnx").read_bytes() == before

    def test_interrupting_keeps_what_was_learned(self, go2, tmp_path):
        def interrupt(progress):
            if progress.iteration == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            small_train(go2, tmp_path, iterations=9, show=interrupt)
        _, state = checkpoint.load(tmp_path / "checkpoint.safetensors")
        assert state["iteration"] == 2

    def test_restored_tensors_are_the_saved_ones(self, go2, tmp_path):
        env = WalkEnv(go2, walk(go2), 16)
        first, second = (Learner(env.get_observations(), 12, SMALL, None) for _ in range(2))
        second.restore(first.tensors())
        for name, value in first.tensors().items():
            torch.testing.assert_close(second.tensors()[name], value)

    def test_a_checkpoint_of_another_robot_is_refused(self, go2, tmp_path):
        small_train(go2, tmp_path, iterations=1)
        other = load_robot(__file__.replace("test_learn.py", "robots/hexapod"))
        with pytest.raises(SurefootError, match=r"another robot.*--fresh"):
            small_train(other, tmp_path)

    def test_a_checkpoint_of_another_setting_is_refused_and_fresh_starts_over(self, go2, tmp_path):
        small_train(go2, tmp_path, iterations=1)
        with pytest.raises(SurefootError, match="another seed"):
            small_train(go2, tmp_path, seed=5)
        small_train(go2, tmp_path, iterations=1, seed=5, fresh=True)

    def test_a_broken_checkpoint_is_refused(self, go2, tmp_path):
        (tmp_path / "checkpoint.safetensors").write_bytes(b"not a checkpoint")
        with pytest.raises(SurefootError, match="not a checkpoint that can be read"):
            small_train(go2, tmp_path)

    def test_a_robot_whose_start_pose_falls_is_refused(self, go2, tmp_path):
        import shutil

        folder = tmp_path / "tall"
        shutil.copytree(go2.path.parent, folder)
        text = (folder / "robot.yaml").read_text().replace("kp_nm_per_rad: 25.0", "kp_nm_per_rad: 0.5")
        (folder / "robot.yaml").write_text(text)
        with pytest.raises(SurefootError, match="falls from its start pose"):
            small_train(load_robot(folder), tmp_path / "out")

    def test_a_full_disk_keeps_the_last_checkpoint(self, go2, tmp_path):
        small_train(go2, tmp_path, iterations=1)
        kept = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # longer files fail as they do on a full disk
        try:
            with pytest.raises(SurefootError, match="File too large; nothing was changed"):
                small_train(go2, tmp_path, iterations=2)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == kept

    def test_an_unwritable_folder_is_refused(self, go2, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(SurefootError, match="is a file, not a folder"):
            small_train(go2, tmp_path / "file" / "out")
