"""A user's ONNX policy as a network to train: the same actions where its graph is plain, and a copy where it is not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from support.policy_files import layers

from surefoot.errors import FineTuneError
from surefoot.learn import network
from surefoot.learn.env import WalkEnv
from surefoot.learn.import_policy import copy_policy, import_policy, refuse_untrainable
from surefoot.learn.network import blank, write_chain
from surefoot.learn.task import load_task
from surefoot.policy import OnnxPolicy, write_mlp
from surefoot.policy.onnx_policy import CONTRACT_KEY, write_model
from surefoot.robot.layout import NetworkInput


class Graph:
    """An ONNX file, node by node."""

    def __init__(self, contract):
        self.contract, self.nodes, self.arrays, self.current = contract, [], [], "obs"
        self.random = np.random.default_rng(3)

    def constant(self, array) -> str:
        name = f"c{len(self.arrays)}"
        self.arrays.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def add(self, op, *inputs, first=None, **attributes) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [first or self.current, *inputs], [name], **attributes))
        self.current = name
        return name

    def weights(self, n_in, n_out) -> str:
        return self.constant(self.random.standard_normal((n_in, n_out)) / np.sqrt(n_in))

    def dense(self, n_in, n_out) -> None:
        self.add("MatMul", self.weights(n_in, n_out))
        self.add("Add", self.constant(0.1 * self.random.standard_normal(n_out)))

    def save(self, path, opset=17) -> OnnxPolicy:
        size_in, size_out = self.contract.observation_size, self.contract.n_joints
        given = helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", size_in])
        taken = helper.make_tensor_value_info(self.current, TensorProto.FLOAT, ["batch", size_out])
        graph = helper.make_graph(self.nodes, "g", [given], [taken], self.arrays)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        write_model(model, {CONTRACT_KEY: self.contract.to_json()}, path)
        return OnnxPolicy.load(path)


def observations(contract, n=200, size=1.0):
    return (size * np.random.default_rng(9).standard_normal((n, contract.observation_size))).astype(np.float32)


def same(policy, chain, tmp_path):
    """The network and the file that it is written to act as the policy does."""
    seen = observations(policy.contract, size=2.0)
    wanted = policy.run(seen)
    with torch.no_grad():
        np.testing.assert_allclose(chain.module()(torch.from_numpy(seen)).numpy(), wanted, atol=2e-5)
    write_chain(tmp_path / "again.onnx", policy.contract, chain.trained(chain.module()), {})
    np.testing.assert_allclose(OnnxPolicy.load(tmp_path / "again.onnx").run(seen), wanted, atol=2e-5)


class TestPlainGraphs:
    @pytest.mark.parametrize("activation", ["relu", "elu", "tanh"])
    def test_what_surefoot_writes(self, robot, tmp_path, activation):
        write_mlp(tmp_path / "p.onnx", robot.contract, layers(robot.contract), activation)
        policy = OnnxPolicy.load(tmp_path / "p.onnx")
        found = import_policy(policy, (8,))
        assert found.exact
        assert [weights.shape[1] for weights, _ in found.chain.layers] == [16, 16, robot.contract.n_joints]
        same(policy, found.chain, tmp_path)

    def test_the_shipped_policy(self, go2, tmp_path):
        policy = OnnxPolicy.load(go2.path.parent / "policies" / "walk.onnx")
        found = import_policy(policy, (8,))
        assert found.exact
        same(policy, found.chain, tmp_path)

    @pytest.mark.parametrize(
        ("op", "attributes"),
        [
            ("Elu", {"alpha": 0.7}),
            ("LeakyRelu", {"alpha": 0.2}),
            ("LeakyRelu", {}),
            ("Selu", {}),
            ("Celu", {"alpha": 1.5}),
            ("Sigmoid", {}),
            ("Softplus", {}),
            ("Softsign", {}),
            ("HardSwish", {}),
            ("Mish", {}),
        ],
    )
    def test_other_activations_and_a_normalizer(self, go2, tmp_path, op, attributes):
        graph = Graph(go2.contract)
        size = go2.contract.observation_size
        graph.add("Sub", graph.constant(0.5 * graph.random.standard_normal((1, size))))
        graph.add("Div", graph.constant(graph.random.uniform(0.2, 3, size)))
        graph.dense(size, 10)
        graph.add(op, **attributes)
        graph.dense(10, 12)
        policy = graph.save(tmp_path / "p.onnx", opset=18 if op == "Mish" else 17)
        found = import_policy(policy, (8,))
        assert found.exact
        assert found.chain.scale is not None
        same(policy, found.chain, tmp_path)

    def test_gelu_of_newer_files(self, go2, tmp_path):
        graph = Graph(go2.contract)
        graph.dense(go2.contract.observation_size, 10)
        graph.add("Gelu", approximate="tanh")
        graph.dense(10, 12)
        policy = graph.save(tmp_path / "p.onnx", opset=20)
        found = import_policy(policy, (8,))
        assert found.exact
        same(policy, found.chain, tmp_path)

    def test_swish_is_a_gate_and_a_product(self, go2, tmp_path):
        graph = Graph(go2.contract)
        graph.dense(go2.contract.observation_size, 10)
        before = graph.current
        gate = graph.add("Sigmoid")
        graph.add("Mul", gate, first=before)
        graph.dense(10, 12)
        policy = graph.save(tmp_path / "p.onnx")
        found = import_policy(policy, (8,))
        assert found.exact
        same(policy, found.chain, tmp_path)

    def test_arithmetic_is_folded_into_layers(self, go2, tmp_path):
        """Transposed weights, factors of Gemm, a scale behind an activation, a last activation, constants as nodes."""
        graph = Graph(go2.contract)
        size = go2.contract.observation_size
        name = graph.constant(graph.random.standard_normal((10, size)) / 5)
        graph.add("Gemm", name, graph.constant(graph.random.standard_normal(10)), transB=1, alpha=0.5, beta=2.0)
        graph.add("Mul", graph.constant(graph.random.uniform(0.5, 2, 10)))
        graph.add("Tanh")
        graph.nodes.append(
            helper.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32(2.0), "v"))
        )
        graph.add("Mul", "two")
        graph.add("Add", graph.constant(np.full(10, 0.3)))
        graph.add("Identity")
        graph.add("Gemm", graph.weights(10, 12))
        graph.add("Tanh")
        policy = graph.save(tmp_path / "p.onnx")
        found = import_policy(policy, (8,))
        assert found.exact
        assert [activation.op for activation in found.chain.activations] == ["Tanh", "Tanh"]
        same(policy, found.chain, tmp_path)


class TestOtherGraphs:
    def graph(self, contract):
        graph = Graph(contract)
        graph.dense(contract.observation_size, 10)
        return graph

    def refused(self, graph, tmp_path, says):
        found = import_policy(graph.save(tmp_path / "p.onnx"), (8, 9))
        assert not found.exact
        assert says in found.reason
        assert [weights.shape[1] for weights, _ in found.chain.layers] == [8, 9, 12]

    def test_a_clip(self, go2, tmp_path):
        graph = self.graph(go2.contract)
        graph.add("Clip", graph.constant(np.float32(-1)), graph.constant(np.float32(1)))
        graph.dense(10, 12)
        self.refused(graph, tmp_path, "Clip")

    def test_a_skip_connection(self, go2, tmp_path):
        graph = self.graph(go2.contract)
        before = graph.current
        graph.add("Relu")
        graph.add("Add", before)
        graph.dense(10, 12)
        self.refused(graph, tmp_path, "branches")

    def test_a_scale_behind_the_last_activation(self, go2, tmp_path):
        graph = Graph(go2.contract)
        graph.dense(go2.contract.observation_size, 12)
        graph.add("Tanh")
        graph.add("Mul", graph.constant(np.float32(2)))
        self.refused(graph, tmp_path, "behind an activation")

    def test_an_activation_in_front(self, go2, tmp_path):
        graph = Graph(go2.contract)
        graph.add("Tanh")
        graph.dense(go2.contract.observation_size, 12)
        self.refused(graph, tmp_path, "follows no layer")

    def test_a_square_of_a_layer(self, go2, tmp_path):
        graph = self.graph(go2.contract)
        graph.add("Mul", graph.current)
        graph.dense(10, 12)
        self.refused(graph, tmp_path, "Mul between layers")

    def test_a_network_that_acts_otherwise_is_not_used(self, go2, tmp_path, monkeypatch):
        graph = self.graph(go2.contract)
        graph.add("Tanh")
        graph.dense(10, 12)
        monkeypatch.setitem(network.ACTIVATIONS, "Tanh", torch.nn.Softsign)
        self.refused(graph, tmp_path, "differs by")

    def test_a_recurrent_policy_is_refused(self, go2, tmp_path):
        contract = replace(go2.contract, state=(("h_in", "h_out"),))
        with pytest.raises(FineTuneError, match=r"h_in and h_out.*recurrent policies cannot be trained"):
            refuse_untrainable(contract, "lstm.onnx")

    def test_a_policy_with_several_inputs_is_refused(self, go2):
        inputs = tuple(NetworkInput(go2.contract.observation, name) for name in ("obs", "history"))
        with pytest.raises(FineTuneError, match=r"2 inputs \(obs, history\)"):
            refuse_untrainable(replace(go2.contract, observation=(), inputs=inputs), "p.onnx")


class TestCopy:
    def test_a_copy_acts_much_as_the_policy_does(self, go2, tmp_path, monkeypatch):
        monkeypatch.setattr("surefoot.learn.import_policy.TICKS", 25)
        monkeypatch.setattr("surefoot.learn.import_policy.BATCH", 64)
        monkeypatch.setattr("surefoot.learn.import_policy.EPOCHS", 8)
        contract = go2.contract
        graph = Graph(contract)
        graph.add("Clip", graph.constant(np.float32(-2)), graph.constant(np.float32(2)))
        graph.dense(contract.observation_size, contract.n_joints)
        policy = graph.save(tmp_path / "p.onnx")
        torch.manual_seed(0)
        copy = blank(contract.observation_size, contract.n_joints, (64,), "Relu").module()
        env = WalkEnv(go2, load_task("walk", go2), 32)
        said = copy_policy(env, copy, policy, seed=0)
        assert "copied to" in said
        assert env.tally.steps == 0
        seen = env.get_observations()["actor"]
        wanted = policy.run(seen.numpy())
        with torch.no_grad():
            error = copy(seen).numpy() - wanted
        assert np.square(error).mean() < 0.3 * np.square(wanted - wanted.mean(axis=0)).mean()

    def test_a_normalization_learned_by_a_copy_is_inside_its_file(self, go2, tmp_path):
        chain = blank(go2.contract.observation_size, 12, (8,), "Relu")
        module = chain.module()
        seen = torch.from_numpy(3 + 2 * observations(go2.contract))
        seen[:, 0] = 1.5  # never moves
        module[0].fit(seen)
        normal = module[0](seen)
        assert float(normal[:, 1:].mean().abs()) < 1e-5
        assert float((normal[:, 1:].std(dim=0) - 1).abs().max()) < 1e-4
        assert float(normal[:, 0].abs().max()) < 1e-6
        write_chain(tmp_path / "p.onnx", go2.contract, chain.trained(module), {})
        with torch.no_grad():
            np.testing.assert_allclose(
                OnnxPolicy.load(tmp_path / "p.onnx").run(seen.numpy()), module(seen).numpy(), atol=1e-5
            )
