"""Trim: a policy's lasting errors, measured in worlds and folded into its network."""

import json
from dataclasses import replace

import numpy as np
import onnx
import pytest
from policy_files import layers
from test_finetune import SMALL, adapted, by_type, policy_of

from surefoot.errors import FitError
from surefoot.learn import trim as module
from surefoot.learn.finetune import finetune
from surefoot.learn.import_policy import import_policy, read_chain
from surefoot.learn.loop import Length
from surefoot.learn.network import Chain, write_chain
from surefoot.learn.task import walk
from surefoot.learn.trim import folded, trim
from surefoot.policy import OnnxPolicy
from surefoot.policy.agents import PolicyAgent
from surefoot.policy.observation import Observer
from surefoot.robot.contract import Term
from surefoot.sim import Worlds

TABLE = np.array([[0.1, -0.05, 0.02], [0.2, 0.03, -0.1], [0.0, -0.15, 0.05], [0.01, 0.02, 0.3]])


def answering(monkeypatch, answer, falls=lambda heard: np.zeros(len(heard), bool)):
    """Robots whose velocity is a function of what they hear, without a simulator; `answer` takes (told, heard)."""

    def error(robot, policy, worlds, command, heard, seconds):
        return np.where(falls(heard)[:, None], np.nan, command - answer(command, heard))

    monkeypatch.setattr(module, "_lasting_error", error)


def trimmed(go2):
    return trim(go2, None, lambda n, seed: None, 4.0)


class TestWhatIsFound:
    def test_a_linear_answer_is_taken_out_whole(self, go2, monkeypatch):
        gain, pull = np.array([[0.9, 0.05, 0.0], [0.0, 1.1, -0.05], [0.02, 0.0, 0.95]]), np.array([0.005, 0.01, -0.005])
        answering(monkeypatch, lambda told, heard: heard @ gain + pull)
        found = trimmed(go2)
        assert found.reason == ""
        np.testing.assert_allclose((np.eye(3) + found.table[1:]) @ gain, np.eye(3), atol=0.02)
        assert found.after_m_s < 0.1 * found.before_m_s
        assert "falls from" in found.says

    def test_what_makes_a_robot_creep_that_is_told_to_stand_is_left_out(self, go2, monkeypatch):
        answering(monkeypatch, lambda told, heard: np.where(told.any(axis=1, keepdims=True), 0.8 * heard - [0.1, 0, 0], 1.0 * heard))
        found = trimmed(go2)
        assert found.reason == ""
        assert not found.table[0].any()
        assert found.table[1, 0] > 0.15

    def test_no_command_is_changed_by_more_than_half(self, go2, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.3 * heard)
        found = trimmed(go2)
        largest = np.abs(go2.contract.command_range).max(axis=1)
        assert (np.abs(found.table[0]) + largest @ np.abs(found.table[1:]) <= 0.5 * largest + 1e-9).all()
        assert found.table[1, 0] > 0.4

    def test_an_axis_without_commands_hears_none(self, go2, monkeypatch):
        contract = replace(go2.contract, command_range=((-1.0, 1.0), (0.0, 0.0), (-1.0, 1.0)))
        answering(monkeypatch, lambda told, heard: 0.9 * heard + [0.0, 0.05, 0.0])
        assert not trim(replace(go2, contract=contract), None, lambda n, seed: None, 4.0).table[:, 1].any()

    @pytest.mark.parametrize(
        ("answer", "falls", "reason"),
        [
            (lambda told, heard: heard, lambda heard: np.arange(len(heard)) % 2 == 0, "64 of 128 fell"),
            (lambda told, heard: 0.5 * heard, lambda heard: heard[:, 0] > 1.3, "fell with it, 0 without"),
            (lambda told, heard: np.add(told, [0.0, 0.1, 0.0]), lambda heard: np.zeros(len(heard), bool), "would go from 0.100 to 0.100"),
            (
                lambda told, heard: np.where(told.any(axis=1, keepdims=True), told, 9 * heard),
                lambda heard: np.zeros(len(heard), bool),
                "would go",
            ),
        ],
    )
    def test_a_policy_that_gains_nothing_is_left_alone(self, go2, monkeypatch, answer, falls, reason):
        answering(monkeypatch, answer, falls)
        found = trimmed(go2)
        assert reason in found.reason
        assert reason in found.says
        assert not found.table.any()

    def test_one_that_hears_no_command_too(self, go2):
        deaf = replace(go2, contract=replace(go2.contract, observation=(Term("gyro"), Term("joint_position"))))
        assert "hears no command" in trim(deaf, None, lambda n, seed: None, 4.0).says


class TestFolding:
    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize("history", [1, 3])
    def test_the_network_acts_as_the_old_one_on_the_corrected_command(self, go2, tmp_path, normalized, history):
        terms = tuple(replace(term, history=history, scale=1.7) if term.name == "command" else term for term in go2.contract.observation)
        contract, rng = replace(go2.contract, observation=terms), np.random.default_rng(0)
        size = contract.observation_size
        scale, offset = (rng.uniform(0.5, 2, size), rng.standard_normal(size)) if normalized else (None, None)
        chain = Chain(scale, offset, tuple(layers(contract)), (None, None, None))
        robot, command = replace(go2, contract=contract), rng.uniform(-1, 1, (5, 3))
        old, new = (Observer(contract, 5) for _ in range(2))
        worlds = Worlds(go2, 5, threads=1)
        heard = command + np.column_stack([np.ones(5), command]) @ TABLE
        for k, one in enumerate((chain, folded(chain, contract, TABLE))):
            write_chain(tmp_path / f"{k}.onnx", robot.contract, one, {})
        for _ in range(2):
            before = OnnxPolicy.load(tmp_path / "0.onnx").run(old.observe(worlds.sensors, heard, np.zeros((5, 12))))
            after = OnnxPolicy.load(tmp_path / "1.onnx").run(new.observe(worlds.sensors, command, np.zeros((5, 12))))
            np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-4)

    def test_a_policy_that_mishears_is_put_right(self, go2, tmp_path, monkeypatch):
        """The shipped policy, with an error folded in, in the simulator that it was trained in."""
        monkeypatch.setattr(module, "WALKING", 28)
        monkeypatch.setattr(module, "STANDING", 4)
        shipped = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx")
        wrong = np.zeros((4, 3))
        wrong[1, 0], wrong[1, 2], wrong[3, 2] = -0.3, 0.15, 0.2  # too slow, turning as it walks, turning too fast
        path = tmp_path / "wrong.onnx"
        chain = import_policy(shipped, (8,)).chain
        write_chain(path, go2.contract, folded(chain, go2.contract, wrong), {})
        found = trim(go2, OnnxPolicy.load(path), lambda n, seed: Worlds(go2, n, seed=seed), 2.0)
        assert found.reason == ""
        assert found.after_m_s < 0.4 * found.before_m_s
        assert found.table[1, 0] > 0.2
        assert found.table[1, 2] < -0.08


class TestInFineTuning:
    def test_zero_iterations_only_trim(self, go2, tmp_path, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.8 * heard)
        old, said = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx"), []
        path = finetune(go2, old, by_type(go2), walk(go2), tmp_path, length=Length(0), settings=replace(SMALL, trim_s=4.0), say=said.append)
        noted = json.loads(next(entry.value for entry in onnx.load(path).metadata_props if entry.key == "surefoot.trim"))
        np.testing.assert_allclose(np.diag(np.array(noted["table"])[1:]), 0.25, atol=0.02)
        assert sum("trimmed" in line for line in said) == 1
        command, worlds = np.array([[0.4, 0.1, -0.2]]), Worlds(go2, 1, threads=1)
        heard = command + np.column_stack([np.ones(1), command]) @ np.array(noted["table"])
        acts = [PolicyAgent(policy, go2, 1).act(worlds.sensors, said) for policy, said in ((OnnxPolicy.load(path), command), (old, heard))]
        np.testing.assert_allclose(*acts, atol=1e-5)

    def test_training_begins_from_the_trimmed_policy_and_is_trimmed_again(self, go2, tmp_path, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.8 * heard)
        shipped, said, shown = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx"), [], []
        options = {"settings": replace(SMALL, trim_s=4.0), "say": said.append, "show": shown.append}
        path = finetune(go2, shipped, by_type(go2), walk(go2), tmp_path / "one", length=Length(1), **options)
        assert [line.split(",")[0] for line in said if "trimmed" in line] == ["the policy to begin with", "the trained policy"]
        assert shown[0].off_old < 1e-6  # the critic learns alone, from actions of the trimmed policy
        once = path.read_bytes()
        finetune(go2, shipped, by_type(go2), walk(go2), tmp_path / "one", length=Length(1), **options)
        assert path.read_bytes() == once  # not trimmed twice
        chains = [read_chain(onnx.load(one)) for one in (path, shipped.name)]
        ratio = [np.linalg.norm(chain.layers[0][0], axis=1) for chain in chains]
        hears = ratio[0] / ratio[1]
        assert (np.abs(hears - 1.25**2) < 0.1).sum() == 3  # corrected twice by a fifth: the answer here is the same after training

    def test_a_policy_to_be_copied_is_not_only_trimmed(self, go2, tmp_path):
        source = onnx.load(policy_of(go2, tmp_path).name)
        source.graph.node.append(onnx.helper.make_node("Abs", ["action"], ["size"]))
        source.graph.output[0].name = "size"
        onnx.save(source, tmp_path / "abs.onnx")
        with pytest.raises(FitError, match="has to be copied"):
            finetune(
                go2, OnnxPolicy.load(tmp_path / "abs.onnx"), adapted(go2, {}), walk(go2), tmp_path / "out", length=Length(0),
                settings=replace(SMALL, trim_s=4.0),
            )  # fmt: skip
