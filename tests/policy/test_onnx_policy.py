"""A policy file: the contract inside it, what is refused and why, and what it computes."""

import contextlib
import dataclasses
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.policy_files import bare, layers

from surefoot.cli.policy import attach as attach_command
from surefoot.cli.policy import show
from surefoot.errors import PolicyError
from surefoot.policy import OnnxPolicy, PolicyAgent, attach, write_mlp
from surefoot.policy.onnx_policy import CONTRACT_KEY
from surefoot.robot import Robot, Term

KEPT = "run_path"


@pytest.fixture
def walk(go2: Robot, tmp_path: Path) -> Path:
    path = tmp_path / "walk.onnx"
    write_mlp(path, go2.contract, layers(go2.contract), metadata={KEPT: "logs/1"})
    return path


class TestContractInside:
    def test_reads_back_to_the_last_bit(self, go2: Robot, tmp_path: Path) -> None:
        odd = (0.1 + 0.2, 1 / 3, np.nextafter(0.25, 1), 5e-324, *go2.contract.action_scale_rad[4:])
        contract = dataclasses.replace(go2.contract, action_scale_rad=tuple(float(v) for v in odd), control_hz=100 / 3)
        write_mlp(tmp_path / "p.onnx", contract, layers(contract))
        assert OnnxPolicy.load(tmp_path / "p.onnx").contract == contract

    def test_same_weights_give_same_bytes(self, go2: Robot, walk: Path, tmp_path: Path) -> None:
        write_mlp(tmp_path / "again.onnx", go2.contract, layers(go2.contract), metadata={KEPT: "logs/1"})
        assert (tmp_path / "again.onnx").read_bytes() == walk.read_bytes()
        assert OnnxPolicy.load(walk).hash == hashlib.sha256(walk.read_bytes()).hexdigest()

    def test_its_own_robot_is_accepted(self, go2: Robot, walk: Path) -> None:
        OnnxPolicy.load(walk).check(go2)

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            ({"joints": "reversed"}, "joints"),
            ({"kp_nm_per_rad": (25.0, 30.0)}, "kp_nm_per_rad of FL_thigh_joint: 25.0 against 30.0"),
            ({"pose_rad": (0.1, 0.7)}, "pose_rad of FL_thigh_joint"),
            ({"action_scale_rad": (np.nextafter(0.25, 1),)}, "action_scale_rad of FL_hip_joint"),
            ({"control_hz": 100.0}, "control_hz: 50.0 against 100.0"),
            ({"observation": Term("gyro", 0.5)}, "gyro×0.25"),
        ],
    )
    def test_another_robot_is_refused_and_the_field_named(
        self, go2: Robot, walk: Path, change: dict, named: str
    ) -> None:
        contract = go2.contract
        ((field, value),) = change.items()
        ours = getattr(contract, field)
        if field == "joints":
            value = tuple(reversed(ours))
        elif field == "observation":
            value = (value, *ours[1:])
        elif isinstance(value, tuple):
            value = (*(float(v) for v in value), *ours[len(value) :])
        other = dataclasses.replace(go2, contract=dataclasses.replace(contract, **{field: value}))
        policy = OnnxPolicy.load(walk)
        with pytest.raises(PolicyError, match="made for another robot") as caught:
            policy.check(other)
        assert named in str(caught.value)
        assert "\n" not in str(caught.value)
        with pytest.raises(PolicyError, match="another robot"):
            PolicyAgent(policy, other, 1)

    def test_limits_and_commands_may_differ(self, go2: Robot, walk: Path) -> None:
        OnnxPolicy.load(walk).refuse_mismatch(dataclasses.replace(go2.contract, command_range=((0, 1), (0, 0), (0, 0))))


class TestAttach:
    def test_gives_a_contract_and_keeps_the_rest(
        self, go2: Robot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source = bare(tmp_path / "raw.onnx", 45, 12)
        model = onnx.load(source)
        helper.set_model_props(model, {KEPT: "logs/7"})
        onnx.save(model, source)
        with pytest.raises(PolicyError, match=r"raw.onnx does not say.*attach the contract of the robot") as caught:
            OnnxPolicy.load(source)
        assert caught.value.verb == "policy attach"
        attach_command(source, tmp_path / "new" / "walk.onnx", "go2")
        policy = OnnxPolicy.load(tmp_path / "new" / "walk.onnx")
        policy.check(go2)
        assert policy.metadata == {KEPT: "logs/7"}
        assert not [entry for entry in onnx.load(source).metadata_props if entry.key == CONTRACT_KEY]
        show(tmp_path / "new" / "walk.onnx")
        shown = capsys.readouterr().out
        assert "FL_calf_joint" in shown
        assert policy.hash in shown
        assert "logs/7" in shown

    def test_twice_is_the_same_file(self, go2: Robot, walk: Path, tmp_path: Path) -> None:
        attach(walk, go2, tmp_path / "again.onnx")
        assert (tmp_path / "again.onnx").read_bytes() == walk.read_bytes()

    def test_another_contract_is_replaced_only_on_request(self, go2: Robot, walk: Path) -> None:
        other = dataclasses.replace(go2, contract=dataclasses.replace(go2.contract, control_hz=100.0))
        before = walk.read_bytes()
        with pytest.raises(PolicyError, match=r"control_hz: 50.0 against 100.0; replace it") as caught:
            attach(walk, other, walk)
        assert caught.value.argument == "replace"
        assert walk.read_bytes() == before
        attach(walk, other, walk, replace=True)
        assert OnnxPolicy.load(walk).contract.control_hz == 100.0

    @pytest.mark.parametrize("text", ["{not json", "{}", "[]", '{"robot": 1}'])
    def test_a_broken_contract_is_refused_and_can_be_replaced(self, go2: Robot, walk: Path, text: str) -> None:
        model = onnx.load(walk)
        helper.set_model_props(model, {CONTRACT_KEY: text})
        onnx.save(model, walk)
        with pytest.raises(PolicyError, match="attach it again"):
            OnnxPolicy.load(walk)
        attach(walk, go2, walk)
        OnnxPolicy.load(walk).check(go2)

    @pytest.mark.parametrize(
        ("size_in", "size_out", "named"),
        [
            (48, 12, r"input .* has 48 entries.*gyro×0.25 3, gravity×1 3"),
            (45, 10, "output .* has 10 entries.*12 joints"),
        ],
    )
    def test_wrong_sizes(self, go2: Robot, tmp_path: Path, size_in: int, size_out: int, named: str) -> None:
        with pytest.raises(PolicyError, match=named):
            attach(bare(tmp_path / "raw.onnx", size_in, size_out), go2, tmp_path / "out.onnx")
        assert not (tmp_path / "out.onnx").exists()

    def test_weights_in_a_file_beside_it_move_in(self, go2: Robot, walk: Path, tmp_path: Path) -> None:
        expected = OnnxPolicy.load(walk).run(np.ones((2, 45), np.float32))
        folder = tmp_path / "apart"
        folder.mkdir()
        onnx.save(onnx.load(walk), folder / "p.onnx", save_as_external_data=True, location="p.data", size_threshold=0)
        assert np.array_equal(OnnxPolicy.load(folder / "p.onnx").run(np.ones((2, 45), np.float32)), expected)
        attach(folder / "p.onnx", go2, tmp_path / "whole.onnx")
        (folder / "p.data").rename(tmp_path / "p.data")
        assert np.array_equal(OnnxPolicy.load(tmp_path / "whole.onnx").run(np.ones((2, 45), np.float32)), expected)
        with pytest.raises(PolicyError, match="keeps its weights in another file"):
            OnnxPolicy.load(folder / "p.onnx")
        content = (folder / "p.onnx").read_bytes()
        model = onnx.load_model_from_string(content)
        for tensor in model.graph.initializer:
            for entry in tensor.external_data:
                entry.value = "../p.data" if entry.key == "location" else entry.value
        (folder / "p.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(PolicyError, match="keeps its weights in another file"):
            OnnxPolicy.load(folder / "p.onnx")


class TestBadFiles:
    def test_not_a_policy(self, walk: Path, tmp_path: Path) -> None:
        (tmp_path / "garbage.onnx").write_bytes(b"this is not a network" * 9)
        (tmp_path / "empty.onnx").write_bytes(b"")
        os.mkfifo(tmp_path / "pipe.onnx")
        for name, said in {
            "garbage.onnx": "not an ONNX file",
            "empty.onnx": "empty",
            "none.onnx": "does not exist",
            ".": "folder",
            "pipe.onnx": "ordinary",
        }.items():
            with pytest.raises(PolicyError, match=said) as caught:
                OnnxPolicy.load(tmp_path / name)
            assert "\n" not in str(caught.value)

    def test_every_truncation_is_one_sentence(self, walk: Path, tmp_path: Path) -> None:
        content = walk.read_bytes()
        for length in [*range(1, 40), *range(40, len(content), 97), len(content) - 1]:
            (tmp_path / "cut.onnx").write_bytes(content[:length])
            with pytest.raises(PolicyError):
                OnnxPolicy.load(tmp_path / "cut.onnx")

    def test_flipped_bytes_load_or_are_refused(self, walk: Path, tmp_path: Path, random: np.random.Generator) -> None:
        content = bytearray(walk.read_bytes())
        structure = [k for k in range(len(content)) if k < 200 or k > len(content) - 600]
        for k in random.choice(structure, 150, replace=False):
            changed = content.copy()
            changed[k] ^= int(random.integers(1, 256))
            (tmp_path / "bad.onnx").write_bytes(changed)
            with contextlib.suppress(PolicyError):
                OnnxPolicy.load(tmp_path / "bad.onnx")

    @pytest.mark.parametrize("name", [b"batch", b"observation"])
    def test_names_that_are_not_text(self, walk: Path, capfd: pytest.CaptureFixture[str], name: bytes) -> None:
        walk.write_bytes(walk.read_bytes().replace(name, name[:-1] + b"\x88"))
        with pytest.raises(PolicyError):
            OnnxPolicy.load(walk)
        assert capfd.readouterr() == ("", "")

    def test_nothing_but_our_error_on_stderr(self, tmp_path: Path) -> None:
        bare(tmp_path / "new.onnx", 45, 12)
        model = onnx.load(tmp_path / "new.onnx")
        model.graph.node[0].op_type = "NoSuchOperator"
        onnx.save(model, tmp_path / "new.onnx")
        (tmp_path / "garbage.onnx").write_bytes(b"garbage")
        code = (
            "import sys\nfrom surefoot.errors import PolicyError\nfrom surefoot.policy import attach\nfrom"
            " surefoot.robot import load_robot\nfor name in sys.argv[1:]:\n try:\n  attach(name, load_robot('go2'),"
            " 'out.onnx')\n except PolicyError as reason: print(reason)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, "new.onnx", "garbage.onnx"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        assert len(done.stdout.splitlines()) == 2
        assert "NoSuchOperator" in done.stdout

    @pytest.mark.parametrize(
        ("how", "said"),
        [
            ({"kind": TensorProto.DOUBLE}, "float32"),
            ({"kind": TensorProto.FLOAT16}, "float32"),
            ({"extra": 2}, r"3 inputs \(obs, h_0, h_1\).*describes 1.*'inputs'.*'state'"),
            ({"batch": 4}, "fixed batch of 4"),
        ],
    )
    def test_wrong_kind_of_network(self, go2: Robot, tmp_path: Path, how: dict, said: str) -> None:
        with pytest.raises(PolicyError, match=said):
            attach(bare(tmp_path / "raw.onnx", 45, 12, **how), go2, tmp_path / "out.onnx")

    def test_a_network_that_lies_about_its_shape(self, go2: Robot, tmp_path: Path) -> None:
        model = onnx.load(bare(tmp_path / "raw.onnx", 45, 12))
        shape = onnx.numpy_helper.from_array(np.array([1, 12]), "shape")
        model.graph.initializer.append(shape)
        model.graph.node[1].output[0] = "z"
        model.graph.node.append(helper.make_node("Reshape", ["z", "shape"], ["actions"]))
        onnx.save(model, tmp_path / "raw.onnx")
        with pytest.raises(PolicyError, match="does not run on 2 observations"):
            attach(tmp_path / "raw.onnx", go2, tmp_path / "out.onnx")


class TestRun:
    @pytest.mark.parametrize("activation", ["relu", "elu", "tanh"])
    def test_equals_numpy(self, go2: Robot, tmp_path: Path, random: np.random.Generator, activation: str) -> None:
        weights = layers(go2.contract, (32, 24))
        write_mlp(tmp_path / "p.onnx", go2.contract, weights, activation)
        observation = random.standard_normal((50, 45)).astype(np.float32)
        x = observation.astype(float)
        shapes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "relu": lambda v: np.maximum(v, 0),
            "elu": lambda v: np.where(v > 0, v, np.expm1(np.minimum(v, 0))),
            "tanh": np.tanh,
        }
        for k, (matrix, bias) in enumerate(weights):
            x = x @ matrix.astype(np.float32) + bias.astype(np.float32)
            x = shapes[activation](x) if k < len(weights) - 1 else x
        actions = OnnxPolicy.load(tmp_path / "p.onnx").run(observation)
        assert actions.dtype == np.float32
        np.testing.assert_allclose(actions, x, rtol=0, atol=1e-6)

    def test_batch_equals_rows_and_threads_do_not_matter(self, walk: Path, random: np.random.Generator) -> None:
        observation = random.standard_normal((64, 45)).astype(np.float32)
        policy = OnnxPolicy.load(walk)
        rows = np.concatenate([policy.run(row[None]) for row in observation])
        np.testing.assert_allclose(policy.run(observation), rows, atol=1e-6)
        assert np.array_equal(OnnxPolicy.load(walk, threads=2).run(observation), policy.run(observation))

    def test_a_fixed_batch_of_one_runs_row_by_row(
        self, go2: Robot, tmp_path: Path, random: np.random.Generator
    ) -> None:
        attach(bare(tmp_path / "raw.onnx", 45, 12, batch=1), go2, tmp_path / "p.onnx")
        policy = OnnxPolicy.load(tmp_path / "p.onnx")
        observation = random.standard_normal((5, 45)).astype(np.float32)
        assert not policy.batched
        np.testing.assert_allclose(
            policy.run(observation), np.repeat(observation.sum(1, keepdims=True), 12, axis=1), atol=1e-5
        )

    def test_not_finite_stays_in_its_row(self, walk: Path) -> None:
        observation = np.zeros((3, 45), np.float32)
        observation[1] = np.nan
        assert np.isfinite(OnnxPolicy.load(walk).run(observation)).all(axis=1).tolist() == [True, False, True]

    def test_wrong_observation_size(self, walk: Path) -> None:
        with pytest.raises(PolicyError, match=r"\(n, 45\), got \(2, 44\)"):
            OnnxPolicy.load(walk).run(np.zeros((2, 44)))

    @pytest.mark.parametrize(
        ("weights", "said"),
        [
            ([], "at least one layer"),
            ([(np.ones((44, 12)), np.ones(12))], "layer 0"),
            ([(np.ones((45, 11)), np.ones(11))], "gives 11 actions"),
            ([(np.full((45, 12), np.nan), np.ones(12))], "diverged"),
        ],
    )
    def test_weights_that_do_not_fit_are_not_written(
        self, go2: Robot, tmp_path: Path, weights: list, said: str
    ) -> None:
        with pytest.raises(PolicyError, match=said):
            write_mlp(tmp_path / "p.onnx", go2.contract, weights)
        assert list(tmp_path.iterdir()) == []
