"""How a robot is meant to hold itself: level on all its feet, or with its nose up on some of them.

A posture turns the frame of the base into one that is level while the robot holds it. Whatever is measured against
"level" (tilt, falls, heading, commanded velocities, the turning rate) is measured in that frame, so that a quadruped on
its hind legs is told forward, left and turn, as it is on four. A policy that means another posture than level says so
in its file.
"""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surefoot.errors import PolicyError

POSTURE_KEY = "surefoot.posture"  # of a policy file's metadata


@dataclass(frozen=True)
class Posture:
    """A pitch of the base about its left axis, and how the robot stands there.

    At a pitch of 90° the base's x axis points up, its belly ahead, and its left stays left: a mirror image of the robot is
    one in any posture.
    """

    name: str = "level"
    pitch_rad: float = 0.0  # nose up
    height_m: float = 0.0  # of the base's origin; 0: height does not matter
    rise_s: float = 0.0  # the robot starts level and has this long to get there
    pose_rad: tuple[float, ...] = field(default=(), repr=False)  # of the joints, standing so, in policy order; empty: the default pose
    feet: tuple[str, ...] = ()  # that it stands on; empty: all

    @property
    def level(self) -> bool:
        """Whether the robot simply stands as its robot.yaml says."""
        return self.pitch_rad == 0.0

    @property
    def base_quaternion(self) -> np.ndarray:
        """Of the base that holds this posture and heads along the world's x axis, (4,) as w, x, y, z."""
        return np.array([math.cos(self.pitch_rad / 2), 0.0, -math.sin(self.pitch_rad / 2), 0.0])

    def frame(self, quaternion: np.ndarray) -> np.ndarray:
        """Quaternions (..., 4) of bases as those of the frame that is level in this posture."""
        if self.level:
            return quaternion
        c, s = math.cos(self.pitch_rad / 2), math.sin(self.pitch_rad / 2)
        w, x, y, z = (quaternion[..., i] for i in range(4))
        return np.stack([c * w - s * y, c * x - s * z, c * y + s * w, c * z + s * x], axis=-1)

    def turned(self, vector: np.ndarray) -> np.ndarray:
        """Vectors (..., 3) in the frame of the base as they are in the frame that is level in this posture."""
        if self.level:
            return vector
        c, s = math.cos(self.pitch_rad), math.sin(self.pitch_rad)
        x, y, z = (vector[..., i] for i in range(3))
        return np.stack([c * x - s * z, y, s * x + c * z], axis=-1)

    def to_json(self) -> str:
        """As JSON that reads back to the last bit."""
        return json.dumps(dataclasses.asdict(self))


LEVEL = Posture()


def read_posture(text: str | None, n_joints: int, source: str) -> Posture:
    """What `to_json` wrote, and level where nothing is said; `source` names the file in errors."""
    if text is None:
        return LEVEL
    try:
        content = json.loads(text)
        numbers = {key: float(content[key]) for key in ("pitch_rad", "height_m", "rise_s")}
        pose = tuple(float(angle) for angle in content["pose_rad"])
        found = Posture(name=str(content["name"]), pose_rad=pose, feet=tuple(_names(content["feet"])), **numbers)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        found = None
    values = () if found is None else (found.pitch_rad, found.height_m, found.rise_s, *found.pose_rad)
    if (
        found is None
        or not all(map(math.isfinite, values))
        or len(found.pose_rad) not in (0, n_joints)
        or min(found.height_m, found.rise_s) < 0
    ):
        raise PolicyError(f"the posture inside {source} ({POSTURE_KEY}) cannot be read; export the policy again")
    return found


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return value
