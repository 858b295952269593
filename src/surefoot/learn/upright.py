"""Where a robot can stand on its hind legs: a pose with the centre of mass above two feet, found from the model alone.

Feet are points, so that standing on two of them is a balance on a line: what a pose can give is a start from which
little torque is missing. The search turns the joints of the hind legs (left as right), keeps the others at the default
pose, and asks for small torques, bent knees, and nothing but the two feet near the floor.
"""

import math
from dataclasses import dataclass

import mujoco
import numpy as np
from cmaes import CMA

from surefoot.errors import TaskError
from surefoot.policy.trot import GRAVITY_M_S2, Leg, find_legs
from surefoot.robot import Posture, Robot
from surefoot.robot.load import foot_geoms, joint_addresses
from surefoot.robot.loops import settle
from surefoot.robot.model import lowest_point

RISE_S = 3.0
INSIDE = 0.25  # joints stay this share of their range away from either end: a straight leg cannot push any more
CLEAR = 0.1  # of the base's height: nothing but the two shanks is nearer to the floor
WIDE = 0.5  # of the distance between the two feet in the default pose: they are no closer than this
OFF_M = 0.01  # centre of mass off the line of the feet that weighs as much as all torques at their limits
BALANCED_M = 0.005
MOST_TORQUE = 0.7  # of a limit, standing still; the rest is for walking
GENERATIONS, POPULATION = 100, 24


@dataclass(frozen=True, eq=False)
class StandingPose:
    """A robot upright on its hind legs, at rest."""

    posture: Posture
    torque_nm: np.ndarray  # (n_joints,) that holds it
    off_m: float  # of the centre of mass from the line between the feet

    def sag_rad(self, robot: Robot) -> np.ndarray:
        """How far targets must be off the pose for a PD controller to give these torques, (n_joints,)."""
        return self.torque_nm / np.array(robot.contract.kp_nm_per_rad)


def hind_legs(robot: Robot) -> tuple[Leg, Leg]:
    """The rearmost legs, left and right; refuses a robot that has no such pair, with the way out."""
    legs = find_legs(robot)
    if len(legs) < 4:
        raise TaskError(
            f"{robot.name} has {len(legs)} legs, and standing up on the hind ones takes at least 4; the task 'walk'"
            " is for robots that walk on all their legs"
        )
    if robot.mirror is None:
        raise TaskError(
            f"{robot.path} declares no symmetry, so that left and right hind legs cannot be told; add 'symmetry' to it"
        )
    first, second, third = sorted(legs, key=lambda leg: float(leg.position_m[0]))[:3]
    left, right = (first, second) if first.position_m[1] > second.position_m[1] else (second, first)
    image = {robot.mirror.index[j] for j in left.joints}
    apart = abs(float(left.position_m[0] - right.position_m[0])) < 0.5 * float(
        third.position_m[0] - right.position_m[0]
    )
    if image != set(right.joints.tolist()) or not apart:
        raise TaskError(
            f"the two rearmost feet of {robot.name}, {first.feet[0]} and {second.feet[0]}, are not a left and a right"
            f" one; check feet and symmetry in {robot.path}"
        )
    return left, right


def stand_on_hind_legs(robot: Robot) -> StandingPose:
    """The pose that holds the robot upright with the least effort; refuses a robot that cannot stand so."""
    left, right = hind_legs(robot)
    scale = _BodyScale(robot, left, right)
    low, high = np.array(robot.contract.position_limit_rad)[left.joints].T
    low, high = low + INSIDE * (high - low), high - INSIDE * (high - low)
    search = CMA(
        np.full(len(low), 0.5),
        0.25,
        bounds=np.tile([0.0, 1.0], (len(low), 1)),
        seed=0,
        population_size=POPULATION,
        n_max_resampling=10,
    )
    best, least = search.mean, math.inf
    for _ in range(GENERATIONS):
        points = [search.ask() for _ in range(POPULATION)]
        scored = [(point, scale.score(low + point * (high - low))) for point in points]
        search.tell(scored)
        point, score = min(scored, key=lambda point_and_score: point_and_score[1])
        if score < least:
            best, least = point, score
    stand = scale.weigh(np.round(low + best * (high - low), 4))
    share = np.abs(stand.torque_nm) / np.array(robot.contract.torque_limit_nm)
    way_out = "write a task of your own, with a posture that it can hold"
    if stand.off_m > BALANCED_M or scale.crowded(stand.posture):
        raise TaskError(
            f"{robot.name} has no pose in which its centre of mass is above {left.feet[0]} and {right.feet[0]} and the"
            f" rest off the floor; {way_out}"
        )
    if share.max() > MOST_TORQUE:
        worst = int(share.argmax())
        raise TaskError(
            f"{robot.name} cannot hold itself on {left.feet[0]} and {right.feet[0]}: {robot.contract.joints[worst]}"
            f" would need {abs(stand.torque_nm[worst]):.3g} N·m of {robot.contract.torque_limit_nm[worst]:g} at rest,"
            f" and at most {MOST_TORQUE:.0%} leave room for walking; {way_out}"
        )
    _refuse_out_of_reach(stand, robot, way_out)
    return stand


def _refuse_out_of_reach(stand: StandingPose, robot: Robot, way_out: str) -> None:
    """Actions are clipped: a target that they cannot name is a pose that no policy can hold."""
    contract = robot.contract
    target = np.array(stand.posture.pose_rad) + stand.sag_rad(robot)
    action = np.abs((target - np.array(contract.pose_rad)) / np.array(contract.action_scale_rad))
    worst = int(action.argmax())
    if action[worst] > contract.action_clip:
        raise TaskError(
            f"{robot.name} cannot be told to stand on {' and '.join(stand.posture.feet)}: {contract.joints[worst]}"
            f" would need an action of {action[worst]:.3g}, and action_clip is {contract.action_clip:g}; raise"
            f" action_clip or action_scale_rad in {robot.path}, or {way_out}"
        )


def holding_torque_nm(robot: Robot, posture: Posture) -> np.ndarray:
    """What the joints give in a posture at rest, (n_joints,), with the weight on its feet."""
    model, data = posed(robot, posture)
    base_dof = int(model.jnt_dofadr[model.body(robot.base).jntadr[0]])
    torque, _, _ = _at_rest(model, data, [foot_geoms(model, foot) for foot in posture.feet or robot.feet], base_dof)
    return torque[joint_addresses(model, robot.contract.joints)[1]]


def holding_action(robot: Robot, posture: Posture) -> np.ndarray:
    """Targets that hold a posture at rest, as actions (n_joints,): a PD controller gives nothing at its
    target, so they are off the pose.
    """
    contract = robot.contract
    target = np.array(posture.pose_rad or contract.pose_rad) + holding_torque_nm(robot, posture) / np.array(
        contract.kp_nm_per_rad
    )
    return (target - np.array(contract.pose_rad)) / np.array(contract.action_scale_rad)


def posed(robot: Robot, posture: Posture) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The robot in a posture, its base at the origin and heading along x."""
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    start = int(model.jnt_qposadr[model.body(robot.base).jntadr[0]])
    data.qpos[joint_addresses(model, robot.contract.joints)[0]] = posture.pose_rad or robot.contract.pose_rad
    data.qpos[start : start + 7] = (0, 0, 0, *posture.base_quaternion)
    settle(model, data, robot.contract.joints)
    mujoco.mj_forward(model, data)
    return model, data


def _at_rest(
    model: mujoco.MjModel, data: mujoco.MjData, feet: list[list[int]], base_dof: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Torques (nv,) of a robot at rest on these feet, what the feet cannot give the base (6,), and the base's height
    above the lowest of them, m.
    """
    lowest = [min(lowest_point(model, data, g) for g in geoms) for geoms in feet]
    needed = data.qfrc_bias - data.qfrc_passive
    push = np.zeros((3 * len(feet), model.nv))
    for k, geoms in enumerate(feet):
        point = np.array([*data.geom_xpos[geoms].mean(axis=0)[:2], lowest[k]])
        mujoco.mj_jac(model, data, push[3 * k : 3 * k + 3], None, point, model.geom_bodyid[geoms[0]])
    base = slice(base_dof, base_dof + 6)
    force, *_ = np.linalg.lstsq(push[:, base].T, needed[base], rcond=1e-6)
    missing = needed[base] - push[:, base].T @ force  # of two points: a moment about the line between them
    return needed - push.T @ force, missing, -min(lowest)


class _BodyScale:
    """Weighs poses of the hind legs: torques at rest, balance, and what comes near the floor."""

    def __init__(self, robot: Robot, left: Leg, right: Leg) -> None:
        assert robot.mirror is not None
        self._robot, self._left, self._right = robot, left, right
        self._index, self._sign = np.array(robot.mirror.index), np.array(robot.mirror.sign)
        self._model = robot.spec().compile()
        self._data = mujoco.MjData(self._model)
        self._qpos, self._dofs = joint_addresses(self._model, robot.contract.joints)
        base = self._model.body(robot.base)
        self._base_qpos, self._base_dof = (
            int(a[base.jntadr[0]]) for a in (self._model.jnt_qposadr, self._model.jnt_dofadr)
        )
        root = self._model.body_rootid[self._model.geom_bodyid] == base.id
        collides = (self._model.geom_contype > 0) | (self._model.geom_conaffinity > 0)
        self._feet = [[g for foot in leg.feet for g in foot_geoms(self._model, foot)] for leg in (left, right)]
        shanks = {int(self._model.body_weldid[self._model.geom_bodyid[g]]) for geoms in self._feet for g in geoms}
        near_feet = np.isin(self._model.body_weldid[self._model.geom_bodyid], list(shanks))  # a shank ends at its foot
        self._others = np.flatnonzero(root & collides & ~near_feet)
        self._width_m = float(left.position_m[1] - right.position_m[1])
        self._limit = np.array(robot.contract.torque_limit_nm)
        self._pose = np.array(robot.contract.pose_rad)
        self._trunk_up_m = 0.0  # above the base's origin, in the pose that was weighed last

    def score(self, joints_rad: np.ndarray) -> float:
        """What is bad about a pose of the left hind leg."""
        stand = self.weigh(joints_rad)
        near, close = self._crowding(stand.posture.height_m)
        effort = float(
            np.square(stand.torque_nm / self._limit)[np.concatenate([self._left.joints, self._right.joints])].mean()
        )
        away = float(np.square(joints_rad - self._pose[self._left.joints]).sum())  # decides where no torque does
        return effort + (stand.off_m / OFF_M) ** 2 + 10 * (near**2 + close**2) + 1e-2 * away

    def weigh(self, joints_rad: np.ndarray) -> StandingPose:
        """The robot upright with its left hind leg so, and the right one as its image."""
        pose = self._pose.copy()
        pose[self._left.joints] = joints_rad
        image = pose[self._index] * self._sign
        pose[self._right.joints] = image[self._right.joints]
        posture = Posture(
            "hind legs", math.pi / 2, 1.0, RISE_S, tuple(pose.tolist()), (*self._left.feet, *self._right.feet)
        )
        model, data = self._model, self._data
        data.qpos[self._qpos] = pose
        data.qpos[self._base_qpos : self._base_qpos + 7] = (0, 0, 0, *posture.base_quaternion)
        settle(model, data, self._robot.contract.joints)
        mujoco.mj_forward(model, data)
        torque, missing, height_m = _at_rest(model, data, self._feet, self._base_dof)
        self._trunk_up_m = float(data.body(self._robot.base).xmat[6:] @ np.array(self._robot.trunk_m))
        height_m += self._trunk_up_m
        stand = Posture(posture.name, posture.pitch_rad, round(height_m, 4), RISE_S, posture.pose_rad, posture.feet)
        return StandingPose(
            stand, torque[self._dofs], float(np.linalg.norm(missing)) / (self._robot.mass_kg * GRAVITY_M_S2)
        )

    def crowded(self, posture: Posture) -> bool:
        """Whether something else is near the floor, or the feet near each other, in the pose that was weighed last."""
        return max(self._crowding(posture.height_m)) > 0.1

    def _crowding(self, height_m: float) -> tuple[float, float]:
        """How much too near the floor the lowest of the rest is, with the trunk at this height, and the feet to each
        other, as shares of what is asked.
        """
        lowest = min(lowest_point(self._model, self._data, int(g)) for g in self._others) + height_m - self._trunk_up_m
        left, right = (self._data.geom_xpos[geoms].mean(axis=0)[1] for geoms in self._feet)
        near = 1 - lowest / (CLEAR * max(height_m, 1e-3))
        return max(near, 0.0), max(1 - float(left - right) / (WIDE * self._width_m), 0.0)
