"""A network whose weights are what CMA-ES searches, as published; the tool itself searches curves, and
teaches them to a network.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.fit.answers import keep_answer, recall_answer
from surefoot.fit.cma import CmaSearch, CmaSettings
from surefoot.fit.problem import Problem
from surefoot.gap import Case
from surefoot.journal import Journal
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.network import HIDDEN, JointGroup, Network
from surefoot.sim.physics import Physics
from surefoot.sim.residual import INPUTS
from surefoot.sim.worlds import Worlds

OF_ORDER_ONE = np.array([4.0, 1.0, 0.2])  # what error, position and velocity are multiplied by first


@dataclass(frozen=True, eq=False)
class Weights:
    """All weights of the network as candidates, one network for each type of joint; with all at zero it
    adds nothing.
    """

    robot: Robot
    settings: dict[str, Any]  # of the simulator beside it, as Worlds.set takes them
    share: float = 0.5  # of the torque limit
    torque_speed: bool = False

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Outputs and inputs of the layers."""
        return [(b, a) for a, b in zip((len(INPUTS), *HIDDEN), (*HIDDEN, 1), strict=True)]

    @property
    def n(self) -> int:
        """How many weights."""
        return len(joint_types(self.robot)) * sum(b * a + b for b, a in self.sizes)

    def apply(self, worlds: Worlds, candidates: np.ndarray, pieces: int) -> None:
        """One network for worlds[c * pieces : (c + 1) * pieces], all of them in one product a layer."""
        Physics(self.robot, self.settings).apply(worlds)
        nets = [self.network(candidate).net(self.robot) for candidate in candidates]
        weights, biases = (
            [np.stack(layer) for layer in zip(*parts, strict=True)]
            for parts in ([n.weights for n in nets], [n.biases for n in nets])
        )
        limit = np.stack([net.limit for net in nets])[..., None]

        def torque(error_rad: np.ndarray, position_rad: np.ndarray, velocity_rad_s: np.ndarray) -> np.ndarray:
            given = np.stack([error_rad, position_rad, velocity_rad_s]).reshape(len(INPUTS), len(nets), pieces, -1)
            hidden = np.ascontiguousarray(
                given.transpose(1, 3, 0, 2), dtype=np.float32
            )  # (networks, joints, inputs, worlds of each)
            for weight, bias in zip(weights, biases, strict=True):
                hidden = np.tanh(weight @ hidden + bias)
            return (hidden[:, :, 0] * limit).transpose(0, 2, 1).reshape(error_rad.shape).astype(float)

        worlds.residual = torque

    def network(self, candidate: np.ndarray) -> Network:
        """That of one candidate."""
        joints, at, groups = self.robot.contract.joints, 0, []
        for places in joint_types(self.robot).values():
            layers = []
            for b, a in self.sizes:
                weight, at = candidate[at : at + a * b].reshape(b, a), at + a * b
                bias, at = candidate[at : at + b], at + b
                layers.append((weight * OF_ORDER_ONE if a == len(INPUTS) else weight, bias))
            limit = self.share * min(self.robot.contract.torque_limit_nm[k] for k in places)
            groups.append(JointGroup(tuple(joints[k] for k in places), tuple(layers), limit))
        return Network("torque", tuple(groups))


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search over weights ended with."""

    weights: np.ndarray
    generations: int
    evaluations: int
    simulated_s: float
    stopped: str


def search_weights(
    family: Weights,
    case: Case,
    cost: str,
    simulated_s: float,
    seed: int,
    journal: Journal,
    *,
    bound: float = 1.0,
    sigma: float = 0.3,
) -> Searched:
    """CMA-ES over weights within ±bound, from a network that adds nothing, until its simulated seconds are spent.

    Falls cost nothing, as published. Every answer is kept in the journal, and what is there is not simulated again.
    """
    search = CmaSearch(
        np.full(family.n, -bound), np.full(family.n, bound), seed, CmaSettings(sigma=sigma, fall_cost=0.0)
    )
    problem = Problem(case, family, cost=cost)  # type: ignore[arg-type]
    while (stopped := search.done) is None and problem.effort.simulated_s < simulated_s:
        ask = search.ask()
        question = ask.candidates.tobytes() + repr(ask.seed).encode()
        known = recall_answer(journal, question)
        if known is None:
            started = time.perf_counter()
            answer = problem.evaluate(ask.candidates, ask.seed, residuals=False)
            keep_answer(journal, question, answer, time.perf_counter() - started)
        else:
            answer = known[0]
            problem.count(len(ask.candidates), residuals=False)
        search.tell(ask, answer.residuals, answer.cost, answer.fallen)
    effort = problem.effort
    said = stopped or f"stopped after {effort.simulated_s:,.0f} simulated s, before it settled"
    return Searched(search.at, search.iteration, effort.evaluations, effort.simulated_s, said)
