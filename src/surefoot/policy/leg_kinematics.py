"""Legs as chains of joints, from the base to a foot, for a batch of robots at once.

Plain sums over small axes, and no `@`: BLAS sums in another order for one row than for many, and a robot must move the
same alone and beside others.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.robot import Robot
from surefoot.robot.load import foot_geoms, joint_addresses, upright
from surefoot.robot.model import lowest_point


@dataclass(frozen=True, eq=False)
class Link:
    """One body of a leg, in the frame of the body before it."""

    position_m: np.ndarray  # (3,)
    rotation: np.ndarray  # (3, 3)
    joints: tuple[tuple[np.ndarray, np.ndarray, float], ...]  # axis (3,), anchor (3,) and angle at which it is unturned
    mass_kg: float
    centre_m: np.ndarray  # (3,) of mass, in its own frame


@dataclass(frozen=True, eq=False)
class LegChain:
    """A leg from the base to its foot. `joints` are places in policy order, from the hip to the ankle."""

    foot: str
    links: tuple[Link, ...]
    joints: np.ndarray  # (k,)
    sole_m: np.ndarray  # (3,) the middle of the sole, in the frame of the last link
    level: np.ndarray  # (3, 3) rotation of the last link in the default pose, in which the foot is level
    sole_half_m: np.ndarray  # (2,) half the length and half the width of the sole
    inertia: np.ndarray  # (k, k) of its joints at the default pose, the base held, kg·m²


@dataclass(frozen=True, eq=False)
class LegState:
    """Where a leg is, in the frame of the base; k joints."""

    sole_m: np.ndarray  # (n, 3)
    rotation: np.ndarray  # (n, 3, 3) of the foot, from the default pose
    linear: np.ndarray  # (n, k, 3) Jacobian of the middle of the sole, m/rad
    angular: np.ndarray  # (n, k, 3) of the foot's orientation: the axes of the joints
    moment_kgm: np.ndarray  # (n, 3) mass times centre of mass of the leg
    moment_jacobian: np.ndarray  # (n, k, 3) of that, kg·m/rad
    spin_jacobian: np.ndarray  # (n, k, 3) of its angular momentum about the base, links taken for points, kg·m²/rad


@dataclass(frozen=True, eq=False)
class Body:
    """A robot as its legs and the rest of it, which is one stiff body in the default pose."""

    legs: tuple[LegChain, ...]
    mass_kg: float
    rest_moment_kgm: np.ndarray  # (3,) mass times centre of mass of all but the legs, in the frame of the base
    imu_rotation: np.ndarray  # (3, 3) of the IMU in the base


def body_of(robot: Robot) -> Body:
    """The chains of all legs; a leg that branches off another leg is refused."""
    model = robot.spec().compile()
    data = upright(model, robot.contract, robot.base)
    mujoco.mj_comPos(model, data)
    mujoco.mj_crb(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    base = model.body(robot.base).id
    places = {name: k for k, name in enumerate(robot.contract.joints)}
    dofs = joint_addresses(model, robot.contract.joints)[1]
    legs: list[LegChain] = []
    taken: set[int] = set()
    for foot in robot.feet:
        geoms = foot_geoms(model, foot)
        bodies = _bodies(model, base, int(model.geom_bodyid[geoms[0]]))
        joints = [j for body in bodies for j in _joints(model, body)]
        if taken & set(bodies) or not joints or any(model.joint(j).name not in places for j in joints):
            raise RobotError(
                f"{robot.path}: the foot {foot} is not at the end of a leg of its own whose joints all have motors"
            )
        taken |= set(bodies)
        order = np.array([places[model.joint(j).name] for j in joints])
        sole, half = _sole(model, data, geoms)
        last = bodies[-1]
        legs.append(
            LegChain(
                foot,
                tuple(_link(model, body) for body in bodies),
                order,
                data.xmat[last].reshape(3, 3).T @ (sole - data.xpos[last]),
                data.xmat[last].reshape(3, 3).copy(),
                half,
                inertia[np.ix_(dofs[order], dofs[order])],
            )
        )
    rest = [b for b in range(1, model.nbody) if b not in taken and model.body_rootid[b] == base]
    moment = (model.body_mass[rest, None] * (data.xipos[rest] - data.xpos[base])).sum(axis=0)
    imu = np.eye(3)
    if robot.imu is not None:
        imu = data.xmat[base].reshape(3, 3).T @ data.site_xmat[model.site(robot.imu).id].reshape(3, 3)
    return Body(tuple(legs), robot.mass_kg, moment, imu)


def leg_state(leg: LegChain, joint_position_rad: np.ndarray) -> LegState:
    """Positions and Jacobians of a leg for joint positions (n, n_joints) in policy order."""
    n, k = len(joint_position_rad), len(leg.joints)
    angle = joint_position_rad[:, leg.joints]
    place, turn = np.zeros((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3))
    anchor, axis = np.zeros((n, k, 3)), np.zeros((n, k, 3))
    moment, lever, spin = np.zeros((n, 3)), np.zeros((n, k, 3)), np.zeros((n, k, 3))
    j = 0
    for link in leg.links:
        place = place + rotate(turn, link.position_m)
        turn = multiply(turn, link.rotation)
        for about, at, unturned in link.joints:
            anchor[:, j] = place + rotate(turn, at)
            axis[:, j] = rotate(turn, about)
            turn = multiply(turn, rotation(about, angle[:, j] - unturned))
            place = anchor[:, j] - rotate(turn, at)
            j += 1
        centre = place + rotate(turn, link.centre_m)
        moment = moment + link.mass_kg * centre
        moved = link.mass_kg * cross(axis[:, :j], centre[:, None] - anchor[:, :j])
        lever[:, :j] += moved
        spin[:, :j] += cross(np.broadcast_to(centre[:, None], moved.shape), moved)
    sole = place + rotate(turn, leg.sole_m)
    return LegState(sole, multiply(turn, leg.level.T), cross(axis, sole[:, None] - anchor), axis, moment, lever, spin)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cross product over the last axis."""
    return np.stack(
        [
            a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1],
            a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
            a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0],
        ],
        axis=-1,
    )


def rotate(turn: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) turned by matrices (..., 3, 3)."""
    return (
        turn[..., :, 0] * vector[..., 0, None]
        + turn[..., :, 1] * vector[..., 1, None]
        + turn[..., :, 2] * vector[..., 2, None]
    )


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Products of matrices (..., 3, 3)."""
    return (
        a[..., :, 0, None] * b[..., None, 0, :]
        + a[..., :, 1, None] * b[..., None, 1, :]
        + a[..., :, 2, None] * b[..., None, 2, :]
    )


def rotation(axis: np.ndarray, angle_rad: np.ndarray) -> np.ndarray:
    """Matrices (n, 3, 3) that turn by angles (n,) about one unit axis (3,), after Rodrigues."""
    x, y, z = axis
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    d = 1.0 - c
    entries = [
        [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
        [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
        [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
    ]
    return np.stack([np.stack(row, axis=-1) for row in entries], axis=-2)


def _bodies(model: mujoco.MjModel, base: int, last: int) -> list[int]:
    """Bodies from the first after the base to the last."""
    bodies: list[int] = []
    while last not in (base, 0):
        bodies.insert(0, last)
        last = int(model.body_parentid[last])
    return bodies


def _joints(model: mujoco.MjModel, body: int) -> range:
    first = int(model.body_jntadr[body])
    return range(first, first + int(model.body_jntnum[body]))


def _link(model: mujoco.MjModel, body: int) -> Link:
    entries = np.zeros(9)
    mujoco.mju_quat2Mat(entries, model.body_quat[body])
    joints = tuple(
        (model.jnt_axis[j].copy(), model.jnt_pos[j].copy(), float(model.qpos0[model.jnt_qposadr[j]]))
        for j in _joints(model, body)
    )
    return Link(
        model.body_pos[body].copy(),
        entries.reshape(3, 3),
        joints,
        float(model.body_mass[body]),
        model.body_ipos[body].copy(),
    )


def _sole(model: mujoco.MjModel, data: mujoco.MjData, geoms: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """The middle of a foot's shapes at their lowest point, (3,), and half their length and width, (2,)."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for geom in geoms:
        turn = data.geom_xmat[geom].reshape(3, 3)
        centre = data.geom_xpos[geom] + turn @ model.geom_aabb[geom, :3]
        reach = np.abs(turn) @ model.geom_aabb[geom, 3:]
        low, high = np.minimum(low, centre - reach), np.maximum(high, centre + reach)
    bottom = min(lowest_point(model, data, geom) for geom in geoms)
    return np.array([*(low[:2] + high[:2]) / 2, bottom]), (high[:2] - low[:2]) / 2
