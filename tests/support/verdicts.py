"""Made-up comparisons of two policies, and an adaptation to judge them in."""

import dataclasses

import numpy as np

from surefoot.adapt import Adaptation, Fitted, make_knobs
from surefoot.policy.agents import make_agent
from surefoot.robot import Robot
from surefoot.verify.compare import Compared, Estimate, FallCounts, Side
from surefoot.verify.rules import ADAPTED, NOMINAL, judge
from surefoot.verify.verdict import Effort, Verdict, reach_verdict

SMALL = Effort(episodes=3, straight_episodes=2, candidates=3, candidate_episodes=2, seconds=1.5)

FEW = (
    "--episodes",
    3,
    "--straight-episodes",
    2,
    "--candidates",
    2,
    "--candidate-episodes",
    2,
    "--seconds",
    1.5,
    "--threads",
    1,
)
FULL = {"velocity_error_m_s": 1.0, "turn_error_rad_s": 1.0, "drift_m": 12.0, "way_error_m": 12.0}
OLD = {
    "velocity_error_m_s": 0.1,
    "turn_error_rad_s": 0.1,
    "drift_m": 2.0,
    "way_error_m": 2.0,
    "power_w": 50.0,
    "action_change": 0.2,
    "joint_acceleration_rad_s2": 100.0,
}
NO_FALLS = FallCounts(40, 0, 0, 0)


def adaptation_of(robot: Robot) -> Adaptation:
    """Friction by joint type and a delay, as a fit would have found them."""
    knobs, settings = [], {}
    for knob in make_knobs(robot, ("dry_friction_nm", "delay_s"), tie="type"):
        value = 0.2 if knob.parameter == "dry_friction_nm" else 0.004
        where = tuple(robot.contract.joints[k] for k in knob.entries) if knob.label else ()
        knobs.append(
            Fitted(
                knob.name,
                knob.parameter,
                where,
                knob.unit,
                knob.start,
                value,
                (0.5 * value, 1.5 * value),
                (knob.low, knob.high),
            )
        )
        settings[knob.parameter] = [value] * robot.contract.n_joints
    return Adaptation(robot.name, robot.hash, "static", tuple(knobs), settings)


def about(value: float, half: float = 0.0) -> Estimate:
    return Estimate(value, value - half, value + half, 10)


def made(
    name: str,
    half: float = 0.001,
    falls: FallCounts = NO_FALLS,
    pushed: FallCounts = NO_FALLS,
    cost: float = 1.0,
    **new: float,
) -> Compared:
    """A simulator in which the new policy is like the old one but for what is given."""
    after = OLD | new
    sides = [Side({name: about(value) for name, value in figures.items()}, 1.0, {}, {}, {}) for figures in (OLD, after)]
    sides[1] = dataclasses.replace(sides[1], cost_of_transport=cost)
    return Compared(
        name, sides[0], sides[1], {figure: about(after[figure] - OLD[figure], half) for figure in OLD}, falls, pushed
    )


GOOD = made(ADAPTED, velocity_error_m_s=0.08)
SAME = made(NOMINAL)


def rules(
    *named: Compared, pooled: Compared | None = None, candidates: tuple[Compared, ...] = ()
) -> set[tuple[str, str]]:
    reasons, _ = judge(named, pooled, candidates, FULL)
    return {(reason.rule, reason.simulator) for reason in reasons}


def agents(robot: Robot, name: str):
    return lambda n: make_agent(name, robot, n)


def judged(robot: Robot, before, after, effort: Effort = SMALL, **options) -> Verdict:
    old, new = (agents(robot, one) if isinstance(one, str) else one for one in (before, after))
    return reach_verdict(robot, old, new, adaptation_of(robot), effort=effort, threads=1, **options)


class Throw:
    """Throws the robot over."""

    label, hash = "throw", "0"

    def reset(self, ids=None):
        pass

    def act(self, sensors, command):
        return np.where(sensors.time_s[:, None] < 0.3, 10.0, -10.0) * np.array([1, 1, 1] * 2 + [-1, 1, 1] * 2)
