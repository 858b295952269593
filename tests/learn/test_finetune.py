"""Fine-tuning in the simulator that a fit found: what is mirrored, what holds the policy, and resuming."""

import json
import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.finetuning import SMALL, by_type, one_sided, policy_of
from support.robot_files import HEXAPOD

from surefoot.errors import FineTuneError, FitError, PolicyError, SurefootError
from surefoot.learn import checkpoint
from surefoot.learn.env import WalkEnv
from surefoot.learn.finetune import finetune, plan, ppo_settings
from surefoot.learn.import_policy import import_policy
from surefoot.learn.loop import Length
from surefoot.learn.ppo import Anchor, Learner
from surefoot.learn.task import walk
from surefoot.policy import OnnxPolicy
from surefoot.robot import load_robot


def small(robot, folder, out, iterations=2, adaptation=None, settings=SMALL, seed_of_policy=0, **options):
    policy = policy_of(robot, folder, seed_of_policy)
    return finetune(
        robot,
        policy,
        adaptation or by_type(robot),
        walk(robot),
        out,
        length=Length(iterations),
        settings=settings,
        **options,
    )


class TestSymmetry:
    def test_an_asymmetric_adaptation_turns_mirrored_samples_off(self, go2, folder, tmp_path):
        for name, adaptation, mirrored in (("same", by_type(go2), True), ("other", one_sided(go2), False)):
            said: list[str] = []
            small(go2, folder, tmp_path / name, 1, adaptation, say=said.append)
            config = json.loads((tmp_path / name / "config.json").read_text())
            assert config["ppo"]["symmetry"] is config["provenance"]["mirrored"] is mirrored
            assert sum("mirrored samples" in line for line in said) == 1
        assert any("no mirrored samples" in line and go2.contract.joints[0] in line for line in said)

    def test_switched_off_by_hand(self, go2, folder):
        found = plan(go2, policy_of(go2, folder), by_type(go2), walk(go2), replace(SMALL, mirrored=False))
        assert any("switched off" in line for line in found.says)


class TestFineTuning:
    def test_the_result_is_a_folder_with_everything(self, robot, folder, tmp_path):
        shown, said = [], []
        path = small(robot, folder, tmp_path, show=shown.append, say=said.append)
        policy = OnnxPolicy.load(path)
        policy.refuse_mismatch(robot.contract)
        config = json.loads((tmp_path / "config.json").read_text())
        assert config["policy"] == policy_of(robot, folder).hash
        assert len(config["adaptation"]) == 64
        assert config["provenance"]["drawn"]["delay_s"] == pytest.approx([0.0025, 0.0055])
        assert json.loads(policy.metadata["surefoot.training"]) == config
        assert [p.iteration for p in shown] == [1, 2]
        assert said[0].startswith("the policy's own network")

    def test_it_begins_as_the_old_policy(self, go2, folder, tmp_path):
        """While the critic learns alone nothing has changed, and the exploration is small."""
        shown = []
        path = small(go2, folder, tmp_path, 1, show=shown.append)
        seen = np.random.default_rng(0).normal(size=(100, go2.contract.observation_size)).astype(np.float32)
        np.testing.assert_allclose(OnnxPolicy.load(path).run(seen), policy_of(go2, folder).run(seen), atol=1e-5)
        assert shown[0].off_old < 1e-6
        assert shown[0].action_std == pytest.approx(SMALL.start_std)

    def test_a_critic_that_learns_alone_begins_at_the_height_of_its_values(self, go2):
        env = WalkEnv(go2, walk(go2), 8)
        settings = ppo_settings(SMALL, mirrored=False)
        learner = Learner(
            env.get_observations(), 12, settings, None, anchor=Anchor(lambda obs: torch.zeros(len(obs), 12), 0.2)
        )
        obs = env.get_observations()
        with torch.inference_mode():
            before = learner.critic(obs).mean()
            for _ in range(settings.steps):
                obs, reward, done, extras = env.step(learner.act(obs))
                learner.ppo.process_env_step(obs, reward, done, extras)
            raw = learner.ppo.storage.values.mean()
            learner.compute_returns(obs, critic_only=True)
            after = learner.critic(env.get_observations()).mean()
        height = float(learner.ppo.storage.rewards.mean()) / (1 - settings.gamma)
        assert float(learner.ppo.storage.values.mean()) == pytest.approx(height, rel=1e-4)
        assert float(after - before) == pytest.approx(height - float(raw), abs=0.2)

    def test_then_the_actor_moves_with_its_own_rate(self, go2, folder, tmp_path, monkeypatch):
        rates, shown = [], []
        update = Learner.update
        monkeypatch.setattr(
            Learner, "update", lambda self, only: (rates.append(self.ppo.learning_rate), update(self, only))
        )
        small(go2, folder, tmp_path, 2, show=shown.append)
        assert rates == [SMALL.critic_rate, SMALL.actor_rate]
        assert shown[1].off_old > 1e-5

    def test_an_anchor_holds(self, go2, folder, tmp_path):
        ends = {}
        for weight in (0.0, 30.0):
            settings = replace(
                SMALL, anchor=weight, anchor_end=1.0, desired_kl=1e-9
            )  # the rate soon is the lowest one, with and without
            shown = []
            small(
                go2, folder, tmp_path / str(weight), 6, settings=replace(settings, actor_rate=1e-3), show=shown.append
            )
            ends[weight] = shown[-1].off_old
        assert ends[30.0] < 0.6 * ends[0.0]

    def test_the_anchor_is_let_go(self, go2, folder, tmp_path, monkeypatch):
        weights = []
        update = Learner.update
        monkeypatch.setattr(
            Learner, "update", lambda self, only: (weights.append(self.anchor.mirror_loss_coeff), update(self, only))
        )
        small(go2, folder, tmp_path, 4, settings=replace(SMALL, anchor=0.4, anchor_end=0.5))
        assert weights == pytest.approx([0.4, 0.35, 0.3, 0.25])

    def test_what_is_written_is_the_mean_of_the_last_updates(self, go2, folder, tmp_path, monkeypatch):
        seen: list[torch.Tensor] = []
        update = Learner.update

        def watched(self, only):
            update(self, only)
            seen.append(next(self.actor.mlp.parameters()).detach().clone())

        monkeypatch.setattr(Learner, "update", watched)
        path = small(go2, folder, tmp_path, 4, settings=replace(SMALL, average=10))
        learned = torch.stack(seen[SMALL.critic_first :])
        assert len(learned) == 3
        assert (learned[2] - learned[0]).abs().max() > 1e-5
        written = next(import_policy(OnnxPolicy.load(path), SMALL.hidden).chain.module().parameters())
        torch.testing.assert_close(written, learned.mean(dim=0), atol=1e-6, rtol=1e-5)

    def test_the_same_seed_gives_the_same_policy(self, go2, folder, tmp_path):
        one, two, other = (
            small(go2, folder, tmp_path / name, seed=seed) for name, seed in (("1", 0), ("2", 0), ("3", 1))
        )
        assert one.read_bytes() == two.read_bytes()
        assert one.read_bytes() != other.read_bytes()

    def test_a_policy_that_is_no_chain_is_copied_first(self, go2, folder, tmp_path, monkeypatch):
        import onnx

        monkeypatch.setattr("surefoot.learn.import_policy.TICKS", 5)
        monkeypatch.setattr("surefoot.learn.import_policy.EPOCHS", 1)
        source = onnx.load(policy_of(go2, folder).name)
        source.graph.node.append(onnx.helper.make_node("Abs", ["action"], ["size"]))
        source.graph.output[0].name = "size"
        onnx.save(source, tmp_path / "abs.onnx")
        said, shown = [], []
        options: dict[str, Any] = {"length": Length(1), "settings": SMALL, "say": said.append, "show": shown.append}
        path = finetune(
            go2, OnnxPolicy.load(tmp_path / "abs.onnx"), by_type(go2), walk(go2), tmp_path / "out", **options
        )
        assert "copies the policy" in said[0]
        assert "Abs" in said[0]
        assert any("robot minutes" in line for line in said)
        assert shown[0].off_old > 1e-3  # held to the policy itself, not to the copy
        first = onnx.load(path).graph
        assert [node.op_type for node in first.node] == ["Mul", "Add", "Gemm", "Relu", "Gemm"]
        before = path.read_bytes()
        said.clear()
        finetune(go2, OnnxPolicy.load(tmp_path / "abs.onnx"), by_type(go2), walk(go2), tmp_path / "out", **options)
        assert not any("robot minutes" in line for line in said)  # what was copied is in the checkpoint
        assert path.read_bytes() == before
        finetune(
            go2,
            OnnxPolicy.load(tmp_path / "abs.onnx"),
            by_type(go2),
            walk(go2),
            tmp_path / "out",
            **options | {"length": Length(3)},
        )
        scales = [onnx.numpy_helper.to_array(graph.initializer[0]) for graph in (first, onnx.load(path).graph)]
        assert np.ptp(scales[0]) > 0
        np.testing.assert_array_equal(*scales)  # the mean of several updates has the normalizer of each


class TestResuming:
    def test_the_same_call_continues(self, go2, folder, tmp_path):
        small(go2, folder, tmp_path, 2)
        shown = []
        small(go2, folder, tmp_path, 3, show=shown.append)
        assert [p.iteration for p in shown] == [3]
        before = (tmp_path / "policy.onnx").read_bytes()
        small(go2, folder, tmp_path, 3)
        assert (tmp_path / "policy.onnx").read_bytes() == before

    def test_after_a_kill_it_goes_on_from_the_last_checkpoint(self, go2, folder, tmp_path):
        """What is on the disk in the middle of a run is all that a killed process leaves."""

        def keep(progress, written):
            if progress.iteration == 2:
                written()
                shutil.copytree(tmp_path / "run", tmp_path / "killed")

        small(go2, folder, tmp_path / "run", 4, inspect=keep)
        shown = []
        small(go2, folder, tmp_path / "killed", 4, show=shown.append)
        assert [p.iteration for p in shown] == [3, 4]
        _, state = checkpoint.load(tmp_path / "killed" / "checkpoint.safetensors")
        assert (state["iteration"], state["runs"]) == (4, 2)

    def test_a_time_counts_over_all_runs(self, go2, folder, tmp_path):
        policy, adaptation = policy_of(go2, folder), by_type(go2)

        def run(seconds):
            shown = []
            finetune(
                go2,
                policy,
                adaptation,
                walk(go2),
                tmp_path,
                length=Length(seconds=seconds),
                settings=SMALL,
                show=shown.append,
            )
            return shown

        assert run(1e-4)[-1].iteration == 1  # one iteration takes longer
        assert run(1e-4) == []
        _, state = checkpoint.load(tmp_path / "checkpoint.safetensors")
        assert run(state["elapsed_s"] + 0.3)[0].iteration == 2

    @pytest.mark.parametrize(
        ("what", "says"),
        [
            ({"adaptation": 0.4}, "another adaptation"),
            ({"seed_of_policy": 1}, "another policy"),
            ({"settings": replace(SMALL, anchor=0.7)}, "another finetune.anchor"),
            ({"seed": 3}, "another seed"),
        ],
    )
    def test_another_job_in_the_same_folder_is_refused_unless_it_restarts(self, go2, folder, tmp_path, what, says):
        if "adaptation" in what:
            what = {"adaptation": by_type(go2, what["adaptation"])}
        small(go2, folder, tmp_path, 1)
        with pytest.raises(SurefootError, match=f"{says}.*or start over") as caught:
            small(go2, folder, tmp_path, 1, **what)
        assert caught.value.argument == "restart"
        small(go2, folder, tmp_path, 1, restart=True, **what)

    def test_a_restart_that_is_killed_at_once_does_not_bring_the_old_run_back(self, go2, folder, tmp_path, monkeypatch):
        small(go2, folder, tmp_path, 1)
        monkeypatch.setattr("surefoot.learn.finetune.learn", lambda *_, **__: None)
        small(go2, folder, tmp_path, 1, restart=True)
        assert not (tmp_path / "checkpoint.safetensors").exists()

    def test_a_broken_checkpoint_is_refused(self, go2, folder, tmp_path):
        (tmp_path / "checkpoint.safetensors").write_bytes(b"not one")
        with pytest.raises(SurefootError, match=r"not a checkpoint.*or start over") as caught:
            small(go2, folder, tmp_path)
        assert caught.value.argument == "restart"


class TestRefused:
    def test_a_policy_of_another_contract(self, go2, folder, tmp_path):
        other = replace(go2, contract=replace(go2.contract, kp_nm_per_rad=(30.0,) * 12))
        policy = policy_of(go2, folder)
        with pytest.raises(PolicyError, match="made for another robot"):
            finetune(other, policy, by_type(go2), walk(go2), tmp_path, length=Length(1), settings=SMALL)

    def test_an_adaptation_of_another_robot(self, go2, folder, tmp_path):
        hexapod = load_robot(HEXAPOD)
        with pytest.raises(FitError, match="fitted to another hexapod"):
            small(go2, folder, tmp_path, adaptation=by_type(hexapod))

    @pytest.mark.parametrize(
        "value", [{"spread": -1.0}, {"anchor": float("nan")}, {"anchor_end": 2.0}, {"start_std": 0.0}]
    )
    def test_settings_out_of_range(self, go2, folder, tmp_path, value):
        with pytest.raises(FineTuneError, match=f"{next(iter(value))} is .*must be between"):
            small(go2, folder, tmp_path, settings=replace(SMALL, **value))

    def test_no_time_at_all(self, go2, folder, tmp_path):
        with pytest.raises(FineTuneError, match="at least one iteration"):
            small(go2, folder, tmp_path, 0)
