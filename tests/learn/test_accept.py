"""Which policy fine-tuning keeps: the trained one, unless it falls or strays more than the one that it began from."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from support.finetuning import SMALL, by_type, policy_of

from surefoot.learn import accept as module
from surefoot.learn.accept import choose, judged
from surefoot.learn.finetune import finetune
from surefoot.learn.import_policy import read_chain
from surefoot.learn.loop import Length
from surefoot.learn.network import write_chain
from surefoot.learn.task import walk
from surefoot.policy import OnnxPolicy
from surefoot.sim import Worlds

N = 60


def told(n=N):
    return np.random.default_rng(0).uniform(-0.5, 0.5, (3, n, 3))


def off_by(command, mean, scatter=0.0, seed=1):
    """Velocities that are off forward."""
    error = np.zeros_like(command)
    error[..., 0] = mean + scatter * np.random.default_rng(seed).normal(size=command.shape[:2])
    return command - error


def first(count, n=N):
    return np.arange(n) < count


class TestJudgement:
    def test_falls_beyond_chance_keep_the_old_policy(self):
        command = told()
        went = off_by(command, 0.1)
        found = judged(command, went, first(1), off_by(command, 0.01), first(6))
        assert "6 of 60 fell with it, 1 without" in found.reason
        assert "is not kept" in found.says
        assert found.to_dict()["kept"] == "old"

    def test_one_fall_more_may_be_chance(self):
        command = told()
        found = judged(command, off_by(command, 0.1), first(0), off_by(command, 0.1), first(1))
        assert found.reason == ""
        assert found.to_dict()["kept"] == "new"

    def test_a_larger_error_that_lasts_keeps_the_old_policy(self):
        command = told()
        found = judged(command, off_by(command, 0.05), first(0), off_by(command, 0.1), first(0))
        assert "0.100 m/s with it, 0.050 m/s without" in found.reason

    def test_a_small_loss_is_no_reason_however_sure_it_is(self):
        command = told()
        found = judged(command, off_by(command, 0.100), first(0), off_by(command, 0.105), first(0))
        assert found.reason == ""

    def test_a_difference_within_the_scatter_is_the_trained_policys(self):
        command = told(4)
        uneven = off_by(command, np.array([0.0, 0.3, 0.0, 0.3]))  # a mean of 0.15, and a standard error of 0.075
        found = judged(command, off_by(command, 0.1), first(0, 4), uneven, first(0, 4))
        assert found.new_m_s == pytest.approx(0.15)
        assert found.reason == ""

    def test_fewer_falls_count_before_the_error(self):
        command = told()
        found = judged(command, off_by(command, 0.05), first(20), off_by(command, 0.1), first(0))
        assert found.reason == ""
        assert "0 of 60 fell (before training 20)" in found.says

    def test_robots_that_fell_have_no_say_in_the_error(self):
        command = told()
        went = off_by(command, 0.05)
        went[:, :2] = 50.0
        found = judged(command, went, first(2), off_by(command, 0.04), first(2))
        assert found.old_m_s == pytest.approx(0.05)
        assert found.new_m_s == pytest.approx(0.04)

    def test_part_of_the_way_has_to_be_better_and_all_of_it_only_not_worse(self):
        command = told()
        same = (command, off_by(command, 0.1, 0.05), first(0), off_by(command, 0.1, 0.05, seed=2), first(0))
        assert judged(*same).reason == ""
        assert "may be chance" in judged(*same, surely=True).reason
        assert (
            judged(
                command, off_by(command, 0.2, 0.05), first(0), off_by(command, 0.1, 0.05, seed=2), first(0), surely=True
            ).reason
            == ""
        )
        assert (
            judged(command, off_by(command, 0.1), first(20), off_by(command, 0.1), first(0), surely=True).reason == ""
        )  # fewer falls

    def test_where_all_fell_the_trained_policy_stays(self):
        command = told()
        found = judged(command, command, first(N), command, first(N))
        assert found.reason == ""
        assert np.isnan(found.old_m_s)
        assert json.dumps(found.to_dict())


class TestWalks:
    def test_a_policy_that_walks_is_kept_and_one_that_stands_is_not(self, go2, tmp_path):
        walks = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx")
        chain = read_chain(onnx.load(walks.name))
        (weights, biases), last = chain.layers[-1], len(chain.layers) - 1
        still = replace(chain, layers=(*chain.layers[:last], (0 * weights, 0 * biases)))
        write_chain(tmp_path / "still.onnx", go2.contract, still, {})
        stands = OnnxPolicy.load(tmp_path / "still.onnx")

        def make(n, seed, period):
            return Worlds(go2, n, seed=seed)

        worse, better = (
            choose(go2, walks, lambda share: stands, make, 8),
            choose(go2, stands, lambda share: walks, make, 8),
        )
        assert "the error that lasts" in worse.reason
        assert worse.share == 0
        assert better.reason == ""
        assert better.new_m_s == pytest.approx(worse.old_m_s)  # the same walks, whoever comes first
        assert better.old_m_s > 2 * better.new_m_s


class TestFineTuning:
    @pytest.mark.parametrize("spoiled", [False, True])
    def test_what_training_spoiled_is_not_written(self, go2, tmp_path, monkeypatch, spoiled):
        asked = []

        def velocities(robot, policy, worlds, rising, heard, seconds):
            asked.append(policy)
            return off_by(heard, 0.2 if spoiled and len(asked) > 1 else 0.1), np.zeros(worlds.n, bool)

        monkeypatch.setattr(module, "velocities", velocities)
        policy, said = policy_of(go2, tmp_path), []
        settings = replace(SMALL, judges=5)
        path = finetune(
            go2, policy, by_type(go2), walk(go2), tmp_path / "out", length=Length(3), settings=settings, say=said.append
        )
        begun, old, written = (
            read_chain(onnx.load(one)).layers[0][0]
            for one in (path.parent / "begun.onnx", tmp_path / policy.name, path)
        )
        np.testing.assert_allclose(begun, old, atol=1e-6)
        assert np.allclose(written, begun, atol=1e-6) == spoiled
        assert ("is not kept" in said[-1]) == spoiled
        noted = json.loads(OnnxPolicy.load(path).metadata["surefoot.choice"])
        assert noted["kept"] == ("old" if spoiled else "new")
        assert noted["robots"] == 5

    def test_half_of_the_way_is_written_where_all_of_it_falls(self, go2, tmp_path, monkeypatch):
        asked = []

        def velocities(robot, policy, worlds, rising, heard, seconds):
            asked.append(
                read_chain(onnx.load(policy.name)).layers[0][0] if policy.name.endswith("policy.onnx") else None
            )
            return off_by(heard, (0.2, 0.05, 0.1)[len(asked) - 1]), np.full(worlds.n, len(asked) == 2)

        monkeypatch.setattr(module, "velocities", velocities)
        policy, said = policy_of(go2, tmp_path), []
        path = finetune(
            go2,
            policy,
            by_type(go2),
            walk(go2),
            tmp_path / "out",
            length=Length(3),
            settings=replace(SMALL, judges=5),
            say=said.append,
        )
        begun, written = (read_chain(onnx.load(one)).layers[0][0] for one in (path.parent / "begun.onnx", path))
        trained, half = asked[1:]
        assert not np.allclose(trained, begun)
        np.testing.assert_allclose(half, (begun + trained) / 2, atol=1e-6)
        np.testing.assert_allclose(written, half, atol=1e-6)
        assert said[-1].startswith(
            "50 % of the way to the trained policy is kept, since 5 of 5 fell with it, 0 without; on the same walks 0"
            " of 5 fell"
        )
        noted = json.loads(OnnxPolicy.load(path).metadata["surefoot.choice"])
        assert (noted["kept"], noted["share"], noted["new_falls"]) == ("part", 0.5, 0)

    def test_a_longer_run_goes_on_from_the_training_that_was_not_kept(self, go2, tmp_path, monkeypatch):
        shown = []
        monkeypatch.setattr(
            module,
            "velocities",
            lambda robot, policy, worlds, rising, heard, seconds: (off_by(heard, 0.1), np.zeros(worlds.n, bool)),
        )
        policy = policy_of(go2, tmp_path)
        options: dict[str, Any] = {"settings": replace(SMALL, judges=5), "show": shown.append}
        monkeypatch.setattr(module, "BEYOND_CHANCE", -1.0)
        monkeypatch.setattr(module, "WORSE", 0.0)
        for length in (1, 2):
            finetune(go2, policy, by_type(go2), walk(go2), tmp_path / "out", length=Length(length), **options)
        assert [one.iteration for one in shown] == [1, 2]
