"""Estimators: what a policy observes and no sensor measures, such as the velocity of the base.

An estimator sees what the robot's sensors say, tick after tick, for n robots at once. `LegOdometry` comes with the
library; `OnnxEstimator` runs a network of the user's own, read with the same checks as a policy.
"""

import dataclasses
from pathlib import Path
from typing import Protocol

import numpy as np
import onnxruntime

from surefoot.errors import PolicyError
from surefoot.policy.observation import Observer
from surefoot.policy.odometry import LegOdometry
from surefoot.policy.onnx_policy import open_network
from surefoot.robot import Contract, Robot, Sensors, Term
from surefoot.robot.estimates import ESTIMATED, ODOMETRY, TRUTH
from surefoot.robot.layout import ONE_FRAME
from surefoot.robot.terms import TermNames, parse_terms
from surefoot.text import flat
from surefoot.watchdog import WatchedCalls, watched

WIDTH = 3  # of a base velocity, m/s in the axes of the base


class Estimator(Protocol):
    """Estimates the linear velocity of n bases from what their sensors say."""

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots, of all without `ids`."""
        ...

    def update(
        self, sensors: Sensors, command: np.ndarray | None = None, last_action: np.ndarray | None = None
    ) -> np.ndarray:
        """Take in one control tick; m/s in the axes of the base, (n, 3).

        The command of this tick (n, n_commands) and the action of the tick before (n, n_joints) are for estimators
        that look at them.
        """
        ...


def make_estimator(robot: Robot, contract: Contract, n: int) -> Estimator | None:
    """The estimator of the base's velocity that the contract names; None where the policy observes no such thing, or
    where the simulator itself gives the value.
    """
    spec = contract.estimator("base_velocity")
    if not contract.observes("base_velocity") or spec is None or spec.kind == TRUTH:
        return None
    if spec.kind == ODOMETRY:
        return LegOdometry(robot, n)
    path = robot.path.parent / spec.file
    names = TermNames(contract.joints, contract.n_driven, contract.command_names, len(robot.feet))
    terms = parse_terms(list(spec.observation), f"the estimator {path}", PolicyError, names)
    estimator = OnnxEstimator(path, terms, contract, n)
    if spec.sha256 and estimator.hash != spec.sha256:
        raise PolicyError(
            f"{path} is another file than the estimator that the policy was attached with; attach the policy again",
            verb="policy attach",
        )
    return estimator


class OnnxEstimator:
    """A network from observations (batch, size) to base velocities (batch, 3), both float32.

    Its input is built from observation `terms`, with scales and history, as that of a policy is. The contract says what
    the joints are and which pose their positions count from.
    """

    def __init__(self, path: str | Path, terms: tuple[Term, ...], contract: Contract, n: int) -> None:
        self.name = str(path)
        for term in terms:
            if term.name in ESTIMATED:
                raise PolicyError(
                    f"the estimator {path} takes the term {term.name!r}, which is what it estimates; give it terms that"
                    " sensors fill, such as gyro, gravity, joint_position and joint_velocity"
                )
        if not terms:
            raise PolicyError(
                f"the estimator {path} has no terms; name what its input is made of, such as gyro, gravity"
            )
        self.terms = tuple(terms)
        contract = dataclasses.replace(
            contract, observation=self.terms, inputs=(), frames=ONE_FRAME, observation_clip=None, normalizer=None
        )
        self._uses = {term.name for term in terms}
        self._commands = np.zeros((n, len(contract.command_names)))
        self._actions = np.zeros((n, contract.n_joints))
        self._observer = Observer(contract, n)
        self._size = contract.observation_size
        self._session, self.hash = open_network(path)
        self._row_by_row = _check_shapes(self._session, contract, self.name)
        self._input, self._output = self._session.get_inputs()[0].name, self._session.get_outputs()[0].name
        self._watched = WatchedCalls(f"one inference of the estimator {path}")

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots, of all without `ids`."""
        self._observer.reset(ids)

    def update(
        self, sensors: Sensors, command: np.ndarray | None = None, last_action: np.ndarray | None = None
    ) -> np.ndarray:
        """Take in one control tick; m/s in the axes of the base, (n, 3). What is not finite is returned as it is."""
        for name, value in (("command", command), ("last_action", last_action)):
            if value is None and name in self._uses:
                raise PolicyError(f"the estimator {self.name} takes the term {name!r}; give its value to each update")
        observation = self._observer.observe(
            sensors,
            self._commands if command is None else command,
            self._actions if last_action is None else last_action,
        )
        if self._row_by_row:
            return np.concatenate([self._infer(row[None]) for row in observation]).astype(float)
        return self._infer(observation).astype(float)

    def _infer(self, observation: np.ndarray) -> np.ndarray:
        self._watched.begin()  # a loop in the network may never end
        try:
            velocity: np.ndarray = self._session.run([self._output], {self._input: observation})[0]
        finally:
            self._watched.end()
        return velocity


def _check_shapes(session: onnxruntime.InferenceSession, contract: Contract, name: str) -> bool:
    """Refuse a network that does not go from (batch, size) to (batch, 3) in float32; whether it takes single rows."""
    inputs, outputs, size = session.get_inputs(), session.get_outputs(), contract.observation_size
    for tensors, what in ((inputs, "input"), (outputs, "output")):
        if len(tensors) != 1:
            given = ", ".join(tensor.name for tensor in tensors)
            raise PolicyError(
                f"the estimator {name} has {len(tensors)} {what}s ({given}); it must have one: observations in,"
                " velocities out; give it a past with the history of its terms"
            )
    listed = ", ".join(f"{term.name} {term.history * contract.width(term)}" for term in contract.observation)
    for tensor, what, width, advice in (
        (
            inputs[0],
            "input",
            size,
            f"its terms have {size} entries ({listed}); name the terms that it was trained with",
        ),
        (outputs[0], "output", WIDTH, "a base velocity has 3; export the velocity alone"),
    ):
        if tensor.type != "tensor(float)":
            raise PolicyError(
                f"the {what} {tensor.name!r} of the estimator {name} is of the type {tensor.type}; export it in float32"
            )
        if len(tensor.shape) != 2 or (isinstance(tensor.shape[0], int) and tensor.shape[0] != 1):
            raise PolicyError(
                f"the {what} {tensor.name!r} of the estimator {name} has the shape {tuple(tensor.shape)}; it must be"
                f" (batch, {width}); export it with a dynamic batch, or with a batch of 1"
            )
        if isinstance(tensor.shape[1], int) and tensor.shape[1] != width:
            raise PolicyError(f"the {what} of the estimator {name} has {tensor.shape[1]} entries, but {advice}")
    rows = 1 if inputs[0].shape[0] == 1 else 2
    try:
        with watched(f"one inference of the estimator {name}"):
            given = session.run(None, {inputs[0].name: np.zeros((rows, size), np.float32)})[0]
    except Exception as reason:  # ONNX Runtime's errors have no common base but this
        raise PolicyError(
            f"the estimator {name} does not run on {rows} observations of {size} entries"
            f" ({flat(reason, 300)}); export it with a dynamic batch, for this robot"
        ) from None
    if given.shape != (rows, WIDTH):
        raise PolicyError(
            f"the estimator {name} gives the shape {given.shape} for {rows} observations; it must be {(rows, WIDTH)}:"
            " export the velocity alone, with a dynamic batch"
        )
    return rows == 1
