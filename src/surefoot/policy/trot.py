"""A built-in gait: an open-loop trot for any legged robot, to look at a robot before it has a policy.

Feet follow a fixed cycle; joints follow the feet through the Jacobian at the default pose. The gait
knows nothing of where the robot is, and only the clock drives it: the same time gives the same action.
"""

import dataclasses
import math
from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.files import canonical_json, sha256
from surefoot.robot import Robot, Sensors
from surefoot.robot.load import foot_geoms, joint_addresses

GRAVITY_M_S2 = 9.81


@dataclass(frozen=True)
class Gait:
    """Constants of the trot; lengths are in leg heights (hip to foot, vertical), so that they fit any size."""

    rate: float = 0.36  # strides in the time sqrt(leg / g); 2.2 Hz for a leg of 0.27 m
    duty: float = 0.55  # part of a stride that a foot spends on the ground
    swing_height: float = 0.25  # highest point of a swinging foot, leg heights
    longest_sweep: float = 0.6  # of a foot along the ground in one stance, leg heights
    lead: float = 0.0
    off: float = 0.0
    tau: float = 0.1
    a: float = 0.0
    b: float = 0.0
    support: float = 1.0  # part of the weight that the feet on the ground are told to hold
    full_speed_m_s: float = 0.05  # commanded foot speed from which feet are lifted to full height
    damping: float = 0.02  # of the pseudo-inverse, leg heights per rad
    level: float = 0.1  # weight of keeping a foot level against moving it, leg heights; for legs with joints to spare


@dataclass(frozen=True)
class Leg:
    """One leg at the default pose, in the axes of the upright base."""

    feet: tuple[str, ...]
    joints: np.ndarray  # places in policy order of the joints that move this leg alone
    position_m: np.ndarray  # (3,) of the foot, from the base
    height_m: float  # of the first joint above the foot
    linear: np.ndarray  # (3, n_joints) Jacobian of the foot's position, m/rad
    angular: np.ndarray  # (3, n_joints) Jacobian of its orientation


class TrotAgent:
    """Trots in the commanded direction; stands when the command is zero. Holds no state between calls."""

    label = "trot"

    def __init__(self, robot: Robot, gait: Gait | None = None) -> None:
        self.gait = gait = Gait() if gait is None else gait
        contract = robot.contract
        legs = find_legs(robot)
        height = float(np.mean([leg.height_m for leg in legs]))
        self.height = height
        self.hash = sha256(b"trot", canonical_json(dataclasses.asdict(gait)).encode(), robot.hash.encode())
        self.frequency_hz = gait.rate * math.sqrt(GRAVITY_M_S2 / height)
        self.lift_m = gait.swing_height * height
        self._longest_m = gait.longest_sweep * height
        self._feet_m = np.array([leg.position_m for leg in legs])
        self._offset = 0.5 * phase_groups(self._feet_m)
        scale = np.array(contract.action_scale_rad)
        # Feet to joints, m to units of action: (3 n_legs, n_joints).
        self._follow = np.concatenate([_inverse(leg, gait, height).T for leg in legs]) / scale
        # Joint torque of a foot that pushes down with its share of the weight, as the offset of the target
        # that makes a PD controller give it: without it a soft robot sinks as far as its feet are lifted.
        weight_n = gait.support * robot.mass_kg * GRAVITY_M_S2
        self._push = -weight_n * np.array([leg.linear[2] for leg in legs]) / np.array(contract.kp_nm_per_rad) / scale

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget: the clock is the only input that changes with time."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints) for a command (n, 3) of forward m/s, left m/s and turn rad/s."""
        gait = self.gait
        command = np.asarray(command, float)
        # Velocity of the ground below each foot, for a base that moves as commanded: -(v + w × r).
        velocity = command[:, None, :2] + command[:, None, 2:] * np.stack([-self._feet_m[:, 1], self._feet_m[:, 0]], axis=1)
        speed = np.linalg.norm(velocity, axis=2)  # (n, n_legs)
        sweep = velocity * np.minimum(gait.duty / self.frequency_hz, self._longest_m / np.maximum(speed, 1e-9))[..., None]
        active = np.minimum(speed.max(axis=1) / gait.full_speed_m_s, 1.0)

        phase = (np.asarray(sensors.time_s)[:, None] * self.frequency_hz + self._offset + gait.duty / 2) % 1.0  # starts in mid-stance
        stance = phase < gait.duty
        through = np.where(stance, phase / gait.duty, (phase - gait.duty) / (1.0 - gait.duty))  # 0 to 1 within stance or swing
        ph2 = (phase + gait.lead) % 1.0
        st2 = ph2 < gait.duty
        th2 = np.where(st2, ph2 / gait.duty, (ph2 - gait.duty) / (1.0 - gait.duty))
        along = np.where(st2, 0.5 - th2, -0.5 * np.cos(np.pi * th2)) - gait.off
        lift = np.where(stance, 0.0, np.sin(np.pi * through) ** 2) * self.lift_m * active[:, None]
        share = stance / np.maximum(stance.sum(axis=1, keepdims=True), 1)
        lean = sensors.gravity[:, :2] + gait.tau * np.stack([sensors.gyro_rad_s[:, 1], -sensors.gyro_rad_s[:, 0]], axis=1)
        share = share * np.maximum(1.0 + gait.a / self.height * (lean @ self._feet_m[:, :2].T), 0)
        sweep_ = gait.b * self.height * lean[:, None, :] * np.where(stance, 0, np.sin(np.pi/2 * through) ** 2)[..., None]
        feet = np.concatenate([sweep * along[..., None] + sweep_, lift[..., None]], axis=2)
        return feet.reshape(len(command), -1) @ self._follow + (share * active[:, None]) @ self._push


def find_legs(robot: Robot) -> list[Leg]:
    """The legs of a robot: feet moved by the same joints are one leg; joints that move several legs are left out."""
    model = robot.spec().compile()
    data = mujoco.MjData(model)
    qpos, dofs = joint_addresses(model, robot.contract.joints)
    free = model.jnt_qposadr[model.body(robot.base).jntadr[0]]
    data.qpos[free : free + 7] = (0, 0, 0, 1, 0, 0, 0)
    data.qpos[qpos] = robot.contract.pose_rad
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    groups: dict[tuple[int, ...], list[tuple[str, np.ndarray, np.ndarray, np.ndarray]]] = {}
    for foot in robot.feet:
        geoms = foot_geoms(model, foot)
        place = data.geom_xpos[geoms].mean(axis=0)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, linear, angular, place, model.geom_bodyid[geoms[0]])
        linear, angular = linear[:, dofs], angular[:, dofs]
        moving = tuple(int(j) for j in np.flatnonzero(np.abs(np.concatenate([linear, angular])).max(axis=0) > 1e-9))
        groups.setdefault(moving, []).append((foot, place, linear, angular))
    legs = []
    for moving, feet in groups.items():
        own = [j for j in moving if sum(j in other for other in groups) == 1]
        names = tuple(foot for foot, *_ in feet)
        if not own:
            raise RobotError(f"{robot.path}: no joint moves the foot {names[0]} alone, so the built-in trot cannot step with it; name the feet at the ends of the legs")
        place, linear, angular = (np.mean([foot[k] for foot in feet], axis=0) for k in (1, 2, 3))
        anchors = data.xanchor[[model.joint(robot.contract.joints[j]).id for j in own], 2]
        legs.append(Leg(names, np.array(own), place, max(float(anchors.max() - place[2]), 1e-3), linear, angular))
    return legs


def phase_groups(feet_m: np.ndarray) -> np.ndarray:
    """0 or 1 for each foot (n_feet, 3), so that neighbours along a side and across alternate.

    Four feet trot on their diagonals, six walk on tripods, two alternate.
    """
    right = feet_m[:, 1] < feet_m[:, 1].mean()
    groups = np.zeros(len(feet_m), int)
    for side in (False, True):
        members = np.flatnonzero(right == side)
        front_to_rear = members[np.argsort(-feet_m[members, 0], kind="stable")]
        groups[front_to_rear] = (np.arange(len(members)) + side) % 2
    return groups


def _inverse(leg: Leg, gait: Gait, height_m: float) -> np.ndarray:
    """Damped pseudo-inverse (n_joints, 3) of the foot's Jacobian; joints to spare keep the foot level."""
    inverse = np.zeros((leg.linear.shape[1], 3))
    rows = leg.linear[:, leg.joints]
    if len(leg.joints) > 3:
        rows = np.concatenate([rows, gait.level * height_m * leg.angular[:, leg.joints]])
    damping = (gait.damping * height_m) ** 2 * np.eye(len(leg.joints))
    inverse[leg.joints] = np.linalg.solve(rows.T @ rows + damping, rows.T)[:, :3]
    return inverse
