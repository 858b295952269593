"""A policy file: an ONNX network from observations to actions, with the contract in its metadata.

A file that loads has been checked: one float32 input (batch, observation_size), one float32 output
(batch, n_joints), and a trial run that gave what it declares. Sessions use one thread that sleeps
while idle, so that they neither fight with the simulator's threads nor depend on the number of cores.
"""

import dataclasses
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.external_data_helper
import onnxruntime

from surefoot.errors import PolicyError
from surefoot.files import check_input, mark, read_bytes, write_whole
from surefoot.limits import refuse_size
from surefoot.robot import Contract, Robot
from surefoot.robot.posture import POSTURE_KEY
from surefoot.text import flat
from surefoot.watchdog import WatchedCalls, watched

CONTRACT_KEY = "surefoot.contract"
WRITTEN_BY = "surefoot.written_by"
LARGEST_BYTES = 2**31 - 1  # no protobuf message, and so no ONNX file, can be larger
MOST_METADATA = 2_000_000  # characters; contract and provenance take some thousand
MOST_NODES = 20_000  # a policy has some ten; ONNX Runtime takes minutes for 200,000
SILENT = 4  # ONNX Runtime's severity "fatal": what goes wrong is said by our own errors


class OnnxPolicy:
    """A policy on its way through a batch: `load` it, `check` it against the robot, `run` it."""

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        contract: Contract,
        file_hash: str,
        metadata: dict[str, str],
        name: str,
    ) -> None:
        self.contract = contract
        # sha256 of the file, as sha256sum prints it; with external data, of the file with its data inside
        self.hash = file_hash
        self.metadata = metadata  # what else the file says about itself, without the contract
        self.name = name  # the path, for messages
        self._session = session
        self._input = session.get_inputs()[0].name
        self._outputs = [session.get_outputs()[0].name]
        self._row_by_row = session.get_inputs()[0].shape[0] == 1
        self._watched = WatchedCalls(f"one inference of the policy {name}")

    @staticmethod
    def load(path: str | Path, threads: int = 1) -> "OnnxPolicy":
        """Read a policy and the contract inside it; every way in which the file can be wrong is a PolicyError."""
        path = Path(path)
        model, content = _read(path)
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        text = metadata.pop(CONTRACT_KEY, None)
        metadata.pop(WRITTEN_BY, None)
        if text is None:
            raise PolicyError(
                f"{path} does not say for which robot it was made; attach the contract of the robot it was trained on",
                verb="policy attach",
            )
        contract = Contract.from_json(text, str(path))
        session = _session(content, path, threads)
        _check_shapes(session, contract, path)
        return OnnxPolicy(session, contract, hashlib.sha256(content).hexdigest(), metadata, str(path))

    @property
    def batched(self) -> bool:
        """Whether one call takes any number of rows; a file exported with a batch of 1 runs row by row, slowly."""
        return not self._row_by_row

    def check(self, robot: Robot) -> None:
        """Refuse a robot for which this policy was not made."""
        self.refuse_mismatch(robot.contract)

    def refuse_mismatch(self, contract: Contract) -> None:
        """Raise a PolicyError that names each field in which a contract differs from the policy's own."""
        differences = self.contract.differences(contract)
        if differences:
            raise PolicyError(
                f"{self.name} was made for another robot than this {contract.robot!r} (the policy's value against the"
                f" robot's): {'; '.join(differences)}; give the robot.yaml it was trained with, or, where the file is"
                " wrong about itself, attach this robot's contract in place of its own",
                argument="replace",
                verb="policy attach",
            )

    def run(self, observation: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints), float32, for observations (n, observation_size). What is not finite is
        returned as it is.
        """
        observation = np.ascontiguousarray(observation, np.float32)
        if observation.ndim != 2 or observation.shape[1] != self.contract.observation_size:
            raise PolicyError(
                f"{self.name} takes observations of the shape (n, {self.contract.observation_size}), got"
                f" {observation.shape}"
            )
        if self._row_by_row:
            return np.concatenate([self._infer(row[None]) for row in observation])
        return self._infer(observation)

    def _infer(self, observation: np.ndarray) -> np.ndarray:
        self._watched.begin()  # a loop in the network may depend on what it is given, and never end
        try:
            action: np.ndarray = self._session.run(self._outputs, {self._input: observation})[0]
        finally:
            self._watched.end()
        return action


def attach(source: str | Path, robot: Robot, out: str | Path, replace: bool = False) -> None:
    """Write a copy of an ONNX file with the robot's contract inside; other metadata stays, external data moves in.

    So does the range of commands of a policy that means a posture, since it is the policy's own and narrower than the
    robot's. A file that already carries the contract of another robot is refused unless `replace` is set.
    """
    source, out = Path(source), Path(out)
    model, content = _read(source)
    session = _session(content, source, threads=1)
    _check_shapes(session, robot.contract, source)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    carried = _carried(metadata.get(CONTRACT_KEY), source)
    differences = [] if carried is None else carried.differences(robot.contract)
    if differences and not replace:
        raise PolicyError(
            f"{source} already carries a contract that differs from the robot's: {'; '.join(differences)};"
            " replace it where the file is wrong and the robot right",
            argument="replace",
        )
    contract = robot.contract
    if carried is not None and POSTURE_KEY in metadata:
        contract = dataclasses.replace(contract, command_range=carried.command_range)
    write_model(model, metadata | {CONTRACT_KEY: contract.to_json()}, out)


def _carried(text: str | None, path: Path) -> Contract | None:
    """The contract that a file carries; one that cannot be read has nothing to keep."""
    try:
        return None if text is None else Contract.from_json(text, str(path))
    except PolicyError:
        return None


def write_model(model: onnx.ModelProto, metadata: dict[str, str], path: Path) -> None:
    """Write a model with exactly this metadata, whole or not at all; the same model gives the same bytes."""
    del model.metadata_props[:]
    onnx.helper.set_model_props(model, metadata | {WRITTEN_BY: mark()})
    content = model.SerializeToString(deterministic=True)

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_whole(path, write)


def read_model(path: str | Path, file_hash: str | None = None) -> onnx.ModelProto:
    """The graph of a policy's file, checked as `load` checks it; refused where it is not the file with this hash."""
    path = Path(path)
    model, content = _read(path)
    if file_hash is not None and hashlib.sha256(content).hexdigest() != file_hash:
        raise PolicyError(f"{path} has changed since it was first read; run the command again")
    return model


def open_network(path: str | Path, threads: int = 1) -> tuple[onnxruntime.InferenceSession, str]:
    """A network that is no policy, checked and limited as one, and the hash of its file; its shapes are not checked."""
    path = Path(path)
    _, content = _read(path)
    return _session(content, path, threads), hashlib.sha256(content).hexdigest()


def _read(path: Path) -> tuple[onnx.ModelProto, bytes]:
    """The parsed model and the bytes to run; weights kept in another file beside it are pulled in."""
    content = read_bytes(path, PolicyError, "an .onnx file", LARGEST_BYTES)
    if not content:
        raise PolicyError(f"{path} is empty; export the policy again")
    try:
        model = onnx.load_model_from_string(content)
    except Exception:  # protobuf's own error, or one of its parser's
        raise PolicyError(
            f"{path} is not an ONNX file, or only a part of one; export or copy the policy again"
        ) from None
    if not model.graph.node:
        raise PolicyError(f"{path} is not an ONNX file with a network in it; export the policy again")
    if sum(len(entry.key) + len(entry.value) for entry in model.metadata_props) > MOST_METADATA:
        raise PolicyError(
            f"{path} says more than {MOST_METADATA / 1e6:g} MB about itself (its metadata), which no policy does;"
            " export it again"
        )
    if _node_count(model) > MOST_NODES:
        raise PolicyError(
            f"{path} has more than {MOST_NODES:,} nodes, which no policy needs; export it with its weights as tensors"
        )
    external = [tensor for tensor in _tensors(model) if onnx.external_data_helper.uses_external_data(tensor)]
    return (model, _with_external_data(model, external, path)) if external else (model, content)


def _with_external_data(model: onnx.ModelProto, external: list[onnx.TensorProto], path: Path) -> bytes:
    """The bytes of a model with the weights inside that it keeps in other files of its folder; the model
    holds them too.
    """
    try:
        refuse_size(str(path), 3 * sum(_external_bytes(tensor, path.parent) for tensor in external), PolicyError)
        with watched(f"reading the weights of {path}"):
            onnx.external_data_helper.load_external_data_for_model(model, str(path.parent))
            inside: bytes = model.SerializeToString(deterministic=True)
    except PolicyError:
        raise
    except (
        Exception
    ) as reason:  # a file that is missing, too short, or outside of the folder; more than protobuf can hold
        raise PolicyError(
            f"{path} keeps its weights in another file that cannot be used ({flat(reason)}); put that file beside it,"
            " or export the policy as one file"
        ) from None
    return inside


def _external_bytes(tensor: onnx.TensorProto, folder: Path) -> int:
    """How many bytes a tensor takes from its file; the file is an ordinary one."""
    about = onnx.external_data_helper.ExternalDataInfo(tensor)
    file = folder / about.location
    size = check_input(file, PolicyError, "the weights of a policy") if file.exists() else 0
    return int(about.length) if about.length else max(0, size - int(about.offset or 0))


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of a model: weights, and constants in nodes, also in the graphs inside nodes."""
    graphs, nodes = [model.graph], [function.node for function in model.functions]
    while graphs or nodes:
        if graphs:
            graph = graphs.pop()
            yield from graph.initializer
            nodes.append(graph.node)
        for node in nodes.pop():
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t
                yield from attribute.tensors
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += list(attribute.graphs)


def _node_count(model: onnx.ModelProto) -> int:
    """Nodes in the graph, in the graphs inside its nodes (loops, branches) and in its functions."""
    waiting, count = [model.graph.node, *(function.node for function in model.functions)], 0
    while waiting and count <= MOST_NODES:
        nodes = waiting.pop()
        count += len(nodes)
        for node in nodes if count <= MOST_NODES else ():
            for attribute in node.attribute:
                waiting += [attribute.g.node] if attribute.HasField("g") else []
                waiting += [graph.node for graph in attribute.graphs]
    return count


def _session(content: bytes, path: Path, threads: int) -> onnxruntime.InferenceSession:
    onnxruntime.set_default_logger_severity(SILENT)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = SILENT
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    try:
        with watched(f"loading the policy {path}"):
            session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"], enable_fallback=0
            )
        for tensor in (*session.get_inputs(), *session.get_outputs()):
            _ = tensor.name, tensor.type, tensor.shape  # a broken name is found when it is first asked for
        return session
    except Exception as reason:  # ONNX Runtime's errors have no common base but this
        raise PolicyError(
            f"ONNX Runtime {onnxruntime.__version__} cannot load {path} ({_complaint(reason)}); export it again, with"
            " an older opset if it asks for a newer one"
        ) from None


def _check_shapes(session: onnxruntime.InferenceSession, contract: Contract, path: Path) -> None:
    """Refuse a network that does not go from (batch, observation_size) to (batch, n_joints) in float32."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1:
        raise PolicyError(
            f"{path} has {len(inputs)} inputs ({_names(inputs)}), but a policy takes one, the observation; recurrent"
            " policies are not supported: train one with history in its observation instead"
        )
    if len(outputs) != 1:
        raise PolicyError(
            f"{path} has {len(outputs)} outputs ({_names(outputs)}), but a policy gives one, the action; export the"
            " mean action only"
        )
    terms = ", ".join(f"{term.name} {term.size(contract.n_joints)}" for term in contract.observation)
    wanted = (
        (
            inputs[0],
            "input",
            contract.observation_size,
            (
                f"the observation of {contract.robot} has {contract.observation_size} entries ({terms}); make"
                " 'observation' in robot.yaml list what it was trained with"
            ),
        ),
        (
            outputs[0],
            "output",
            contract.n_joints,
            f"{contract.robot} has {contract.n_joints} joints; give the robot.yaml it was trained with",
        ),
    )
    for tensor, what, size, advice in wanted:
        if tensor.type != "tensor(float)":
            raise PolicyError(
                f"the {what} {tensor.name!r} of {path} is of the type {tensor.type}, it must be tensor(float); export"
                " the policy in float32"
            )
        if len(tensor.shape) != 2:
            raise PolicyError(
                f"the {what} {tensor.name!r} of {path} has the shape {_shape(tensor.shape)}, it must be (batch,"
                f" {size}); export the policy with a batch dimension"
            )
        batch, width = tensor.shape
        if isinstance(batch, int) and batch != 1:
            raise PolicyError(
                f"the {what} {tensor.name!r} of {path} has a fixed batch of {batch}; export the policy with a dynamic"
                " batch, or with a batch of 1"
            )
        if isinstance(width, int) and width != size:
            raise PolicyError(f"the {what} of {path} has {width} entries, but {advice}")
    rows = 1 if inputs[0].shape[0] == 1 else 2
    try:
        with watched(f"one inference of the policy {path}"):
            given = session.run(None, {inputs[0].name: np.zeros((rows, contract.observation_size), np.float32)})[
                0
            ].shape
    except Exception as reason:  # as above
        raise PolicyError(
            f"{path} does not run on {rows} observations of {contract.observation_size} entries ({_complaint(reason)});"
            " export it with a dynamic batch, for this robot"
        ) from None
    if given != (rows, contract.n_joints):
        raise PolicyError(
            f"{path} gives the shape {given} for {rows} observations, but {contract.robot} needs"
            f" {(rows, contract.n_joints)}; give the robot.yaml it was trained with, and export it with a dynamic batch"
        )


def _names(tensors: list[Any]) -> str:
    return ", ".join(tensor.name for tensor in tensors)


def _shape(shape: list[Any]) -> str:
    return "(" + ", ".join("?" if size is None else str(size) for size in shape) + ")"


def _complaint(reason: Exception) -> str:
    """What ONNX Runtime says, without its own prefix."""
    text = flat(reason, 1000)
    return (text.split(" : ", 3)[-1] if text.startswith("[ONNXRuntimeError]") else text)[:300]
