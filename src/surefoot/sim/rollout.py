"""An agent in the loop: run worlds under a schedule of commands and keep what the robots said."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.errors import WorldsError
from surefoot.policy.agents import Agent
from surefoot.sim.falls import Falls
from surefoot.sim.worlds import Worlds


@dataclass(frozen=True)
class Rollout:
    """What n robots said over t control ticks; row k holds the readings at tick k and the action they led to."""

    time_s: np.ndarray  # (n, t)
    command: np.ndarray  # (n, t, 3)
    joint_position_rad: np.ndarray  # (n, t, n_joints)
    joint_velocity_rad_s: np.ndarray
    action: np.ndarray
    gyro_rad_s: np.ndarray  # (n, t, 3)
    gravity: np.ndarray
    valid: np.ndarray  # (n, t) False from the tick at which a world was stopped
    fallen: (
        np.ndarray
    )  # (n, t) the base is tilted by more than 60 degrees out of its posture, as an operator would see it
    base_position_m: np.ndarray | None = None  # (n, t, 3) the true state of the base, where it was asked for
    quaternion: np.ndarray | None = None  # (n, t, 4) w x y z
    base_velocity: np.ndarray | None = None  # (n, t, 6) linear in the world frame, angular in the base frame


def rollout(
    worlds: Worlds,
    agent: Agent,
    command: np.ndarray,
    progress: Callable[[int, int], None] | None = None,
    truth: bool = False,
) -> Rollout:
    """Run from the worlds' present state under `command`, (n, t, 3); `progress` gets ticks done and to do.

    With `truth`, the base's true state is kept too.
    """
    if command.ndim != 3 or command.shape[0] != worlds.n or command.shape[2] != 3:
        raise WorldsError(f"the command schedule has the shape {command.shape}; it must be ({worlds.n}, ticks, 3)")
    n, ticks, _ = command.shape
    nj = worlds.robot.contract.n_joints
    joint = {key: np.empty((n, ticks, nj)) for key in ("joint_position_rad", "joint_velocity_rad_s", "action")}
    base = {key: np.empty((n, ticks, 3)) for key in ("gyro_rad_s", "gravity")}
    widths = {"base_position_m": 3, "quaternion": 4, "base_velocity": 6} if truth else {}
    state = {key: np.empty((n, ticks, width)) for key, width in widths.items()}
    time_s, valid, fallen = np.empty((n, ticks)), np.empty((n, ticks), dtype=bool), np.empty((n, ticks), dtype=bool)
    falls = Falls(worlds.robot.posture, n, worlds.control_dt_s)
    agent.reset(None)
    for k in range(ticks):
        sensors = worlds.sensors
        action = agent.act(sensors, command[:, k])
        time_s[:, k], valid[:, k] = sensors.time_s, worlds.alive & np.isfinite(action).all(axis=1)
        fallen[:, k] = falls.look(worlds.base_quaternion, worlds.base_position_m[:, 2])
        joint["joint_position_rad"][:, k] = sensors.joint_position_rad
        joint["joint_velocity_rad_s"][:, k] = sensors.joint_velocity_rad_s
        joint["action"][:, k] = action
        base["gyro_rad_s"][:, k] = sensors.gyro_rad_s
        base["gravity"][:, k] = sensors.gravity
        if truth:
            state["base_position_m"][:, k], state["quaternion"][:, k] = worlds.base_position_m, worlds.base_quaternion
            state["base_velocity"][:, k] = worlds.base_velocity
        worlds.step(action)
        if progress is not None:
            progress(k + 1, ticks)
    return Rollout(time_s, command, **joint, **base, valid=valid, fallen=fallen, **state)
