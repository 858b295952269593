"""What a fit added to the robot, in words: a spring with its stiffness and rest, a constant pull, a gain
that is off, what is not linear.
"""

import numpy as np

from surefoot.adapt.adaptation import Fitted
from surefoot.fit.result import Point
from surefoot.report.charts import number
from surefoot.robot import Robot
from surefoot.robot.legs import called, usual_pose
from surefoot.sim.network import UNITS
from surefoot.sim.residual import ACTION_TERMS, INPUTS, TERMS, TORQUE_TERMS, Adds
from surefoot.sim.residual import terms as sum_of_terms

SURE = 2.0  # half-widths of its interval that a term must be away from zero
OFFSET = "action_offset_rad"
OTHERS = {  # than a spring
    "residual_velocity_nms": "a torque of {:+.3f} N·m per rad/s of speed",
    "residual_direction_nm": "a torque of {:+.2f} N·m along the motion",
    "residual_error_nm_per_rad": "a position gain that is off by {:+.1f} N·m/rad",
    OFFSET: "a target that is off by {:+.3f} rad",
    "delta_position_rad_per_rad": "a target that gives way by {:+.3f} rad per rad of position",
    "delta_velocity_s": "a target that leads by {:+.4f} rad per rad/s of speed",
    "delta_error_rad_per_rad": "a target that overshoots by {:+.3f} rad per rad of error",
}


def torque_words(
    knobs: tuple[Fitted, ...], robot: Robot, knots: tuple[Point, ...] = (), adds: Adds = "torque"
) -> list[str]:
    """A sentence for each group of joints to which something was added that is surely there."""
    groups: dict[tuple[str, ...], dict[str, Fitted]] = {}
    for knob in knobs:
        if knob.parameter in TERMS or knob.parameter == OFFSET:
            groups.setdefault(knob.where, {})[knob.parameter] = knob
    pose = dict(zip(robot.contract.joints, usual_pose(robot).tolist(), strict=True))
    if knots:  # terms and network are parts of one curve, and neither means anything by itself
        return _curves(groups, knots, robot, pose, UNITS[adds])
    found = []
    for where, terms in groups.items():
        said = _spring(terms, pose[where[0]])
        said += [
            words.format(terms[name].value) for name, words in OTHERS.items() if name in terms and _sure(terms[name])
        ]
        if said:
            found.append(f"At {called(where, robot)} it looks like {', and '.join(said)}.")
    return found


def _curves(
    groups: dict[tuple[str, ...], dict[str, Fitted]],
    knots: tuple[Point, ...],
    robot: Robot,
    pose: dict[str, float],
    unit: str,
) -> list[str]:
    """What was added at the knots of each curve, terms and network together."""
    found = []
    for joints, kind in dict.fromkeys((point.joints, point.input) for point in knots):
        points = [point for point in knots if point.joints == joints and point.input == kind]
        at, half = np.array([point.at for point in points]), np.array([point.half_width for point in points])
        value = np.array([point.value for point in points]) + _linear(groups.get(joints, {}), kind, at, pose[joints[0]])
        bent = value - np.polyval(np.polyfit(at, value, 1), at) if len(points) > 2 else np.zeros(len(points))
        if (np.abs(value) > SURE * half).any():
            shape = "not linear" if (np.abs(bent) > SURE * half).any() else "linear within its interval"
            told = ", ".join(f"{y:+.2f} at {x:.2f}" for x, y in zip(at, value, strict=True))
            found.append(
                f"At {called(joints, robot)} over {kind}, {unit} at {'rad/s' if kind == 'velocity' else 'rad'}: {told};"
                f" {shape}."
            )
    return found


def _linear(terms: dict[str, Fitted], kind: str, at: np.ndarray, pose_rad: float) -> np.ndarray:
    """The part of the terms over one input, as the simulator adds them up. What is there without error and motion is
    the position's part.
    """
    still = np.zeros((len(at), 1))
    rest = {"error": still, "position": still + pose_rad, "velocity": still}
    moved = rest | {kind: at[:, None]}
    total = np.zeros(len(at))
    for names in (TORQUE_TERMS, (OFFSET, *ACTION_TERMS[1:])):
        values = {name: np.full((len(at), 1), terms[name].value) for name in names if name in terms}
        function = sum_of_terms(values, names, np.array([pose_rad]))
        if function is not None:
            total += function(*(moved[name] for name in INPUTS))[:, 0]
            if kind != "position":
                total -= function(*(rest[name] for name in INPUTS))[:, 0]
    return total


def _spring(terms: dict[str, Fitted], pose_rad: float) -> list[str]:
    slope, constant = terms.get("residual_position_nm_per_rad"), terms.get("residual_constant_nm")
    pull = 0.0 if constant is None else constant.value
    if slope is not None and _sure(slope):
        stiffness, half = -slope.value, (slope.interval[1] - slope.interval[0]) / 2
        rest = pose_rad + pull / stiffness
        kind = "a spring" if stiffness > 0 else "a torque that grows away from its rest, as of an unstable lever,"
        return [f"{kind} of {number(abs(stiffness), 3)} ± {number(half, 2)} N·m/rad at rest at {rest:.2f} rad"]
    if constant is not None and _sure(constant):
        return [f"a constant pull of {pull:+.2f} N·m"]
    return []


def _sure(knob: Fitted) -> bool:
    half = (knob.interval[1] - knob.interval[0]) / 2
    return not knob.flag and abs(knob.value) > SURE * half
