"""Which joints play the same part in different legs: the first joint of every leg, the second, and so on."""

import re
from itertools import takewhile

import mujoco
import numpy as np

from surefoot.robot.load import Robot, foot_geoms


def joint_types(robot: Robot) -> dict[str, tuple[int, ...]]:
    """Joints of the policy by their part in a leg, as places in policy order; what is in no leg stands alone.

    A part is named by what its joints' names have in common at the end ("hip_joint"), else at the start.
    """
    model = robot.spec().compile()
    places = {model.joint(name).id: k for k, name in enumerate(robot.contract.joints)}
    parts: dict[int, list[int]] = {}
    seen: set[int] = set()
    chains = [_chain(model, int(model.geom_bodyid[foot_geoms(model, foot)[0]]), places) for foot in robot.feet]
    shared = {
        joint for joint in places.values() if sum(joint in chain for chain in chains) > 1
    }  # a waist moves several legs
    for chain in chains:
        for depth, joint in enumerate(joint for joint in chain if joint not in shared):
            if joint not in seen:
                parts.setdefault(depth, []).append(joint)
                seen.add(joint)
    found = {
        _common([robot.contract.joints[j] for j in joints]) or f"joint {depth + 1}": tuple(joints)
        for depth, joints in parts.items()
    }
    for joint in places.values():
        if joint not in seen:
            found[robot.contract.joints[joint]] = (joint,)
    return found


def usual_pose(robot: Robot) -> np.ndarray:
    """The default pose with joints of one type at their mean, so that a spring on all of them is one line
    over position.
    """
    pose = np.array(robot.contract.pose_rad)
    for places in joint_types(robot).values():
        pose[list(places)] = pose[list(places)].mean()
    return pose


def called(joints: tuple[str, ...], robot: Robot) -> str:
    """What joints are called together: their part in a leg, or the first of them and how many more."""
    for label, places in joint_types(robot).items():
        if {robot.contract.joints[k] for k in places} == set(joints):
            return label
    return joints[0] if len(joints) == 1 else f"{joints[0]} and {len(joints) - 1} more"


def _chain(model: mujoco.MjModel, body: int, places: dict[int, int]) -> list[int]:
    """Policy joints from the base to a body, the base's first."""
    found: list[int] = []
    while body > 0:
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        found = [places[j] for j in range(first, first + count) if j in places] + found
        body = int(model.body_parentid[body])
    return found


def _common(names: list[str]) -> str:
    """What the names have in common at the end, in whole words: of LeftKnee and RightKnee it is Knee, not
    tKnee; else at the start.
    """
    if len(names) == 1:
        return names[0]
    end = _start([name[::-1] for name in names])[::-1]
    begin = re.search(r"[_\-. ]|[A-Z]", end)
    end = end[begin.start() :].lstrip("_-. ") if begin else end
    return end or _start(names).rstrip("_-. ")


def _start(names: list[str]) -> str:
    return "".join(
        letters[0] for letters in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    )
