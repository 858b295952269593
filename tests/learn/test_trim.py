"""Trim: a policy's lasting errors, measured in worlds and folded into its network."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from support.finetuning import SMALL, adapted, by_type, policy_of
from support.policy_files import layers

from surefoot.errors import FineTuneError
from surefoot.learn import mean_velocity as walks
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


def nobody(heard):
    return np.zeros(len(heard), bool)


def answering(monkeypatch, answer, falls=nobody):
    """Robots whose velocity is a function of what they hear, without a simulator; `answer` takes (told, heard)."""

    def error(robot, policy, worlds, command, seconds, tables):
        heard = heard_through(command, tables)
        return np.where(falls(heard)[:, None], np.nan, command - answer(command, heard))

    monkeypatch.setattr(module, "_lasting_error", error)


def heard_through(command, table):
    """The definition, in other words than those of the module."""
    return np.array(
        [
            c + np.concatenate([[1.0], c]) @ t
            for c, t in zip(command, np.broadcast_to(table, (len(command), 4, 3)), strict=True)
        ]
    )


def trimmed(robot):
    return trim(robot, None, lambda n, seed, noise_period: None, 4.0)


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
        answering(
            monkeypatch,
            lambda told, heard: np.where(told.any(axis=1, keepdims=True), 0.8 * heard - [0.1, 0, 0], 1.0 * heard),
        )
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
        found = trimmed(replace(go2, contract=contract))
        assert found.reason == ""
        assert found.table[1, 0] == pytest.approx(0.11, abs=0.01)
        assert not found.table[:, 1].any()

    @pytest.mark.parametrize(
        ("answer", "falls", "reason"),
        [
            (lambda told, heard: heard, lambda heard: np.arange(len(heard)) % 2 == 0, "64 of 128 fell"),
            (lambda told, heard: 0.5 * heard, lambda heard: heard[:, 0] > 1.05, "fell with it"),
            (lambda told, heard: 0.5 * heard, lambda heard: heard[:, 0] > 1.3, "fell with it, 0 without"),
            (lambda told, heard: np.add(told, [0.0, 0.1, 0.0]), nobody, "would go from 0.100 to 0.100"),
            (
                lambda told, heard: told + 0.02 * np.random.default_rng(len(told)).standard_normal(told.shape),
                nobody,
                "may be chance",
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
        assert "hears no command" in trimmed(deaf).says

    def test_one_more_fall_may_be_chance(self, go2, monkeypatch):
        fell = iter([(), (), (130,), (), (), (3, 130, 131)])
        for _ in range(2):
            answering(
                monkeypatch, lambda told, heard: 0.8 * heard, lambda heard: np.isin(np.arange(len(heard)), next(fell))
            )
            assert trimmed(go2).reason == ""


class TestFolding:
    @pytest.mark.parametrize("normalized", [False, True])
    @pytest.mark.parametrize("history", [1, 3])
    def test_the_network_acts_as_the_old_one_on_the_corrected_command(self, go2, tmp_path, normalized, history):
        terms = tuple(
            replace(term, history=history, scale=1.7) if term.name == "command" else term
            for term in go2.contract.observation
        )
        contract, rng = replace(go2.contract, observation=terms), np.random.default_rng(0)
        size = contract.observation_size
        scale, offset = (rng.uniform(0.5, 2, size), rng.standard_normal(size)) if normalized else (None, None)
        if normalized:  # deaf to the whole observation's first number, and to the command's second
            start = sum(
                term.history * contract.width(term) for term in terms[: [term.name for term in terms].index("command")]
            )
            scale[[0, start + 1]] = 0.0
        chain = Chain(scale, offset, tuple(layers(contract)), (None, None, None))
        old, new = (Observer(contract, 5) for _ in range(2))
        worlds = Worlds(go2, 5, threads=1)
        for k, one in enumerate((chain, folded(chain, contract, TABLE))):
            write_chain(tmp_path / f"{k}.onnx", contract, one, {})
        for _ in range(4):  # the command changes, so that the frames of a history differ
            command = rng.uniform(-1, 1, (5, 3))
            before = OnnxPolicy.load(tmp_path / "0.onnx").run(
                old.observe(worlds.sensors, heard_through(command, TABLE), np.zeros((5, 12)))
            )
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
        found = trim(
            go2, OnnxPolicy.load(path), lambda n, seed, period: Worlds(go2, n, seed=seed, noise_period=period), 2.0
        )
        assert found.reason == ""
        assert found.after_m_s < 0.4 * found.before_m_s
        assert found.table[1, 0] > 0.2
        assert found.table[1, 2] < -0.08


class TestWalking:
    def test_who_falls_does_not_count(self, go2, tmp_path):
        """One of two robots hears a command that throws it over."""
        write_chain(tmp_path / "stiff.onnx", go2.contract, standing(go2.contract), {})
        tables = np.zeros((2, 4, 3))
        tables[1, 0] = 9.0
        error = module._lasting_error(
            go2, OnnxPolicy.load(tmp_path / "stiff.onnx"), Worlds(go2, 2), np.zeros((2, 3)), 2.0, tables
        )
        assert np.isnan(error[1]).all()
        assert np.abs(error[0]).max() < 0.1

    def test_one_that_has_to_rise_hears_the_table_while_it_does(self, go2, monkeypatch):
        heard = []

        class Agent:
            def __init__(self, policy, robot, n):
                self.n = n

            def reset(self, ids):
                pass

            def act(self, sensors, command):
                heard.append(command.copy())
                return np.zeros((self.n, 12))

        monkeypatch.setattr(walks, "PolicyAgent", Agent)
        rising = replace(go2, posture=replace(go2.posture, name="late", rise_s=0.2))
        module._lasting_error(rising, None, Worlds(go2, 1), np.array([[1.0, 0.0, 0.0]]), 0.1, TABLE[None])
        assert len(heard) == 15
        np.testing.assert_allclose(heard[:10], np.tile(TABLE[0], (10, 1, 1)))
        np.testing.assert_allclose(heard[10:], np.tile([1, 0, 0] + TABLE[0] + TABLE[1], (5, 1, 1)))


def standing(contract) -> Chain:
    """Holds the default pose, but swings all hips to one side and folds the legs there with the command's
    first number.
    """
    weights = np.zeros((contract.observation_size, contract.n_joints))
    start = 0
    for term in contract.observation:
        if term.name == "command":
            weights[start, ::3] = 1.0
            weights[start, [2, 8]] = -1.0
        start += term.history * contract.width(term)
    return Chain(None, None, ((weights, np.zeros(contract.n_joints)),), (None,))


class TestInFineTuning:
    def test_zero_iterations_only_trim(self, go2, tmp_path, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.8 * heard)
        old, said = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx"), []
        path = finetune(
            go2,
            old,
            by_type(go2),
            walk(go2),
            tmp_path,
            length=Length(0),
            settings=replace(SMALL, trim_s=4.0),
            say=said.append,
        )
        noted = json.loads(
            next(entry.value for entry in onnx.load(path).metadata_props if entry.key == "surefoot.trim")
        )
        table = np.array(noted["old"]["table"])
        np.testing.assert_allclose(np.diag(table[1:]), 0.25, atol=0.02)
        assert sum("trimmed" in line for line in said) == 1
        command, worlds = np.array([[0.4, 0.1, -0.2]]), Worlds(go2, 1, threads=1)
        heard = heard_through(command, table)
        new_act, old_act = (
            PolicyAgent(policy, go2, 1).act(worlds.sensors, said)
            for policy, said in ((OnnxPolicy.load(path), command), (old, heard))
        )
        np.testing.assert_allclose(new_act, old_act, atol=1e-5)

    def test_training_begins_from_the_trimmed_policy_and_is_trimmed_again(self, go2, tmp_path, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.8 * heard)
        shipped, said, shown = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx"), [], []
        options: dict[str, Any] = {"settings": replace(SMALL, trim_s=4.0), "say": said.append, "show": shown.append}
        path = finetune(go2, shipped, by_type(go2), walk(go2), tmp_path / "one", length=Length(1), **options)
        assert [line.split(",")[0] for line in said if "trimmed" in line] == ["the old policy", "the new policy"]
        assert shown[0].off_old < 1e-6  # the critic learns alone, from actions of the trimmed policy
        once = path.read_bytes()
        finetune(go2, shipped, by_type(go2), walk(go2), tmp_path / "one", length=Length(1), **options)
        assert path.read_bytes() == once  # not trimmed twice
        chains = [read_chain(onnx.load(one)) for one in (path, shipped.name)]
        ratio = [np.linalg.norm(chain.layers[0][0], axis=1) for chain in chains]
        hears = ratio[0] / ratio[1]
        assert (
            np.abs(hears - 1.25**2) < 0.1
        ).sum() == 3  # corrected twice by a fifth: the answer here is the same after training

    def test_what_was_only_trimmed_is_nothing_to_go_on_from(self, go2, folder, tmp_path, monkeypatch):
        answering(monkeypatch, lambda told, heard: 0.8 * heard)
        policy, settings = policy_of(go2, folder), replace(SMALL, trim_s=4.0)
        paths = []
        for name, lengths in (("at once", (1,)), ("trim first", (0, 1))):
            for length in lengths:
                paths.append(
                    finetune(
                        go2, policy, by_type(go2), walk(go2), tmp_path / name, length=Length(length), settings=settings
                    )
                )
        assert paths[0].read_bytes() == paths[-1].read_bytes()

    def test_a_restart_that_is_killed_while_it_trims_does_not_bring_the_old_run_back(
        self, go2, folder, tmp_path, monkeypatch
    ):
        def killed(*_):
            raise KeyboardInterrupt

        policy = policy_of(go2, folder)
        finetune(go2, policy, by_type(go2), walk(go2), tmp_path, length=Length(1), settings=SMALL)
        monkeypatch.setattr(module, "_lasting_error", killed)
        with pytest.raises(KeyboardInterrupt):
            finetune(
                go2,
                policy,
                by_type(go2),
                walk(go2),
                tmp_path,
                length=Length(1),
                settings=replace(SMALL, trim_s=4.0),
                restart=True,
            )
        assert not (tmp_path / "checkpoint.safetensors").exists()

    def test_the_task_says_what_is_commanded(self, go2, folder, tmp_path, monkeypatch):
        seen = []

        def error(robot, policy, worlds, command, seconds, tables):
            seen.append(command)
            return 0.1 * command

        monkeypatch.setattr(module, "_lasting_error", error)
        task = replace(walk(go2), command_range=((-0.2, 0.4), (0.0, 0.0), (-0.3, 0.3)))
        finetune(
            go2,
            policy_of(go2, folder),
            by_type(go2),
            task,
            tmp_path,
            length=Length(0),
            settings=replace(SMALL, trim_s=4.0),
        )
        commands = np.concatenate(seen)
        assert commands[:, 0].min() < -0.15
        assert 0.3 < commands[:, 0].max() <= 0.4
        assert not commands[:, 1].any()

    @pytest.mark.parametrize("length", [Length(), Length(-5), Length(seconds=0.0)])
    def test_a_length_of_nothing_is_refused_where_zero_iterations_were_not_asked_for(
        self, go2, folder, tmp_path, length
    ):
        with pytest.raises(FineTuneError, match="0 iterations only trim"):
            finetune(
                go2,
                policy_of(go2, folder),
                by_type(go2),
                walk(go2),
                tmp_path,
                length=length,
                settings=replace(SMALL, trim_s=4.0),
            )

    def test_a_policy_to_be_copied_is_not_only_trimmed(self, go2, tmp_path):
        source = onnx.load(policy_of(go2, tmp_path).name)
        source.graph.node.append(onnx.helper.make_node("Abs", ["action"], ["size"]))
        source.graph.output[0].name = "size"
        onnx.save(source, tmp_path / "abs.onnx")
        with pytest.raises(FineTuneError, match="has to be copied"):
            finetune(
                go2,
                OnnxPolicy.load(tmp_path / "abs.onnx"),
                adapted(go2, {}),
                walk(go2),
                tmp_path / "out",
                length=Length(0),
                settings=replace(SMALL, trim_s=4.0),
            )
