"""Where a training begins that ends in another posture: in it, on the way there, or as the robot.yaml says.

A robot that has never been upright does not know that it pays. Some worlds therefore begin there, and some on the way:
in states that a motion passes which gets up (`surefoot.learn.rise`), or, of a robot for which none was found, with the
base pitched by a part of the posture's pitch and the joints as far between the two poses, resting on whatever is
lowest. States are made once, each with its height above the floor, and drawn from at every reset.
"""

from dataclasses import dataclass, fields, replace

import mujoco
import numpy as np

from surefoot.robot import Posture, Robot
from surefoot.robot.load import joint_addresses
from surefoot.robot.loops import settle
from surefoot.robot.model import lowest_point

PITCH_SPREAD_RAD = 0.1
LIBRARY = 512  # of each kind
UPRIGHT, RISING, ON_ALL_FEET = range(3)  # kinds of starts
REMEMBERED = 200  # episodes of a kind, for the mean of their lengths
LEAST_S = 0.1


@dataclass(frozen=True)
class Shares:
    """Of the time that robots spend in episodes that begin so; the rest begins level, in the default pose."""

    upright: float = 0.4  # in the posture
    rising: float = 0.3  # on the way


class Kinds:
    """Draws which kind of start comes next, so that each has its share of the time.

    At first a robot that begins upright falls within a second, and one on four legs has three: of shares of the
    episodes, four fifths of the time would go to robots that have nothing to balance yet. Later it is the other way
    round.
    """

    def __init__(self, shares: Shares, n: int) -> None:
        self._shares = np.array([shares.upright, shares.rising, max(1.0 - shares.upright - shares.rising, 0.0)])
        self._length_s = np.ones(3)
        self.kind = np.full(n, ON_ALL_FEET)  # with which each robot began

    def ended(self, rows: np.ndarray, age_s: np.ndarray) -> None:
        """Episodes of these robots ended at these ages."""
        for kind in (UPRIGHT, RISING, ON_ALL_FEET):
            ages = age_s[self.kind[rows] == kind]
            forget = (1 - 1 / REMEMBERED) ** len(ages)
            self._length_s[kind] = forget * self._length_s[kind] + (1 - forget) * (ages.mean() if len(ages) else 0.0)

    def draw(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The kinds with which these robots begin now."""
        weight = self._shares / np.maximum(self._length_s, LEAST_S)
        self.kind[rows] = np.searchsorted(np.cumsum(weight / weight.sum()), rng.random(len(rows)), side="right").clip(
            max=ON_ALL_FEET
        )
        return self.kind[rows]


@dataclass(frozen=True, eq=False)
class Starts:
    """States (n, ...) of robots on the floor."""

    joint_position_rad: np.ndarray
    base_quaternion: np.ndarray  # (n, 4) heading along x, or nearly so
    height_m: np.ndarray  # (n,)
    joint_velocity_rad_s: np.ndarray
    base_velocity: np.ndarray  # (n, 6) m/s in the world frame, rad/s in the base frame
    action: np.ndarray  # the last one

    def __len__(self) -> int:
        return len(self.height_m)

    def __getitem__(self, rows: np.ndarray) -> "Starts":
        return Starts(*(getattr(self, field.name)[rows] for field in fields(self)))

    def __add__(self, other: "Starts") -> "Starts":
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Starts(*(np.concatenate(pair) for pair in pairs))

    def turned(self, yaw: np.ndarray) -> "Starts":
        """The same robots after a turn about the vertical, (n,) rad."""
        c, s = np.cos(yaw / 2), np.sin(yaw / 2)
        w, x, y, z = self.base_quaternion.T
        quaternion = np.stack([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w], axis=1)
        velocity = self.base_velocity.copy()
        (vx, vy), cos, sin = self.base_velocity[:, :2].T, np.cos(yaw), np.sin(yaw)
        velocity[:, 0], velocity[:, 1] = cos * vx - sin * vy, sin * vx + cos * vy
        return replace(self, base_quaternion=quaternion, base_velocity=velocity)


def make_starts(
    robot: Robot, posture: Posture, part: np.ndarray, spread_rad: float, rng: np.random.Generator
) -> Starts:
    """States that are `part` (n,) of the way from level, 0, to the posture, 1, with some spread around it."""
    n, contract = len(part), robot.contract
    level, upright = np.array(contract.pose_rad), np.array(posture.pose_rad or contract.pose_rad)
    joints = level + part[:, None] * (upright - level) + rng.uniform(-spread_rad, spread_rad, (n, contract.n_joints))
    joints = np.clip(joints, *np.array(contract.position_limit_rad).T)
    pitch = part * posture.pitch_rad + rng.uniform(-PITCH_SPREAD_RAD, PITCH_SPREAD_RAD, n)
    quaternion = np.array([replace(posture, pitch_rad=float(p)).base_quaternion for p in pitch])
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    qpos, _ = joint_addresses(model, contract.joints)
    base = model.body(robot.base)
    start = int(model.jnt_qposadr[base.jntadr[0]])
    body = model.geom_bodyid
    solid = np.flatnonzero(
        (model.body_rootid[body] == base.id) & ((model.geom_contype > 0) | (model.geom_conaffinity > 0))
    )
    height = np.empty(n)
    for k in range(n):
        data.qpos[qpos] = joints[k]
        data.qpos[start : start + 7] = (0, 0, 0, *quaternion[k])
        settle(model, data, contract.joints)
        mujoco.mj_kinematics(model, data)
        height[k] = -min(lowest_point(model, data, int(g)) for g in solid)
    return Starts(joints, quaternion, height, np.zeros_like(joints), np.zeros((n, 6)), np.zeros_like(joints))
