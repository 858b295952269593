"""The step `evaluate`: how well a policy walks, on its robot or on a virtual one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import mujoco

from surefoot import __version__
from surefoot.policy.driver import Driver, make_driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import Evaluation, evaluate


@dataclass(frozen=True)
class EvaluateOptions:
    """How much a policy walks to be measured.

    Attributes:
        episodes: with random commands, and again with pushes
        straight_episodes: in each direction
        seed: of commands, starts, pushes and noise
        threads: of the simulator; 0 takes all cores
    """

    episodes: int = 100
    straight_episodes: int = 20
    seed: int = 0
    threads: int = 0


def run_evaluate(
    policy: str | Path | OnnxPolicy | Driver,
    robot: Robot,
    options: EvaluateOptions | None = None,
    *,
    twin: Twin | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Measure how a policy walks, on a virtual robot where one is given; with its provenance."""
    options = options or EvaluateOptions()
    seed, threads = options.seed, options.threads
    driver = make_driver(policy, robot, seed)

    def make_worlds(n: int) -> Worlds:
        if twin is not None:
            return twin.worlds(n, seed=seed, threads=threads)
        return Worlds(driver.robot, n, seed=seed, threads=threads)

    result = evaluate(
        driver.robot,
        make_worlds,
        driver.make,
        episodes=options.episodes,
        straight_episodes=options.straight_episodes,
        seed=seed,
        progress=progress,
    )
    provenance = {
        "policy": driver.label,
        "policy_hash": driver.hash,
        "robot": driver.robot.name,
        "robot_hash": driver.robot.hash,
        "twin": None if twin is None else twin.name,
        "twin_hash": None if twin is None else twin.hash,
        "seed": seed,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    return replace(result, provenance=provenance)
