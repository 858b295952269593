"""Leg odometry: the velocity of the base from joint angles, joint velocities, gyro and gravity alone.

A foot that stands still on the ground tells how the base moves over it. With the foot's lowest point at p, moving with
v_rel relative to the base, and the base turning with w, the base's velocity in its own axes is

    z = -(v_rel + w × p)

(Roston and Krotkov 1991; Bloesch et al., RSS 2012, and Hartley et al., IJRR 2020, use the same measurement through foot
positions in a Kalman filter with an accelerometer, which `Sensors` does not have). Each foot gives such a z at each
tick. Those of swinging feet are wrong, and no sensor says which swing. Three things tell them apart, none of which
assumes level ground:

- feet that stand agree with each other, and with the velocity of the tick before (consensus, as in RANSAC),
- the z of a foot that stands changes slowly, as the base does; that of a foot that lifts off or lands changes fast,
- where foot contacts are measured and given, feet without contact do not count.

The estimates of the standing feet, weighted by the odds that they stand, update a Kalman filter whose prediction is the
last velocity, turned with the gyro. Across gravity the velocity is a random walk. Along gravity it returns to zero, and
the feet say little about it for some hundredths of a second after they land, while they sink into the ground and come
back: see docs/estimators.md for what that costs.
"""

import math

import numpy as np

from surefoot.errors import PolicyError
from surefoot.robot import Robot, Sensors
from surefoot.robot.kinematics import FootKinematics

# Chosen on walks of virtual robots (bench/odometry.py has others). A factor of 1.5 either way makes the mean error
# larger by less than a tenth, but for STANDS and JUMP, whose order matters: STANDS < JUMP < 2 STANDS, or the error
# grows by up to 40 %. Speeds and times are for a leg of LEG_M, and grow with the root of its length (equal
# Froude numbers).
LEG_M = 0.3
AGREES_M_S = (0.15, 0.2)  # how far a standing foot is from the others, across and along gravity
STEADY_M_S = 0.08  # how much the z of a standing foot changes in a tick of 20 ms, across gravity
TICK_S = 0.02
STANDS = 4.5  # log odds that a foot stands which agrees and is steady
JUMP = 6.0  # what a velocity far from the predicted one costs at most: more than one foot can say, less than two
FOOT_M_S = 0.06  # noise of a standing foot's z across gravity: slip, rolling, and encoders of NOISE_RAD_S
UPWARD_M_S = 0.05  # the same along gravity, for a foot that has come to rest
LANDING = 5.0  # times more noise along gravity when a foot lands, fading with LANDING_S
LANDING_S = 0.03
ACCELERATION_M_S2 = 2.0  # of the base, across gravity: the random walk
BOUNCE_M_S = 0.08  # spread of the base's velocity along gravity, and how long it lasts
BOUNCE_S = 0.02
START_M_S = 1.0  # spread of the velocity after a reset
NOISE_RAD_S = 0.05  # of joint velocities, included in the numbers above
LARGEST_NOISE_RAD_S = 100.0


class LegOdometry:
    """Estimates the linear velocity of n bases, tick after tick. One row each, in the axes of the base.

    `velocity_noise_rad_s` is the standard deviation of the measured joint velocities, where they are noisier than
    usual: feet may then differ by as much, or the filter would find no foot that stands.
    """

    def __init__(self, robot: Robot, n: int, *, velocity_noise_rad_s: float = NOISE_RAD_S) -> None:
        if not 0.0 <= velocity_noise_rad_s <= LARGEST_NOISE_RAD_S:
            raise PolicyError(
                f"velocity_noise_rad_s is {velocity_noise_rad_s!r}; it must be a number from 0 to"
                f" {LARGEST_NOISE_RAD_S:g}"
            )
        self._feet = FootKinematics(robot)
        self._n, self._dt_s = n, robot.contract.control_dt_s
        size = math.sqrt(self._feet.leg_m / LEG_M)
        more = self._feet.leg_m**2 * max(velocity_noise_rad_s**2 - NOISE_RAD_S**2, 0.0)  # (m/s)², of a foot
        self._agrees = tuple((size * speed) ** 2 + 2.0 * more for speed in AGREES_M_S)
        # Of a tick of any length: the velocity of the base changes in proportion to it.
        self._steady = (size * STEADY_M_S * max(self._dt_s / TICK_S, 0.5)) ** 2 + 2.0 * more
        self._foot, self._upward = (size * FOOT_M_S) ** 2 + more, (size * UPWARD_M_S) ** 2 + more
        self._landing_s = size * LANDING_S
        self._walk = (ACCELERATION_M_S2 * self._dt_s) ** 2
        self._bounce = (size * BOUNCE_M_S) ** 2
        self._keeps = math.exp(-self._dt_s / (size * BOUNCE_S))
        # The state: velocity, its variance across and along gravity, z of the tick before, and for how long feet stand.
        self._velocity = np.zeros((3, n))
        self._across, self._along = np.empty(n), np.empty(n)
        self._last = np.zeros((3, self._feet.n_feet, n))
        self._stood_s = np.zeros((self._feet.n_feet, n))
        self._fresh = np.ones(n, bool)
        self._odds = np.zeros((self._feet.n_feet, n))
        self.reset()

    def reset(self, ids: np.ndarray | None = None) -> None:
        """Forget the past of some robots, of all without `ids`: they begin at rest, and any velocity is possible."""
        rows: slice | np.ndarray = slice(None) if ids is None else ids
        self._velocity[:, rows] = 0.0
        self._across[rows], self._along[rows] = START_M_S**2, self._bounce
        self._stood_s[:, rows] = 0.0
        self._fresh[rows] = True

    @property
    def stands(self) -> np.ndarray:
        """How likely each foot stood at the last update, 0 to 1, (n, n_feet)."""
        return self._odds.T.copy()

    def update(
        self,
        sensors: Sensors,
        command: np.ndarray | None = None,
        last_action: np.ndarray | None = None,
        *,
        foot_contact: np.ndarray | None = None,
    ) -> np.ndarray:
        """Take in one control tick; the velocity of the bases, m/s in the axes of the base, (n, 3).

        `foot_contact` (n, n_feet), where there are such sensors, is true for feet that touch; others then do not count.
        The command and the last action are not used.
        """
        turning, down = self._in_base(sensors.gyro_rad_s), self._in_base(sensors.gravity)
        down /= np.sqrt(_dot(down, down))
        feet = self._feet.lowest(sensors.joint_position_rad, sensors.joint_velocity_rad_s, down.T)
        seen = -(feet.velocity_m_s + _cross(turning[:, None], feet.position_m))  # z of each foot, (3, n_feet, n)
        seen_along = _dot(down[:, None], seen)
        seen -= seen_along * down[:, None]
        change = seen - np.where(self._fresh, seen, self._last)
        odds = STANDS - _dot(change, change) / (2.0 * self._steady)  # without what the others say
        if foot_contact is not None:
            odds = np.where(np.asarray(foot_contact, bool).T, odds, -np.inf)

        velocity, along = self._predict(turning, down)
        guess, guess_along = self._consensus(seen, seen_along, odds, velocity, along)
        away = guess - velocity
        # Where the feet agree on another velocity than the predicted one, the prediction was not as good as it seemed.
        self._across = np.maximum(self._across, 0.25 * _dot(away, away))
        stands = _logistic(odds - self._distance(seen, seen_along, guess, guess_along))

        weight = stands / self._foot
        noise = 1.0 + LANDING * np.exp(-self._stood_s / self._landing_s)
        weight_along = stands / (self._upward * noise * noise)
        across = 1.0 / (1.0 / self._across + _sum(weight))
        vertical = 1.0 / (1.0 / self._along + _sum(weight_along))
        velocity = across * (velocity / self._across + _sum(weight * seen, 1))
        along = vertical * (along / self._along + _sum(weight_along * seen_along))

        self._across, self._along = across, vertical
        self._stood_s = np.where(stands > 0.5, self._stood_s + self._dt_s, 0.0)
        self._last, self._odds = seen, stands
        self._fresh[:] = False
        self._velocity = velocity + along * down
        return np.ascontiguousarray(self._velocity.T)

    def _in_base(self, vector: np.ndarray) -> np.ndarray:
        """Vectors (n, 3) of the IMU in the axes of the base, (3, n)."""
        given = np.array(np.asarray(vector, dtype=float).T, order="C")
        rotation = self._feet.imu_rotation
        if rotation is None:
            return given
        return rotation[:, :1] * given[0] + rotation[:, 1:2] * given[1] + rotation[:, 2:] * given[2]

    def _predict(self, turning: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The velocity that is expected now, across gravity (3, n) and along it (n,)."""
        velocity = self._velocity - self._dt_s * _cross(turning, self._velocity)  # the base's axes turned under it
        along = _dot(down, velocity)
        self._across = self._across + self._walk
        self._along = self._keeps**2 * self._along + (1.0 - self._keeps**2) * self._bounce
        return velocity - along * down, self._keeps * along

    def _consensus(
        self, seen: np.ndarray, seen_along: np.ndarray, odds: np.ndarray, velocity: np.ndarray, along: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the predicted velocity and what each foot says, the one that the feet and the prediction support most."""
        best, best_along = velocity, along
        most = _sum(np.maximum(odds - self._distance(seen, seen_along, velocity, along), 0.0))
        for foot in range(len(odds)):
            candidate, candidate_along = seen[:, foot], seen_along[foot]
            away, rise = candidate - velocity, candidate_along - along
            cost = 0.5 * (_dot(away, away) / self._across + rise * rise / self._along)
            support = _sum(np.maximum(odds - self._distance(seen, seen_along, candidate, candidate_along), 0.0))
            support -= np.minimum(cost, JUMP)
            better = support > most
            most = np.where(better, support, most)
            best, best_along = np.where(better, candidate, best), np.where(better, candidate_along, best_along)
        return best, best_along

    def _distance(self, seen: np.ndarray, seen_along: np.ndarray, across: np.ndarray, along: np.ndarray) -> np.ndarray:
        """How far feet are from a velocity, as what it takes off their log odds, (n_feet, n)."""
        away, rise = seen - across[:, None], seen_along - along
        return _dot(away, away) / (2.0 * self._agrees[0]) + rise * rise / (2.0 * self._agrees[1])


def _sum(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Sum over the feet, one after the other: NumPy adds in another order where a robot is alone."""
    parts = np.moveaxis(values, axis, 0)
    total: np.ndarray = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def _logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(np.minimum(-x, 700.0)))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product: np.ndarray = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
