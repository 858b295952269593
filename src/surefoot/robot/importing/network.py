"""An ONNX file as a source: its metadata where it has any, else what the sizes of its tensors let one guess.

The file is read elsewhere (`policy/sources.py`); here it is names, sizes and text.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from surefoot.robot.importing.description import Action, Description, Value
from surefoot.robot.importing.exploy import is_exploy, read_exploy
from surefoot.robot.importing.holosoma import read_holosoma
from surefoot.robot.importing.mjlab_metadata import is_mjlab, read_mjlab

KIND_BARE = "an ONNX file without metadata"
BODY: tuple[dict[str, Any], ...] = ({"name": "gyro"}, {"name": "gravity"})
JOINTS: tuple[dict[str, Any], ...] = ({"name": "joint_position"}, {"name": "joint_velocity"}, {"name": "last_action"})
VELOCITY: dict[str, Any] = {"name": "base_velocity"}
COMMAND: dict[str, Any] = {"name": "command"}
PHASE: dict[str, Any] = {"name": "gait_phase", "frequency_hz": 1.5, "offsets": [0.0, 0.5], "form": "cos_then_sin"}


@dataclass(frozen=True)
class Habit:
    """What the exports of a framework without metadata usually are, by the entries beside three for each joint."""

    whose: str
    producers: tuple[str, ...]  # that write its ONNX files
    layouts: dict[int, tuple[dict[str, Any], ...]]
    action_scale: float
    physics_hz: float | None
    order: str
    control_hz: float = 50.0


HABITS = (
    Habit(
        "the joystick tasks of MuJoCo Playground",
        ("tf2onnx", "jax2onnx"),
        {12: (VELOCITY, *BODY, *JOINTS, COMMAND), 16: (VELOCITY, *BODY, COMMAND, *JOINTS, PHASE)},
        action_scale=0.5,
        physics_hz=250.0,  # of its quadrupeds
        order="model",
    ),
    Habit(
        "the velocity tasks of Isaac Lab",
        ("pytorch",),
        {12: (VELOCITY, *BODY, COMMAND, *JOINTS), 9: (*BODY, COMMAND, *JOINTS)},
        action_scale=0.5,
        physics_hz=None,  # the step that suits PhysX is too long for MuJoCo
        order="breadth_first",
    ),
)


@dataclass(frozen=True)
class Network:
    """What an ONNX file says without being run."""

    inputs: dict[str, int | None]  # sizes of one row; None where the file leaves it open
    outputs: dict[str, int | None]
    metadata: dict[str, str] = field(default_factory=dict)
    constants: dict[str, list[float]] = field(default_factory=dict)  # outputs that no input changes
    producer: str = ""


def read_network(network: Network, source: str) -> Description:
    """What an ONNX file says about its policy."""
    metadata = {key: text for key, text in network.metadata.items() if not key.startswith("surefoot.")}
    if is_exploy(metadata, network.outputs):
        description = read_exploy(metadata, source, network.inputs, network.outputs)
    elif is_mjlab(metadata):
        description = read_mjlab(metadata, source)
    elif "dof_names" in metadata:
        description = read_holosoma(metadata, source, network.inputs)
    else:
        description = _bare(network, source)
    return dataclasses.replace(description, **_tensors(network, source, description))


def _tensors(network: Network, source: str, description: Description) -> dict[str, Any]:
    """Sizes, the state of a recurrent network, and constants."""
    found: dict[str, Any] = {}
    if network.constants:
        found["constants"] = Value(network.constants, source)
    if description.inputs is not None:
        return found
    state = [
        {"input": name, "output": name.removesuffix("_in") + "_out"}
        for name in network.inputs
        if name.endswith("_in") and name.removesuffix("_in") + "_out" in network.outputs
    ]
    states = {entry["input"] for entry in state}
    results = {entry["output"] for entry in state}
    if state:
        found["state"] = Value(state, f"{source}: inputs and outputs that pair up")
    rest = [name for name in network.outputs if name not in results and name not in network.constants]
    if rest:
        if len(network.outputs) > 1:
            found["output"] = Value(rest[0], f"{source}: its outputs", guess=len(rest) > 1)
        if network.outputs[rest[0]]:
            found["action_count"] = Value(network.outputs[rest[0]], f"{source}: the output {rest[0]}")
    sizes = {name: size for name, size in network.inputs.items() if name not in states and size}
    if sizes:
        found["input_sizes"] = Value(sizes, f"{source}: its inputs")
    return found


def _bare(network: Network, source: str) -> Description:
    """Nothing but sizes: the layout of a framework whose export has no metadata, where they fit."""
    sizes = list(network.inputs.values())
    count = next(iter(network.outputs.values()), None)
    if len(sizes) != 1 or sizes[0] is None or not count:
        return Description(kind=KIND_BARE, source=source)
    entries = sizes[0] - 3 * count
    fitting = [habit for habit in HABITS if entries in habit.layouts]
    named = [habit for habit in fitting if network.producer in habit.producers]
    if not fitting:
        return Description(kind=KIND_BARE, source=source)
    habit = (named or fitting)[0]
    by = f", written by {network.producer}," if named else ""
    why = f"{sizes[0]} inputs and {count} outputs{by} fit {habit.whose}; the file has no metadata"

    def guess(value: Any) -> Value:
        return Value(value, why, why, guess=True)

    return Description(
        kind=KIND_BARE,
        source=source,
        order=habit.order,
        groups=guess({"policy": [{**term, "source": why} for term in habit.layouts[entries]]}),
        actions=guess((Action(scale=habit.action_scale),)),
        control_hz=guess(habit.control_hz),
        physics_hz=None if habit.physics_hz is None else guess(habit.physics_hz),
    )
