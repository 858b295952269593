"""Training a policy from a task alone, after behaviour cloning of the teacher that the task names."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import torch

from surefoot import __version__
from surefoot.errors import SurefootError, TaskError, nearest
from surefoot.learn.behaviour_cloning import clone_teacher
from surefoot.learn.env import WalkEnv
from surefoot.learn.loop import Inspect, Length, Show, TrainingCourse, TrainingProgress, learn
from surefoot.learn.mirror import SymmetryAugmentation, why_not_mirrored
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.task import Task
from surefoot.policy.agents import ZeroAgent
from surefoot.policy.export_mlp import write_mlp
from surefoot.robot import Robot
from surefoot.robot.posture import POSTURE_KEY
from surefoot.sim.walk import Script, walk
from surefoot.sim.worlds import Worlds

__all__ = ["COMPARED", "TrainingProgress", "full_config", "settings_of", "train"]

COMPARED = ("robot", "robot_hash", "task", "ppo", "seed")
STAND_S = 1.0


def train(
    robot: Robot,
    task: Task,
    out: Path,
    *,
    settings: PPOSettings,
    iterations: int,
    seed: int = 0,
    threads: int = 0,
    restart: bool = False,
    show: Show | None = None,
    say: Callable[[str], None] | None = None,
    inspect: Inspect | None = None,
) -> Path:
    """Train into the folder `out`; the path of `policy.onnx`.

    A checkpoint in `out` is continued if it belongs to the same robot, task, settings and seed, and refused
    otherwise (`restart` starts over). `inspect` is called after each iteration with a function that writes the policy
    as it is; its time does not count as training.
    """
    config = full_config(robot, task, settings, seed)

    def make_env(env_seed: int) -> WalkEnv:
        env = WalkEnv(robot, task, settings.worlds, seed=env_seed, threads=threads)
        _refuse_falling_start(env)
        return env

    def make_learner(env: WalkEnv) -> Learner:
        mirror = SymmetryAugmentation(robot, env.mirror_parts()) if not why_not_mirrored(robot) else None
        return Learner(env.get_observations(), env.num_actions, settings, mirror)

    def begin(env: WalkEnv, learner: Learner) -> bool:
        if task.teacher is None:
            return False
        cloned = clone_teacher(env, learner.actor.mlp, task.teacher, seed)
        if cloned.taught:
            learner.set_exploration(settings.taught_std)
        if say is not None:
            say(cloned.says)
        return cloned.taught

    contract = (
        robot.contract if task.posture.level else dataclasses.replace(robot.contract, command_range=task.command_range)
    )
    says = {"surefoot.training": json.dumps(config)} | posture_metadata(task)

    def write(path: Path, learner: Learner) -> None:
        write_mlp(path, contract, learner.layers(), settings.activation, metadata=says)

    course = TrainingCourse(config, COMPARED, settings, seed, make_env, make_learner, begin, write)
    return learn(course, out, Length(iterations), threads=threads, restart=restart, show=show, inspect=inspect)


def settings_of(task: Task, worlds: int | None = None) -> PPOSettings:
    """PPO as the task asks for it; with another number of worlds where one is given."""
    known = {field.name for field in dataclasses.fields(PPOSettings)}
    for name in task.learning:
        if name not in known:
            raise TaskError(f"the task {task.name} asks for {name!r} of PPO{nearest(name, sorted(known))}")
    usual = dataclasses.replace(PPOSettings(), **task.learning)  # type: ignore[arg-type]
    return usual if worlds is None else dataclasses.replace(usual, worlds=worlds)


def posture_metadata(task: Task) -> dict[str, str]:
    """What a policy's file says about the posture that it means, for all that run it; nothing where it is level."""
    return {} if task.posture.level else {POSTURE_KEY: task.posture.to_json()}


def full_config(robot: Robot, task: Task, settings: PPOSettings, seed: int) -> dict[str, Any]:
    """All that determines a training, as JSON."""
    about = dataclasses.asdict(dataclasses.replace(task, rewards=())) | {
        "rewards": {reward.name: reward.weight for reward in task.rewards}
    }
    if task.posture.level:
        del about["posture"], about["starts"], about["rise"]
    del about["learning"]  # stands in the PPO settings
    return {
        "robot": robot.name,
        "robot_hash": robot.hash,
        "seed": seed,
        "task": about,
        "ppo": dataclasses.asdict(settings),
        "versions": {"surefoot": __version__, "mujoco": mujoco.__version__, "torch": torch.__version__},
    }


def _refuse_falling_start(env: WalkEnv) -> None:
    """A robot that cannot stand in its own start pose will not learn to walk from it; say so at once."""
    robot = env.robot
    worlds = Worlds(robot, 1)
    walk(worlds, ZeroAgent(), Script(np.zeros((round(STAND_S * robot.contract.control_hz), 1, 3))), ())
    height, upright = float(worlds.trunk_height_m[0]), float(-worlds.sensors.gravity[0, 2])
    if (
        not worlds.alive[0]
        or upright < -env.task.fallen_gravity_z
        or height < env.task.fallen_height * robot.trunk_height_m
    ):
        raise SurefootError(
            f"{robot.name} falls from its start pose within {STAND_S:g} s (its trunk is at {height:.2f} of"
            f" {robot.trunk_height_m:.2f} m, tilt {torch.rad2deg(torch.acos(torch.tensor(min(upright, 1.0)))):.0f}°);"
            f" check pose_rad, the gains and the feet in {robot.path}"
        )
