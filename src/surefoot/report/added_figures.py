"""What a fit added to the robot, drawn: over position and over velocity of each group of joints, hatched
where the log says nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.adapt import Adaptation
from surefoot.adapt.adaptation import Fitted
from surefoot.fit.result import FitResult, Point
from surefoot.report.charts import ADAPTED, PANEL, ROBOT, Key, Series, Shade, line_chart
from surefoot.robot import Robot
from surefoot.robot.legs import called, usual_pose
from surefoot.sim.network import UNITS
from surefoot.sim.residual import ACTION_TERMS, TORQUE_TERMS, Adds, terms

SUPPORT = (0.01, 0.99)  # quantiles of what the robot did
MARGIN = 0.2  # of that range, drawn on both sides and hatched
POINTS = 81
MOST_GROUPS = 6  # of joints that are drawn, those with the largest torque first
KEYS = (Key("what the fit added", ADAPTED), Key("without the network: the linear terms alone", ROBOT))


@dataclass(frozen=True, eq=False)
class AddedCurve:
    """What a fit added to one group of joints, over one input and with the other two at rest."""

    label: str
    input: str
    x: np.ndarray
    total: np.ndarray
    linear: np.ndarray
    half_width: np.ndarray  # of the 90 % interval of the total
    support: tuple[float, float]

    @property
    def size(self) -> float:
        """Root mean square where the log has support."""
        inside = (self.x >= self.support[0]) & (self.x <= self.support[1])
        return float(np.sqrt(np.square(self.total[inside]).mean()))


def adds_of(adaptation: Adaptation) -> Adds:
    """Whether torque or a shift of targets was added."""
    return "action" if adaptation.family == "action-delta" else "torque"


def added(result: FitResult, robot: Robot) -> list[tuple[AddedCurve, AddedCurve]]:
    """Over position and over velocity, for each group of joints; empty where a fit added nothing."""
    adds = adds_of(result.adaptation)
    names = {name for name in (TORQUE_TERMS if adds == "torque" else (*ACTION_TERMS, "action_offset_rad")) if name}
    groups: dict[tuple[str, ...], list[Fitted]] = {}
    for knob in result.adaptation.knobs:
        if knob.parameter in names:
            groups.setdefault(knob.where, []).append(knob)
    for group in result.adaptation.network.groups if result.adaptation.network is not None else ():
        groups.setdefault(group.joints, [])
    found = [(_over("position", where, result, robot), _over("velocity", where, result, robot)) for where in groups]
    return sorted(found, key=lambda pair: -pair[0].size)


def panels(result: FitResult, robot: Robot) -> list[str]:
    """Two charts for each group with the largest torques."""
    unit = UNITS[adds_of(result.adaptation)]
    drawn = []
    for pair in added(result, robot)[:MOST_GROUPS]:
        for one in pair:
            of = "rad" if one.input == "position" else "rad/s"
            ends = float(one.x[0]), float(one.x[-1])
            shades = (
                Shade(ends[0], one.support[0], "", hatched=True),
                Shade(one.support[1], ends[1], "", hatched=True),
            )
            lines = [Series("", one.x, one.total, ADAPTED, one.total - one.half_width, one.total + one.half_width)]
            if result.adaptation.network is not None:
                lines.append(Series("", one.x, one.linear, ROBOT))
            drawn.append(
                line_chart(
                    lines,
                    f"{one.input}, {of}",
                    unit,
                    title=f"{one.label}, over {one.input}",
                    shades=shades,
                    x_range=ends,
                    width=PANEL,
                )
            )
    return drawn


def support(result: FitResult, where: tuple[str, ...], kind: str) -> tuple[float, float]:
    """Between which values the robot was in nearly all of the fitted time."""
    side = result.after.robot
    places = [i for i, channel in enumerate(side.channels) if channel.kind == kind and channel.where in where]
    low, high = np.nanquantile(side.samples[:, places], SUPPORT)
    return float(low), float(max(high, low + 1e-6))


def _over(kind: str, where: tuple[str, ...], result: FitResult, robot: Robot) -> AddedCurve:
    low, high = support(result, where, kind)
    margin = MARGIN * (high - low)
    x = np.linspace(low - margin, high + margin, POINTS)
    joint = robot.contract.joints.index(where[0])
    linear, network = _functions(result, robot)
    inputs = [
        (
            np.tile(np.array(robot.contract.pose_rad), (POINTS, 1))
            if k == 1
            else np.zeros((POINTS, robot.contract.n_joints))
        )
        for k in range(3)
    ]
    inputs[1 if kind == "position" else 2][:, joint] = x
    plain, rest = linear(*inputs)[:, joint], network(*inputs)[:, joint]
    half = _half_width(kind, where, result, x, float(usual_pose(robot)[joint]))
    return AddedCurve(called(where, robot), kind, x, plain + rest, plain, half, (low, high))


def _functions(result: FitResult, robot: Robot) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
    adaptation, adds = result.adaptation, adds_of(result.adaptation)
    names = TORQUE_TERMS if adds == "torque" else ("action_offset_rad", *ACTION_TERMS[1:])
    shape = (POINTS, robot.contract.n_joints)
    values = {name: np.broadcast_to(adaptation.settings[name], shape) for name in names if name in adaptation.settings}

    def nothing(error: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        return np.zeros(error.shape)

    plain = terms(values, names, usual_pose(robot))

    def linear(*inputs: np.ndarray) -> np.ndarray:
        return np.zeros(inputs[0].shape) if plain is None else plain(*inputs)

    return linear, nothing if adaptation.network is None else adaptation.network.net(robot)


def _half_width(kind: str, where: tuple[str, ...], result: FitResult, x: np.ndarray, pose_rad: float) -> np.ndarray:
    """Of plain terms by their covariance; of a network by the knots that it was taught from."""
    knots = sorted(
        (point for point in result.knots if set(where) <= set(point.joints) and point.input == kind),
        key=lambda point: point.at,
    )
    if knots:
        return _between(knots, x)
    weigh: dict[str, np.ndarray] = {"residual_constant_nm": np.ones(len(x)), "action_offset_rad": np.ones(len(x))}
    if kind == "position":
        weigh |= dict.fromkeys(("residual_position_nm_per_rad", "delta_position_rad_per_rad"), x - pose_rad)
    else:
        weigh |= dict.fromkeys(("residual_velocity_nms", "delta_velocity_s"), x)
    knobs = result.adaptation.knobs
    places = [
        k
        for k, knob in enumerate(knobs)
        if knob.parameter in weigh and set(where) <= set(knob.where) and knob.flag != "no effect"
    ]
    if not places:
        return np.zeros(len(x))
    half = np.array([(knobs[k].interval[1] - knobs[k].interval[0]) / 2 for k in places])
    features = np.stack([weigh[knobs[k].parameter] for k in places], axis=1) * half
    return np.sqrt(
        np.maximum(np.einsum("ni,ij,nj->n", features, result.correlation[np.ix_(places, places)], features), 0.0)
    )


def _between(knots: list[Point], x: np.ndarray) -> np.ndarray:
    return np.interp(x, [point.at for point in knots], [point.half_width for point in knots])
