"""Holds a posture, or steps in place on the feet that it stands on: teachers for robots that cannot stand still.

On two point feet there is no balance without steps. Who marches has none either, and falls about as fast as one that
holds its pose; but whoever copies it lifts one foot after the other, and has only to learn where to put them down.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.learn.env import WalkEnv
from surefoot.learn.upright import holding_action, posed
from surefoot.policy.trot import GRAVITY_M_S2, find_legs
from surefoot.robot import Posture, Robot, Sensors
from surefoot.robot.load import foot_geoms, joint_addresses
from surefoot.sim.sensing import gravity_in_base

RATE_HZ = 3.0
DUTY = 0.6  # of a stride, that a foot spends on the ground
LIFT = 0.1  # of the posture's height
UPRIGHT = 0.9  # cosine of the angle to the posture: who is further away has other worries than steps


@dataclass(frozen=True, eq=False)
class LegStep:
    """What one leg does, in actions, (n_joints,)."""

    lift: np.ndarray  # its foot at the highest point
    carry: np.ndarray  # the whole weight on it


class HoldAgent:
    """Targets between the default pose and what holds the posture at rest, as far as the base is between
    level and upright.
    """

    label = hash = "hold"

    def __init__(self, env: WalkEnv) -> None:
        self._env, self._posture = env, env.task.posture
        contract = env.robot.contract
        scale = np.array(contract.action_scale_rad)
        self._bare = (
            np.array(self._posture.pose_rad or contract.pose_rad) - contract.pose_rad
        ) / scale  # without the weight
        self._held = holding_action(env.robot, self._posture)

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Nothing to forget."""

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints); the base's true tilt decides, whatever an IMU says of it."""
        return self._there(self._upright()) * self._held

    def _upright(self) -> np.ndarray:
        """Cosine of the angle to the posture, (n,)."""
        return -gravity_in_base(self._posture.frame(self._env.worlds.base_quaternion))[:, 2]

    def _there(self, upright: np.ndarray) -> np.ndarray:
        """How much of the way from level to the posture, (n, 1)."""
        missing = np.arccos(np.clip(upright, -1, 1)) / max(abs(self._posture.pitch_rad), 1e-9)
        return np.clip(1 - missing, 0.0, 1.0)[:, None]


class MarchAgent(HoldAgent):
    """Holds the posture, as far as the base is there, and lifts its feet in turn once it is."""

    label = hash = "march"

    def __init__(self, env: WalkEnv) -> None:
        super().__init__(env)
        self._steps = steps_of(env.robot, self._posture)
        self._first = np.zeros(env.num_envs)  # phase with which a robot begins

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        """Actions (n, n_joints).

        A robot that rolls to one side lifts the other foot first: the policy that copies this sees the
        roll, but no clock.
        """
        env, upright = self._env, self._upright()
        roll = self._posture.turned(sensors.gyro_rad_s)[:, 0]
        self._first[env.fresh] = np.where(roll[env.fresh] > 0, 0.5, 0.0)
        phase = env.episode_length_buf.numpy() * env.dt_s * RATE_HZ + self._first
        own = (phase + np.arange(len(self._steps))[:, None] / len(self._steps)) % 1.0  # (legs, n)
        stance = own < DUTY
        lift = np.where(stance, 0.0, np.sin(np.pi * (own - DUTY) / (1 - DUTY)) ** 2)
        share = stance / np.maximum(stance.sum(axis=0), 1)
        march = (
            self._bare + lift.T @ [step.lift for step in self._steps] + share.T @ [step.carry for step in self._steps]
        )
        return self._there(upright) * np.where((upright > UPRIGHT)[:, None], march, self._held)


def steps_of(robot: Robot, posture: Posture) -> list[LegStep]:
    """One for each leg that the posture stands on, from the Jacobian there."""
    contract = robot.contract
    model, data = posed(robot, posture)
    dofs = joint_addresses(model, contract.joints)[1]
    scale, kp = np.array(contract.action_scale_rad), np.array(contract.kp_nm_per_rad)
    steps = []
    for leg in find_legs(robot):
        if posture.feet and not set(leg.feet) & set(posture.feet):
            continue
        geoms = [g for foot in leg.feet for g in foot_geoms(model, foot)]
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, data.geom_xpos[geoms].mean(axis=0), model.geom_bodyid[geoms[0]])
        jacobian = jacobian[:, dofs][:, leg.joints]
        lift, carry = np.zeros(contract.n_joints), np.zeros(contract.n_joints)
        lift[leg.joints] = np.linalg.pinv(jacobian) @ [0.0, 0.0, LIFT * (posture.height_m or robot.trunk_height_m)]
        carry[leg.joints] = -jacobian[2] * robot.mass_kg * GRAVITY_M_S2 / kp[leg.joints]
        steps.append(LegStep(lift / scale, carry / scale))
    return steps
