"""Adaptations that add torque or move targets, and the files that say so, loaded."""

import importlib.util
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from surefoot.adapt.adaptation import Adaptation
from surefoot.robot import Robot
from surefoot.sim.network import JointGroup, Network
from surefoot.sim.residual import ACTION_TERMS, TORQUE_TERMS, Adds

SPANS = dict(
    zip((*TORQUE_TERMS, *ACTION_TERMS[1:3], *ACTION_TERMS[4:]), (1.0, 3.0, 0.1, 0.3, 4.0, 0.1, 0.01, 0.2), strict=True)
)


def network(robot: Robot, adds: Adds = "torque", sizes: tuple[int, ...] = (3, 8, 4, 1)) -> Network:
    """Two groups of joints with weights of their own; the last joint is in neither."""
    rng, joints = np.random.default_rng(7), robot.contract.joints
    groups = []
    for members in (joints[:-1:2], joints[1:-1:2]):
        layers = tuple((rng.normal(0, 0.5, (b, a)), rng.normal(0, 0.3, b)) for a, b in pairwise(sizes))
        groups.append(JointGroup(tuple(members), layers, rng.uniform(1, 3) * (1.0 if adds == "torque" else 0.03)))
    return Network(adds, tuple(group for group in groups if group.joints))


def weights(robot: Robot, *names: str) -> dict[str, list[float]]:
    """A value of its own for each joint, none of them round."""
    rng = np.random.default_rng(11)
    return {name: rng.uniform(-SPANS[name], SPANS[name], robot.contract.n_joints).tolist() for name in names}


def found(robot: Robot, settings: dict, net: Network | None = None) -> Adaptation:
    return Adaptation(
        robot.name,
        robot.hash,
        "residual",
        (),
        settings,
        net,
        provenance={"command": "surefoot fit log.parquet --out fit/"},
    )


def loaded(folder: Path, source: str) -> ModuleType:
    (folder / "residual.py").write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("residual", folder / "residual.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def states(robot: Robot, *shape: int) -> np.ndarray:
    """Errors, positions and velocities."""
    rng = np.random.default_rng(5)
    spread = np.array([0.3, 1.0, 8.0]).reshape(3, *(1 for _ in shape), 1)
    return spread * rng.normal(size=(3, *shape, robot.contract.n_joints))


def torque_cases(robot: Robot) -> dict[str, Adaptation]:
    every = weights(robot, *TORQUE_TERMS)
    return {
        "terms": found(robot, every),
        "one term": found(robot, weights(robot, "residual_direction_nm")),
        "constant": found(robot, weights(robot, "residual_constant_nm")),
        "network": found(robot, {}, network(robot)),
        "one layer": found(robot, {}, network(robot, sizes=(3, 1))),
        "both": found(robot, every, network(robot)),
    }


TORQUE = ("terms", "one term", "constant", "network", "one layer", "both")
