"""Behaviour cloning: before PPO, the actor learns to do what a teacher does, by plain regression.

Behaviour cloning (Pomerleau 1989, ALVINN: an autonomous land vehicle in a neural network) fits the actor's mean action
to the teacher's by least squares. Noise on the teacher's actions shows how to come back from where a copy will stray to
(Laskey et al. 2017, DART: noise injection for robust imitation learning, arXiv 1703.09327); here its size is fixed.

The built-in trot walks, roughly, without having learned anything. A policy that copies it already lifts its feet, so
that PPO spends its samples on following commands rather than on finding out that legs can be lifted: the slow part of
learning from nothing, and the one that ends in gaits that only work with exploration noise. The teacher has a clock and
the policy has none; it reads the phase of the gait from its last action and its joints.

Where no teacher walks, one may still say where to begin: `hold` keeps the joints where the task's posture has them,
under the robot's weight, or as far on the way there as the base is, and `march` steps in place besides. A robot falls
that way; but it does not fall by throwing its legs back to the default pose, and explores around a pose in which
standing is possible.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from surefoot.errors import RobotError, TaskError, nearest
from surefoot.learn.env import Tally, WalkEnv
from surefoot.learn.march import HoldAgent, MarchAgent
from surefoot.policy.agents import Agent
from surefoot.policy.trot import TrotAgent
from surefoot.streams import Stream

TEACHERS: dict[str, Callable[[WalkEnv], Agent]] = {
    "trot": lambda env: TrotAgent(env.robot),
    "hold": HoldAgent,
    "march": MarchAgent,
}
# These fall, and only say where to begin: what follows explores as one does that knows nothing.
BEGINNERS = {"hold": "the pose that is to be held", "march": "steps in the pose that is to be held"}
# noise for those: what does not change is best told from the last action, and a copy of that says nothing after a reset
LOUD = 1.5
TICKS = 150  # control periods that the teacher shows, in each world
EPOCHS = 10
BATCH = 2048
LEARNING_RATE = 1e-3
NOISE = 0.2  # largest standard deviation of what disturbs the teacher's actions: the policy must see how to come back
FALLS_PER_MINUTE = 5.0  # a teacher that falls more often than this, under that noise and pushes, has nothing to teach


@dataclass(frozen=True)
class CloningResult:
    """How the cloning went."""

    taught: bool
    says: str  # one sentence


def clone_teacher(env: WalkEnv, actor: torch.nn.Module, teacher: str, seed: int) -> CloningResult:
    """Let the actor's network copy a teacher, unless the teacher cannot walk on this robot."""
    if teacher not in TEACHERS:
        raise TaskError(f"unknown teacher {teacher!r}{nearest(teacher, list(TEACHERS))}")
    try:
        agent = TEACHERS[teacher](env)
    except RobotError as reason:
        return CloningResult(False, f"starts from nothing: {reason}")
    most_noise = LOUD if teacher in BEGINNERS else NOISE
    observations, actions = _demonstrations(
        env, agent, np.random.default_rng([seed, Stream.DEMONSTRATIONS]), most_noise
    )
    minutes = env.tally.steps * env.dt_s / 60
    if teacher in BEGINNERS:
        env.tally = Tally()
        error = regress(actor, observations, actions, batch=min(BATCH, max(256, len(observations) // 64)))
        return CloningResult(False, f"starts around {BEGINNERS[teacher]} (copied to {error:.2f} rms)")
    falls = env.tally.falls / minutes
    env.tally = Tally()
    if falls > FALLS_PER_MINUTE:
        return CloningResult(
            False, f"starts from nothing: the {teacher} falls {falls:.0f} times a minute on this robot"
        )
    error = regress(actor, observations, actions)
    return CloningResult(
        True, f"starts from a copy of the {teacher} ({minutes:.0f} robot minutes of it, copied to {error:.2f} rms)"
    )


def _demonstrations(
    env: WalkEnv, teacher: Agent, rng: np.random.Generator, most_noise: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Observations of disturbed robots and what the teacher does there, (ticks × n, ...)."""
    n = env.num_envs
    noise = rng.uniform(0, most_noise, (n, 1))
    clock_s = np.zeros(n)  # runs while a robot is told to move: from standing, the gait always begins at the same phase
    observations, actions = [], []
    for _ in range(TICKS):
        observations.append(env.get_observations()["actor"])
        clock_s[~env.command.any(axis=1) | env.fresh] = 0.0
        action = teacher.act(replace(env.worlds.sensors, time_s=clock_s), env.command)
        actions.append(torch.from_numpy(action.astype(np.float32)))
        env.step(torch.from_numpy(action + noise * rng.standard_normal(action.shape)))
        clock_s += env.dt_s
    return torch.cat(observations), torch.cat(actions)


def regress(
    actor: torch.nn.Module, observations: torch.Tensor, actions: torch.Tensor, epochs: int = EPOCHS, batch: int = BATCH
) -> float:
    """Least squares by Adam; the RMS error of the last epoch."""
    batch = min(batch, len(observations))
    batches = len(observations) // batch
    optimizer = torch.optim.Adam(actor.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    total = 0.0
    for _ in range(epochs):
        order, total = torch.randperm(len(observations)), 0.0
        for rows in order[: batches * batch].split(batch):
            loss = (actor(observations[rows]) - actions[rows]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
    return float((total / batches) ** 0.5)
