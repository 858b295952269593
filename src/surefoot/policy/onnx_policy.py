"""A policy file: an ONNX network from observations to actions, with the contract in its metadata.

A file that loads has been checked: one float32 input (batch, observation_size), one float32 output
(batch, n_joints), and a trial run that gave what it declares. Sessions use one thread that sleeps
while idle, so that they neither fight with the simulator's threads nor depend on the number of cores.
"""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.external_data_helper
import onnxruntime

from surefoot.errors import PolicyError
from surefoot.files import write_whole
from surefoot.robot import Contract, Robot
from surefoot.robot.posture import POSTURE_KEY

CONTRACT_KEY = "surefoot.contract"
LARGEST_BYTES = 2**31 - 1  # no protobuf message, and so no ONNX file, can be larger
SILENT = 4  # ONNX Runtime's severity "fatal": what goes wrong is said by our own errors


class OnnxPolicy:
    """A policy on its way through a batch: `load` it, `check` it against the robot, `run` it."""

    def __init__(
        self, session: onnxruntime.InferenceSession, contract: Contract, file_hash: str, metadata: dict[str, str], name: str
    ) -> None:
        self.contract = contract
        self.hash = file_hash  # sha256 of the file, as sha256sum prints it; with external data, of the file with its data inside
        self.metadata = metadata  # what else the file says about itself, without the contract
        self.name = name  # the path, for messages
        self._session = session
        self._input = session.get_inputs()[0].name
        self._outputs = [session.get_outputs()[0].name]
        self._row_by_row = session.get_inputs()[0].shape[0] == 1

    @staticmethod
    def load(path: str | Path, threads: int = 1) -> "OnnxPolicy":
        """Read a policy and the contract inside it; every way in which the file can be wrong is a PolicyError."""
        path = Path(path)
        model, content = _read(path)
        metadata = {entry.key: entry.value for entry in model.metadata_props}
        text = metadata.pop(CONTRACT_KEY, None)
        if text is None:
            raise PolicyError(
                f"{path} does not say for which robot it was made; run 'surefoot policy attach {path} --robot ROBOT --out walk.onnx' with the robot it was trained on"
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
                f"{self.name} was made for another robot than this {contract.robot!r} (the policy's value against the robot's): {'; '.join(differences)}; "
                "give the robot.yaml it was trained with, or, where the file is wrong about itself, correct it with 'surefoot policy attach --replace'"
            )

    def run(self, observation: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints), float32, for observations (n, observation_size). What is not finite is returned as it is."""
        observation = np.ascontiguousarray(observation, np.float32)
        if observation.ndim != 2 or observation.shape[1] != self.contract.observation_size:
            raise PolicyError(f"{self.name} takes observations of the shape (n, {self.contract.observation_size}), got {observation.shape}")
        if self._row_by_row:
            return np.concatenate([self._session.run(self._outputs, {self._input: row[None]})[0] for row in observation])
        return self._session.run(self._outputs, {self._input: observation})[0]


def attach(source: str | Path, robot: Robot, out: str | Path, replace: bool = False) -> None:
    """Write a copy of an ONNX file with the robot's contract inside; other metadata stays, external data moves in.

    So does the range of commands of a policy that means a posture, since it is the policy's own and narrower than the robot's. A file that already carries the contract of another robot is refused unless `replace` is set.
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
            f"{source} already carries a contract that differs from the robot's: {'; '.join(differences)}; add --replace where the file is wrong and the robot right"
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
    onnx.helper.set_model_props(model, metadata)
    content = model.SerializeToString(deterministic=True)

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_whole(path, write)


def _read(path: Path) -> tuple[onnx.ModelProto, bytes]:
    """The parsed model and the bytes to run; weights kept in another file beside it are pulled in."""
    if path.is_dir():
        raise PolicyError(f"{path} is a folder; give the .onnx file inside it")
    if not path.exists():
        raise PolicyError(f"the policy {path} does not exist; give the path of an .onnx file")
    if not path.is_file():
        raise PolicyError(f"{path} is not an ordinary file; give the path of an .onnx file")
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise PolicyError(f"{path} is larger than 2 GB, which no ONNX file can be; give the .onnx file of a policy")
        content = path.read_bytes()
    except OSError as reason:
        raise PolicyError(f"cannot read {path}: {reason.strerror or reason}") from None
    if not content:
        raise PolicyError(f"{path} is empty; export the policy again")
    try:
        model = onnx.load_model_from_string(content)
    except Exception:  # protobuf's own error, or one of its parser's
        raise PolicyError(f"{path} is not an ONNX file, or only a part of one; export or copy the policy again") from None
    if not model.graph.node:
        raise PolicyError(f"{path} is not an ONNX file with a network in it; export the policy again")
    before = model.SerializeToString(deterministic=True)
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(path.parent))
    except Exception as reason:  # a file that is missing, too short, or outside of the folder
        raise PolicyError(
            f"{path} keeps its weights in another file that cannot be used ({_flat(reason)}); put that file beside it, or export the policy as one file"
        ) from None
    after = model.SerializeToString(deterministic=True)
    return model, content if before == after else after


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
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        for tensor in (*session.get_inputs(), *session.get_outputs()):
            _ = tensor.name, tensor.type, tensor.shape  # a broken name is found when it is first asked for
        return session
    except Exception as reason:  # ONNX Runtime's errors have no common base but this
        raise PolicyError(
            f"ONNX Runtime {onnxruntime.__version__} cannot load {path} ({_flat(reason)}); export it again, with an older opset if it asks for a newer one"
        ) from None


def _check_shapes(session: onnxruntime.InferenceSession, contract: Contract, path: Path) -> None:
    """Refuse a network that does not go from (batch, observation_size) to (batch, n_joints) in float32."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1:
        raise PolicyError(
            f"{path} has {len(inputs)} inputs ({_names(inputs)}), but a policy takes one, the observation; recurrent policies are not supported: train one with history in its observation instead"
        )
    if len(outputs) != 1:
        raise PolicyError(
            f"{path} has {len(outputs)} outputs ({_names(outputs)}), but a policy gives one, the action; export the mean action only"
        )
    terms = ", ".join(f"{term.name} {term.size(contract.n_joints)}" for term in contract.observation)
    wanted = (
        (
            inputs[0],
            "input",
            contract.observation_size,
            f"the observation of {contract.robot} has {contract.observation_size} entries ({terms}); make 'observation' in robot.yaml list what it was trained with",
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
                f"the {what} {tensor.name!r} of {path} is of the type {tensor.type}, it must be tensor(float); export the policy in float32"
            )
        if len(tensor.shape) != 2:
            raise PolicyError(
                f"the {what} {tensor.name!r} of {path} has the shape {_shape(tensor.shape)}, it must be (batch, {size}); export the policy with a batch dimension"
            )
        batch, width = tensor.shape
        if isinstance(batch, int) and batch != 1:
            raise PolicyError(
                f"the {what} {tensor.name!r} of {path} has a fixed batch of {batch}; export the policy with a dynamic batch, or with a batch of 1"
            )
        if isinstance(width, int) and width != size:
            raise PolicyError(f"the {what} of {path} has {width} entries, but {advice}")
    rows = 1 if inputs[0].shape[0] == 1 else 2
    try:
        given = session.run(None, {inputs[0].name: np.zeros((rows, contract.observation_size), np.float32)})[0].shape
    except Exception as reason:  # as above
        raise PolicyError(
            f"{path} does not run on {rows} observations of {contract.observation_size} entries ({_flat(reason)}); export it with a dynamic batch, for this robot"
        ) from None
    if given != (rows, contract.n_joints):
        raise PolicyError(
            f"{path} gives the shape {given} for {rows} observations, but {contract.robot} needs {(rows, contract.n_joints)}; give the robot.yaml it was trained with, and export it with a dynamic batch"
        )


def _names(tensors: list[Any]) -> str:
    return ", ".join(tensor.name for tensor in tensors)


def _shape(shape: list[Any]) -> str:
    return "(" + ", ".join("?" if size is None else str(size) for size in shape) + ")"


def _flat(reason: Exception) -> str:
    """A foreign error as part of a sentence."""
    text = " ".join(str(reason).split())
    if text.startswith("[ONNXRuntimeError]"):
        text = text.split(" : ", 3)[-1]
    return text[:300].rstrip(". ")
