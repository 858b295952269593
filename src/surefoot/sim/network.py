"""A small network for each joint, in NumPy: what a fit found of physics that the model has no part for.

It is written into files as plain numbers, with weights for each group of joints that share them, and read
back with every number checked.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import numpy as np

from surefoot.errors import SurefootError, shown
from surefoot.files import is_number
from surefoot.robot import Robot
from surefoot.sim.residual import INPUTS, ActionDelta, Adds
from surefoot.sim.worlds import Worlds

HIDDEN = (8, 4)
UNITS: dict[Adds, str] = {"torque": "N·m", "action": "rad"}
MOST_UNITS, MOST_LAYERS, MOST_WEIGHT, MOST_LIMIT = (
    256,
    8,
    1e6,
    1e4,
)  # of a network that is read: more is no small network


@dataclass(frozen=True, eq=False)
class ResidualNet:
    """limit · tanh(W3 tanh(W2 tanh(W1 x + b1) + b2) + b3) of error, position and velocity, with weights of
    its own for each joint.

    Weights are (n_joints, outputs, inputs), biases (n_joints, outputs, 1). Single precision: its rounding is
    far below the torque noise of any motor, and twice as many numbers pass through a vector unit.
    """

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    limit: np.ndarray  # (n_joints,)

    def __call__(self, error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
        """Torques, or shifts of targets, for inputs of shape (n, n_joints)."""
        n, joints = error_rad.shape
        hidden = np.empty((joints, len(INPUTS), n), dtype=np.float32)
        for i, values in enumerate((error_rad, position_rad, velocity_rad_s)):
            hidden[:, i] = values.T
        for weight, bias in zip(self.weights, self.biases, strict=True):
            hidden = np.matmul(weight, hidden)
            hidden += bias
            np.tanh(hidden, out=hidden)
        return (hidden[:, 0].T * self.limit).astype(float)


@dataclass(frozen=True)
class JointGroup:
    """Joints that share weights."""

    joints: tuple[str, ...]
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]  # weight (outputs, inputs), bias (outputs,)
    limit: float  # largest output, in the network's unit


@dataclass(frozen=True, eq=False)
class Network:
    """What is added to a robot, group by group; joints in no group get nothing."""

    adds: Adds
    groups: tuple[JointGroup, ...]

    def net(self, robot: Robot) -> ResidualNet:
        """For all joints of the robot at once."""
        joints = robot.contract.joints
        shapes = [bias.shape[0] for _, bias in self.groups[0].layers]
        weights = [np.zeros((len(joints), b, a), dtype=np.float32) for a, b in pairwise((len(INPUTS), *shapes))]
        biases = [np.zeros((len(joints), b, 1), dtype=np.float32) for b in shapes]
        limit = np.zeros(len(joints), dtype=np.float32)
        for group in self.groups:
            places = [joints.index(name) for name in group.joints]
            limit[places] = group.limit
            for k, (weight, bias) in enumerate(group.layers):
                weights[k][places], biases[k][places] = weight, bias[:, None]
        return ResidualNet(tuple(weights), tuple(biases), limit)

    def attach(self, worlds: Worlds) -> None:
        """Put it into all of these worlds."""
        net = self.net(worlds.robot)
        if self.adds == "torque":
            worlds.residual = net
        else:
            worlds.action_delta = ActionDelta(net, worlds.robot.contract)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON and YAML."""
        return {
            "adds": self.adds,
            "unit": UNITS[self.adds],
            "inputs": ["error rad", "position rad", "velocity rad/s"],
            "activation": "tanh",
            "groups": [
                {
                    "joints": list(group.joints),
                    "limit": float(group.limit),
                    "layers": [{"weight": weight.tolist(), "bias": bias.tolist()} for weight, bias in group.layers],
                }
                for group in self.groups
            ],
        }


def read_network(content: Any, robot: Robot, error: type[SurefootError]) -> Network:
    """A network from plain numbers, all of them checked."""
    if (
        not isinstance(content, dict)
        or content.get("adds") not in tuple(UNITS)
        or not isinstance(content.get("groups"), list)
    ):
        raise error(
            f"the network is {shown(content)}; it must hold 'adds' (torque or action) and 'groups', as a fit"
            " writes them"
        )
    groups = tuple(_group(entry, robot, error) for entry in content["groups"])
    named = [name for group in groups for name in group.joints]
    if not groups or len(set(named)) != len(named):
        raise error("the network has no groups, or names a joint twice; each joint may be in one group")
    if len({tuple(bias.shape for _, bias in group.layers) for group in groups}) != 1:
        raise error("the groups of the network have layers of different sizes; they must be alike")
    return Network(cast("Adds", content["adds"]), groups)


def _group(entry: Any, robot: Robot, error: type[SurefootError]) -> JointGroup:
    if (
        not isinstance(entry, dict)
        or not isinstance(entry.get("joints"), list)
        or not isinstance(entry.get("layers"), list)
    ):
        raise error(f"a group of the network is {shown(entry)}; it must hold joints, limit and layers")
    for name in entry["joints"]:
        if name not in robot.contract.joints:
            raise error(f"the network names the joint {shown(name)}, which {robot.name} does not have")
    if not is_number(entry.get("limit")) or not 0 <= entry["limit"] <= MOST_LIMIT:
        raise error(f"the network's limit is {shown(entry.get('limit'))}; it must be a number from 0 to {MOST_LIMIT:g}")
    layers, width = [], len(INPUTS)
    if not 1 <= len(entry["layers"]) <= MOST_LAYERS:
        raise error(f"the network has {len(entry['layers'])} layers; it must have 1 to {MOST_LAYERS}")
    for k, layer in enumerate(entry["layers"]):
        found = [_numbers(layer.get(name)) if isinstance(layer, dict) else None for name in ("weight", "bias")]
        weight, bias = found
        if (
            weight is None
            or bias is None
            or bias.ndim != 1
            or weight.shape != (len(bias), width)
            or not 1 <= len(bias) <= MOST_UNITS
        ):
            raise error(
                f"layer {k} of the network must hold finite numbers: weight, rows of {width}, and bias, one for"
                " each row"
            )
        layers.append((weight, bias))
        width = len(bias)
    if width != 1:
        raise error(f"the network ends in {width} outputs; it must end in one, the torque or shift of a joint")
    return JointGroup(tuple(entry["joints"]), tuple(layers), float(entry["limit"]))


def _numbers(value: Any) -> np.ndarray | None:
    """A list of finite numbers, or of such lists, as an array."""
    rows = value if isinstance(value, list) else []
    entries = [entry for row in rows for entry in (row if isinstance(row, list) else [row])]
    if not entries or not all(is_number(entry) and abs(entry) <= MOST_WEIGHT for entry in entries):
        return None
    try:
        return np.array(rows, dtype=float)
    except ValueError:  # rows of different lengths
        return None


def random_net(joints: int, limit_nm: np.ndarray, hidden: tuple[int, ...] = HIDDEN, seed: int = 0) -> ResidualNet:
    """A network with weights of unit gain, to look at and to measure with."""
    rng = np.random.default_rng(seed)
    sizes = (len(INPUTS), *hidden, 1)
    weights = [rng.normal(0, a**-0.5, (joints, b, a)).astype(np.float32) for a, b in pairwise(sizes)]
    weights[0] *= np.array([2.0, 1.0, 0.1], dtype=np.float32)  # rad, rad and rad/s are of order one half, one and ten
    biases = tuple(np.zeros((joints, b, 1), dtype=np.float32) for b in sizes[1:])
    return ResidualNet(tuple(weights), biases, np.asarray(limit_nm, dtype=np.float32))
