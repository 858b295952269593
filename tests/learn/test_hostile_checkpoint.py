"""Checkpoints and policies that were tampered with, before a training goes on from them."""

import json
import os
import shutil
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import onnx  # noqa: E402
from safetensors.torch import safe_open, save_file  # noqa: E402
from support.policy_files import layers  # noqa: E402

from surefoot.errors import PolicyError, SurefootError  # noqa: E402
from surefoot.learn import checkpoint  # noqa: E402
from surefoot.learn.import_policy import import_policy  # noqa: E402
from surefoot.policy import write_mlp  # noqa: E402
from surefoot.policy.onnx_policy import MOST_NODES, OnnxPolicy, read_model  # noqa: E402

WORDS = ("train", "walk", "--worlds", 8, "--no-evaluate", "--seed", 1)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A training of one iteration."""
    from surefoot.cli.main import run

    folder = tmp_path_factory.mktemp("trained") / "run"
    assert run([str(word) for word in (*WORDS, "--out", folder, "--iterations", 1)]) == 0
    return folder


@pytest.fixture
def again(surefoot, here, trained):
    """Go on with a changed checkpoint: exit code, standard error."""

    def call(change) -> tuple[int, str]:
        shutil.copytree(trained, here / "run")
        path = here / "run" / "checkpoint.safetensors"
        with safe_open(path, framework="pt") as file:
            state, tensors = file.metadata()["state"], {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        save_file(tensors | change(tensors), path, {"state": state})
        code, _, error = surefoot(*WORDS, "--out", "run", "--iterations", 2, "--overwrite")
        return code, error

    return call


def test_a_sound_checkpoint_goes_on(again):
    assert again(lambda tensors: {}) == (0, "")


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.float16, torch.bfloat16])
def test_weights_of_another_kind(again, dtype):
    code, error = again(lambda tensors: {name: tensor.to(dtype) for name, tensor in tensors.items()})
    assert code == 2
    assert "checkpoint.safetensors is not a checkpoint that can be read" in error
    assert f"holds {dtype}" in error


@pytest.mark.parametrize("part", ["actor.mlp.0.weight", "exp_avg"])
def test_weights_that_are_counts(again, part):
    """A kind that a checkpoint holds, in the wrong place."""
    code, error = again(lambda tensors: {k: v.to(torch.int64) for k, v in tensors.items() if k.endswith(part)})
    assert code == 2
    assert "the checkpoint does not fit this network" in error
    assert f"{part} holds torch.int64, not torch.float32" in error


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.safetensors"
    checkpoint.save(path, {"a": torch.zeros(1000)}, {})
    assert checkpoint.load(path)[0]["a"].shape == (1000,)
    monkeypatch.setattr(checkpoint, "MOST_BYTES", 1000)
    with pytest.raises(SurefootError, match="more than a checkpoint can have"):
        checkpoint.load(path)


def test_a_state_of_many_megabytes(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"state": json.dumps({"x": "x" * 11_000_000})})
    with pytest.raises(SurefootError, match="which is more than the state of a checkpoint can have"):
        checkpoint.load(path)


def test_a_state_of_nested_brackets(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"state": "[" * 100_000})
    with pytest.raises(SurefootError, match="is not a checkpoint that can be read"):
        checkpoint.load(path)


def test_a_fifo(tmp_path):
    os.mkfifo(tmp_path / "checkpoint.safetensors")
    with pytest.raises(SurefootError, match="is not an ordinary file"):
        checkpoint.load(tmp_path / "checkpoint.safetensors")


class TestThePolicyIsReadWithTheSameChecks:
    @pytest.fixture
    def policy(self, tmp_path, go2) -> OnnxPolicy:
        write_mlp(tmp_path / "p.onnx", go2.contract, layers(go2.contract))
        return OnnxPolicy.load(tmp_path / "p.onnx")

    def test_one_that_was_replaced_meanwhile(self, tmp_path, go2, policy):
        write_mlp(tmp_path / "p.onnx", go2.contract, layers(go2.contract, seed=1))
        with pytest.raises(PolicyError, match=r"p\.onnx has changed since it was first read"):
            import_policy(policy, (8,))

    def test_a_fifo_in_its_place(self, tmp_path, policy):
        (tmp_path / "p.onnx").unlink()
        os.mkfifo(tmp_path / "p.onnx")
        with pytest.raises(PolicyError, match="is not an ordinary file"):
            import_policy(policy, (8,))

    def test_too_many_nodes(self, tmp_path, policy):
        model = read_model(policy.name)
        model.graph.node.extend(
            [onnx.helper.make_node("Identity", ["observation"], [f"n{k}"]) for k in range(MOST_NODES)]
        )
        (tmp_path / "p.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(PolicyError, match="nodes, which no policy needs"):
            read_model(policy.name)

    def test_the_same_network_as_before(self, policy):
        assert import_policy(policy, (8,)).exact
