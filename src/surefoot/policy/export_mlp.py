"""Writing a multilayer perceptron as a policy file, without a training framework."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surefoot.errors import PolicyError
from surefoot.policy.onnx_policy import CONTRACT_KEY, write_model
from surefoot.robot import Contract

OPSET = 17  # all that an MLP needs, and old enough for the runtimes found on robots
IR_VERSION = 8  # the one that came with it
ACTIVATIONS = {"relu": "Relu", "elu": "Elu", "tanh": "Tanh"}


def write_mlp(
    path: str | Path,
    contract: Contract,
    weights: Sequence[tuple[np.ndarray, np.ndarray]],
    activation: str = "relu",
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write the layers `x @ W + b`, W of shape (n_in, n_out), with `activation` between them and the contract inside.

    Float32, dynamic batch, input "observation", output "action". The same arguments give the same bytes.
    """
    path = Path(path)
    _check(contract, weights, activation)
    nodes, initializers = [], []
    current = "observation"
    for k, (matrix, bias) in enumerate(weights):
        last = k == len(weights) - 1
        for name, array in ((f"weight_{k}", matrix), (f"bias_{k}", bias)):
            initializers.append(numpy_helper.from_array(np.ascontiguousarray(array, np.float32), name))
        linear = "action" if last else f"linear_{k}"
        nodes.append(helper.make_node("Gemm", [current, f"weight_{k}", f"bias_{k}"], [linear], name=linear))
        if not last:
            current = f"hidden_{k}"
            nodes.append(helper.make_node(ACTIVATIONS[activation], [linear], [current], name=current))
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["batch", contract.observation_size])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", contract.n_driven])],
        initializers,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="surefoot"
    )
    onnx.checker.check_model(model)
    write_model(model, {**(metadata or {}), CONTRACT_KEY: contract.to_json()}, path)


def _check(contract: Contract, weights: Sequence[tuple[np.ndarray, np.ndarray]], activation: str) -> None:
    if activation not in ACTIVATIONS:
        raise PolicyError(f"the activation {activation!r} is unknown; use {', '.join(ACTIVATIONS)}")
    if not weights:
        raise PolicyError("a policy needs at least one layer of weights")
    width = contract.observation_size
    for k, (matrix, bias) in enumerate(weights):
        if np.ndim(matrix) != 2 or np.shape(matrix)[0] != width or np.shape(bias) != np.shape(matrix)[1:]:
            raise PolicyError(
                f"layer {k} has weights {np.shape(matrix)} and biases {np.shape(bias)}; they must be ({width}, m) and"
                " (m,)"
            )
        if not (np.isfinite(matrix).all() and np.isfinite(bias).all()):
            raise PolicyError(f"layer {k} holds weights that are not finite; training diverged")
        width = np.shape(matrix)[1]
    if width != contract.n_driven:
        raise PolicyError(
            f"the last layer gives {width} actions; a policy of {contract.robot} drives {contract.n_driven}"
        )
