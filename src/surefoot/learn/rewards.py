"""Rewards: small named functions of a `Motion`, each with its unit. A task gives them weights per second."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.learn.drift import drift_speed


@dataclass(frozen=True)
class Motion:
    """The true motion of n robots over one control period, as rewards and the critic see it.

    "The base frame" is the one that is level in the task's posture: on hind legs, its z axis is the robot's nose.
    """

    command: np.ndarray  # (n, 3) m/s, m/s, rad/s
    velocity: np.ndarray  # (n, 3) of the base in its heading frame, m/s
    angular_velocity: np.ndarray  # (n, 3) in the base frame, rad/s
    gravity: np.ndarray  # (n, 3) unit vector in the base frame
    height_m: np.ndarray  # (n,)
    nominal_height_m: float  # in the task's posture
    joint_position: np.ndarray  # (n, n_joints) rad
    joint_velocity: np.ndarray  # rad/s
    joint_acceleration: np.ndarray  # rad/s²
    pose: np.ndarray  # (n_joints,) rad, in the task's posture
    position_limit: np.ndarray  # (n_joints, 2) rad
    torque: np.ndarray  # (n, n_joints) N·m
    torque_limit: np.ndarray  # (n_joints,) N·m
    action: np.ndarray
    last_action: np.ndarray
    before_last_action: np.ndarray
    foot_contact: np.ndarray  # (n, n_feet)
    foot_landed: np.ndarray  # touched down in this period
    foot_air_s: np.ndarray  # time since the foot last touched the ground, before this landing
    foot_velocity: np.ndarray  # (n, n_feet, 3) m/s
    body_contact: np.ndarray  # (n,) anything but the feet touches the floor
    lasting_error: (
        np.ndarray
    )  # (n, 3) command minus velocity, m/s, m/s, rad/s, averaged over about `LASTING_S` under one command
    standing_foot: np.ndarray  # (n_feet,) whether the posture stands on it
    rises: bool = False  # whether the posture is one that has to be risen to

    @property
    def upright(self) -> np.ndarray:
        """Cosine of the angle between the robot and its posture, (n,)."""
        return -self.gravity[:, 2]

    @property
    def up(self) -> np.ndarray:
        """How much of its work a robot can be asked for: 0 until it is within 60° of its posture, 1 from 26° on, (n,).

        A robot that starts in its posture can always be asked for all of it: it is the fall that ends its episode.
        """
        if not self.rises:
            return np.ones(len(self.gravity))
        return np.clip((self.upright - UP_FROM) / (UP_FULL - UP_FROM), 0.0, 1.0)

    @property
    def moving(self) -> np.ndarray:
        """Whether the command asks for motion, (n,)."""
        return np.linalg.norm(self.command, axis=1) > 0.1


RewardFunction = Callable[[Motion], np.ndarray]

TRACKING_WIDTH_M_S = 0.3  # velocity error at which the tracking reward has fallen to 1/e
TRACKING_WIDTH_RAD_S = 0.5
LASTING_S = 1.0
UP_FROM, UP_FULL = 0.5, 0.9  # cosines of the angle to the posture
RUSH_RAD_S = 3.0
SHUFFLE_S = 0.1  # a foot in the air for less than this has not stepped
SWING_S = 0.35  # longer swings are not paid more


def track_velocity(m: Motion) -> np.ndarray:
    """1 at the commanded planar velocity, falling with the squared error; nothing while the robot is not up."""
    error = np.square(m.command[:, :2] - m.velocity[:, :2]).sum(axis=1)
    return np.exp(-error / TRACKING_WIDTH_M_S**2) * m.up


def track_turn(m: Motion) -> np.ndarray:
    """1 at the commanded yaw rate, falling with the squared error; nothing while the robot is not up."""
    return np.exp(-np.square(m.command[:, 2] - m.angular_velocity[:, 2]) / TRACKING_WIDTH_RAD_S**2) * m.up


def lasting(m: Motion) -> np.ndarray:
    """Velocity error that does not average out over strides, m/s: what adds up to drift.

    Linear, not squared: the last centimetre per second is worth as much as the first.
    """
    return drift_speed(m.command, m.lasting_error) * m.up


def bounce(m: Motion) -> np.ndarray:
    """Squared vertical velocity of the base, (m/s)²."""
    return np.square(m.velocity[:, 2])


def wobble(m: Motion) -> np.ndarray:
    """Squared roll and pitch rates, (rad/s)²."""
    return np.square(m.angular_velocity[:, :2]).sum(axis=1)


def rush(m: Motion) -> np.ndarray:
    """Squared rate at which the base turns, above 3 rad/s, (rad/s)²: at that rate it takes half a second to get up."""
    return np.square(np.maximum(np.linalg.norm(m.angular_velocity, axis=1) - RUSH_RAD_S, 0.0))


def tilt(m: Motion) -> np.ndarray:
    """Squared sine of the tilt."""
    return np.square(m.gravity[:, :2]).sum(axis=1)


def low_base(m: Motion) -> np.ndarray:
    """Squared lack of height below nine tenths of the standing height, as a share of it."""
    return np.square(np.minimum(m.height_m / m.nominal_height_m - 0.9, 0.0))


def torque(m: Motion) -> np.ndarray:
    """Mean squared torque as a share of the limit."""
    return np.square(m.torque / m.torque_limit).mean(axis=1)


def power(m: Motion) -> np.ndarray:
    """Mechanical power that the motors give, W."""
    return np.maximum(m.torque * m.joint_velocity, 0.0).sum(axis=1)


def joint_acceleration(m: Motion) -> np.ndarray:
    """Sum of squared joint accelerations, (rad/s²)²."""
    return np.square(m.joint_acceleration).sum(axis=1)


def action_rate(m: Motion) -> np.ndarray:
    """Sum of squared changes of the action between two control ticks."""
    return np.square(m.action - m.last_action).sum(axis=1)


def action_jerk(m: Motion) -> np.ndarray:
    """Sum of squared second differences of the action."""
    return np.square(m.action - 2 * m.last_action + m.before_last_action).sum(axis=1)


def joint_limits(m: Motion) -> np.ndarray:
    """By how much joints are past 95 % of their range, rad."""
    middle, half = m.position_limit.mean(axis=1), 0.475 * np.ptp(m.position_limit, axis=1)
    return np.maximum(np.abs(m.joint_position - middle) - half, 0.0).sum(axis=1)


def stride(m: Motion) -> np.ndarray:
    """Time that a foot was in the air beyond a shuffle and up to a full swing, s, paid at each landing
    while told to move.

    Short steps cost nothing: a cost on them would teach a robot that cannot walk yet to stand still.
    """
    landed = m.foot_landed & m.standing_foot
    return (np.clip(m.foot_air_s - SHUFFLE_S, 0.0, SWING_S - SHUFFLE_S) * landed).sum(axis=1) * m.moving * m.up


def slip(m: Motion) -> np.ndarray:
    """Squared sliding speed of the feet on the ground, (m/s)²."""
    return (np.square(m.foot_velocity[:, :, :2]).sum(axis=2) * m.foot_contact).sum(axis=1)


def body_contact(m: Motion) -> np.ndarray:
    """1 while a knee, a thigh or the trunk touches the floor."""
    return m.body_contact.astype(float)


def off_pose(m: Motion) -> np.ndarray:
    """Sum of squared distances of the joints from the default pose, rad²."""
    return np.square(m.joint_position - m.pose).sum(axis=1)


def fidget(m: Motion) -> np.ndarray:
    """Distance from the default pose, rad, while the command says stand."""
    return np.abs(m.joint_position - m.pose).sum(axis=1) * ~m.moving


def stand_up(m: Motion) -> np.ndarray:
    """1 at the posture and its height; a quarter of the squared share of height that is left at a right
    angle to it, 0 upside down.

    A product, so that neither a robot that sits upright on its tail nor one that is high on four legs has most of it.
    Squares, since sitting is safe, and rising from there has to be worth a fall.
    """
    return np.square((0.5 + 0.5 * m.upright) * np.clip(m.height_m / m.nominal_height_m, 0.0, 1.0))


def hands_off(m: Motion) -> np.ndarray:
    """Share of the feet that the posture does not stand on which are off the floor; 1 where it stands on
    all of them.
    """
    if m.standing_foot.all():
        return np.ones(len(m.foot_contact))
    return (~m.foot_contact[:, ~m.standing_foot]).mean(axis=1)


def one_foot(m: Motion) -> np.ndarray:
    """1 while exactly one of the feet that the posture stands on is on the ground and the robot is told to
    move: no hopping.
    """
    return ((m.foot_contact & m.standing_foot).sum(axis=1) == 1) * m.moving * m.up


def flight(m: Motion) -> np.ndarray:
    """1 while none of the feet that the posture stands on is on the ground."""
    return ~(m.foot_contact & m.standing_foot).any(axis=1) * m.up
