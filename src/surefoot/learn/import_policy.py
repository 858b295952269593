"""A user's ONNX policy as a network that can be trained: the same one where its graph is a plain chain of layers, else
a copy.

A graph is a plain chain when it leads from observation to action through Gemm, or MatMul and Add, activations that
torch has too, and arithmetic with constants (a normalizer in front). What was read is then run beside the file; only a
network that gives the same actions is used.

A copy is made by DAgger (Ross, Gordon and Bagnell 2011, A reduction of imitation learning and structured prediction to
no-regret online learning, arXiv 1011.0686): after a first round of behaviour cloning the copy drives, the policy labels
what the copy sees, and the regression is repeated on all rounds together.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from surefoot.errors import FineTuneError, PolicyError
from surefoot.learn.behaviour_cloning import NOISE, TICKS, regress
from surefoot.learn.env import Tally, WalkEnv
from surefoot.learn.network import ACTIVATIONS, SILU, Activation, Chain, Layer, Normalizer, blank
from surefoot.policy.onnx_policy import OnnxPolicy, read_model
from surefoot.robot import Contract
from surefoot.streams import Stream

SAME = 1e-5  # largest difference of actions, over the largest action where that is above one
TRIALS = 1000
ROUNDS = 3  # of DAgger: the policy drives, then the copy, with the policy saying what it would have done
EPOCHS, BATCH = 20, 1024  # of each round: a policy has no noise in it, and can be copied closer than a trot
THROUGH = ("Identity", "Dropout")  # what a network does in use is none of theirs


class NotAChain(Exception):
    """Why a graph cannot be read as plain layers; never leaves this module."""


@dataclass(frozen=True, eq=False)
class Imported:
    """A network to train, in place of a policy."""

    chain: Chain
    exact: bool  # the policy itself; otherwise it knows nothing, and `copy_policy` teaches it
    reason: str  # why not, where it is not


def import_policy(policy: OnnxPolicy, hidden: tuple[int, ...], activation: str = "Relu") -> Imported:
    """The policy's own network, or a new one (`hidden`, `activation`) and the reason why."""
    refuse_untrainable(policy.contract, policy.name)
    try:
        chain = read_chain(read_model(policy.name, policy.hash))
        _refuse_difference(policy, chain)
    except NotAChain as reason:
        contract = policy.contract
        return Imported(blank(contract.observation_size, contract.n_driven, hidden, activation), False, str(reason))
    return Imported(chain, True, "")


def refuse_untrainable(contract: Contract, name: str) -> None:
    """Refuse a policy that PPO cannot train here: one with a recurrent state, or with several inputs."""
    if contract.state:
        pairs = ", ".join(f"{before} and {after}" for before, after in contract.state)
        raise FineTuneError(
            f"{name} is recurrent (its state is {pairs}), and recurrent policies cannot be trained here; measure and fit"
            " with it, and fine-tune it in the framework it comes from"
        )
    if contract.inputs:
        raise FineTuneError(
            f"{name} has {len(contract.inputs)} inputs ({', '.join(given.name for given in contract.inputs)}), and only"
            " policies with one can be trained here; measure and fit with it, and fine-tune it in the framework it comes"
            " from"
        )


def read_chain(model: onnx.ModelProto) -> Chain:
    """The layers of an ONNX graph; raises NotAChain with the reason where it has others."""
    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    users: dict[str, list[onnx.NodeProto]] = {}
    for node in graph.node:
        if node.op_type == "Constant":
            constants[node.output[0]] = _constant(node)
        elif node.op_type == "Identity" and node.input[0] in constants:
            constants[node.output[0]] = constants[node.input[0]]
        else:
            for name in dict.fromkeys(node.input):
                users.setdefault(name, []).append(node)
    current = next(
        value.name for value in graph.input if value.name not in constants
    )  # old files list weights as inputs too
    end = graph.output[0].name
    built = _Builder()
    for _ in range(len(graph.node) + 1):
        following = users.get(current, [])
        if current == end and not following:
            return built.chain()
        current = _follow(built, current, following, constants)
    raise NotAChain("its graph does not lead from the observation to the action")


def _follow(built: "_Builder", current: str, following: list[onnx.NodeProto], constants: dict[str, np.ndarray]) -> str:
    """Add what comes next to the chain; the name of its result."""
    ops = sorted(node.op_type for node in following)
    if ops == ["Mul", "Sigmoid"]:
        gate, product = sorted(following, key=lambda node: node.op_type == "Mul")
        if set(product.input) == {current, gate.output[0]}:
            built.activation(Activation(SILU))
            return product.output[0]
    if len(following) != 1:
        raise NotAChain(f"its graph branches ({', '.join(ops)})" if following else "its graph ends before the action")
    node = following[0]
    others = [np.asarray(constants[name], float) for name in node.input if name != current and name in constants]
    if node.op_type in ACTIVATIONS and node.op_type != SILU:
        built.activation(_activation(node))
    elif node.op_type in THROUGH or (node.op_type == "Cast" and _attributes(node).get("to") == onnx.TensorProto.FLOAT):
        pass
    elif len(others) != sum(bool(name) for name in node.input) - 1 or not others:
        raise NotAChain(f"its graph has a {node.op_type} between layers")
    elif node.op_type == "Gemm" and node.input[0] == current:
        built.linear(*_gemm(node, others))
    elif node.op_type == "MatMul" and node.input[0] == current and others[0].ndim == 2:
        built.linear(others[0], np.zeros(others[0].shape[1]))
    elif node.op_type in ("Add", "Mul") or (node.op_type in ("Sub", "Div") and node.input[0] == current):
        built.arithmetic(node.op_type, others[0])
    else:
        raise NotAChain(f"its graph has a {node.op_type} between layers")
    return str(node.output[0])


class _Builder:
    """Folds arithmetic into the layer before it, or after it where an activation is between; in front it is
    a normalizer.
    """

    def __init__(self) -> None:
        self.scale: np.ndarray = np.ones(1)  # waits for the next layer
        self.offset: np.ndarray = np.zeros(1)
        self.front: tuple[np.ndarray, np.ndarray] | None = None
        self.layers: list[Layer] = []
        self.activations: list[Activation | None] = []

    def linear(self, weights: np.ndarray, biases: np.ndarray) -> None:
        width = weights.shape[0]
        try:
            scale, offset = np.broadcast_to(self.scale, width), np.broadcast_to(self.offset, width)
        except ValueError:
            raise NotAChain("its graph has constants that do not fit a layer") from None
        if self.layers:
            biases, weights = biases + offset @ weights, scale[:, None] * weights
        elif (scale != 1).any() or offset.any():
            self.front = (scale.copy(), offset.copy())
        self.layers.append((weights, biases))
        self.activations.append(None)
        self.scale, self.offset = np.ones(1), np.zeros(1)

    def activation(self, activation: Activation) -> None:
        if not self.layers or self.activations[-1] is not None or (self.scale != 1).any() or self.offset.any():
            raise NotAChain(f"its graph has a {activation.op} that follows no layer")
        self.activations[-1] = activation

    def arithmetic(self, op: str, constant: np.ndarray) -> None:
        constant = constant.reshape(-1) if constant.size == max(constant.shape, default=1) else constant
        if constant.ndim > 1:
            raise NotAChain(f"its graph has a {op} with a table")
        if op == "Div" and not constant.all():
            raise NotAChain("its graph divides by zero")
        times, plus = {
            "Add": (1.0, constant),
            "Sub": (1.0, -constant),
            "Mul": (constant, 0.0),
            "Div": (1 / constant if op == "Div" else 1.0, 0.0),
        }[op]
        if self.layers and self.activations[-1] is None:
            weights, biases = self.layers[-1]
            if constant.size not in (1, len(biases)):
                raise NotAChain(f"its graph has a {op} that does not fit a layer")
            self.layers[-1] = (weights * times, biases * times + plus)
        else:
            try:
                self.scale, self.offset = self.scale * times, self.offset * times + plus
            except ValueError:
                raise NotAChain("its graph has constants of different sizes") from None

    def chain(self) -> Chain:
        if not self.layers:
            raise NotAChain("its graph has no layer of weights")
        if (self.scale != 1).any() or self.offset.any():
            raise NotAChain("its graph ends in arithmetic behind an activation")
        scale, offset = self.front or (None, None)
        return Chain(scale, offset, tuple(self.layers), tuple(self.activations))


def copy_policy(env: WalkEnv, network: torch.nn.Sequential, policy: OnnxPolicy, seed: int) -> str:
    """Teach a network to do what the policy does where the policy, and then the network itself, walk; how
    well, in words.

    The copy's own mistakes lead it to places where the policy never was: from the second round on it drives, and the
    policy says what it would have done there.
    """
    rng = np.random.default_rng([seed, Stream.IMPORTED_POLICY])
    noise = rng.uniform(0, NOISE, (env.num_envs, 1))
    observations: list[torch.Tensor] = []
    labels: list[torch.Tensor] = []
    error = 0.0
    for round_ in range(ROUNDS):
        for _ in range(TICKS):
            observation = env.get_observations()["actor"]
            label = torch.from_numpy(policy.run(observation.numpy()))
            if not torch.isfinite(label).all():
                raise PolicyError(
                    f"{policy.name} gave actions that are not finite numbers, which no network can copy; the network is"
                    " broken, export it again"
                )
            with torch.no_grad():
                action = label if round_ == 0 else network(observation)
            observations.append(observation)
            labels.append(label)
            env.step(action + torch.from_numpy(noise * rng.standard_normal(action.shape)))
        if round_ == 0:
            for part in network:
                if isinstance(part, Normalizer):
                    part.fit(torch.cat(observations))
        error = regress(network, torch.cat(observations), torch.cat(labels), EPOCHS, BATCH)
    minutes = env.tally.steps * env.dt_s / 60
    env.tally = Tally()
    return f"{minutes:.0f} robot minutes of it, copied to {error:.3f} rms"


def _refuse_difference(policy: OnnxPolicy, chain: Chain) -> None:
    """Run network and file beside each other."""
    rng = np.random.default_rng(0)
    size = np.repeat([0.3, 1.0, 3.0], -(-TRIALS // 3))[:TRIALS, None]
    observations = (size * rng.standard_normal((TRIALS, policy.contract.observation_size))).astype(np.float32)
    expected = policy.run(observations)
    try:
        with torch.no_grad():
            actions = chain.module()(torch.from_numpy(observations)).numpy()
        difference = float(np.abs(actions - expected).max()) if actions.shape == expected.shape else np.inf
    except RuntimeError:  # layers whose sizes do not follow from one another
        difference = np.inf
    if not difference <= SAME * max(1.0, float(np.abs(expected).max())):
        raise NotAChain(f"the network read from it differs by {difference:.1g}")


def _gemm(node: onnx.NodeProto, others: list[np.ndarray]) -> Layer:
    attributes = _attributes(node)
    if attributes.get("transA", 0) or others[0].ndim != 2:
        raise NotAChain("its graph has a Gemm of another form")
    weights = attributes.get("alpha", 1.0) * (others[0].T if attributes.get("transB", 0) else others[0])
    biases = attributes.get("beta", 1.0) * others[1] if len(others) > 1 else np.zeros(1)
    if biases.size not in (1, weights.shape[1]):
        raise NotAChain("its graph has a Gemm of another form")
    return weights, np.broadcast_to(biases.reshape(-1), weights.shape[1]).copy()


def _activation(node: onnx.NodeProto) -> Activation:
    activation = Activation(node.op_type, tuple(sorted(_attributes(node).items())))
    try:
        activation.module()
    except (TypeError, ValueError, RuntimeError):
        raise NotAChain(f"its graph has a {node.op_type} of another form") from None
    return activation


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    values = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}


def _constant(node: onnx.NodeProto) -> np.ndarray:
    (value,) = _attributes(node).values()
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
