"""What is measured on a walk, one definition for each measure. Results are values per world and control tick.

Velocities are in the heading frame of the robot's posture: forward, left, turning to the left. A probe takes the
posture that the policy holds, since the worlds' own robot may not know it. Values of a robot that is down mean nothing;
averages leave them out, with the help of `FallRecord.down`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import WorldsError
from surefoot.robot.posture import Posture
from surefoot.robot.sensors import Sensors
from surefoot.sim.falls import Falls
from surefoot.sim.frames import in_heading_frame, turned_back, yaw_of
from surefoot.sim.walk import Script
from surefoot.sim.worlds import Worlds


def pooled_mean(values: np.ndarray, counted: np.ndarray) -> float:
    """Mean over all worlds and ticks that count, both (n_worlds, n_ticks) or (n_worlds,); NaN where none does."""
    return float(values[counted].mean()) if counted.any() else float("nan")


def world_sums(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Sum over the ticks that count of each world, both (n_worlds, n_ticks) -> (n_worlds,).

    Adds tick after tick, so that a world has the same sum to the last bit in whatever batch it walks. `np.sum` does
    not promise an order.
    """
    sums: np.ndarray = np.cumsum(np.where(counted, values, 0.0), axis=1)[:, -1]
    return sums


def world_means(values: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Mean over the ticks that count of each world, both (n_worlds, n_ticks) -> (n_worlds,); NaN where none does."""
    count = counted.sum(axis=1)
    return np.where(count > 0, world_sums(values, counted) / np.maximum(count, 1), np.nan)


def heading_velocity(worlds: Worlds, posture: Posture) -> np.ndarray:
    """True velocity of the bases, (n_worlds, 3): forward m/s, left m/s, turn rad/s."""
    base = worlds.base_velocity
    velocity = in_heading_frame(base[:, :3], posture.frame(worlds.base_quaternion))
    velocity[:, 2] = posture.turned(base[:, 3:])[:, 2]
    return velocity


@dataclass(frozen=True, eq=False)
class TrackingRecord:
    """How the robots followed their commands."""

    velocity: np.ndarray  # (n_worlds, n_ticks, 3) forward m/s, left m/s, turn rad/s
    velocity_error_m_s: np.ndarray  # (n_worlds, n_ticks) size of the planar error
    turn_error_rad_s: np.ndarray  # (n_worlds, n_ticks) size of the error


class TrackingProbe:
    """Velocity against command, at every tick and without any averaging over strides."""

    def __init__(self, posture: Posture) -> None:
        self._posture = posture

    def start(self, worlds: Worlds, script: Script) -> None:
        """Make room for the velocities."""
        self._commands = script.commands
        self._velocity = np.zeros((worlds.n, script.n_ticks, 3))

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Read the velocities."""
        if k >= 0:
            self._velocity[:, k] = heading_velocity(worlds, self._posture)

    def result(self) -> TrackingRecord:
        """The velocities and the errors."""
        error = self._commands.swapaxes(0, 1) - self._velocity
        return TrackingRecord(self._velocity, np.linalg.norm(error[..., :2], axis=2), np.abs(error[..., 2]))


@dataclass(frozen=True, eq=False)
class PathRecord:
    """Where the robots were at some ticks, seen from where they stood, and looked, at the beginning of tick 0."""

    position_m: np.ndarray  # (n_worlds, n_points, 2) ahead, to the left
    turned_rad: np.ndarray  # (n_worlds, n_points) difference of two headings, from -2π to 2π


class PathProbe:
    """Positions after chosen numbers of ticks, from 1 on: the drift at the end of a walk, or its whole path."""

    def __init__(self, posture: Posture, after_ticks: Sequence[int]) -> None:
        self._posture = posture
        self._point = {ticks: i for i, ticks in enumerate(sorted(set(after_ticks)))}

    def start(self, worlds: Worlds, script: Script) -> None:
        """Take the start as the origin, unless the robots rise first."""
        late = [ticks for ticks in self._point if not 1 <= ticks <= script.n_ticks]
        if late:
            raise WorldsError(f"no position can be read after {late[0]} ticks; the walk has {script.n_ticks}")
        self._position_m = np.zeros((worlds.n, len(self._point), 2))
        self._turned_rad = np.zeros((worlds.n, len(self._point)))
        self._set_origin(worlds)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Read the positions, if this is one of the chosen ticks."""
        if k == -1:
            self._set_origin(worlds)
        point = self._point.get(k + 1)
        if point is None:
            return
        moved_m = worlds.base_position_m - self._origin_m
        self._position_m[:, point] = turned_back(moved_m, self._heading_rad)[:, :2]
        self._turned_rad[:, point] = yaw_of(self._posture.frame(worlds.base_quaternion)) - self._heading_rad

    def result(self) -> PathRecord:
        """The positions, in the order of time."""
        return PathRecord(self._position_m, self._turned_rad)

    def _set_origin(self, worlds: Worlds) -> None:
        self._origin_m = worlds.base_position_m
        self._heading_rad = yaw_of(self._posture.frame(worlds.base_quaternion))


@dataclass(frozen=True, eq=False)
class FallRecord:
    """Which robots fell, and when they had risen."""

    down: np.ndarray  # (n_worlds, n_ticks) True from the tick of a fall, or of a failure of the world, to the end
    risen_s: np.ndarray  # (n_worlds,) from the start to when the robot first held its posture; NaN: never

    @property
    def fell(self) -> np.ndarray:
        """Robots that are down at the end, (n_worlds,)."""
        fell: np.ndarray = self.down[:, -1]
        return fell


class FallProbe:
    """Falls as `sim.falls` defines them, and worlds that became unstable."""

    def __init__(self, posture: Posture) -> None:
        self._posture = posture

    def start(self, worlds: Worlds, script: Script) -> None:
        """Nobody is down yet."""
        self._falls = Falls(self._posture, worlds.n, worlds.control_dt_s)
        self._n_rise, self._dt_s = script.n_rise, worlds.control_dt_s
        self._now = np.zeros(worlds.n, dtype=bool)
        self._down = np.zeros((worlds.n, script.n_ticks), dtype=bool)
        self._risen_s = np.full(worlds.n, np.nan)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Look who is down."""
        self._now |= self._falls.look(worlds.base_quaternion, worlds.trunk_height_m) | ~worlds.alive
        self._risen_s[self._falls.risen & np.isnan(self._risen_s)] = (k + 1 + self._n_rise) * self._dt_s
        if k >= 0:
            self._down[:, k] = self._now

    def result(self) -> FallRecord:
        """Who fell."""
        return FallRecord(self._down, self._risen_s)


@dataclass(frozen=True, eq=False)
class EffortRecord:
    """What the cost of transport, work / (weight × distance), is made of; both sums times the control period."""

    power_w: np.ndarray  # (n_worlds, n_ticks) positive mechanical power of the motors
    speed_m_s: np.ndarray  # (n_worlds, n_ticks) along the floor


class EffortProbe:
    """Mechanical power and speed."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Make room for the powers and speeds."""
        self._power_w, self._speed_m_s = np.zeros((2, worlds.n, script.n_ticks))

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Read them."""
        if k >= 0:
            self._power_w[:, k] = np.maximum(worlds.torque_nm * worlds.joint_velocity_rad_s, 0).sum(axis=1)
            self._speed_m_s[:, k] = np.linalg.norm(worlds.base_velocity[:, :2], axis=1)

    def result(self) -> EffortRecord:
        """The powers and speeds."""
        return EffortRecord(self._power_w, self._speed_m_s)


@dataclass(frozen=True, eq=False)
class ActionChangeRecord:
    """How much actions change from one tick to the next; 0 at tick 0, which has no tick before it."""

    square: np.ndarray  # (n_worlds, n_ticks) mean over the joints of (a[k] - a[k-1])²

    def rms(self, up: np.ndarray) -> np.ndarray:
        """Root mean square of each world, (n_worlds,), over the ticks at which it is up, (n_worlds, n_ticks)."""
        return np.sqrt(world_means(self.square[:, 1:], up[:, 1:]))


class ActionChangeProbe:
    """Smoothness of the actions."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Make room for the changes."""
        self._square = np.zeros((worlds.n, script.n_ticks))
        self._before: np.ndarray

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Compare the actions with those of the tick before."""
        if k > 0:
            self._square[:, k] = np.square(action - self._before).mean(axis=1)
        self._before = action

    def result(self) -> ActionChangeRecord:
        """The changes."""
        return ActionChangeRecord(self._square)


@dataclass(frozen=True, eq=False)
class AccelerationRecord:
    """How much joint velocities change from one tick to the next; 0 at tick 0, which has no tick before it."""

    square: np.ndarray  # (n_worlds, n_ticks) mean over the joints of the squared acceleration, rad²/s⁴

    def rms(self, up: np.ndarray) -> np.ndarray:
        """Root mean square of each world, (n_worlds,), rad/s², over the ticks at which it is up, (n_worlds, n_ticks)."""
        return np.sqrt(world_means(self.square[:, 1:], up[:, 1:]))


class AccelerationProbe:
    """Smoothness of the motion."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """Make room for the accelerations."""
        self._square = np.zeros((worlds.n, script.n_ticks))
        self._before: np.ndarray

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Compare the joint velocities with those of the tick before."""
        velocity = worlds.joint_velocity_rad_s
        if k > 0:
            self._square[:, k] = np.square((velocity - self._before) / worlds.control_dt_s).mean(axis=1)
        self._before = velocity

    def result(self) -> AccelerationRecord:
        """The accelerations."""
        return AccelerationRecord(self._square)
