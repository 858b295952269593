"""What the fields of a task may hold: one table, and one sentence for each field that holds something else.

A task file is somebody's own program, and may return anything in any field. What training would stumble over later, in
a place that says nothing about the task, is refused first.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from surefoot.errors import TaskError, nearest, shown
from surefoot.files import is_number
from surefoot.learn.randomize import Randomization, Spread
from surefoot.learn.rise import Rise
from surefoot.learn.starts import Shares
from surefoot.robot import Posture, Robot
from surefoot.sim.parameters import PARAMETERS

if TYPE_CHECKING:
    from surefoot.learn.task import Task

LONGEST_NAME = 100  # characters
LONGEST_S = 86_400.0  # of an episode or a command: a day
MOST_SUBSTEPS = 1000
MOST_COST = 1e6
# What PPO's settings may hold, by their names; all others are whole numbers from 1 on.
ABOVE_ZERO = ("learning_rate", "desired_kl", "clip", "start_std", "taught_std")
SHARES = ("gamma", "gae_lambda")
FROM_ZERO = ("critic_first", "average")


def refuse_nonsense(task: Task, robot: Robot, where: str) -> None:
    """Refuse a task that cannot be trained; `where` is the file that it came from."""
    fields = task_fields(robot)
    for name, (good, must) in fields.items():
        value = getattr(task, name)
        if not good(value):
            raise TaskError(f"{name} of {where} is {shown(value)}; it must be {must}")
    if not task.posture.level and task.rise is not None:
        _refuse_width(task.rise, robot, where)
    _refuse_learning(task.learning, where)


def task_fields(robot: Robot) -> dict[str, tuple[Callable[[Any], bool], str]]:
    """Of each field, whether a value is good, and what it must be."""
    from surefoot.learn.behaviour_cloning import TEACHERS  # here, since it needs PyTorch

    least_s = robot.contract.control_dt_s
    return {
        "name": (lambda v: isinstance(v, str) and 0 < len(v) <= LONGEST_NAME, "a short text"),
        "rewards": (_rewards, "a tuple of surefoot.learn.task.Reward(function, weight), at least one"),
        "command_range": (
            lambda v: isinstance(v, (tuple, list)) and len(v) == 3 and all(_pair(pair) for pair in v),
            "three pairs of numbers, the lower one first: vx m/s, vy m/s, wz rad/s",
        ),
        "randomization": (_randomization, "what surefoot.learn.randomize.load_randomization returns"),
        "episode_s": (
            lambda v: is_number(v) and least_s <= v <= LONGEST_S,
            f"a number from {least_s:g} (one control period) to {LONGEST_S:g} s",
        ),
        "command_hold_s": (
            lambda v: _pair(v, 0.0, LONGEST_S) and v[1] > 0,
            f"a pair of numbers from 0 to {LONGEST_S:g} s, the lower one first",
        ),
        "standing_share": (_between(0.0, 1.0), "a number from 0 to 1"),
        "straight_share": (_between(0.0, 1.0), "a number from 0 to 1"),
        "fallen_gravity_z": (_between(-1.0, 1.0), "a number from -1 (level) to 1 (on its back)"),
        "fallen_height": (_between(0.0, 1.0), "a number from 0 to 1, a share of the standing height"),
        "fall_cost": (_between(0.0, MOST_COST), f"a number from 0 to {MOST_COST:,.0f}"),
        "start_spread_rad": (_between(0.0, math.pi), "a number from 0 to 3.14 rad"),
        "posture": (
            lambda v: _posture(v, robot),
            "a surefoot.robot.Posture with a pose for all joints of the robot, or none, and feet of the robot",
        ),
        "starts": (_starts, "a surefoot.learn.starts.Shares of numbers from 0 on that add up to 1 or less"),
        "rise": (lambda v: v is None or _rise(v), "None, or what surefoot.learn.rise.find_rise returns"),
        "learning": (lambda v: isinstance(v, dict), "a dict of settings of surefoot.learn.ppo.PPOSettings"),
        "teacher": (
            lambda v: v is None or (isinstance(v, str) and v in TEACHERS),
            f"None or one of {', '.join(TEACHERS)}",
        ),
        "substeps": (_whole(1, MOST_SUBSTEPS), f"a whole number from 1 to {MOST_SUBSTEPS}"),
    }


def _between(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: is_number(value) and low <= value <= high


def _whole(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _pair(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    return (
        isinstance(value, (tuple, list))
        and len(value) == 2
        and all(is_number(number) for number in value)
        and low <= value[0] <= value[1] <= high
    )


def _rewards(value: Any) -> bool:
    from surefoot.learn.task import Reward

    return (
        isinstance(value, (tuple, list))
        and len(value) > 0
        and all(isinstance(one, Reward) and callable(one.function) and is_number(one.weight) for one in value)
    )


def _randomization(value: Any) -> bool:
    return (
        isinstance(value, Randomization)
        and isinstance(value.name, str)
        and isinstance(value.spreads, (tuple, list))
        and all(_spread(spread) for spread in value.spreads)
        and is_number(value.push_m_s)
        and value.push_m_s >= 0
        and is_number(value.push_every_s)
        and value.push_every_s > 0
    )


def _spread(value: Any) -> bool:
    return (
        isinstance(value, Spread)
        and isinstance(value.name, str)
        and value.name in PARAMETERS
        and value.kind in ("set", "scale", "add")
        and _pair((value.low, value.high))
    )


def _posture(value: Any, robot: Robot) -> bool:
    return (
        isinstance(value, Posture)
        and isinstance(value.name, str)
        and is_number(value.pitch_rad)
        and abs(value.pitch_rad) <= math.pi
        and all(is_number(number) and number >= 0 for number in (value.height_m, value.rise_s))
        and isinstance(value.pose_rad, (tuple, list))
        and len(value.pose_rad) in (0, robot.contract.n_joints)
        and all(is_number(number) for number in value.pose_rad)
        and isinstance(value.feet, (tuple, list))
        and all(foot in robot.feet for foot in value.feet)
    )


def _starts(value: Any) -> bool:
    if not isinstance(value, Shares) or not all(is_number(share) for share in (value.upright, value.rising)):
        return False
    return value.upright >= 0 and value.rising >= 0 and value.upright + value.rising <= 1


def _rise(value: Any) -> bool:
    return (
        isinstance(value, Rise)
        and is_number(value.seconds)
        and value.seconds > 0
        and isinstance(value.actions, (tuple, list))
        and len(value.actions) > 0
        and all(isinstance(row, (tuple, list)) and all(is_number(number) for number in row) for row in value.actions)
    )


def _refuse_width(rise: Rise, robot: Robot, where: str) -> None:
    n = robot.contract.n_joints
    widths = {len(row) for row in rise.actions}
    if widths != {n}:
        raise TaskError(
            f"the actions of rise of {where} have {shown(sorted(widths))} numbers; {robot.name} has {n} joints"
        )


def _refuse_learning(learning: dict[Any, Any], where: str) -> None:
    from surefoot.learn.ppo import PPOSettings  # here, since it needs PyTorch
    from surefoot.policy.export_mlp import ACTIVATIONS

    usual = {field.name: field.default for field in dataclasses.fields(PPOSettings)}
    for name, value in learning.items():
        if name not in usual:
            raise TaskError(f"learning of {where} asks for {shown(name)} of PPO{nearest(str(name), sorted(usual))}")
        good, must = _whole(1, 10**9), "a whole number above 0"
        if name in ABOVE_ZERO:
            good, must = (lambda v: is_number(v) and v > 0), "a number above 0"
        elif name in SHARES:
            good, must = _between(0.0, 1.0), "a number from 0 to 1"
        elif name == "entropy":
            good, must = (lambda v: is_number(v) and v >= 0), "a number from 0 on"
        elif name in FROM_ZERO:
            good, must = _whole(0, 10**9), "a whole number from 0 on"
        elif name == "symmetry":
            good, must = (lambda v: isinstance(v, bool)), "True or False"
        elif name == "activation":
            good, must = (lambda v: isinstance(v, str) and v in ACTIVATIONS), f"one of {', '.join(ACTIVATIONS)}"
        elif name == "hidden":
            good = lambda v: isinstance(v, (tuple, list)) and bool(v) and all(map(_whole(1, 10_000), v))  # noqa: E731
            must = "a tuple of whole numbers above 0"
        if not good(value):
            raise TaskError(f"learning[{name!r}] of {where} is {shown(value)}; it must be {must}")
