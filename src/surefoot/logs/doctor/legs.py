"""Kinematics of a robot's feet, for many postures at once, and what feet on the ground say about joints.

Two feet that stand do not move against each other: with p the place of a foot in the base, u its velocity there and w
the base's angular velocity, (u1 - u2) + w x (p1 - p2) = 0. A joint with a wrong sign or in another's place breaks this,
though every single channel looks sound.
"""

from dataclasses import dataclass
from functools import cached_property

import mujoco
import numpy as np

from surefoot.robot import Robot
from surefoot.robot.imu import imu_rotation
from surefoot.robot.load import foot_geoms

ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER)
SMALLEST_SLIP_M_S = 0.02  # below this, sensor noise decides how well two feet agree


@dataclass(frozen=True)
class Turn:
    """One joint of a chain, in the frame of its body."""

    joint: int  # place in policy order; -1 for a joint that the policy does not drive
    axis: np.ndarray  # (3,)
    anchor: np.ndarray  # (3,)
    slides: bool


@dataclass(frozen=True)
class KinematicChain:
    """The bodies from the base to a foot."""

    links: tuple[tuple[np.ndarray, np.ndarray, tuple[Turn, ...]], ...]  # position, rotation and joints of each body
    tip: np.ndarray  # (3,) of the foot in the last body
    radius_m: float

    @property
    def joints(self) -> set[int]:
        """Places in policy order of the joints that move this foot."""
        return {turn.joint for _, _, turns in self.links for turn in turns if turn.joint >= 0}

    def foot(self, position: np.ndarray, velocity: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Place and velocity in the base of the foot's lowest point, (n, 3) each."""
        n = len(position)
        rotation, place = np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3))
        moved: list[tuple[Turn, np.ndarray, np.ndarray]] = []
        for offset, turned, turns in self.links:
            place, rotation = place + rotation @ offset, rotation @ turned
            for turn in turns:
                if turn.joint < 0:
                    continue
                axis, anchor = rotation @ turn.axis, place + rotation @ turn.anchor
                angle = position[:, turn.joint]
                if turn.slides:
                    place = place + axis * angle[:, None]
                else:
                    rotation = rotation @ _rotations(turn.axis, angle)
                    place = anchor - rotation @ turn.anchor
                moved.append((turn, axis, anchor))
        tip = place + rotation @ self.tip + self.radius_m * down
        speed = np.zeros((n, 3))
        for turn, axis, anchor in moved:
            speed += (axis if turn.slides else np.cross(axis, tip - anchor)) * velocity[:, turn.joint, None]
        return tip, speed


class Legs:
    """The feet of a robot, and the IMU among them."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._model = robot.spec().compile()

    @cached_property
    def imu_rotation(self) -> np.ndarray:
        """Rotation (3, 3) of the IMU in the base."""
        imu, base = self._robot.imu, self._robot.base
        return np.eye(3) if imu is None else imu_rotation(self._model, imu, base)

    @cached_property
    def chains(self) -> list[KinematicChain]:
        """One chain for each foot."""
        return [self._chain(foot) for foot in self._robot.feet]

    def _chain(self, foot: str) -> KinematicChain:
        model, joints = self._model, self._robot.contract.joints
        geom = foot_geoms(model, foot)[0]
        base, body = model.body(self._robot.base).id, int(model.geom_bodyid[geom])
        links = []
        while body not in (base, 0):
            turns = []
            for j in range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body]):
                name = model.joint(j).name
                slides = model.jnt_type[j] == mujoco.mjtJoint.mjJNT_SLIDE
                turns.append(
                    Turn(
                        joints.index(name) if name in joints else -1,
                        model.jnt_axis[j].copy(),
                        model.jnt_pos[j].copy(),
                        slides,
                    )
                )
            links.append((model.body_pos[body].copy(), _matrix(model.body_quat[body]), tuple(turns)))
            body = int(model.body_parentid[body])
        radius_m = float(model.geom_size[geom][0]) if model.geom_type[geom] in ROUND else 0.0
        return KinematicChain(tuple(links[::-1]), model.geom_pos[geom].copy(), radius_m)


class Standing:
    """How well the feet that seem to stand agree, under changes of the joints; of some postures of a log."""

    def __init__(
        self, legs: Legs, position: np.ndarray, velocity: np.ndarray, gyro: np.ndarray, down: np.ndarray
    ) -> None:
        self._legs, self._chains, self._gyro, self._down = legs, legs.chains, gyro, down
        feet = len(self._chains)
        self._pairs = np.triu_indices(feet, 1)
        half = -(-feet // 2)
        self._agreeing = max(1, half * (half - 1) // 2)  # pairs among the half of the feet that stands
        self.position, self.velocity = position, velocity
        self._now = [chain.foot(position, velocity, down) for chain in self._chains]

    def every(self, n: int) -> "Standing":
        """Every n-th posture only."""
        return Standing(self._legs, self.position[::n], self.velocity[::n], self._gyro[::n], self._down[::n])

    def slip(
        self, position: np.ndarray | None = None, velocity: np.ndarray | None = None, joints: set[int] | None = None
    ) -> np.ndarray:
        """Log of the speed, m/s, of the feet that stand against each other, (n,); `joints` are those that
        were changed.
        """
        position = self.position if position is None else position
        velocity = self.velocity if velocity is None else velocity
        feet = [
            now if joints is not None and not joints & chain.joints else chain.foot(position, velocity, self._down)
            for chain, now in zip(self._chains, self._now, strict=True)
        ]
        place, speed = np.stack([foot[0] for foot in feet], 1), np.stack([foot[1] for foot in feet], 1)
        one, other = self._pairs
        apart = speed[:, one] - speed[:, other] + np.cross(self._gyro[:, None], place[:, one] - place[:, other])
        smallest = np.partition(np.linalg.norm(apart, axis=2), self._agreeing - 1, axis=1)[:, : self._agreeing]
        return np.log(smallest + SMALLEST_SLIP_M_S).mean(axis=1)


def _rotations(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations about one axis, (n, 3, 3): Rodrigues' formula."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle)[:, None, None] * cross + (1 - np.cos(angle))[:, None, None] * (cross @ cross)


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.asarray(quaternion, float))
    return flat.reshape(3, 3)
