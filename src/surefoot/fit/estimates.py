"""The answer of a search as estimates: a value, an interval and a flag for every knob, in its own unit."""

from collections.abc import Mapping, Sequence

import numpy as np

from surefoot.adapt import Fitted, Flag, Knob, Knot, SearchSpace
from surefoot.fit.advice import flag_of
from surefoot.fit.intervals import Uncertainty
from surefoot.fit.result import Point, Traces
from surefoot.gap.measure import Measured
from surefoot.robot import Robot
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.residual import INPUTS
from surefoot.sim.values import nominal

NO_EFFECT = "turning it does not change the simulated walk at all"


def estimates(
    space: SearchSpace,
    at: np.ndarray,
    uncertainty: Uncertainty,
    own: Mapping[str, float],
    silent: tuple[Knob, ...] = (),
    *,
    moved: bool = True,
) -> tuple[Fitted, ...]:
    """The parameters of a space at a point, and after them the `silent` ones, which do nothing.

    `own` has the robot's own values by the names of knobs; without `moved` they are the answer.
    """
    values, joints = space.values(at)[0], space.robot.contract.joints
    fitted = []
    for k, knob in enumerate(space.knobs):
        if isinstance(knob, Knot):
            continue
        half = float(uncertainty.half_width[k])
        low, high = sorted(float(knob.value(at[k] + side * uncertainty.half_width[k])) for side in (-1.0, 1.0))
        flag, note = flag_of(knob, float(at[k]), half, float(uncertainty.data_share[k]))
        value = float(values[k]) if moved else own[knob.name]
        fitted.append(_fitted(knob, joints, own[knob.name], value, (low, high), flag, note))
    for knob in silent:
        still = own[knob.name]
        fitted.append(_fitted(knob, joints, still, still, (knob.low, knob.high), "no effect", NO_EFFECT))
    return tuple(fitted)


def knots_of(space: SearchSpace, at: np.ndarray, uncertainty: Uncertainty) -> tuple[Point, ...]:
    """The knots of the curves of a space at a point; none where it has no curves."""
    values, joints = space.values(at)[0], space.robot.contract.joints
    return tuple(
        Point(
            tuple(joints[e] for e in knob.entries),
            INPUTS[knob.input],
            knob.at,
            float(values[k]),
            float(knob.step * uncertainty.half_width[k]),
        )
        for k, knob in enumerate(space.knobs)
        if isinstance(knob, Knot)
    )


def own_values(robot: Robot, knobs: Sequence[Knob]) -> dict[str, float]:
    """What the robot's own simulator has, by the names of knobs; where a search begins may be elsewhere."""
    values = {}
    for knob in knobs:
        own = nominal(knob.parameter, robot)
        values[knob.name] = float(np.mean(own[list(knob.entries)] if own.ndim else own))
    return values


def traces_of(before: Measured, after: Measured) -> Traces:
    """How far the legs are off, of replayed targets."""
    picked = np.array([channel.kind == "position" for channel in before.robot.channels])
    errors = [(measured.runs[0].samples[0] - measured.robot.samples)[:, picked] for measured in (before, after)]
    return Traces(*(float(np.sqrt(np.square(error).mean())) for error in errors))


def _fitted(
    knob: Knob,
    joints: tuple[str, ...],
    start: float,
    value: float,
    interval: tuple[float, float],
    flag: Flag,
    note: str,
) -> Fitted:
    names = tuple("xyz") if PARAMETERS[knob.parameter].per == "axis" else joints
    where = tuple(names[k] for k in knob.entries)
    return Fitted(
        knob.name, knob.parameter, where, knob.unit, start, value, interval, (knob.low, knob.high), flag, note
    )
