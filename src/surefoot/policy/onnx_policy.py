"""A policy file: an ONNX network from observations to actions, with the contract in its metadata.

A file that loads has been checked: float32 inputs as the contract lays them out, a float32 output (batch, n_driven),
recurrent states that fit, and a trial run that gave what it declares. Sessions use one thread that sleeps while idle, so
that they neither fight with the simulator's threads nor depend on the number of cores.
"""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.external_data_helper
import onnxruntime

from surefoot.errors import PolicyError
from surefoot.files import check_input, mark, read_bytes, write_whole
from surefoot.limits import refuse_size
from surefoot.policy.ports import find_ports, find_state
from surefoot.robot import Contract, Robot
from surefoot.robot.layout import FRAMES
from surefoot.robot.posture import POSTURE_KEY
from surefoot.text import flat
from surefoot.watchdog import WatchedCalls, watched

CONTRACT_KEY = "surefoot.contract"
WRITTEN_BY = "surefoot.written_by"
LARGEST_BYTES = 2**31 - 1  # no protobuf message, and so no ONNX file, can be larger
MOST_METADATA = 2_000_000  # characters; contract and provenance take some thousand
MOST_NODES = 20_000  # a policy has some ten; ONNX Runtime takes minutes for 200,000
# Surefoot never loads such a file itself: it may hold code that runs when it is read.
TORCHSCRIPT_ADVICE = (
    'convert a TorchScript policy with one line in the environment it was made in: python -c "import torch;'
    " torch.onnx.export(torch.jit.load('policy.pt').eval(), torch.zeros(1, OBSERVATION_SIZE), 'policy.onnx',"
    " input_names=['obs'], output_names=['actions'], dynamic_axes={'obs': {0: 'batch'}, 'actions': {0: 'batch'}})\""
)
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
        self._ports = find_ports(session, contract, Path(name))
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
        return not self._ports.row_by_row

    @property
    def recurrent(self) -> bool:
        """Whether the network carries a state from tick to tick."""
        return bool(self._ports.state)

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

    def initial_state(self, n: int) -> list[np.ndarray]:
        """The recurrent state of n robots after a reset: zeros, one array (n, ...) for each; empty without a state."""
        return [port.zeros(n) for port in self._ports.state]

    def run(self, observation: np.ndarray) -> np.ndarray:
        """Actions (n, n_driven), float32, for observations (n, observation_size), with the state of a reset. What is
        not finite is returned as it is.
        """
        return self.advance([observation], self.initial_state(len(observation)))[0]

    def advance(
        self, observations: Sequence[np.ndarray], state: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """Actions (n, n_driven), float32, and the state of the next tick, for the observations of each input and the
        state of this tick, each (n, ...).
        """
        contract = self.contract
        given = [np.ascontiguousarray(observation, np.float32) for observation in observations]
        for layout, observation in zip(contract.network_inputs, given, strict=True):
            if observation.ndim < 2 or observation[0].size != contract.input_size(layout):
                raise PolicyError(
                    f"{self.name} takes observations of the shape (n, {contract.input_size(layout)}), got"
                    f" {observation.shape}"
                )
        if not self._ports.row_by_row:
            return self._infer(given, state)
        rows = [
            self._infer([observation[k : k + 1] for observation in given], [part[k : k + 1] for part in state])
            for k in range(len(given[0]))
        ]
        parts = zip(*(after for _, after in rows), strict=True)
        return np.concatenate([action for action, _ in rows]), [np.concatenate(part) for part in parts]

    def _infer(self, given: list[np.ndarray], state: Sequence[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        ports = self._ports
        feed = dict(zip(ports.inputs, given, strict=True))
        for port, part in zip(ports.state, state, strict=True):
            feed[port.input] = part[0] if port.axis is None else np.ascontiguousarray(np.moveaxis(part, 0, port.axis))
        self._watched.begin()  # a loop in the network may depend on what it is given, and never end
        try:
            action, *after = self._session.run(ports.outputs, feed)
        finally:
            self._watched.end()
        return action, [
            part[None] if port.axis is None else np.moveaxis(part, port.axis, 0)
            for port, part in zip(ports.state, after, strict=True)
        ]


def attach(
    source: str | Path, robot: Robot, out: str | Path, replace: bool = False, output: str | None = None
) -> Contract:
    """Write a copy of an ONNX file with the robot's contract inside, and return that contract; other metadata stays,
    external data moves in.

    So does the range of commands of a policy that means a posture, since it is the policy's own and narrower than the
    robot's. A file that already carries the contract of another robot is refused unless `replace` is set. `output` is
    the tensor that is the action, where the file has several. A recurrent state is found by the names and shapes of its
    tensors where the robot does not name it.
    """
    source, out = Path(source), Path(out)
    model, content = _read(source)
    session = _session(content, source, threads=1)
    contract = dataclasses.replace(robot.contract, output=robot.contract.output if output is None else output)
    contract = dataclasses.replace(contract, state=find_state(session, contract))
    _check_shapes(session, contract, source)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    carried = _carried(metadata.get(CONTRACT_KEY), source)
    differences = [] if carried is None else carried.differences(robot.contract)
    if differences and not replace:
        raise PolicyError(
            f"{source} already carries a contract that differs from the robot's: {'; '.join(differences)};"
            " replace it where the file is wrong and the robot right",
            argument="replace",
        )
    if carried is not None and POSTURE_KEY in metadata:
        contract = dataclasses.replace(contract, command_range=carried.command_range)
    write_model(model, metadata | {CONTRACT_KEY: contract.to_json()}, out)
    return contract


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
        if content.startswith(b"PK"):  # a ZIP archive, as PyTorch writes it
            raise PolicyError(f"{path} is a PyTorch file, not an ONNX file; {TORCHSCRIPT_ADVICE}") from None
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
    """Refuse a network whose tensors do not fit the contract, or that does not give what it declares."""
    ports = find_ports(session, contract, path)
    rows = 1 if ports.row_by_row else 2
    feed: dict[str, np.ndarray] = {}
    for given, name in zip(contract.network_inputs, ports.inputs, strict=True):
        size, frames = contract.input_size(given), given.frames.history
        shape = (rows, frames, size // frames) if given.shape == FRAMES else (rows, size)
        feed[name] = np.zeros(shape, np.float32)
    for port in ports.state:
        zeros = port.zeros(rows)
        feed[port.input] = zeros[0] if port.axis is None else np.moveaxis(zeros, 0, port.axis)
    try:
        with watched(f"one inference of the policy {path}"):
            action, *after = session.run(ports.outputs, feed)
    except Exception as reason:  # as above
        raise PolicyError(
            f"{path} does not run on {rows} observations of {contract.observation_size} entries ({_complaint(reason)});"
            " export it with a dynamic batch, for this robot"
        ) from None
    if action.shape != (rows, contract.n_driven):
        raise PolicyError(
            f"{path} gives the shape {action.shape} for {rows} observations, but {contract.robot} needs"
            f" {(rows, contract.n_driven)}; give the robot.yaml it was trained with, and export it with a dynamic batch"
        )
    for port, part in zip(ports.state, after, strict=True):
        if part.shape != feed[port.input].shape:
            raise PolicyError(
                f"{path} takes the state {port.input!r} with the shape {feed[port.input].shape} and gives"
                f" {port.output!r} with the shape {part.shape}; a state must keep its shape"
            )


def _complaint(reason: Exception) -> str:
    """What ONNX Runtime says, without its own prefix."""
    text = flat(reason, 1000)
    return (text.split(" : ", 3)[-1] if text.startswith("[ONNXRuntimeError]") else text)[:300]
