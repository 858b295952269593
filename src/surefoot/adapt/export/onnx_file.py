"""What an adaptation adds beyond the model, as an ONNX file: for simulators that run on other devices or in
other languages.
"""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from surefoot import __version__
from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.adapted import Adapted, AddedTerms, adapt, adaptation_hash, added
from surefoot.files import check_place
from surefoot.policy.export_mlp import IR_VERSION, OPSET
from surefoot.policy.onnx_policy import write_model
from surefoot.robot import Robot
from surefoot.robot.legs import usual_pose
from surefoot.sim.network import ResidualNet
from surefoot.sim.residual import SLOW_RAD_S, Adds
from surefoot.text import one_line

INPUTS = ("error_rad", "position_rad", "velocity_rad_s")
OUTPUT: dict[Adds, str] = {"torque": "torque_nm", "action": "target_shift_rad"}
SAYS: dict[Adds, str] = {
    "torque": (
        "N·m on the joints, to be added at each physics step; error_rad is the servo's delayed target minus position"
    ),
    "action": (
        "rad, to be added to the servos' targets at each tick of the policy; error_rad is the policy's target minus"
        " measured position"
    ),
}


def write_onnx(path: Path, adaptation: Adaptation, robot: Robot) -> None:
    """Write what the adaptation adds: inputs and outputs float32 (batch, n_joints), in policy order, with metadata.

    The outputs are torque_nm, target_shift_rad, or both. The same adaptation gives the same bytes.
    """
    check_place(path, (".onnx",))
    adapted = adapt(adaptation, robot)
    parts = added(adapted)
    write_model(_model(parts, robot), _metadata(adapted, parts), path)


def _model(parts: tuple[AddedTerms, ...], robot: Robot) -> onnx.ModelProto:
    graph = _Graph()
    for part in parts:
        total = _terms(graph, part, usual_pose(robot))
        if part.net is not None:
            total = graph.add("Add", [total, _network(graph, part.net)])
        graph.add("Identity", [total], output=OUTPUT[part.adds])
    shape = ["batch", robot.contract.n_joints]
    made = helper.make_graph(
        graph.nodes,
        "residual",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in INPUTS],
        [helper.make_tensor_value_info(OUTPUT[part.adds], TensorProto.FLOAT, shape) for part in parts],
        graph.initializers,
    )
    model = helper.make_model(
        made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="surefoot"
    )
    onnx.checker.check_model(model)
    return model


class _Graph:
    """Nodes and constants, named in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def add(self, kind: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        """A node; the name of its output."""
        output = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, value: np.ndarray) -> str:
        """A constant, in single precision unless it counts; its name."""
        value = np.asarray(value)
        value = value if value.dtype == np.int64 else value.astype(np.float32)
        self.initializers.append(
            numpy_helper.from_array(np.ascontiguousarray(value), f"{name}_{len(self.initializers)}")
        )
        return self.initializers[-1].name


def _terms(graph: _Graph, part: AddedTerms, pose_rad: np.ndarray) -> str:
    """The sum of the terms; those of constant and position are always there, and give it the shape of a batch."""
    error, position, velocity = INPUTS
    zero = np.zeros(pose_rad.shape)
    inputs = {
        "position": graph.add("Sub", [position, graph.constant("pose_rad", pose_rad)]),
        "velocity": velocity,
        "error": error,
    }
    if "direction" in part.terms:
        inputs["direction"] = graph.add(
            "Tanh", [graph.add("Div", [velocity, graph.constant("slow_rad_s", np.array(SLOW_RAD_S))])]
        )
    weights = {"position": zero, **part.terms}
    total = graph.constant("constant", weights.pop("constant", zero))
    for kind, weight in weights.items():
        total = graph.add("Add", [total, graph.add("Mul", [inputs[kind], graph.constant(kind, weight)])])
    return total


def _network(graph: _Graph, net: ResidualNet) -> str:
    """One matrix product for all joints in each layer: (joints, batch, inputs) with (joints, inputs, outputs)."""
    last = graph.constant("axis", np.array([2], dtype=np.int64))
    stacked = graph.add("Concat", [graph.add("Unsqueeze", [name, last]) for name in INPUTS], axis=2)
    hidden = graph.add("Transpose", [stacked], perm=[1, 0, 2])
    for weight, bias in zip(net.weights, net.biases, strict=True):
        linear = graph.add("MatMul", [hidden, graph.constant("weight", weight.transpose(0, 2, 1))])
        hidden = graph.add("Tanh", [graph.add("Add", [linear, graph.constant("bias", bias.transpose(0, 2, 1))])])
    share = graph.add("Transpose", [graph.add("Squeeze", [hidden, last])], perm=[1, 0])
    return graph.add("Mul", [share, graph.constant("limit", net.limit)])


def _metadata(adapted: Adapted, parts: tuple[AddedTerms, ...]) -> dict[str, str]:
    adaptation, robot = adapted.adaptation, adapted.robot
    return {
        "robot": one_line(robot.name),
        "robot_hash": robot.hash,
        "family": one_line(adaptation.family),
        "adaptation_hash": adaptation_hash(adapted),
        "joints": json.dumps(robot.contract.joints),
        **{OUTPUT[part.adds]: SAYS[part.adds] for part in parts},
        "physics_hz": repr(robot.physics_hz),
        "control_hz": repr(robot.contract.control_hz),
        "surefoot": __version__,
        "provenance": json.dumps(adaptation.provenance, default=str),
    }
