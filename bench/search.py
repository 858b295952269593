"""Quantile Gauss-Newton against CMA-ES on the same log, and how the cost of a fit grows.

  python bench/search.py                       # all pieces; each is kept when done: the same command continues
  python bench/search.py --pieces versus

`versus`: armature and dry friction of every joint of a Go2 (24 knobs, the published problem), 8 episodes of 4 s. Both
searches see the same episodes; the points on their ways are judged afterwards by one measure, the gap on all episodes
with the same noise for both. CMA-ES is not charged for looking at its own mean. `growth`: evaluations, simulated
seconds and minutes of whole fits over the number of knobs, of episodes, and of joints (the hexapod of the tests has
18). Writes bench/results/search.json.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from results import RESULTS, commit, write_results

from surefoot.fit.family import FitSettings, SearchName, make_space
from surefoot.fit.problem import Problem
from surefoot.fit.run import Fit
from surefoot.gap import Case, schedule_of
from surefoot.logs import RobotLog, record
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

SECONDS = 4.0
HEXAPOD = Path(__file__).parents[1] / "tests" / "robots" / "hexapod" / "robot.yaml"
JUDGE_SEEDS = (90_001, 90_002)
ROLLOUTS, CMA_EVALUATIONS = 8, 1200
JOINT_KNOBS = ("dry_friction_nm", "armature_kgm2", "viscous_friction_nms", "motor_strength")
TIMES_LEFT = (0.5, 0.25, 0.15, 0.1)  # shares of the first gap


def drawn(robot: Robot, seed: int, names: tuple[str, ...]) -> Twin:
    """A robot with other values than the simulator's, in these parameters alone."""
    rng = np.random.default_rng([seed, 73])
    spans = {
        "dry_friction_nm": (0.2, 1.5),
        "armature_kgm2": (0.01, 0.05),
        "viscous_friction_nms": (0.05, 0.5),
        "motor_strength": (0.85, 1.05),
    }
    return Twin(
        "drawn", Physics(robot, {name: tuple(rng.uniform(*spans[name], robot.contract.n_joints)) for name in names})
    )


def walked(robot: Robot, policy: str, names: tuple[str, ...], rollouts: int, seed: int) -> RobotLog:
    """The log of such a robot."""
    return record(drawn(robot, seed, names), policy, rollouts=rollouts, seconds=SECONDS, seed=950 + seed)


def search(name: SearchName, seed: int) -> dict[str, Any]:
    """One search on the published problem; its way is judged afterwards."""
    robot, knobs = load_robot("go2"), JOINT_KNOBS[:2]
    log = walked(robot, "walk", knobs, ROLLOUTS, seed)
    settings = FitSettings(free=knobs, search=name, held_out=0.0, seed=seed, most_evaluations=CMA_EVALUATIONS)
    started = time.perf_counter()
    case = Case(robot, "walk", log, schedule=schedule_of(log, robot))
    fit = Fit(case, settings, None)
    result = fit.run()
    wall_s = time.perf_counter() - started
    family = make_space(robot, settings)
    judge = Problem(case, family)
    points = np.array(
        [
            [knob.coordinate(value) for knob, value in zip(family.knobs, step.values, strict=True)]
            for step in result.steps
        ]
    )
    gaps = np.mean([judge.evaluate(points, judge_seed).cost for judge_seed in JUDGE_SEEDS], axis=0)
    spent = [(step.evaluations, step.simulated_s) for step in result.steps]
    if (
        name == "cma"
    ):  # a generation is drawn around its point, which the ones before led to; the mean itself is looked at for us only
        each_s = ROLLOUTS * SECONDS
        probe = (spent[0][0] - (spent[1][0] - spent[0][0]), 0.0)
        spent = [(done - k, seconds - k * each_s) for k, (done, seconds) in enumerate([probe, *spent[:-1]])]
    steps = [{"evaluations": e, "simulated_s": s, "gap": float(g)} for (e, s), g in zip(spent, gaps, strict=True)]
    return {
        "commit": commit(),
        "first_gap": result.before.gap.total,
        "floor": result.after.gap.total_floor,
        "last_gap": result.after.gap.total,
        "steps": steps,
        "evaluations": result.steps[-1].evaluations,
        "simulated_s": result.steps[-1].simulated_s,
        "wall_clock_s": wall_s,
        "stopped": result.stopped,
    }


def compared(runs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """What each needed to bring the gap below some levels, and the ratios."""
    rows = []
    for share in (*TIMES_LEFT, 0.0):
        level = share * runs["quantile"]["first_gap"] if share else min(step["gap"] for step in runs["cma"]["steps"])
        row: dict[str, Any] = {"gap": level, "share_of_first": level / runs["quantile"]["first_gap"]}
        for name, run in runs.items():
            reached = next((step for step in run["steps"] if step["gap"] <= level), None)
            row[name] = None if reached is None else {key: reached[key] for key in ("evaluations", "simulated_s")}
        if row["quantile"] and row["cma"]:
            row["times_fewer"] = {key: row["cma"][key] / row["quantile"][key] for key in ("evaluations", "simulated_s")}
        rows.append(row)
    return rows


def grown(robot_name: str, policy: str, knobs: int, rollouts: int, seed: int) -> dict[str, Any]:
    """A whole fit with some parameters of every joint free."""
    robot = load_robot(robot_name)
    names = JOINT_KNOBS[:knobs]
    log = walked(robot, policy, names, rollouts, seed)
    settings = FitSettings(free=names, held_out=0.0, seed=seed)
    started = time.perf_counter()
    result = Fit(Case(robot, policy, log, schedule=schedule_of(log, robot)), settings, None).run()
    last = result.steps[-1]
    return {
        "commit": commit(),
        "robot": robot.name,
        "joints": robot.contract.n_joints,
        "knobs": len(result.adaptation.knobs),
        "rollouts": rollouts,
        "iterations": last.iteration,
        "evaluations": last.evaluations,
        "simulated_s": last.simulated_s,
        "wall_clock_s": time.perf_counter() - started,
        "first_gap": result.before.gap.total,
        "last_gap": result.after.gap.total,
        "floor": result.after.gap.total_floor,
    }


GROWTH = {
    "12 knobs": ("go2", "walk", 1, 16),
    "24 knobs": ("go2", "walk", 2, 16),
    "48 knobs": ("go2", "walk", 4, 16),
    "8 rollouts": ("go2", "walk", 2, 8),
    "32 rollouts": ("go2", "walk", 2, 32),
    "18 joints": (str(HEXAPOD), "trot", 2, 16),
}


def main() -> None:
    """Measure what is missing, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", nargs="+", default=["versus", "growth"], choices=["versus", "growth"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    path = RESULTS / "search.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    versus, growth = kept.get("versus", {}), kept.get("growth", {})

    def write() -> None:
        table = {seed: compared(runs) for seed, runs in versus.items() if len(runs) == 2}
        write_results("search.json", {"compared": table, "versus": versus, "growth": growth})

    def versus_of(seed: int) -> None:
        for name in ("quantile", "cma"):
            if name not in versus.setdefault(str(seed), {}):
                run = versus[str(seed)][name] = search(name, seed)
                print(
                    f"{name}, seed {seed}: gap {run['first_gap']:.4f} -> {run['last_gap']:.4f} in {run['evaluations']}"
                    f" evaluations, {run['wall_clock_s']:.0f} s",
                    flush=True,
                )
                write()

    if "versus" in options.pieces:
        versus_of(0)
    if "growth" in options.pieces:
        for what, case in GROWTH.items():
            if what not in growth:
                row = growth[what] = grown(*case, seed=0)
                print(
                    f"{what}: {row['evaluations']} evaluations, {row['simulated_s']:.0f} simulated s,"
                    f" {row['wall_clock_s']:.0f} s",
                    flush=True,
                )
                write()
    if "versus" in options.pieces:
        for seed in range(1, options.seeds):
            versus_of(seed)


if __name__ == "__main__":
    main()
