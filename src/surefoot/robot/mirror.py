"""Finding a robot's left-right symmetry from its joint names, checked against its geometry."""

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

import mujoco
import numpy as np

# left, Left, LEFT anywhere; l or L on its own, or with a letter for front, rear, hind, middle or back: FL, RL, LF, LH
# ...
SIDE = re.compile(r"(?P<word>left|Left|LEFT)|(?<![A-Za-z])[FRHMBfrhmb]?(?P<letter>[Ll])[FRHMBfrhmb]?(?![A-Za-z])")
RIGHT = {"left": "right", "Left": "Right", "LEFT": "RIGHT", "l": "r", "L": "R"}
ANCHOR_TOLERANCE = 0.05  # of the distance between the outermost joints


@dataclass(frozen=True)
class Symmetry:
    """Prefixes of left names to prefixes of right names, and the joints whose sign turns in the mirror."""

    swap: dict[str, str]
    flip: list[str]


def find_symmetry(model: mujoco.MjModel, base: int, joints: list[int]) -> Symmetry | str:
    """The symmetry of the robot (x forward, y left), or the reason why there is none to be found."""
    names = [model.joint(j).name for j in joints]
    swap, partner = _pairs(names)
    if not swap:
        return "the joint names do not come in pairs such as left_/right_, FL_/FR_ or L_/R_"
    data = mujoco.MjData(model)
    start = model.jnt_qposadr[model.body_jntadr[base]]
    data.qpos[start : start + 7] = (0, 0, 0, 1, 0, 0, 0)
    mujoco.mj_kinematics(model, data)
    size = float(np.ptp(data.xanchor[joints], axis=0).max())
    flip = []
    for name, joint in zip(names, joints, strict=True):
        other = joints[names.index(partner.get(name, name))]
        # A mirror keeps a vector along x and z and turns it along y; an axis of rotation does the opposite.
        mirror = np.array([1.0, -1.0, 1.0])
        if np.abs(mirror * data.xanchor[joint] - data.xanchor[other]).max() > ANCHOR_TOLERANCE * size:
            return (
                f"{name} and {model.joint(other).name} do not lie opposite each other across the plane y = 0 of the"
                " base"
            )
        axis = mirror * data.xaxis[joint] * (-1.0 if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE else 1.0)
        along = float(axis @ data.xaxis[other])
        if abs(along) < 0.99:
            return f"the axes of {name} and {model.joint(other).name} are not each other's mirror image"
        if along < 0:
            flip.append(name)
    return Symmetry(swap, flip)


def _pairs(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Prefixes of the left to prefixes of the right, and each name's partner; both empty where a partner is missing."""
    swap: dict[str, str] = {}
    for name in names:
        for found in SIDE.finditer(name):
            side = "word" if found["word"] else "letter"
            begin, end = found.span(side)
            right = name[:begin] + RIGHT[found[side]] + name[end:]
            if right in names:
                stop = found.end() + bool(re.match(r"[^A-Za-z0-9]", name[found.end() :]))
                swap[name[:stop]] = right[: stop + len(right) - len(name)]
                break
    partner: dict[str, str] = {}
    for left, right in swap.items():
        for name in names:
            if fnmatchcase(name, f"{left}*"):
                other = right + name[len(left) :]
                if other not in names:
                    return {}, {}
                partner[name], partner[other] = other, name
    return swap, partner
