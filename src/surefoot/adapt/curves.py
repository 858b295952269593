"""Curves over position, tracking error and velocity whose knots are knobs: for what is not linear in them.

A spring that acts past an angle only, a dead band, a soft end stop, a motor that saturates. A sum of curves is linear
in its knots, so the search that finds static parameters finds it too, and each knot has an interval. Knots lie evenly
over what the robot really did; beyond, a curve is level and nothing is claimed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.adapt.knobs import Knob
from surefoot.adapt.search_space import SearchSpace
from surefoot.errors import FitError
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.network import UNITS
from surefoot.sim.residual import INPUTS, ActionDelta, Adds, Axis, Curves, Residual, summed
from surefoot.sim.worlds import Worlds

KNOTS = {"position": 7, "error": 5, "velocity": 5}
SUPPORT = (0.01, 0.99)  # quantiles of what was seen, between which knots lie
LEAST_RANGE = {
    "position": 0.05,
    "error": 0.01,
    "velocity": 0.2,
}  # rad, rad, rad/s: where a joint moved less, it has no curve
STEP_SHARE = 0.03  # of the torque limit: how far a knot is turned to see what it does
LIMIT_SHARE = 0.5  # of the torque limit: the most that is added
CURVE = {"torque": "residual_curve_nm", "action": "delta_curve_rad"}


@dataclass(frozen=True)
class Knot(Knob):
    """What is added to some joints at one value of one input."""

    input: int = 0  # place in INPUTS
    place: int = 0  # number of the knot
    at: float = 0.0  # value of the input, rad or rad/s
    adds: Adds = "torque"

    @property
    def unit(self) -> str:
        """Of its value."""
        return UNITS[self.adds]


@dataclass(frozen=True)
class KnotGrid:
    """Where the knots over one input lie, for each joint."""

    input: int
    low: np.ndarray  # (n_joints,)
    apart: np.ndarray

    @property
    def knots(self) -> int:
        """How many."""
        return KNOTS[INPUTS[self.input]]


@dataclass(frozen=True, eq=False)
class CurvedSpace(SearchSpace):
    """Parameters and curves, as one space."""

    adds: Adds = "torque"
    spans: tuple[KnotGrid, ...] = ()

    def apply(self, worlds: Worlds, points: np.ndarray, pieces: int) -> None:
        """Set up worlds[p * pieces : (p + 1) * pieces] as point p of `points`, (n, n_knobs)."""
        points = np.atleast_2d(points)
        worlds.residual = worlds.action_delta = None  # of another point
        self.static_part.apply(worlds, points[:, self.is_static], pieces)
        added = self.curves(points, pieces)
        if self.adds == "torque":
            worlds.residual = added if worlds.residual is None else summed([worlds.residual, added])
        else:
            worlds.action_delta = ActionDelta(added, self.robot.contract)

    @property
    def is_static(self) -> np.ndarray:
        """Which knobs are parameters of the simulator, and no knots."""
        return np.array([not isinstance(knob, Knot) for knob in self.knobs], dtype=bool)

    @property
    def static_part(self) -> SearchSpace:
        """The same without curves."""
        return SearchSpace(self.base, tuple(k for k in self.knobs if not isinstance(k, Knot)))

    def curves(self, coordinates: np.ndarray, pieces: int = 1) -> Residual:
        """What candidates add, each to `pieces` worlds."""
        return Curves(
            tuple(
                Axis(span.input, span.low, span.apart, np.repeat(self._knots(coordinates, span), pieces, axis=0))
                for span in self.spans
            )
        )

    def curve_of(self, coordinates: np.ndarray, joint: int) -> Callable[[np.ndarray], np.ndarray]:
        """What one candidate adds to one joint, as a function of inputs (rows, 3)."""
        lines = [
            (
                span.input,
                span.low[joint] + span.apart[joint] * np.arange(span.knots),
                self._knots(coordinates, span)[0, joint],
            )
            for span in self.spans
        ]
        return lambda inputs: np.sum([np.interp(inputs[:, k], x, y) for k, x, y in lines], axis=0)

    def _knots(self, coordinates: np.ndarray, span: KnotGrid) -> np.ndarray:
        """Values at the knots over one input, (n, n_joints, knots)."""
        values = self.values(coordinates)
        made = np.zeros((len(values), self.robot.contract.n_joints, span.knots))
        for k, knob in enumerate(self.knobs):
            if isinstance(knob, Knot) and knob.input == span.input:
                made[:, list(knob.entries), knob.place] = values[:, k : k + 1]
        return made


def with_curves(
    space: SearchSpace, seen: dict[str, np.ndarray], adds: Adds = "torque", *, per_joint: bool = False
) -> CurvedSpace:
    """Add curves for each type of joint, or for each joint, over what was `seen` of each of INPUTS, (rows,
    n_joints).

    What is found becomes the physics' network, so `space` must not have one.
    """
    robot = space.robot
    if space.base.network is not None:
        raise FitError(
            "the physics that the fit starts from has a network, which a new one would replace; leave it out"
        )
    groups = groups_of(robot, per_joint)
    spans, knots = [], []
    for name in KNOTS:
        low, apart = np.zeros(robot.contract.n_joints), np.ones(robot.contract.n_joints)
        for label, joints in groups.items():
            ends = _ends(name, seen[name][:, list(joints)])
            places = np.linspace(*ends, KNOTS[name])
            if ends[1] - ends[0] < LEAST_RANGE[name]:
                continue
            low[list(joints)], apart[list(joints)] = places[0], places[1] - places[0]
            knots += [
                _knot(robot, joints, label, name, place, float(at), adds)
                for place, at in enumerate(places)
                if name == "position"
                or place != KNOTS[name] // 2  # without error or motion nothing is added: that is the position's part
            ]
        spans.append(KnotGrid(INPUTS.index(name), low, apart))
    return CurvedSpace(space.base, (*space.knobs, *knots), adds=adds, spans=tuple(spans))


def groups_of(robot: Robot, per_joint: bool) -> dict[str, tuple[int, ...]]:
    """Joints that share what is added, by the group's name."""
    return {name: (k,) for k, name in enumerate(robot.contract.joints)} if per_joint else joint_types(robot)


def limit_of(robot: Robot, joints: tuple[int, ...], adds: Adds) -> float:
    """The most that is added, N·m or rad."""
    contract = robot.contract
    torque = LIMIT_SHARE * min(contract.torque_limit_nm[k] for k in joints)
    return float(torque if adds == "torque" else torque / max(contract.kp_nm_per_rad[k] for k in joints))


def _ends(name: str, seen: np.ndarray) -> tuple[float, float]:
    """First and last knot; around zero where zero means something."""
    seen = seen[np.isfinite(seen)]
    if name == "position":
        low, high = np.quantile(seen, SUPPORT)
        return float(low), float(high)
    most = float(np.quantile(np.abs(seen), SUPPORT[1]))
    return -most, most


def _knot(robot: Robot, joints: tuple[int, ...], label: str, name: str, place: int, at: float, adds: Adds) -> Knot:
    limit = limit_of(robot, joints, adds)
    unit = "rad/s" if name == "velocity" else "rad"
    return Knot(
        CURVE[adds],
        tuple(joints),
        f"{label} at {name} {at:.3f} {unit}",
        0.0,
        -limit,
        limit,
        STEP_SHARE / LIMIT_SHARE * limit,
        False,
        input=INPUTS.index(name),
        place=place,
        at=at,
        adds=adds,
    )
