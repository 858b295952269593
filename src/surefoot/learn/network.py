"""A plain network, layer after layer, in three forms: arrays, torch modules to train, and an ONNX file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from surefoot.errors import PolicyError
from surefoot.policy.export_mlp import IR_VERSION, OPSET
from surefoot.policy.onnx_policy import CONTRACT_KEY, write_model
from surefoot.robot import Contract

Attributes = tuple[tuple[str, float | str], ...]
Layer = tuple[np.ndarray, np.ndarray]  # weights (n_in, n_out), biases (n_out,): x @ W + b
SILU = "Silu"  # not one of ONNX: written and read as x * Sigmoid(x)

# ONNX's activation -> torch's, from its attributes. What they are without an attribute is ONNX's own default.
ACTIVATIONS: dict[str, Callable[..., torch.nn.Module]] = {
    "Relu": torch.nn.ReLU,
    "Elu": lambda alpha=1.0: torch.nn.ELU(alpha),
    "Celu": lambda alpha=1.0: torch.nn.CELU(alpha),
    "Selu": torch.nn.SELU,
    "LeakyRelu": lambda alpha=0.01: torch.nn.LeakyReLU(alpha),
    "Tanh": torch.nn.Tanh,
    "Sigmoid": torch.nn.Sigmoid,
    "Softplus": torch.nn.Softplus,
    "Softsign": torch.nn.Softsign,
    "HardSwish": torch.nn.Hardswish,
    "Mish": torch.nn.Mish,
    "Gelu": lambda approximate="none": torch.nn.GELU(approximate),
    SILU: torch.nn.SiLU,
}
NEWER = {"Mish": (18, 8), "Gelu": (20, 9)}  # opset and file format that brought them, where older ones do not have them


@dataclass(frozen=True)
class Activation:
    """By ONNX's name."""

    op: str
    attributes: Attributes = ()

    def module(self) -> torch.nn.Module:
        """For torch."""
        return ACTIVATIONS[self.op](**dict(self.attributes))


@dataclass(frozen=True, eq=False)
class Chain:
    """x * scale + offset, then layers, each with an activation after it or none."""

    scale: np.ndarray | None  # (n_in,); None for no normalization
    offset: np.ndarray | None
    layers: tuple[Layer, ...]
    activations: tuple[Activation | None, ...]

    def module(self) -> torch.nn.Sequential:
        """For torch; the normalization is not trained, so that what a weight means stays what it was."""
        parts: list[torch.nn.Module] = []
        if self.scale is not None and self.offset is not None:
            parts.append(Normalizer(self.scale, self.offset))
        for (weights, biases), activation in zip(self.layers, self.activations, strict=True):
            linear = torch.nn.Linear(*weights.shape)
            with torch.no_grad():
                linear.weight.copy_(torch.from_numpy(np.ascontiguousarray(weights.T, np.float32)))
                linear.bias.copy_(torch.from_numpy(np.ascontiguousarray(biases, np.float32)))
            parts += [linear] if activation is None else [linear, activation.module()]
        return torch.nn.Sequential(*parts)

    def trained(self, module: torch.nn.Sequential) -> "Chain":
        """The same chain with the numbers of its module."""
        normalizer = next((part for part in module if isinstance(part, Normalizer)), None)
        linear = [part for part in module if isinstance(part, torch.nn.Linear)]
        layers = tuple((part.weight.detach().numpy().T.copy(), part.bias.detach().numpy().copy()) for part in linear)
        if normalizer is None:
            return replace(self, layers=layers)
        return replace(
            self, scale=normalizer.scale.numpy().copy(), offset=normalizer.offset.numpy().copy(), layers=layers
        )

    def interpolated(self, other: "Chain", share: float) -> "Chain":
        """Weight interpolation, (1 - share) * self + share * other, with a chain that was trained from this one, and so
        has its shape and its normalization.
        """
        pairs = zip(self.layers, other.layers, strict=True)
        return replace(
            self, layers=tuple(((1 - share) * w + share * v, (1 - share) * b + share * c) for (w, b), (v, c) in pairs)
        )


class Normalizer(torch.nn.Module):
    """x * scale + offset, fixed."""

    def __init__(self, scale: np.ndarray, offset: np.ndarray):
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(scale.astype(np.float32)))
        self.register_buffer("offset", torch.from_numpy(offset.astype(np.float32)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Of observations (n, n_in)."""
        return x * self.scale + self.offset

    def fit(self, seen: torch.Tensor) -> None:
        """Make what was seen, (n, n_in), of mean 0 and standard deviation 1; what never moved is left as
        large as it is.
        """
        std = seen.std(dim=0)
        self.scale.copy_(torch.where(std > 1e-3, 1 / std.clamp(min=1e-3), torch.ones_like(std)))
        self.offset.copy_(-seen.mean(dim=0) * self.scale)


def blank(n_in: int, n_out: int, hidden: tuple[int, ...], activation: str) -> Chain:
    """A network that knows nothing, with room for a normalization; drawn from torch's generator."""
    layers: list[Layer] = []
    for a, b in pairwise((n_in, *hidden, n_out)):
        linear = torch.nn.Linear(a, b)
        layers.append((linear.weight.detach().numpy().T.copy(), linear.bias.detach().numpy().copy()))
    return Chain(np.ones(n_in), np.zeros(n_in), tuple(layers), (*(Activation(activation) for _ in hidden), None))


def write_chain(path: Path, contract: Contract, chain: Chain, metadata: Mapping[str, str]) -> None:
    """Write a policy file: float32, dynamic batch, input "observation", output "action", the normalization
    and the contract inside.
    """
    arrays: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []
    current = "observation"

    def constant(name: str, array: np.ndarray) -> str:
        if not np.isfinite(array).all():
            raise PolicyError(f"{name} of the network holds numbers that are not finite; training diverged")
        arrays.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        return name

    def node(op: str, inputs: list[str], output: str, attributes: Attributes = ()) -> str:
        nodes.append(helper.make_node(op, inputs, [output], name=output, **dict(attributes)))
        return output

    if chain.scale is not None and chain.offset is not None:
        current = node("Mul", [current, constant("scale", chain.scale)], "scaled")
        current = node("Add", [current, constant("offset", chain.offset)], "normalized")
    for k, ((weights, biases), activation) in enumerate(zip(chain.layers, chain.activations, strict=True)):
        current = node(
            "Gemm", [current, constant(f"weight_{k}", weights), constant(f"bias_{k}", biases)], f"linear_{k}"
        )
        if activation is not None and activation.op == SILU:
            current = node("Mul", [current, node("Sigmoid", [current], f"gate_{k}")], f"hidden_{k}")
        elif activation is not None:
            current = node(activation.op, [current], f"hidden_{k}", activation.attributes)
    nodes[-1].output[0] = "action"
    newest = [
        NEWER[activation.op] for activation in chain.activations if activation is not None and activation.op in NEWER
    ]
    opset, ir_version = max([(OPSET, IR_VERSION), *newest])
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", contract.observation_size])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", contract.n_driven])],
        arrays,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version, producer_name="surefoot"
    )
    onnx.checker.check_model(model)
    write_model(model, {**metadata, CONTRACT_KEY: contract.to_json()}, path)
