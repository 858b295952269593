"""Rollouts: what robots measured and did on a walk, tick by tick, as a log would hold it."""

from dataclasses import dataclass

import numpy as np

from surefoot.errors import WorldsError
from surefoot.policy.agents import Agent
from surefoot.robot.posture import Posture
from surefoot.robot.sensors import Sensors
from surefoot.sim.falls import Falls
from surefoot.sim.walk import Progress, Script, walk
from surefoot.sim.worlds import Worlds


@dataclass(frozen=True)
class Rollout:
    """Samples of n robots over t control ticks; row k holds the readings at tick k and the action they led to."""

    time_s: np.ndarray  # (n, t)
    command: np.ndarray  # (n, t, 3) forward m/s, left m/s, turn rad/s
    joint_position_rad: np.ndarray  # (n, t, n_joints)
    joint_velocity_rad_s: np.ndarray  # (n, t, n_joints)
    action: np.ndarray  # (n, t, n_joints)
    gyro_rad_s: np.ndarray  # (n, t, 3)
    gravity: np.ndarray  # (n, t, 3) unit vector
    valid: np.ndarray  # (n, t) False from the tick at which a world was stopped
    fallen: np.ndarray  # (n, t) the robot is down (see `sim.falls`), as an operator would see it
    base_position_m: np.ndarray | None = None  # (n, t, 3) the true state of the base, where it was asked for
    quaternion: np.ndarray | None = None  # (n, t, 4) w x y z
    base_velocity: np.ndarray | None = None  # (n, t, 6) linear in the world frame, angular in the base frame


class Recorder:
    """The probe that keeps the samples; with `truth`, the base's true state too."""

    def __init__(self, posture: Posture, truth: bool = False) -> None:
        self._posture, self._truth = posture, truth

    def start(self, worlds: Worlds, script: Script) -> None:
        """Make room for all ticks, and look at the state that the first one begins in."""
        n, ticks, nj = worlds.n, script.n_ticks, worlds.robot.contract.n_joints
        self._command = script.commands.swapaxes(0, 1)
        joints = ("joint_position_rad", "joint_velocity_rad_s", "action")
        self._samples = {name: np.empty((n, ticks, nj)) for name in joints}
        self._samples |= {name: np.empty((n, ticks, 3)) for name in ("gyro_rad_s", "gravity")}
        widths = {"base_position_m": 3, "quaternion": 4, "base_velocity": 6} if self._truth else {}
        self._state = {name: np.empty((n, ticks, width)) for name, width in widths.items()}
        self._time_s = np.empty((n, ticks))
        self._valid, self._fallen = np.empty((n, ticks), dtype=bool), np.empty((n, ticks), dtype=bool)
        self._falls = Falls(self._posture, n, worlds.control_dt_s)
        if ticks:
            self._look(0, worlds)

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Keep what led to the action, and look at the state that the next tick begins in."""
        if k >= 0:
            samples = self._samples
            samples["joint_position_rad"][:, k] = sensors.joint_position_rad
            samples["joint_velocity_rad_s"][:, k] = sensors.joint_velocity_rad_s
            samples["action"][:, k] = action
            samples["gyro_rad_s"][:, k] = sensors.gyro_rad_s
            samples["gravity"][:, k] = sensors.gravity
            self._time_s[:, k] = sensors.time_s
            self._valid[:, k] &= np.isfinite(action).all(axis=1)
        if k + 1 < self._time_s.shape[1]:
            self._look(max(k + 1, 0), worlds)

    def result(self) -> Rollout:
        """All samples."""
        return Rollout(
            self._time_s, self._command, **self._samples, valid=self._valid, fallen=self._fallen, **self._state
        )

    def _look(self, k: int, worlds: Worlds) -> None:
        """The true state at the beginning of tick k, which no sensor reads."""
        self._valid[:, k] = worlds.alive
        self._fallen[:, k] = self._falls.look(worlds.base_quaternion, worlds.trunk_height_m)
        if self._truth:
            self._state["base_position_m"][:, k] = worlds.base_position_m
            self._state["quaternion"][:, k] = worlds.base_quaternion
            self._state["base_velocity"][:, k] = worlds.base_velocity


def rollout(
    worlds: Worlds, agent: Agent, command: np.ndarray, progress: Progress | None = None, truth: bool = False
) -> Rollout:
    """Run from the worlds' present state under `command`, (n, t, 3); `progress` gets ticks done and to do.

    With `truth`, the base's true state is kept too.
    """
    if command.ndim != 3 or command.shape[0] != worlds.n or command.shape[2] < 3:
        raise WorldsError(f"the command schedule has the shape {command.shape}; it must be ({worlds.n}, ticks, 3)")
    recorder = Recorder(worlds.robot.posture, truth)
    agent.reset(None)
    walk(worlds, agent, Script(command.swapaxes(0, 1)), (recorder,), progress)
    return recorder.result()
