"""Where the feet touch and how they move, seen from the base: forward kinematics of n robots at once.

Each foot hangs on a chain of joints from the base. Gravity's direction goes down the chain to find the point of the
foot that is lowest, and that point comes up the chain with its velocity: two passes over vectors, no 6-D Jacobian.
Angles and velocities are those of the contract's joints; joints that it does not name stay where the model has them.

Arrays inside are (3, n_feet, n): all chains are walked at once, and n, which is long, is the inner loop. Every sum is
written out, so that a robot gets the same bits alone and beside others, which BLAS does not promise.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.robot.load import FREE, Robot, foot_geoms
from surefoot.robot.model import compile_spec

SLIDE, BALL = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_BALL)
# Corners of a sole this much above its lowest one still count as touching: a sole that stands flat is not balanced on
# the corner that the noise of a millimetre makes the lowest.
BLEND_M = 0.003
FLAT = 0.05  # rad: a disc that lies within this of level touches with its centre rather than with its rim
SHORTEST_LEG_M = 0.02
DIRECTIONS = 256  # in which a mesh is asked for its outermost vertex; they find the corners of any sole


@dataclass(frozen=True, eq=False)
class FootMotion:
    """The lowest point of each foot in the axes of the base, from the base's origin."""

    position_m: np.ndarray  # (3, n_feet, n)
    velocity_m_s: np.ndarray  # (3, n_feet, n), relative to the base and in its turning axes


@dataclass(frozen=True, eq=False)
class _Level:
    """The k-th joint of every chain. Where a chain has fewer, its numbers make the step an identity."""

    joint: np.ndarray  # (n_feet,) places in policy order
    zero: np.ndarray  # (n_feet, 1) position at which the model was drawn
    fixed: np.ndarray  # (3, 3, n_feet, 1) R = fixed + sin(q) * sine + (1 - cos(q)) * cosine (Rodrigues)
    sine: np.ndarray
    cosine: np.ndarray
    anchor: np.ndarray  # (3, n_feet, 1) in the frame below the joint
    offset: np.ndarray  # (3, n_feet, 1) of the anchor in the frame above
    hinge: np.ndarray  # (3, n_feet, 1) axis in the frame above; zero for a slide
    slide: np.ndarray | None  # the same for slides; None where there is none


@dataclass(frozen=True, eq=False)
class _Shapes:
    """What the feet are made of, in the frame below the last joint: vertices with a small ellipsoid around each.

    A sphere, a capsule and an ellipsoid have one or two vertices, a box has eight without anything around them, and the
    two ends of a cylinder are discs, flat ellipsoids.
    """

    vertex: np.ndarray  # (3, n_vertices, n_feet, 1)
    around: np.ndarray | None  # (3, 3, n_vertices, n_feet, 1) shape matrix of the ellipsoid, m²; None: spheres only
    rim: np.ndarray  # (n_vertices, n_feet, 1), m²: keeps a disc that lies level from touching with its rim
    radius: np.ndarray  # (n_vertices, n_feet, 1) of the sphere
    missing: np.ndarray | None  # (n_vertices, n_feet, 1): minus infinity where a foot has fewer vertices


class FootKinematics:
    """Lowest points of a robot's feet, for any number of robots at once."""

    def __init__(self, robot: Robot, blend_m: float = BLEND_M) -> None:
        model = compile_spec(robot.spec(), robot.model_path)
        places = {model.joint(name).id: k for k, name in enumerate(robot.contract.joints)}
        chains = [_chain(model, robot, foot, places) for foot in robot.feet]
        self.n_feet = len(chains)
        self.imu_rotation = _imu_rotation(model, robot)  # (3, 3) of the IMU in the base, None where it is the identity
        self._blend_m = blend_m
        self._levels = [
            _level([chain.joints[k : k + 1] for chain in chains])
            for k in range(max(len(chain.joints) for chain in chains))
        ]
        self._shapes = _shapes([chain.shapes for chain in chains])
        self.leg_m = self._leg(np.array([robot.contract.pose_rad]))  # from the highest joint of a leg to its foot

    def lowest(self, joint_position_rad: np.ndarray, joint_velocity_rad_s: np.ndarray, down: np.ndarray) -> FootMotion:
        """The lowest point of each foot, and how it moves, for joints (n, n_joints) and gravity's direction (n, 3).

        `down` is a unit vector in the axes of the base. The velocity is that of the piece of the foot that is there,
        not of the place where the foot is lowest: it is zero, seen from the floor, for a foot that stands or rolls.
        """
        position = np.ascontiguousarray(joint_position_rad.T, dtype=float)
        velocity = np.ascontiguousarray(joint_velocity_rad_s.T, dtype=float)
        direction = np.broadcast_to(np.ascontiguousarray(down.T, dtype=float)[:, None], (3, self.n_feet, len(down)))
        turns, moved, speeds = [], [], []
        for level in self._levels:
            angle = position[level.joint] - level.zero
            half = np.sin(0.5 * angle)
            turn = level.fixed + level.sine * np.sin(angle) + level.cosine * (2.0 * half * half)
            direction = _times(turn.swapaxes(0, 1), direction)
            turns.append(turn)
            moved.append(angle)
            speeds.append(velocity[level.joint])
        point = self._support(direction)
        motion = np.zeros_like(point)
        for level, turn, angle, speed in zip(*map(reversed, (self._levels, turns, moved, speeds)), strict=True):
            point = _times(turn, point - level.anchor)
            motion = _times(turn, motion) + _cross(level.hinge, point) * speed
            point = point + level.offset
            if level.slide is not None:
                motion += level.slide * speed
                point += level.slide * angle
        return FootMotion(point, motion)

    def _leg(self, pose_rad: np.ndarray) -> float:
        """Height of the first joint over the foot in the default pose, mean over the feet that a joint moves."""
        feet = self.lowest(pose_rad, np.zeros_like(pose_rad), np.array([[0.0, 0.0, -1.0]])).position_m[2, :, 0]
        heights = self._levels[0].offset[2, :, 0] - feet if self._levels else np.zeros(0)
        return max(float(np.mean(heights[heights > 0.0])) if (heights > 0.0).any() else 0.0, SHORTEST_LEG_M)

    def _support(self, down: np.ndarray) -> np.ndarray:
        """The lowest point of each foot in the frame below its last joint, (3, n_feet, n)."""
        shapes = self._shapes
        direction = down[:, None]
        if shapes.around is None:
            outward = shapes.radius * direction
        else:
            outward = _times(shapes.around, direction)
            outward /= np.sqrt(np.maximum(_dot(direction, outward) + shapes.rim, 1e-30))
        points = shapes.vertex + outward
        if points.shape[1] == 1:
            lowest: np.ndarray = points[:, 0]
            return lowest
        depth = _dot(direction, points)
        if shapes.missing is not None:
            depth += shapes.missing
        share = np.maximum(1.0 - (depth.max(axis=0) - depth) / self._blend_m, 0.0)
        total, mean = share[0].copy(), points[:, 0] * share[0]
        for k in range(1, len(share)):
            total += share[k]
            mean += points[:, k] * share[k]
        return mean / total


@dataclass(frozen=True, eq=False)
class _Joint:
    place: int  # in policy order
    zero: float
    slides: bool
    axis: np.ndarray  # (3,) in its own frame
    anchor: np.ndarray  # (3,)
    turn: np.ndarray  # (3, 3) from its frame to that of the joint before
    shift: np.ndarray  # (3,)


@dataclass(frozen=True, eq=False)
class _Chain:
    joints: list[_Joint]
    shapes: list[tuple[np.ndarray, np.ndarray, float]]  # vertex (3,), shape matrix (3, 3), rim m²


def _chain(model: mujoco.MjModel, robot: Robot, foot: str, places: dict[int, int]) -> _Chain:
    """The joints between the base and a foot that the contract names, and the shapes of the foot."""
    geoms = foot_geoms(model, foot)
    base, body, bodies = model.body(robot.base).id, int(model.geom_bodyid[geoms[0]]), []
    while body not in (base, 0):
        bodies.append(body)
        body = int(model.body_parentid[body])
    if body != base:
        raise RobotError(f"{robot.path}: the foot {foot!r} does not hang on the base {robot.base!r}; name another foot")
    joints: list[_Joint] = []
    turn, shift = np.eye(3), np.zeros(3)  # from the present frame to that below the last joint
    for body in reversed(bodies):
        shift = shift + turn @ model.body_pos[body]
        turn = turn @ _matrix(model.body_quat[body])
        first = int(model.body_jntadr[body])
        for joint in range(first, first + int(model.body_jntnum[body])):
            kind, axis, anchor = int(model.jnt_type[joint]), model.jnt_axis[joint].copy(), model.jnt_pos[joint].copy()
            address = int(model.jnt_qposadr[joint])
            if joint in places:
                zero = float(model.qpos0[address])
                slides = kind == SLIDE
                joints.append(_Joint(places[joint], zero, slides, axis, np.zeros(3) if slides else anchor, turn, shift))
                turn, shift = np.eye(3), np.zeros(3)
            elif kind == BALL:
                rest = _matrix(model.qpos0[address : address + 4])
                shift, turn = shift + turn @ (anchor - rest @ anchor), turn @ rest
            elif kind == FREE:
                raise RobotError(
                    f"{robot.path}: the foot {foot!r} is not joined to the base {robot.base!r}; name another foot"
                )
            # A hinge or slide at rest, where the model has it, moves nothing.
    shapes = []
    for geom in geoms:
        place, own = shift + turn @ model.geom_pos[geom], turn @ _matrix(model.geom_quat[geom])
        shapes += [(place + own @ vertex, own @ around @ own.T, rim) for vertex, around, rim in _shape(model, geom)]
    return _Chain(joints, shapes)


def _shape(model: mujoco.MjModel, geom: int) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Vertices of a geom in its own frame, the shape matrix of the ellipsoid around each, and the rim of discs."""
    size, kind = model.geom_size[geom], mujoco.mjtGeom(model.geom_type[geom])
    none, ends = np.zeros((3, 3)), np.array([[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]])
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return [(end, size[0] ** 2 * np.eye(3), 0.0) for end in ends]
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return [(end, size[0] ** 2 * np.diag([1.0, 1.0, 0.0]), (FLAT * size[0]) ** 2) for end in ends]
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return [(np.zeros(3), np.diag(size**2), 0.0)]
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return [(size * corner, none, 0.0) for corner in np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, 8).T]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        vertices = model.mesh_vert[start : start + count].astype(float)
        outermost = np.unique((vertices @ _directions(DIRECTIONS).T).argmax(axis=0))
        return [(vertices[k], none, 0.0) for k in outermost]
    radius = size[0] if kind == mujoco.mjtGeom.mjGEOM_SPHERE else model.geom_rbound[geom]
    return [(np.zeros(3), radius**2 * np.eye(3), 0.0)]


def _level(joints: list[list[_Joint]]) -> _Level:
    """One joint of each chain, or none of it, as arrays over the feet."""

    def over_feet(entries: list[np.ndarray]) -> np.ndarray:
        return np.ascontiguousarray(np.stack(entries, axis=-1)[..., None])

    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("fixed", "sine", "cosine", "anchor", "offset", "hinge", "slide")
    }
    for found in joints:
        joint = found[0] if found else _Joint(0, 0.0, True, np.zeros(3), np.zeros(3), np.eye(3), np.zeros(3))
        spin = np.zeros((3, 3)) if joint.slides else _skew(joint.axis)
        columns["fixed"].append(joint.turn)
        columns["sine"].append(joint.turn @ spin)
        columns["cosine"].append(joint.turn @ spin @ spin)
        columns["anchor"].append(joint.anchor)
        columns["offset"].append(joint.turn @ joint.anchor + joint.shift)
        axis = joint.turn @ joint.axis
        columns["hinge"].append(np.zeros(3) if joint.slides else axis)
        columns["slide"].append(axis if joint.slides else np.zeros(3))
    arrays = {name: over_feet(entries) for name, entries in columns.items()}
    return _Level(
        joint=np.array([found[0].place if found else 0 for found in joints]),
        zero=np.array([[found[0].zero if found else 0.0] for found in joints]),
        **{name: array for name, array in arrays.items() if name != "slide"},
        slide=arrays["slide"] if arrays["slide"].any() else None,
    )


def _shapes(feet: list[list[tuple[np.ndarray, np.ndarray, float]]]) -> _Shapes:
    """The shapes of all feet as arrays, those of fewer vertices filled up with ones that are never the lowest."""
    most = max(len(shapes) for shapes in feet)
    vertex, around = np.zeros((3, most, len(feet), 1)), np.zeros((3, 3, most, len(feet), 1))
    rim, missing = np.zeros((most, len(feet), 1)), np.full((most, len(feet), 1), -np.inf)
    for i, shapes in enumerate(feet):
        for k, (place, matrix, disc) in enumerate(shapes):
            vertex[:, k, i, 0], around[:, :, k, i, 0], rim[k, i, 0], missing[k, i, 0] = place, matrix, disc, 0.0
    radius = np.sqrt(around[0, 0])
    spheres = np.abs(around - np.eye(3)[:, :, None, None, None] * around[0, 0]).max() <= 1e-12 * around.max()
    return _Shapes(vertex, None if spheres else around, rim, radius, missing if np.isinf(missing).any() else None)


def _imu_rotation(model: mujoco.MjModel, robot: Robot) -> np.ndarray | None:
    if robot.imu is None:
        return None
    site = model.site(robot.imu)
    rotation, body = _matrix(site.quat), int(site.bodyid[0])
    while body not in (0, model.body(robot.base).id):  # on a body that is welded to the base
        rotation, body = _matrix(model.body_quat[body]) @ rotation, int(model.body_parentid[body])
    return None if np.array_equal(rotation, np.eye(3)) else rotation


def _directions(count: int) -> np.ndarray:
    """Unit vectors spread evenly over the sphere (a Fibonacci lattice), (count, 3)."""
    height = 1.0 - (2.0 * np.arange(count) + 1.0) / count
    angle = np.pi * (3.0 - np.sqrt(5.0)) * np.arange(count)
    ring = np.sqrt(1.0 - height**2)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), height], axis=1)


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    return flat.reshape(3, 3)


def _skew(v: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Products of matrices (3, 3, ...) with vectors (3, ...)."""
    product: np.ndarray = matrix[:, 0] * vector[0]
    product += matrix[:, 1] * vector[1]
    product += matrix[:, 2] * vector[2]
    return product


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product: np.ndarray = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
