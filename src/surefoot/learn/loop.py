"""The loop that all learning shares: collect, update, show, checkpoint; the same call continues what was
interrupted.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from surefoot.errors import SurefootError, shown
from surefoot.files import is_number, write_text
from surefoot.learn import checkpoint
from surefoot.learn.env import Tally, WalkEnv
from surefoot.learn.ppo import Learner, PPOSettings

CHECKPOINT_EVERY_S = 30.0
MOST_COUNTED = 10**9  # iterations or runs of a training
REDRAW_EVERY = 25  # iterations between two drawings of the worlds' parameters


@dataclass(frozen=True)
class TrainingProgress:
    """One iteration, as the screen and TensorBoard show it."""

    iteration: int
    iterations: int  # an estimate where the length is a time
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
    off_old: float = float("nan")  # rms of what the mean action differs by from an old policy's, where there is one


Show = Callable[[TrainingProgress], None]
Inspect = Callable[[TrainingProgress, Callable[[], Path]], None]


@dataclass(frozen=True)
class Length:
    """How long to learn, in iterations or in time; earlier runs of the same training count."""

    iterations: int | None = None
    seconds: float | None = None

    def reached(self, iteration: int, elapsed_s: float) -> bool:
        """Whether no further iteration is to follow."""
        return self.fraction(iteration, elapsed_s) >= 1

    def fraction(self, iteration: int, elapsed_s: float) -> float:
        """Share of the way that is done."""
        done, whole = (iteration, self.iterations) if self.iterations is not None else (elapsed_s, self.seconds or 0.0)
        return done / whole if whole > 0 else 1.0

    def total(self, iteration: int, elapsed_s: float) -> int:
        """Iterations in all, as far as one can tell."""
        if self.iterations is not None:
            return self.iterations
        return max(iteration, round(iteration / max(self.fraction(iteration, elapsed_s), 1e-9)))


@dataclass(frozen=True)
class TrainingCourse:
    """What is learned: the parts in which one way of learning differs from another."""

    config: dict[str, Any]  # all that determines it, as JSON
    compared: tuple[str, ...]  # the keys of it that a checkpoint must share
    settings: PPOSettings
    seed: int
    make_env: Callable[[int], WalkEnv]  # from a seed
    make_learner: Callable[[WalkEnv], Learner]
    begin: Callable[
        [WalkEnv, Learner], bool
    ]  # before the first iteration; whether the actor can walk and waits for its critic
    write: Callable[[Path, Learner], None]  # the policy's file
    prepare: Callable[[Learner, int, float], None] = lambda learner, iteration, fraction: None  # before each iteration


def learn(
    course: TrainingCourse,
    out: Path,
    length: Length,
    *,
    threads: int = 0,
    restart: bool = False,
    show: Show | None = None,
    inspect: Inspect | None = None,
) -> Path:
    """Learn into the folder `out`; the path of `policy.onnx`.

    A checkpoint in `out` is continued if it belongs to the same course, and refused otherwise (`restart` starts over).
    `inspect` is called after each iteration with a function that writes the policy as it is; its time does not count.
    """
    torch.set_num_threads(threads or max(torch.get_num_threads(), 1))
    state_path, policy_path = out / "checkpoint.safetensors", out / "policy.onnx"
    if restart:  # killed before its own first checkpoint, the next run must not resume the one that is discarded
        state_path.unlink(missing_ok=True)
    tensors, state = (
        _resume(state_path, course)
        if state_path.exists()
        else (None, {"iteration": 0, "elapsed_s": 0.0, "runs": 0, "taught": False})
    )
    write_text(out / "config.json", json.dumps(course.config, indent=1) + "\n")
    torch.manual_seed(course.seed + 1_000_003 * int(state["runs"]))
    env = course.make_env(course.seed + 7919 * int(state["runs"]))
    learner = course.make_learner(env)
    clock = _Stopwatch(float(state["elapsed_s"]))
    if tensors is not None:
        learner.restore(tensors)
    elif not length.reached(0, 0.0):
        state["taught"] = course.begin(env, learner)
    state["runs"] = int(state["runs"]) + 1

    def save(iteration: int) -> None:
        state.update(iteration=iteration, elapsed_s=clock.elapsed_s)
        checkpoint.save(state_path, learner.tensors(), {**state, "config": course.config})
        course.write(policy_path, learner)

    def written() -> Path:
        save(iteration)
        return policy_path

    first = iteration = int(state["iteration"])
    saved_s = clock.elapsed_s
    try:
        while not length.reached(iteration, clock.elapsed_s):
            iteration += 1
            if (iteration - 1) % REDRAW_EVERY == 0 and iteration > 1:
                env.redraw()
            course.prepare(learner, iteration, length.fraction(iteration - 1, clock.elapsed_s))
            critic_only = bool(state["taught"]) and iteration <= course.settings.critic_first
            progress = _iterate(env, learner, course.settings, iteration, length, clock, critic_only)
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
    if (
        iteration == first and tensors is not None
    ):  # nothing was left to do, but a kill may have come between checkpoint and policy
        save(iteration)
    elif iteration == first:  # a length of nothing: there is a policy, and nothing that a longer run could go on from
        course.write(policy_path, learner)
    return policy_path


class _Stopwatch:
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


def _iterate(
    env: WalkEnv,
    learner: Learner,
    settings: PPOSettings,
    iteration: int,
    length: Length,
    clock: _Stopwatch,
    critic_only: bool,
) -> TrainingProgress:
    env.tally = Tally()
    started = time.perf_counter()
    obs = env.get_observations()
    with torch.inference_mode():
        for _ in range(settings.steps):
            obs, reward, done, extras = env.step(learner.act(obs))
            learner.ppo.process_env_step(obs, reward, done, extras)
        learner.compute_returns(obs, critic_only)
    collected = time.perf_counter()
    learner.update(critic_only)
    ended = time.perf_counter()
    tally, wall, elapsed_s = env.tally, ended - started, clock.elapsed_s
    per_second = env.robot.contract.control_hz / tally.steps
    return TrainingProgress(
        iteration=iteration,
        iterations=length.total(iteration, elapsed_s),
        steps=iteration * tally.steps,
        steps_per_s=tally.steps / wall,
        elapsed_s=elapsed_s,
        reward_per_s=tally.reward * per_second,
        velocity_error_m_s=tally.velocity_error / tally.steps,
        turn_error_rad_s=tally.turn_error / tally.steps,
        falls_per_robot_minute=60 * tally.falls * per_second,
        action_std=learner.action_std,
        learning_rate=learner.ppo.learning_rate,
        physics_share=tally.physics_s / wall,
        collect_share=(collected - started - tally.physics_s) / wall,
        learn_share=(ended - collected) / wall,
        rewards={name: value * per_second for name, value in tally.by_reward.items()},
        off_old=learner.off_old,
    )


def _resume(path: Path, course: TrainingCourse) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    tensors, state = checkpoint.load(path)
    theirs = state.get("config")
    theirs = theirs if isinstance(theirs, dict) else {}
    normal = json.loads(json.dumps(course.config))
    for key in course.compared:
        if theirs.get(key) != normal[key]:
            was, now = theirs.get(key), normal[key]
            if isinstance(was, dict) and isinstance(now, dict):
                inner = next(k for k in {**was, **now} if was.get(k) != now.get(k))
                key, was, now = f"{key}.{inner}", was.get(inner), now.get(inner)
            raise SurefootError(
                f"{path} was trained with another {key} ({_short(was)} against {_short(now)}); train into"
                " another folder, or start over",
                argument="restart",
            )
    return tensors, _checked(tensors, state, path)


def _checked(tensors: dict[str, torch.Tensor], state: dict[str, Any], path: Path) -> dict[str, Any]:
    """What a checkpoint says of how far it is; a damaged one is refused before it spoils what comes after."""

    def damaged(what: str) -> SurefootError:
        return SurefootError(f"{path} is damaged: {what}; train into another folder, or start over", argument="restart")

    for key in ("iteration", "runs"):
        if not isinstance(state.get(key), int) or isinstance(state[key], bool) or not 0 <= state[key] <= MOST_COUNTED:
            raise damaged(f"{key} is {shown(state.get(key))}")
    if not is_number(state.get("elapsed_s")) or state["elapsed_s"] < 0:
        raise damaged(f"elapsed_s is {shown(state.get('elapsed_s'))}")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise damaged(f"{name} holds numbers that are not finite")
    return {
        "iteration": state["iteration"],
        "elapsed_s": state["elapsed_s"],
        "runs": state["runs"],
        "taught": bool(state.get("taught")),
    }


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
