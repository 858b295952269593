"""What a fit added to the robot, in words: a spring with its stiffness and rest, a constant pull, a gain that is off, what is not linear."""

import numpy as np

from surefoot.adapt.adaptation import Fitted
from surefoot.fit.result import Point
from surefoot.report.charts import number
from surefoot.robot import Robot
from surefoot.robot.legs import called, usual_pose
from surefoot.sim.network import UNITS
from surefoot.sim.residual import Adds

SURE = 2.0  # half-widths of its interval that a term must be away from zero
DELTA = {
    "action_offset_rad": "a target that is off by {:+.3f} rad",
    "delta_position_rad_per_rad": "a target that gives way by {:+.3f} rad per rad of position",
    "delta_velocity_s": "a target that leads by {:+.4f} rad per rad/s of speed",
    "delta_error_rad_per_rad": "a target that overshoots by {:+.3f} rad per rad of error",
}


def torque_words(knobs: tuple[Fitted, ...], robot: Robot, knots: tuple[Point, ...] = (), adds: Adds = "torque") -> list[str]:
    """A sentence for each group of joints to which something was added that is surely there."""
    groups: dict[tuple[str, ...], dict[str, Fitted]] = {}
    for knob in knobs:
        if knob.parameter.startswith("residual_") or knob.parameter in DELTA:
            groups.setdefault(knob.where, {})[knob.parameter] = knob
    pose = dict(zip(robot.contract.joints, usual_pose(robot).tolist(), strict=True))
    found = []
    for where, terms in groups.items():
        said = _spring(terms, pose[where[0]])
        error = terms.get("residual_error_nm_per_rad")
        if error is not None and _sure(error):
            said.append(f"a position gain that is off by {error.value:+.1f} N·m/rad")
        said += [words.format(terms[name].value) for name, words in DELTA.items() if name in terms and _sure(terms[name])]
        if said:
            name = next(iter(terms.values())).name.partition("[")[2].rstrip("]") or "all joints"
            found.append(f"At {name} it looks like {', and '.join(said)}.")
    return found + _bends(knots, robot, UNITS[adds])


def _bends(knots: tuple[Point, ...], robot: Robot, unit: str) -> list[str]:
    """Where a network departs from a straight line."""
    found = []
    for joints, kind in dict.fromkeys((point.joints, point.input) for point in knots):
        points = [point for point in knots if point.joints == joints and point.input == kind]
        at, value = np.array([point.at for point in points]), np.array([point.value for point in points])
        bent = value - np.polyval(np.polyfit(at, value, 1), at) if len(points) > 2 else value
        sure = [point for point, off in zip(points, bent, strict=True) if min(abs(point.value), abs(off)) > SURE * point.half_width]
        if sure:
            most = max(sure, key=lambda point: abs(point.value))
            name = called(joints, robot)
            per = "rad/s" if kind == "velocity" else "rad"
            found.append(
                f"At {name} something is not linear in {kind}: the network adds up to {most.value:+.2f} {unit}, at {most.at:.2f} {per}."
            )
    return found


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
