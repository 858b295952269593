"""Policy files and sensor readings that the tests make up."""

import itertools
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from surefoot.robot import Contract, Sensors


def layers(
    contract: Contract, hidden: tuple[int, ...] = (16, 16), seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(seed)
    sizes = (contract.observation_size, *hidden, contract.n_joints)
    return [
        (random.standard_normal((a, b)) / np.sqrt(a), 0.1 * random.standard_normal(b))
        for a, b in itertools.pairwise(sizes)
    ]


def sensors_of(random: np.random.Generator, n: int, n_joints: int = 12, time_s: float = 0.0) -> Sensors:
    return Sensors(np.full(n, time_s), *(random.standard_normal((n, width)) for width in (n_joints, n_joints, 3, 3)))


def bare(
    path: Path, size_in: int, size_out: int, batch: int | str = "batch", kind: int = TensorProto.FLOAT, extra: int = 0
) -> Path:
    """An ONNX file without metadata, of one linear layer, as a training framework would export it."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    weights = onnx.numpy_helper.from_array(np.ones((size_in, size_out), dtype), "w")
    inputs = [helper.make_tensor_value_info("obs", kind, [batch, size_in])]
    states = [f"h_{k}" for k in range(extra)]
    inputs += [helper.make_tensor_value_info(name, kind, [batch, size_out]) for name in states]
    nodes = [helper.make_node("MatMul", ["obs", "w"], ["y"]), helper.make_node("Sum", ["y", *states], ["actions"])]
    outputs = [helper.make_tensor_value_info("actions", kind, [batch, size_out])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path
