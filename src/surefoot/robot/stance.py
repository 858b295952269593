"""Guessing how a robot stands, from its model alone: a default pose, and which shapes are its feet."""

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.robot.load import ONE_AXIS
from surefoot.robot.loops import settle
from surefoot.robot.model import lowest_point

HOME_WORDS = ("home", "stand", "default", "init", "knees_bent")  # in the name of the keyframe to start from, best first
NOT_HOME = ("leg", "hand", "mocap")  # as in stand_on_left_leg
FOOT_WORDS = ("foot", "toe", "sole")
LEG = 0.3  # a chain of joints that ends in this lowest part of the robot's height is a leg ...
FOOT = 0.1  # ... and what it stands on, once posed, is this near to the floor
LEVEL = 0.01  # shapes this close to each other in height touch the floor together


@dataclass(frozen=True)
class Guess:
    """A value and where it comes from."""

    value: float
    why: str
    imported: bool = False  # `why` is the place in a file that says so, and the value is no guess


def posed(model: mujoco.MjModel, base: int, pose: dict[int, float]) -> mujoco.MjData:
    """The robot upright with the base at the origin, its joints at `pose` and the rest where the model puts them."""
    data = mujoco.MjData(model)
    start = model.jnt_qposadr[model.body_jntadr[base]]
    data.qpos[start : start + 7] = (0, 0, 0, 1, 0, 0, 0)
    for joint, angle in pose.items():
        data.qpos[model.jnt_qposadr[joint]] = angle
    if pose:
        settle(model, data, tuple(model.joint(joint).name for joint in pose))
    mujoco.mj_fwdPosition(model, data)
    return data


def depth(model: mujoco.MjModel, data: mujoco.MjData, base: int) -> dict[int, float]:
    """Lowest point of each colliding geom of the robot, relative to the base's origin, m."""
    return {
        g: lowest_point(model, data, g)
        for g in range(model.ngeom)
        if model.body_rootid[model.geom_bodyid[g]] == base and (model.geom_contype[g] or model.geom_conaffinity[g])
    }


def guess_pose(model: mujoco.MjModel, base: int, joints: list[int]) -> dict[int, Guess]:
    """A keyframe of the model; without one, 0, with the knees bent where 0 is no place for them and the
    feet kept below the hips.
    """
    if model.nkey:
        return {joint: _from_keyframe(model, joint) for joint in joints}
    pose = {joint: _inside(model, joint) for joint in joints}
    bent = {joint for joint in joints if pose[joint].value != 0.0}
    straight = posed(model, base, {})
    for geoms in _ends(model, posed(model, base, {j: guess.value for j, guess in pose.items()}), base, LEG):
        chain = _chain(model, int(model.geom_bodyid[geoms[0]]))
        for place, knee in enumerate(chain):
            if knee not in bent:
                continue
            for others in (chain[:place][::-1], chain[place + 1 :]):  # the hip above, the ankle below
                _level(model, straight, pose, knee, [joint for joint in others if joint in pose and joint not in bent])
    return pose


def guess_feet(model: mujoco.MjModel, data: mujoco.MjData, base: int) -> list[tuple[str, str]]:
    """(name, why) of the lowest shape at the end of each leg: a geom where one with a name stands alone,
    else its body.
    """
    depths = depth(model, data, base)
    feet = []
    for geoms in _named_feet(model, data, base) or _ends(model, data, base, FOOT):
        body = model.body(model.geom_bodyid[geoms[0]]).name
        level = [g for g in geoms if depths[g] <= depths[geoms[0]] + LEVEL * _height(model, data, base)]
        called = [g for g in level if any(word in model.geom(g).name.lower() for word in FOOT_WORDS)]
        alone = level if len(level) == 1 else called
        if len(alone) == 1 and model.geom(alone[0]).name:
            feet.append((model.geom(alone[0]).name, "the lowest geom of a leg"))
        elif body:
            feet.append(
                (
                    body,
                    (
                        "the last body of a leg,"
                        f" {'whose lowest geom has no name' if len(level) == 1 else 'which stands on several geoms'}"
                    ),
                )
            )
    return feet


def _from_keyframe(model: mujoco.MjModel, joint: int) -> Guess:
    names = [model.key(k).name for k in range(model.nkey)]
    key, why = _keyframe(names)
    value = float(model.key_qpos[key][model.jnt_qposadr[joint]])
    kept = _clipped(model, joint, value)
    return Guess(kept, why if kept == value else f"{why}, moved into the joint's range")


def _keyframe(names: list[str]) -> tuple[int, str]:
    """Which keyframe shows the robot standing, and why that one."""
    ordinary = [name if not any(part in name.lower() for part in NOT_HOME) else "" for name in names]
    for word in HOME_WORDS:
        for matches in (lambda name, word=word: name.lower() == word, lambda name, word=word: word in name.lower()):
            for k, name in enumerate(ordinary):
                if matches(name):
                    return k, f"keyframe {name}"
    only = (
        "the model's only keyframe"
        if len(names) == 1
        else f"the first of {len(names)} keyframes, none called home or stand"
    )
    return 0, f"{only}, {names[0]}" if names[0] else only


def _inside(model: mujoco.MjModel, joint: int) -> Guess:
    low, high = _limits(model, joint)
    edge = 0.01 * (high - low)
    if math.isfinite(edge) and not low + edge < 0.0 < high - edge:
        middle = _clipped(model, joint, round((low + high) / 2, 3))
        return Guess(middle, "no keyframe in the model; 0 is not well inside the range, so the middle of it")
    return Guess(0.0, "no keyframe in the model; 0 is inside the range")


def _level(
    model: mujoco.MjModel, straight: mujoco.MjData, pose: dict[int, Guess], knee: int, others: list[int]
) -> None:
    """Turn the nearest joint with the knee's axis back by half the knee's angle, so that the foot stays
    below the hip and level.
    """
    for joint in others:
        along = float(straight.xaxis[joint] @ straight.xaxis[knee])
        if abs(along) > 0.99:
            back = round(-math.copysign(0.5, along) * pose[knee].value, 3)
            pose[joint] = Guess(
                _clipped(model, joint, back),
                "half of the bent joint beside it, back, to keep the foot below the hip and level",
            )
            return


def _ends(model: mujoco.MjModel, data: mujoco.MjData, base: int, part: float) -> list[list[int]]:
    """Colliding geoms at the end of each chain of joints that reaches the lowest `part` of the robot's
    height, lowest first.
    """
    depths = depth(model, data, base)
    inner = {int(model.body_weldid[model.body_parentid[b]]) for b in range(1, model.nbody) if model.body_weldid[b] == b}
    ends: dict[int, list[int]] = {}
    for geom in sorted(depths, key=lambda g: depths[g]):
        link = int(model.body_weldid[model.geom_bodyid[geom]])  # bodies without a joint between them are one link
        if link not in inner and link != base:
            ends.setdefault(link, []).append(geom)
    floor = min(depths.values(), default=0.0)
    reach = floor + part * _height(model, data, base)
    return [ends[link] for link in sorted(ends) if depths[ends[link][0]] <= reach]


def _named_feet(model: mujoco.MjModel, data: mujoco.MjData, base: int) -> list[list[int]]:
    """Colliding geoms of what is called a foot at the end of each chain, where every leg has one: a keyframe may show
    the robot lying. Empty otherwise.
    """
    ends = _ends(model, data, base, 1.0)
    called = [
        [
            g
            for g in geoms
            if any(
                word in name.lower()
                for word in FOOT_WORDS
                for name in (model.geom(g).name, model.body(model.geom_bodyid[g]).name)
            )
        ]
        for geoms in ends
    ]
    feet = [geoms for geoms in called if geoms]
    lowest = _ends(model, data, base, FOOT)
    links = {int(model.body_weldid[model.geom_bodyid[geoms[0]]]) for geoms in feet}
    standing = {int(model.body_weldid[model.geom_bodyid[geoms[0]]]) for geoms in lowest}
    return feet if len(feet) > len(lowest) and standing <= links else []


def _height(model: mujoco.MjModel, data: mujoco.MjData, base: int) -> float:
    """Of the robot, from its lowest shape to the highest of its shapes' and bodies' places, m."""
    depths = depth(model, data, base)
    places = [float(data.geom_xpos[g][2]) for g in depths]
    places += [float(data.xpos[b][2]) for b in range(1, model.nbody) if model.body_rootid[b] == base]
    return max(places, default=0.0) - min(depths.values(), default=0.0)


def _chain(model: mujoco.MjModel, body: int) -> list[int]:
    """Hinge and slide joints from the base down to a body."""
    chain: list[int] = []
    while body:
        first = int(model.body_jntadr[body])
        chain = [j for j in range(first, first + int(model.body_jntnum[body])) if model.jnt_type[j] in ONE_AXIS] + chain
        body = int(model.body_parentid[body])
    return chain


def _limits(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    low, high = (float(v) for v in model.jnt_range[joint])
    return (low, high) if model.jnt_limited[joint] and not np.isnan([low, high]).any() else (-math.inf, math.inf)


def _clipped(model: mujoco.MjModel, joint: int, value: float) -> float:
    low, high = _limits(model, joint)
    return min(max(value, low), high)
