"""Robots with other contracts, and policies for them, that the tests make up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper

from surefoot.policy import OnnxPolicy, attach
from surefoot.robot import Robot, load_robot


def varied(robot: Robot, folder: Path, **keys: Any) -> Robot:
    """The robot with other keys in its robot.yaml; None takes a key out."""
    content = yaml.safe_load(robot.path.read_text()) | {"model": str(robot.model_path.resolve())} | keys
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "robot.yaml"
    path.write_text(
        yaml.safe_dump({key: value for key, value in content.items() if value is not None}, sort_keys=False)
    )
    return load_robot(path)


def linear_policy(robot: Robot, path: Path, seed: int = 0, batch: int | str = "batch") -> OnnxPolicy:
    """Small random actions, a linear function of all inputs of the contract."""
    random, contract = np.random.default_rng(seed), robot.contract
    inputs, weights, nodes, parts = [], [], [], []
    for k, given in enumerate(contract.network_inputs):
        name, size, frames = given.name or "obs", contract.input_size(given), given.frames.history
        shape = [batch, frames, size // frames] if given.shape == "frames" else [batch, size]
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        matrix = (0.05 * random.standard_normal((size, contract.n_driven))).astype(np.float32)
        weights += [numpy_helper.from_array(matrix, f"w{k}"), numpy_helper.from_array(np.array([0, size]), f"s{k}")]
        weights[-1] = numpy_helper.from_array(np.array([-1, size], np.int64), f"s{k}")
        nodes += [
            helper.make_node("Reshape", [name, f"s{k}"], [f"flat{k}"]),
            helper.make_node("MatMul", [f"flat{k}", f"w{k}"], [f"part{k}"]),
        ]
        parts.append(f"part{k}")
    nodes.append(helper.make_node("Sum", parts, ["actions"]))
    outputs = [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [batch, contract.n_driven])]
    return _attached(helper.make_graph(nodes, "g", inputs, outputs, weights), robot, path)


def lstm_policy(robot: Robot, path: Path, hidden: int = 8, seed: int = 0, batch: int | str = "batch") -> OnnxPolicy:
    """An LSTM as rsl-rl exports it: obs, h_in, c_in in; actions, h_out, c_out out."""
    random, contract = np.random.default_rng(seed), robot.contract
    size, n = contract.observation_size, contract.n_driven
    arrays = {
        "W": 0.3 * random.standard_normal((1, 4 * hidden, size)),
        "R": 0.3 * random.standard_normal((1, 4 * hidden, hidden)),
        "B": 0.1 * random.standard_normal((1, 8 * hidden)),
        "V": 0.3 * random.standard_normal((hidden, n)),
    }
    weights = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()]
    weights += [numpy_helper.from_array(np.array([axis], np.int64), f"axis{axis}") for axis in (0, 1)]
    nodes = [
        helper.make_node("Unsqueeze", ["obs", "axis0"], ["x"]),
        helper.make_node("LSTM", ["x", "W", "R", "B", "", "h_in", "c_in"], ["y", "h_out", "c_out"], hidden_size=hidden),
        helper.make_node("Squeeze", ["h_out", "axis0"], ["h"]),
        helper.make_node("MatMul", ["h", "V"], ["actions"]),
    ]
    state = [1, batch, hidden]
    shapes = {"obs": [batch, size], "h_in": state, "c_in": state, "actions": [batch, n], "h_out": state, "c_out": state}
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = helper.make_graph(
        nodes,
        "g",
        [infos[k] for k in ("obs", "h_in", "c_in")],
        [infos[k] for k in ("actions", "h_out", "c_out")],
        weights,
    )
    return _attached(graph, robot, path)


def observed(policy: OnnxPolicy) -> list[list[np.ndarray]]:
    """A list that gets a copy of the inputs of each inference from now on."""
    seen: list[list[np.ndarray]] = []
    advance = policy.advance

    def spy(observations: Sequence[np.ndarray], state: Sequence[np.ndarray]) -> Any:
        seen.append([part.copy() for part in observations])
        return advance(observations, state)

    setattr(policy, "advance", spy)  # noqa: B010 - a type checker would not let a method be assigned
    return seen


def _attached(graph: onnx.GraphProto, robot: Robot, path: Path) -> OnnxPolicy:
    raw = path.with_suffix(".raw.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), raw)
    attach(raw, robot, path)
    return OnnxPolicy.load(path)
