"""How fast a policy learns to walk: deterministic evaluation against wall-clock and steps, and where the time goes.

  python bench/train_walk.py                        # seeds 0, 1 and 2, some 12 minutes each on two quiet cores
  python bench/train_walk.py --seeds 1              # one of them
  python bench/train_walk.py --no-teacher --seeds 0 # from nothing, without the head start of the built-in trot

This is `surefoot train walk --robot go2 --seed SEED`, stopped every few iterations to run `surefoot evaluate` on the
policy as it is, without exploration noise; the time of those evaluations does not count. Interrupted, the same command
continues. Writes bench/results/train_walk.json (train_walk_no_teacher.json), one entry per seed.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from results import RESULTS, write_results

from surefoot.files import write_text
from surefoot.learn.ppo import PPOSettings
from surefoot.learn.task import walk
from surefoot.learn.train import TrainingProgress, train
from surefoot.pipeline.evaluate import run_evaluate
from surefoot.robot import load_robot

ROBOT = "go2"


def measure(seed: int, iterations: int, every: int, teacher: bool, work: Path) -> dict[str, Any]:
    """Train one seed and return its learning curve."""
    robot = load_robot(ROBOT)
    task = walk(robot) if teacher else replace(walk(robot), teacher=None)
    out = work / f"{'taught' if teacher else 'from_nothing'}_{seed}"
    notes = out / "curve.json"
    kept: dict[str, Any] = json.loads(notes.read_text()) if notes.exists() else {"training": [], "evaluation": []}

    def inspect(progress: TrainingProgress, written: Callable[[], Path]) -> None:
        row = {
            "iteration": progress.iteration,
            "steps": progress.steps,
            "elapsed_s": progress.elapsed_s,
            "velocity_error_m_s": progress.velocity_error_m_s,
            "turn_error_rad_s": progress.turn_error_rad_s,
            "falls_per_robot_minute": progress.falls_per_robot_minute,
            "return_per_s": progress.reward_per_s,
            "physics_share": progress.physics_share,
            "collect_share": progress.collect_share,
            "learn_share": progress.learn_share,
        }
        kept["training"] = [old for old in kept["training"] if old["iteration"] < progress.iteration] + [row]
        if progress.iteration % every == 0 or progress.iteration == progress.iterations:
            result = run_evaluate(written(), robot)
            point = {
                "iteration": progress.iteration,
                "steps": progress.steps,
                "elapsed_s": progress.elapsed_s,
                "falls": result.walk.falls,
                "falls_pushed": result.pushed.falls,
                "episodes": result.walk.episodes,
                "velocity_error_m_s": result.walk.velocity_error_m_s,
                "turn_error_rad_s": result.walk.turn_error_rad_s,
                "passes": not result.failures(),
            }
            kept["evaluation"] = [old for old in kept["evaluation"] if old["iteration"] < progress.iteration] + [point]
            write_text(notes, json.dumps(kept, indent=1) + "\n")
            print(
                f"seed {seed} iteration {point['iteration']} {point['elapsed_s'] / 60:.1f} min: falls {point['falls']}"
                f" + {point['falls_pushed']}, {point['velocity_error_m_s']:.3f} m/s, {point['turn_error_rad_s']:.3f}"
                f" rad/s{' passes' if point['passes'] else ''}",
                flush=True,
            )

    train(robot, task, out, settings=PPOSettings(), iterations=iterations, seed=seed, inspect=inspect, say=print)
    return summary(seed, kept)


def summary(seed: int, kept: dict[str, Any]) -> dict[str, Any]:
    """The first evaluation that passes the gate, and the shares of wall-clock."""
    passed = next((point for point in kept["evaluation"] if point["passes"]), None)
    training = kept["training"]
    shares = {
        key: sum(row[key] for row in training) / len(training)
        for key in ("physics_share", "collect_share", "learn_share")
    }
    return {
        "seed": seed,
        "gate_passed": passed and {key: passed[key] for key in ("iteration", "steps", "elapsed_s")},
        "shares_of_wall_clock": shares,
        "steps_per_s": training[-1]["steps"] / training[-1]["elapsed_s"],
        "evaluation": kept["evaluation"],
        "training": training[::5],
    }


def main() -> None:
    """Measure the seeds, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--iterations", type=int, default=150)
    parser.add_argument("--every", type=int, default=15, help="iterations between two evaluations")
    parser.add_argument("--no-teacher", action="store_true", help="without the head start")
    parser.add_argument(
        "--work", type=Path, default=Path("runs/train_walk"), help="folder of the trainings, to resume from"
    )
    options = parser.parse_args()
    name = "train_walk_no_teacher.json" if options.no_teacher else "train_walk.json"
    before = json.loads((RESULTS / name).read_text())["seeds"] if (RESULTS / name).exists() else []
    found = {entry["seed"]: entry for entry in before}
    for seed in options.seeds:
        found[seed] = measure(seed, options.iterations, options.every, not options.no_teacher, options.work)
        write_results(name, {"robot": ROBOT, "seeds": [found[key] for key in sorted(found)]})


if __name__ == "__main__":
    main()
