import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.policy_files import bare, sensors_of

from surefoot.errors import PolicyError
from surefoot.policy import Estimator, LegOdometry, OnnxEstimator
from surefoot.robot import Term

TERMS = (Term("gyro", 0.25), Term("gravity"), Term("joint_velocity", 0.05, history=2))


def linear(path, size, batch="batch", seed=0):
    """A network of one random layer to three velocities, and its weights."""
    weights = np.random.default_rng(seed).normal(0, 1, (size, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["v"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, size])],
        [helper.make_tensor_value_info("v", TensorProto.FLOAT, [batch, 3])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return weights


def size_of(robot, terms=TERMS):
    return sum(term.history * robot.contract.width(term) for term in terms)


@pytest.mark.parametrize("batch", ["batch", 1])
def test_the_network_sees_the_terms_in_their_order(robot, tmp_path, random, batch):
    n, nj = 3, robot.contract.n_joints
    weights = linear(tmp_path / "v.onnx", size_of(robot), batch)
    estimator = OnnxEstimator(tmp_path / "v.onnx", TERMS, robot.contract, n)
    before, now = sensors_of(random, n, nj), sensors_of(random, n, nj)
    estimator.update(before)
    got = estimator.update(now)
    velocities = [0.05 * before.joint_velocity_rad_s, 0.05 * now.joint_velocity_rad_s]
    seen = np.concatenate([0.25 * now.gyro_rad_s, now.gravity, *velocities], axis=1)
    assert got == pytest.approx(seen @ weights, abs=1e-4)
    assert got.dtype == np.float64
    assert got.shape == (n, 3)


def test_a_reset_forgets_the_past_of_some(robot, tmp_path, random):
    nj = robot.contract.n_joints
    linear(tmp_path / "v.onnx", size_of(robot))
    one, other = (OnnxEstimator(tmp_path / "v.onnx", TERMS, robot.contract, 2) for _ in range(2))
    before, now = sensors_of(random, 2, nj), sensors_of(random, 2, nj)
    one.update(before)
    kept = OnnxEstimator(tmp_path / "v.onnx", TERMS, robot.contract, 2)
    kept.update(before)
    one.reset(np.array([0]))
    got = one.update(now)
    assert np.array_equal(got[0], other.update(now)[0])
    assert np.array_equal(got[1], kept.update(now)[1])


def test_commands_and_actions_are_asked_for_where_the_network_takes_them(go2, tmp_path, random):
    terms = (Term("gyro"), Term("command"), Term("last_action"))
    linear(tmp_path / "v.onnx", size_of(go2, terms))
    estimator = OnnxEstimator(tmp_path / "v.onnx", terms, go2.contract, 1)
    sensors = sensors_of(random, 1)
    with pytest.raises(PolicyError, match="takes the term 'command'; give its value"):
        estimator.update(sensors)
    with pytest.raises(PolicyError, match="takes the term 'last_action'"):
        estimator.update(sensors, np.ones((1, 3)))
    one = estimator.update(sensors, np.zeros((1, 3)), np.zeros((1, 12)))
    other = estimator.update(sensors, np.ones((1, 3)), np.zeros((1, 12)))
    assert not np.allclose(one, other)


def test_both_kinds_are_estimators(go2, tmp_path, random):
    linear(tmp_path / "v.onnx", size_of(go2))
    kinds: list[Estimator] = [
        LegOdometry(go2, 2),
        OnnxEstimator(tmp_path / "v.onnx", TERMS, go2.contract, 2),
    ]
    for estimator in kinds:
        estimator.reset(np.array([1]))
        assert estimator.update(sensors_of(random, 2)).shape == (2, 3)


def test_two_files_have_two_hashes(go2, tmp_path):
    linear(tmp_path / "a.onnx", size_of(go2))
    linear(tmp_path / "b.onnx", size_of(go2), seed=1)
    a, b = (OnnxEstimator(tmp_path / f"{name}.onnx", TERMS, go2.contract, 1) for name in "ab")
    assert a.hash != b.hash


def _garbage(path, size):
    path.write_bytes(b"\x80\x04\x95" + b"x" * 100)  # as a pickle begins


REFUSED = {
    "garbage": (_garbage, "is not an ONNX file"),
    "missing": (lambda path, size: None, "does not exist"),
    "two inputs": (lambda path, size: bare(path, size, 3, extra=1), "has 2 inputs"),
    "input too wide": (lambda path, size: bare(path, size + 1, 3), "entries, but its terms have"),
    "output too wide": (lambda path, size: bare(path, size, 6), "has 6 entries, but a base velocity has 3"),
    "float64": (lambda path, size: bare(path, size, 3, kind=TensorProto.DOUBLE), "export it in float32"),
    "fixed batch": (lambda path, size: bare(path, size, 3, batch=4), "export it with a dynamic batch"),
}


@pytest.mark.parametrize("kind", list(REFUSED))
def test_other_networks_are_refused_with_one_sentence(go2, tmp_path, kind):
    write, sentence = REFUSED[kind]
    write(tmp_path / "v.onnx", size_of(go2))
    with pytest.raises(PolicyError, match=sentence) as caught:
        OnnxEstimator(tmp_path / "v.onnx", TERMS, go2.contract, 1)
    assert "\n" not in str(caught.value)


def test_an_estimator_cannot_take_what_it_estimates(go2, tmp_path):
    with pytest.raises(PolicyError, match="'base_velocity', which is what it estimates"):
        OnnxEstimator(tmp_path / "v.onnx", (Term("gyro"), Term("base_velocity")), go2.contract, 1)
    with pytest.raises(PolicyError, match="has no terms"):
        OnnxEstimator(tmp_path / "v.onnx", (), go2.contract, 1)
