"""The training loop: collect, update, show, checkpoint; the same call continues what was interrupted."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import torch

from surefoot import __version__
from surefoot.errors import SurefootError
from surefoot.files import write_text
from surefoot.learn import checkpoint
from surefoot.learn.env import Tally, WalkEnv
from surefoot.learn.head_start import head_start
from surefoot.learn.mirror import Mirror
from surefoot.learn.ppo import Learner, PPOSettings
from surefoot.learn.task import Task
from surefoot.policy.export_mlp import write_mlp
from surefoot.robot import Robot

CHECKPOINT_EVERY_S = 30.0
REDRAW_EVERY = 25  # iterations between two drawings of the worlds' parameters
STAND_S = 1.0


@dataclass(frozen=True)
class Progress:
    """One iteration, as the screen and TensorBoard show it."""

    iteration: int
    iterations: int
    steps: int  # control periods so far, all worlds
    steps_per_s: float
    elapsed_s: float  # over all runs of this training
    reward_per_s: float
    velocity_error_m_s: float
    turn_error_rad_s: float
    falls_per_robot_minute: float
    action_std: float
    learning_rate: float
    physics_share: float  # of the wall-clock of this iteration
    collect_share: float  # policy, rewards, observations
    learn_share: float
    rewards: dict[str, float]  # per second


def train(
    robot: Robot,
    task: Task,
    out: Path,
    *,
    settings: PPOSettings,
    iterations: int,
    seed: int = 0,
    threads: int = 0,
    fresh: bool = False,
    show: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] | None = None,
    inspect: Callable[[Progress, Callable[[], Path]], None] | None = None,
) -> Path:
    """Train into the folder `out`; the path of `policy.onnx`.

    A checkpoint in `out` is continued if it belongs to the same robot, task, settings and seed, and refused
    otherwise (`fresh` starts over). `inspect` is called after each iteration with a function that writes the policy
    as it is; its time does not count as training.
    """
    torch.set_num_threads(threads or max(torch.get_num_threads(), 1))
    config = full_config(robot, task, settings, seed)
    state_path, policy_path = out / "checkpoint.safetensors", out / "policy.onnx"
    tensors, state = (
        _resume(state_path, config)
        if state_path.exists() and not fresh
        else (None, {"iteration": 0, "elapsed_s": 0.0, "runs": 0, "taught": False})
    )
    write_text(out / "config.json", json.dumps(config, indent=1) + "\n")
    torch.manual_seed(seed + 1_000_003 * int(state["runs"]))
    env = WalkEnv(robot, task, settings.worlds, seed=seed + 7919 * int(state["runs"]), threads=threads)
    _refuse_falling_start(env)
    learner = Learner(env.get_observations(), env.num_actions, settings, Mirror(robot, env.mirror_parts()) if robot.mirror else None)
    clock = _Clock(float(state["elapsed_s"]))
    if tensors is not None:
        learner.restore(tensors)
    elif task.teacher is not None and iterations > 0:
        started = head_start(env, learner.actor.mlp, task.teacher, seed)
        state["taught"] = started.taught
        if started.taught:
            learner.start_taught(settings.taught_std)
        if say is not None:
            say(started.says)
    state["runs"] = int(state["runs"]) + 1

    def save(iteration: int) -> None:
        state.update(iteration=iteration, elapsed_s=clock.elapsed_s)
        checkpoint.save(state_path, learner.tensors(), {**state, "config": config})
        write_mlp(policy_path, robot.contract, learner.layers(), settings.activation, metadata={"surefoot.training": json.dumps(config)})

    def written() -> Path:
        save(iteration)
        return policy_path

    first = iteration = int(state["iteration"])
    saved_s = clock.elapsed_s
    try:
        for iteration in range(first + 1, iterations + 1):
            if (iteration - 1) % REDRAW_EVERY == 0 and iteration > 1:
                env.redraw()
            critic_only = bool(state["taught"]) and iteration <= settings.critic_first
            progress = _iterate(env, learner, settings, iteration, iterations, clock, critic_only)
            if show is not None:
                show(progress)
            if clock.elapsed_s - saved_s > CHECKPOINT_EVERY_S:
                save(iteration)
                saved_s = clock.elapsed_s
            if inspect is not None:
                with clock.paused():
                    inspect(progress, written)
    finally:
        if iteration > first:
            save(iteration)
    if not policy_path.exists():
        save(iteration)
    return policy_path


class _Clock:
    """Seconds of training, over all runs, without pauses."""

    def __init__(self, before_s: float):
        self._start_s = time.perf_counter() - before_s

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._start_s

    @contextmanager
    def paused(self) -> Iterator[None]:
        elapsed_s = self.elapsed_s
        yield
        self._start_s = time.perf_counter() - elapsed_s


def full_config(robot: Robot, task: Task, settings: PPOSettings, seed: int) -> dict[str, Any]:
    """All that determines a training, as JSON."""
    return {
        "robot": robot.name,
        "robot_hash": robot.hash,
        "seed": seed,
        "task": dataclasses.asdict(task) | {"rewards": {reward.name: reward.weight for reward in task.rewards}},
        "ppo": dataclasses.asdict(settings),
        "versions": {"surefoot": __version__, "mujoco": mujoco.__version__, "torch": torch.__version__},
    }


def _iterate(
    env: WalkEnv, learner: Learner, settings: PPOSettings, iteration: int, iterations: int, clock: "_Clock", critic_only: bool
) -> Progress:
    env.tally = Tally()
    started = time.perf_counter()
    obs = env.get_observations()
    with torch.inference_mode():
        for _ in range(settings.steps):
            obs, reward, done, extras = env.step(learner.ppo.act(obs))
            learner.ppo.process_env_step(obs, reward, done, extras)
        learner.ppo.compute_returns(obs)
    collected = time.perf_counter()
    learner.update(critic_only)
    ended = time.perf_counter()
    tally, wall = env.tally, ended - started
    per_second = env.robot.contract.control_hz / tally.steps
    return Progress(
        iteration=iteration, iterations=iterations, steps=iteration * tally.steps, steps_per_s=tally.steps / wall,
        elapsed_s=clock.elapsed_s, reward_per_s=tally.reward * per_second,
        velocity_error_m_s=tally.velocity_error / tally.steps, turn_error_rad_s=tally.turn_error / tally.steps,
        falls_per_robot_minute=60 * tally.falls * per_second, action_std=learner.action_std, learning_rate=learner.ppo.learning_rate,
        physics_share=tally.physics_s / wall, collect_share=(collected - started - tally.physics_s) / wall,
        learn_share=(ended - collected) / wall, rewards={name: value * per_second for name, value in tally.by_reward.items()},
    )  # fmt: skip


def _resume(path: Path, config: dict[str, Any]) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    tensors, state = checkpoint.load(path)
    theirs = state.get("config", {})
    normal = json.loads(json.dumps(config))
    for key in ("robot", "robot_hash", "task", "ppo", "seed"):
        if theirs.get(key) != normal[key]:
            was, now = theirs.get(key), normal[key]
            if isinstance(was, dict) and isinstance(now, dict):
                inner = next(k for k in {**was, **now} if was.get(k) != now.get(k))
                key, was, now = f"{key}.{inner}", was.get(inner), now.get(inner)
            raise SurefootError(
                f"{path} was trained with another {key} ({_short(was)} against {_short(now)}); choose another --out, or start over with --fresh"
            )
    return tensors, {key: state[key] for key in ("iteration", "elapsed_s", "runs", "taught")}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."


def _refuse_falling_start(env: WalkEnv) -> None:
    """A robot that cannot stand in its own start pose will not learn to walk from it; say so at once."""
    from surefoot.sim.worlds import Worlds

    robot = env.robot
    worlds = Worlds(robot, 1)
    for _ in range(round(STAND_S * robot.contract.control_hz)):
        worlds.step(torch.zeros((1, env.num_actions)).numpy())
    height, upright = float(worlds.base_position_m[0, 2]), float(-worlds.sensors.gravity[0, 2])
    if not worlds.alive[0] or upright < -env.task.fallen_gravity_z or height < env.task.fallen_height * robot.base_height_m:
        raise SurefootError(
            f"{robot.name} falls from its start pose within {STAND_S:g} s (base height {height:.2f} of {robot.base_height_m:.2f} m, "
            f"tilt {torch.rad2deg(torch.acos(torch.tensor(min(upright, 1.0)))):.0f}°); check pose_rad, the gains and the feet in {robot.path}"
        )
