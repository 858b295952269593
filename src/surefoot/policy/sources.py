"""Files of other frameworks that describe a policy: text as `robot.importing` reads it, and ONNX files.

Of an ONNX file, what it says without being run: tensors, metadata, and outputs that are constants.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx

from surefoot.errors import PolicyError
from surefoot.files import check_input, path_of
from surefoot.policy.onnx_policy import read_model
from surefoot.robot.importing import Description, Network, read_file, read_network

MOST_NUMBERS = 10_000  # of a constant output; gains have one for each joint


def read_sources(paths: Sequence[str | Path]) -> tuple[Description, ...]:
    """What each of these files says about a robot and its policy; a sentence where one is of no known kind."""
    return tuple(_read(path_of(path)) for path in paths)


def _read(path: Path) -> Description:
    check_input(path, PolicyError, "a YAML, JSON or ONNX file")
    with path.open("rb") as file:
        head = file.read(4096)
    binary = head[:1] == b"\x08" or b"\0" in head  # no text has those bytes, and every ONNX file begins with the first
    return read_network(read_facts(path), path.name) if binary else read_file(path)


def read_facts(path: str | Path) -> Network:
    """Inputs, outputs, metadata and constants of an ONNX file."""
    model = read_model(path)
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    inputs = {t.name: _row(t) for t in graph.input if t.name not in weights}
    outputs = {t.name: _row(t) for t in graph.output}
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    constants = _constants(graph, weights, Path(path))
    return Network(inputs, outputs, metadata, constants, model.producer_name)


def _row(tensor: onnx.ValueInfoProto) -> int | None:
    """Entries of one row of a tensor (batch, ...); None where the file leaves a size open."""
    sizes = [d.dim_value if d.HasField("dim_value") else None for d in tensor.type.tensor_type.shape.dim]
    row = sizes[1:] if len(sizes) > 1 else sizes
    total = 1
    for size in row:
        if size is None or not 0 < size < 10**7:
            return None
        total *= size
    return total if sizes else None


def _constants(graph: onnx.GraphProto, weights: dict[str, onnx.TensorProto], path: Path) -> dict[str, list[float]]:
    """Outputs that are weights or constants as they are, or copies of them."""
    made = {name: node for node in graph.node for name in node.output}
    found = {}
    for output in graph.output:
        name = output.name
        for _ in range(len(graph.node) + 1):
            node = made.get(name)
            if node is None or node.op_type not in ("Identity", "Unsqueeze", "Reshape", "Cast") or not node.input:
                break
            name = node.input[0]
        node = made.get(name)
        tensor = weights.get(name)
        if node is not None and node.op_type == "Constant":
            tensor = next((a.t for a in node.attribute if a.name == "value"), None)
        if tensor is not None and 0 < int(np.prod(tensor.dims or [1])) <= MOST_NUMBERS:
            try:
                found[output.name] = [float(v) for v in onnx.numpy_helper.to_array(tensor).ravel()]
            except (ValueError, TypeError):
                raise PolicyError(f"{path}: the output {output.name!r} is a constant that cannot be read") from None
    return found
