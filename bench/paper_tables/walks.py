"""A policy on a virtual robot: fine-tuned in the simulator that a fit found, and measured by return,
tracking, drift and falls.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from close_the_loop import figures

from paper_tables.fits import POLICY
from surefoot.adapt import ADAPTATION, Adaptation, write_adaptation
from surefoot.errors import SurefootError
from surefoot.policy.agents import PolicyAgent, with_policy_posture
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import Evaluation, evaluate

WORLDS, SEED = 100, 5


def tuned(folder: Path, adaptation: Adaptation, iterations: int, seed: int, policy: str | Path = POLICY) -> Path:
    """The policy, fine-tuned by the command that a user would give."""
    write_adaptation(folder / ADAPTATION, adaptation)
    out = folder / "tuned"
    words = (
        "finetune",
        policy,
        "--adaptation",
        folder / ADAPTATION,
        "--out",
        out,
        "--iterations",
        iterations,
        "--seed",
        seed,
        "--episodes",
        0,
    )
    done = subprocess.run([sys.executable, "-m", "surefoot", *map(str, words)], check=False)
    if done.returncode:
        raise SurefootError(f"surefoot finetune ended with {done.returncode}; what it said stands above")
    return out / "policy.onnx"


def kept_training(policy: Path) -> dict[str, Any]:
    """How much of what was trained is in what was written: all (1), part of the way, or only the trim of
    what it began from (0).
    """
    choice = json.loads(OnnxPolicy.load(policy).metadata.get("surefoot.choice", "null")) or {}
    return {"training_kept": choice.get("share", 0.0 if choice.get("reason") else 1.0)}


def on_twin(policy: Path, twin: Twin) -> dict[str, Any]:
    """Figures of a policy on the virtual robot itself; drift is the distance from the commanded place after
    4 s at full speed.
    """
    loaded = OnnxPolicy.load(policy)
    found = figures(measured_on(policy, twin))
    off = found["drift_m"]
    return {
        "return": reward_of(loaded, twin),
        "velocity_error_m_s": found["velocity_error_m_s"],
        "turn_error_rad_s": found["turn_error_rad_s"],
        "drift_m": found["total_drift_m"],
        "drift_x_m": off["+x"],
        "drift_y_m": off["+y"],
        "lateral_m": found["total_lateral_m"],
        "falls": found["falls"],
        "falls_straight": found["falls_straight"],
    }


def measured_on(policy: Path, twin: Twin, seed: int = SEED) -> Evaluation:
    """What `surefoot evaluate` measures, on the virtual robot."""
    loaded = OnnxPolicy.load(policy)
    robot = with_policy_posture(twin.robot, loaded)
    return evaluate(robot, lambda n: twin.worlds(n, seed=seed), lambda n: PolicyAgent(loaded, robot, n), seed=seed)


@dataclass(frozen=True, eq=False)
class TwinDraws:
    """Every world is the virtual robot."""

    twin: Twin
    torque_speed: bool = False

    def draw(self, worlds: Worlds, rng: np.random.Generator) -> np.ndarray:
        """Nothing is drawn."""
        self.twin.physics.apply(worlds)
        return np.zeros((worlds.n, 0))

    def mirror(self, worlds: Worlds, joints: Any) -> list[Any]:
        """Nothing to mirror."""
        return []


def reward_of(policy: OnnxPolicy, twin: Twin, worlds: int = WORLDS) -> float:
    """The task's own return of an episode on the virtual robot, without pushes and with physics at the
    robot's full rate.

    Robots that fall stand up again and go on, as in training, and pay for the fall.
    """
    import torch

    from surefoot.learn.env import WalkEnv
    from surefoot.learn.randomize import load_randomization
    from surefoot.learn.task import walk

    if twin.physics.adds:
        raise SurefootError(f"{twin.name} has torques that are no parameters; its return cannot be measured here")
    robot = twin.robot
    hz = twin.physics.physics_hz or robot.physics_hz
    task = replace(
        walk(robot), randomization=load_randomization("none"), substeps=round(hz / robot.contract.control_hz)
    )
    env = WalkEnv(robot, task, worlds, seed=SEED, draws=TwinDraws(twin))
    seen = env.get_observations()
    for _ in range(env.max_episode_length):
        seen, *_ = env.step(torch.from_numpy(policy.run(seen["actor"].numpy())))
    return env.tally.reward / worlds
