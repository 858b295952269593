"""Training: its files, resuming, and what is refused. Learning itself is measured in bench/."""

import json
import resource

import numpy as np
import pytest
import torch
from support.models import reframed
from support.robot_files import HEXAPOD
from support.training import SMALL, small_train

from surefoot.errors import SurefootError
from surefoot.learn import checkpoint
from surefoot.learn.env import WalkEnv
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.task import walk
from surefoot.learn.train import TrainingProgress, train
from surefoot.policy import OnnxPolicy
from surefoot.robot import load_robot


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
        other = load_robot(HEXAPOD)
        with pytest.raises(SurefootError, match=r"another robot.*start over$") as error:
            small_train(other, tmp_path)
        assert error.value.argument == "restart"

    def test_a_checkpoint_of_another_setting_is_refused_and_restart_starts_over(self, go2, tmp_path):
        small_train(go2, tmp_path, iterations=1)
        with pytest.raises(SurefootError, match="another seed"):
            small_train(go2, tmp_path, seed=5)
        small_train(go2, tmp_path, iterations=1, seed=5, restart=True)

    def test_what_was_to_be_forgotten_is_not_continued_after_a_kill(self, go2, tmp_path, monkeypatch):
        """Killed before its own first checkpoint, the next run begins anew."""
        small_train(go2, tmp_path, iterations=1)

        def killed(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("surefoot.learn.train.WalkEnv", killed)
            with pytest.raises(KeyboardInterrupt):
                small_train(go2, tmp_path, iterations=1, restart=True)
        assert not (tmp_path / "checkpoint.safetensors").exists()

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

    @pytest.mark.parametrize("origin_m", [0.01, -0.1])
    def test_a_robot_whose_frame_lies_at_the_floor_stands_and_learns(self, robot, tmp_path, origin_m):
        other = reframed(tmp_path / "other", robot, up_m=origin_m - robot.base_height_m)
        small_train(other, tmp_path / "out", iterations=1)
        env = WalkEnv(other, walk(other), 8, seed=0)
        for _ in range(25):
            _, _, done, extras = env.step(torch.zeros(8, other.contract.n_joints))
            assert not (done.bool() & ~extras["time_outs"].bool()).any()

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
