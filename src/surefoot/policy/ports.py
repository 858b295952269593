"""Which tensors of a network are its observations, its action and its recurrent state.

The contract names them where there are several. A state is an input that takes what an output gave at the tick before;
pairs are recognised by their shapes and names, so that a file with an LSTM or a GRU describes itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from surefoot.errors import PolicyError
from surefoot.robot import Contract
from surefoot.robot.contract import describe_term
from surefoot.robot.layout import FRAMES

ACTION_NAMES = ("action", "actions", "continuous_actions", "mu", "mean", "output")
STATE_ENDINGS = (("_in", "_out"), ("_in", "_new"), ("_i", "_o"), ("", "_out"), ("", "_next"), ("prev_", "next_"))
FLOAT = "tensor(float)"


@dataclass(frozen=True)
class StatePort:
    """A recurrent state: its tensors, and the axis along which robots are stacked; None: one robot at a time."""

    input: str
    output: str
    shape: tuple[int, ...]  # of one robot, without the batch axis
    axis: int | None

    def zeros(self, n: int) -> np.ndarray:
        """The state of n robots after a reset, (n, *shape)."""
        return np.zeros((n, *self.shape), np.float32)


@dataclass(frozen=True)
class Ports:
    """The tensors of a policy, resolved."""

    inputs: tuple[str, ...]  # observations, in the order of the contract's inputs
    action: str
    state: tuple[StatePort, ...]
    row_by_row: bool  # the file was exported with a batch of 1

    @property
    def outputs(self) -> list[str]:
        """What to ask the network for: the action, then the states."""
        return [self.action, *(port.output for port in self.state)]


def find_ports(session: onnxruntime.InferenceSession, contract: Contract, path: Path) -> Ports:
    """The ports of a network as the contract describes it; a network that does not fit is refused."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    known = {tensor.name: tensor for tensor in inputs}, {tensor.name: tensor for tensor in outputs}
    for pair in contract.state:
        for tensor, named, what in zip(pair, known, ("input", "output"), strict=True):
            if tensor not in named:
                raise PolicyError(
                    f"{path} has no {what} {tensor!r} for its state; it has {_names(list(named.values()))}"
                )
    state = tuple(_state_port(known[0][a], known[1][b], path) for a, b in contract.state)
    used = {port.input for port in state}
    rest = [tensor for tensor in inputs if tensor.name not in used]
    names = _observation_inputs(rest, contract, path)
    action = _action_output(outputs, contract, path)
    fixed = [known[0][name].shape[:1] == [1] for name in names]
    _check_inputs([known[0][name] for name in names], contract, path)
    _check_tensor(known[1][action], "output", (contract.n_driven,), _wrong_output(contract), path)
    row_by_row = any(fixed) or any(port.axis is None for port in state)
    return Ports(names, action, state, row_by_row)


def find_state(session: onnxruntime.InferenceSession, contract: Contract) -> tuple[tuple[str, str], ...]:
    """Pairs of tensors that look like a recurrent state: same shape, and names that belong together."""
    if contract.state or len(session.get_inputs()) <= len(contract.network_inputs):
        return contract.state
    named = {given.name for given in contract.network_inputs if given.name}
    free = {tensor.name: tensor for tensor in session.get_outputs()}
    pairs = []
    for tensor in session.get_inputs():
        if tensor.name in named:
            continue
        partner = next((free[name] for name in _partners(tensor.name) if name in free), None)
        if partner is not None and _same_shape(tensor.shape, partner.shape) and tensor.type == partner.type == FLOAT:
            pairs.append((tensor.name, partner.name))
            del free[partner.name]
    return tuple(pairs)


def _partners(name: str) -> list[str]:
    """Names of the output that a state's input may belong to."""
    found = []
    for before, after in STATE_ENDINGS:
        if before.endswith("_") and name.startswith(before):
            found.append(after + name.removeprefix(before))
        elif not before.endswith("_") and name.endswith(before):
            found.append(name[: len(name) - len(before)] + after)
    return found


def _same_shape(a: Sequence[Any], b: Sequence[Any]) -> bool:
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(x == y or not (isinstance(x, int) and isinstance(y, int)) for x, y in pairs)


def _state_port(given: Any, taken: Any, path: Path) -> StatePort:
    for tensor in (given, taken):
        if tensor.type != FLOAT:
            raise PolicyError(
                f"the state {tensor.name!r} of {path} is of the type {tensor.type}, it must be {FLOAT}; export the"
                " policy in float32"
            )
    open_axes = [axis for axis, size in enumerate(given.shape) if not isinstance(size, int)]
    if len(open_axes) > 1:
        raise PolicyError(
            f"the state {given.name!r} of {path} has the shape {_shape(given.shape)}; one dimension at most may be"
            " open, the batch; export the policy with a dynamic batch alone"
        )
    axis = open_axes[0] if open_axes else None
    shape = tuple(int(size) for k, size in enumerate(given.shape) if k != axis)
    return StatePort(given.name, taken.name, shape, axis)


def _observation_inputs(rest: list[Any], contract: Contract, path: Path) -> tuple[str, ...]:
    wanted = [given.name for given in contract.network_inputs]
    have = {tensor.name for tensor in rest}
    missing = [name for name in wanted if name and name not in have]
    if missing:
        raise PolicyError(f"{path} has no input {missing[0]!r}, which the contract describes; it has {_names(rest)}")
    if len(rest) != len(wanted):
        described = ", ".join(name or "the observation" for name in wanted)
        raise PolicyError(
            f"{path} has {len(rest)} inputs ({_names(rest)}), and the contract describes {len(wanted)} ({described});"
            " describe each of them with its terms under 'inputs' in robot.yaml, or name it under 'state' if an output"
            " feeds it at the next tick"
        )
    return tuple(name or rest[0].name for name in wanted)


def _action_output(outputs: list[Any], contract: Contract, path: Path) -> str:
    states = {after for _, after in contract.state}
    rest = [tensor for tensor in outputs if tensor.name not in states]
    if contract.output:
        if contract.output not in {tensor.name for tensor in rest}:
            raise PolicyError(f"{path} has no output {contract.output!r} for the action; it has {_names(rest)}")
        return contract.output
    for candidates in (
        rest,
        [tensor for tensor in rest if tensor.shape[-1:] == [contract.n_driven]],
        [tensor for tensor in rest if tensor.name in ACTION_NAMES],
    ):
        if len(candidates) == 1:
            return str(candidates[0].name)
    raise PolicyError(
        f"{path} has the outputs {_names(rest)}, and nothing says which of them is the action; name it with 'output' in"
        " robot.yaml",
        argument="output",
    )


def _check_inputs(tensors: list[Any], contract: Contract, path: Path) -> None:
    for given, tensor in zip(contract.network_inputs, tensors, strict=True):
        size = contract.input_size(given)
        terms = ", ".join(f"{describe_term(term)} {term.history * contract.width(term)}" for term in given.terms)
        frames = f", {given.frames.history} frames of them" if given.frames.history > 1 else ""
        key = f"'inputs: {given.name}'" if given.name else "'observation'"
        advice = (
            f"the observation of {contract.robot} has {size} entries ({terms}{frames}); make {key} in robot.yaml list"
            " what it was trained with"
        )
        history = given.frames.history
        shape = (history, size // history) if given.shape == FRAMES else (size,)
        _check_tensor(tensor, "input", shape, advice, path)


def _wrong_output(contract: Contract) -> str:
    held = f" and holds {len(contract.held_joints)} more" if contract.held_joints else ""
    return (
        f"{contract.robot} drives {contract.n_driven} joints{held}; give the robot.yaml it was trained with, with the"
        " joints of its output under 'driven'"
    )


def _check_tensor(tensor: Any, what: str, shape: tuple[int, ...], advice: str, path: Path) -> None:
    if tensor.type != FLOAT:
        raise PolicyError(
            f"the {what} {tensor.name!r} of {path} is of the type {tensor.type}, it must be {FLOAT}; export"
            " the policy in float32"
        )
    if len(tensor.shape) != 1 + len(shape):
        raise PolicyError(
            f"the {what} {tensor.name!r} of {path} has the shape {_shape(tensor.shape)}, it must be (batch,"
            f" {', '.join(map(str, shape))}); export the policy with a batch dimension"
        )
    batch, *widths = tensor.shape
    if isinstance(batch, int) and batch != 1:
        raise PolicyError(
            f"the {what} {tensor.name!r} of {path} has a fixed batch of {batch}; export the policy with a dynamic"
            " batch, or with a batch of 1"
        )
    for width, size in zip(widths, shape, strict=True):
        if isinstance(width, int) and width != size:
            raise PolicyError(f"the {what} of {path} has {width} entries, but {advice}")


def _names(tensors: Sequence[Any]) -> str:
    return ", ".join(tensor.name for tensor in tensors)


def _shape(shape: Sequence[Any]) -> str:
    return "(" + ", ".join("?" if size is None else str(size) for size in shape) + ")"
