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

import numpy as np

from surefoot.errors import PolicyError, SurefootError, shown
from surefoot.files import is_number, parse_json

POSTURE_KEY = "surefoot.posture"  # of a policy file's metadata
LONGEST_NAME = 40
LONGEST_RISE_S = 60.0
MOST_HEIGHTS = 10.0  # of the trunk, standing level: more than any leg or trunk is long


@dataclass(frozen=True)
class Posture:
    """A pitch of the base about its left axis, and how the robot stands there.

    At a pitch of 90° the base's x axis points up, its belly ahead, and its left stays left: a mirror image of the robot
    is one in any posture.
    """

    name: str = "level"
    pitch_rad: float = 0.0  # nose up
    height_m: float = 0.0  # of the trunk (`Robot.trunk_m`); 0: height does not matter
    rise_s: float = 0.0  # the robot starts level and has this long to get there
    pose_rad: tuple[float, ...] = field(
        default=(), repr=False
    )  # of the joints, standing so, in policy order; empty: the default pose
    feet: tuple[str, ...] = ()  # that it stands on; empty: all

    def __post_init__(self) -> None:
        """Refuse a posture that a robot, which starts level, would have fallen out of at once."""
        if self.pitch_rad != 0.0 and not self.rise_s > 0.0:
            raise SurefootError(
                f"the posture {self.name!r} has a pitch of {self.pitch_rad:g} rad and a rise_s of {self.rise_s:g}; a"
                " robot starts level and needs more than 0 s to rise"
            )

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


def read_posture(text: str | None, source: str, n_joints: int, feet: tuple[str, ...], trunk_height_m: float) -> Posture:
    """What `to_json` wrote, and level where nothing is said; `source` names the file in errors, the rest is
    the robot's.

    A file comes from anywhere: what it says is held against what a robot can do before anything waits for it.
    """
    if text is None:
        return LEVEL
    what = f"the posture inside {source} ({POSTURE_KEY})"
    try:
        content = parse_json(text)
    except ValueError:
        content = None
    names = {one.name for one in dataclasses.fields(Posture)}
    if not isinstance(content, dict) or set(content) != names:
        raise PolicyError(f"{what} is not a mapping with {', '.join(sorted(names))}; export the policy again")

    def refuse(name: str, allowed: str) -> PolicyError:
        return PolicyError(f"{what}: {name} is {shown(content[name])}; it must be {allowed}; export the policy again")

    name, pose, stands_on = content["name"], content["pose_rad"], content["feet"]
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise refuse("name", f"a printable name of at most {LONGEST_NAME} characters")
    highest = MOST_HEIGHTS * trunk_height_m
    for key, low, high in (
        ("pitch_rad", -math.pi, math.pi),
        ("height_m", 0.0, highest),
        ("rise_s", 0.0, LONGEST_RISE_S),
    ):
        if not is_number(content[key]) or not low <= content[key] <= high:
            raise refuse(key, f"a number from {low:.4g} to {high:.4g}")
    if (
        not isinstance(pose, list)
        or len(pose) not in (0, n_joints)
        or not all(is_number(a) and abs(a) <= 2 * math.pi for a in pose)
    ):
        raise refuse("pose_rad", f"an empty list or one of {n_joints} angles from -2π to 2π")
    if not isinstance(stands_on, list) or not all(isinstance(foot, str) and foot in feet for foot in stands_on):
        raise refuse("feet", f"a list of the robot's own ({', '.join(feet)})")
    numbers = {key: float(content[key]) for key in ("pitch_rad", "height_m", "rise_s")}
    if numbers["pitch_rad"] and not numbers["rise_s"]:
        raise refuse("rise_s", "more than 0 where the base is pitched")
    return Posture(name=name, pose_rad=tuple(float(angle) for angle in pose), feet=tuple(stands_on), **numbers)
