"""A built-in gait: an open-loop trot for any legged robot, to look at a robot before it has a policy.

Feet follow a fixed cycle, joints follow the feet through the Jacobian at the default pose, and feet on
the ground push down with their share of the weight. Only the clock drives it: the same time and command
give the same action, so it holds no state. It follows commands roughly, on flat ground; a robot that
cannot stay up without balancing (a biped) will step, and fall.
"""

import dataclasses
import math
from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.files import canonical_json, sha256
from surefoot.robot import Robot, Sensors
from surefoot.robot.load import foot_geoms, joint_addresses, upright
from surefoot.robot.loops import loops_of

GRAVITY_M_S2 = 9.81


@dataclass(frozen=True)
class Gait:
    """Constants of the trot. Lengths are in leg heights (first joint above the foot), so that they fit any size."""

    rate: float = 0.6  # strides in the time sqrt(leg height / g): 3.7 Hz for a leg of 0.265 m
    duty: float = 0.65  # part of a stride that a foot spends on the ground
    swing_height: float = 0.4  # highest point of a swinging foot, leg heights
    largest_turn_rad: float = 1.0  # of a joint, to lift a foot: a leg that stands almost straight lifts it less
    longest_sweep: float = 0.6  # way of a foot along the ground in one stance, at most, leg heights
    lead: float = 0.2  # part of a stride by which targets run ahead along the ground, since a soft leg swings late
    behind: float = 0.08  # part of the sweep by which it is shifted back: a foot that lands too far ahead brakes
    full_speed_m_s: float = 0.03  # speed of a foot from which feet are lifted to their full height
    damping: float = 0.02  # of the pseudo-inverse, leg heights per rad
    level: float = 0.1  # weight of keeping a foot level against moving it, leg heights; for legs with joints to spare


# Of six legs three always carry the body: it need not hurry to its next feet, and its servos need not either. With the
# constants of a trot, one six-legged robot turned at 2 % of the commanded rate and another at 55 %; with these, both follow
# every direction of their commands within 15 %.
TRIPOD = Gait(rate=0.27, swing_height=0.3, lead=0.05, behind=0.0)


@dataclass(frozen=True)
class Leg:
    """One leg at the default pose, in the axes of the upright base."""

    feet: tuple[str, ...]
    joints: np.ndarray  # places in policy order of the joints that move this leg alone
    position_m: np.ndarray  # (3,) of the foot, from the base
    height_m: float  # of the highest joint above the foot
    linear: np.ndarray  # (3, len(joints)) Jacobian of the foot's position, m/rad
    angular: np.ndarray  # (3, len(joints)) Jacobian of its orientation, rad/rad


class TrotAgent:
    """Trots in the commanded direction, and stands in the default pose when the command is zero."""

    label = "trot"

    def __init__(self, robot: Robot, gait: Gait | None = None) -> None:
        legs = find_legs(robot)
        if gait is None:
            gait = TRIPOD if len(legs) >= 6 else Gait()
        self.gait = gait
        self.hash = sha256(b"trot", canonical_json(dataclasses.asdict(gait)).encode(), robot.hash.encode())
        height_m = float(np.mean([leg.height_m for leg in legs]))
        self.frequency_hz = gait.rate * math.sqrt(GRAVITY_M_S2 / height_m)
        self._longest_m = gait.longest_sweep * height_m
        self._feet_m = np.array([leg.position_m for leg in legs])
        self._offset = 0.5 * phase_groups(self._feet_m) + gait.duty / 2  # starts in the middle of a stance
        contract = robot.contract
        self._follow = np.zeros((3 * len(legs), contract.n_joints))  # displacement of the feet to joints
        self._push = np.zeros((len(legs), contract.n_joints))  # share of the weight to joints
        kp = np.array(contract.kp_nm_per_rad)
        self._lift_m = gait.swing_height * height_m
        for k, leg in enumerate(legs):
            inverse = _inverse(leg, gait, height_m)
            steepest = float(np.abs(inverse[:, 2]).max())  # rad per m of height
            if not steepest > 0:
                raise RobotError(
                    f"the built-in trot cannot walk {robot.name}: no joint of its own lifts the foot {leg.feet[0]};"
                    " drive it with zero, random or a policy of its own"
                )
            self._lift_m = min(self._lift_m, gait.largest_turn_rad / steepest)
            self._follow[3 * k : 3 * k + 3, leg.joints] = inverse.T
            # Torque of a foot that pushes down, J' f, as the offset of the target with which a PD controller
            # gives it: without it a soft robot sinks as far as it lifts its feet.
            self._push[k, leg.joints] = -leg.linear[2] * robot.mass_kg * GRAVITY_M_S2 / kp[leg.joints]
        scale = np.array(contract.action_scale_rad)
        self._follow /= scale
        self._push /= scale

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints) at `sensors.time_s` for a command (n, 3): forward m/s, left m/s, turn rad/s."""
        gait = self.gait
        command = np.asarray(command, float)
        around = np.stack([-self._feet_m[:, 1], self._feet_m[:, 0]], axis=1)
        velocity = command[:, None, :2] + command[:, None, 2:3] * around  # of each foot over the ground, v + w × r
        speed = np.linalg.norm(velocity, axis=2)  # (n, n_legs)
        seconds = np.minimum(gait.duty / self.frequency_hz, self._longest_m / np.maximum(speed, 1e-9))
        sweep = velocity * seconds[..., None]
        active = np.minimum(speed.max(axis=1, keepdims=True) / gait.full_speed_m_s, 1.0)

        phase = np.asarray(sensors.time_s)[:, None] * self.frequency_hz + self._offset
        stance, through = self._cycle(phase)
        lift = np.where(stance, 0.0, np.sin(np.pi * through) ** 2) * self._lift_m * active
        share = stance / np.maximum(stance.sum(axis=1, keepdims=True), 1) * active
        stance, through = self._cycle(phase + gait.lead)
        along = np.where(stance, 0.5 - through, -0.5 * np.cos(np.pi * through)) - gait.behind
        feet = np.concatenate([sweep * along[..., None], lift[..., None]], axis=2)
        # Not `@`: BLAS sums in another order for one row than for many, and a robot must walk the same alone and beside
        # others.
        return np.einsum("nf,fj->nj", feet.reshape(len(command), -1), self._follow) + np.einsum(
            "nl,lj->nj", share, self._push
        )

    def _cycle(self, phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether a foot is on the ground, and how far it is, 0 to 1, through its stance or its swing."""
        phase = phase % 1.0
        duty = self.gait.duty
        stance = phase < duty
        return stance, np.where(stance, phase / duty, (phase - duty) / (1.0 - duty))


def find_legs(robot: Robot) -> list[Leg]:
    """The legs of a robot: feet moved by the same joints are one leg; joints that move several legs are left out."""
    model = robot.spec().compile()
    data = upright(model, robot.contract, robot.base)
    _, dofs = joint_addresses(model, robot.contract.joints)
    mujoco.mj_comPos(model, data)
    loops = loops_of(model, robot.contract.joints)
    motion = (
        None if loops is None else loops.motion(data.qpos)
    )  # a motor moves a foot through the joints that follow it
    groups: dict[tuple[int, ...], list[tuple[str, tuple[np.ndarray, ...]]]] = {}
    for foot in robot.feet:
        geoms = foot_geoms(model, foot)
        place = data.geom_xpos[geoms].mean(axis=0)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, linear, angular, place, model.geom_bodyid[geoms[0]])
        linear, angular = (linear[:, dofs], angular[:, dofs]) if motion is None else (linear @ motion, angular @ motion)
        moving = tuple(int(j) for j in np.flatnonzero(np.abs(np.concatenate([linear, angular])).max(axis=0) > 1e-9))
        groups.setdefault(moving, []).append((foot, (place, linear, angular)))
    legs = []
    for moving, feet in groups.items():
        names = tuple(foot for foot, _ in feet)
        own = [j for j in moving if sum(j in other for other in groups) == 1]
        if not own:
            raise RobotError(
                f"{robot.path}: no joint moves the foot {names[0]} alone, so the built-in trot cannot lift it; name the"
                " feet at the ends of the legs"
            )
        place, linear, angular = (np.mean([found[k] for _, found in feet], axis=0) for k in range(3))
        anchors = data.xanchor[[model.joint(robot.contract.joints[j]).id for j in own], 2]
        legs.append(
            Leg(
                names, np.array(own), place, max(float(anchors.max() - place[2]), 1e-3), linear[:, own], angular[:, own]
            )
        )
    return legs


def phase_groups(feet_m: np.ndarray) -> np.ndarray:
    """0 or 1 for each foot (n_feet, 3), so that neighbours along a side and across the body alternate.

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
    """Damped pseudo-inverse (len(joints), 3) of the foot's Jacobian; joints to spare keep the foot level."""
    rows = leg.linear
    if len(leg.joints) > 3:
        rows = np.concatenate([rows, gait.level * height_m * leg.angular])
    damping = (gait.damping * height_m) ** 2 * np.eye(len(leg.joints))
    return np.linalg.solve(rows.T @ rows + damping, rows.T)[:, :3]
