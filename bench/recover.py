"""Are known parameters recovered? Virtual robots drawn at random, fitted from 64 episodes of 4 s of walking.

  python bench/recover.py                          # 3 seeds of each kind of noise
  python bench/recover.py --cases 5.0 --seeds 1

Armature is drawn from 0.01-0.05 kg·m², dry friction from 0.2-1.5 N·m, viscous friction from 0.05-0.5 N·m·s/rad, each
joint its own, and the delay from 0-15 ms. The fit starts from 0.01, 0.2, 0.1 and 2 ms. At 5 N·m of torque noise the
recordings also start late by 0.02-0.1 s, unknown to the fit. Finished runs are kept: the same command continues. Writes
bench/results/recover.json.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from results import RESULTS, commit, write_results

from surefoot.fit.family import FitSettings
from surefoot.fit.run import Fit
from surefoot.gap import Case, schedule_of
from surefoot.logs import record
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds

POLICY, ROLLOUTS, SECONDS = "walk", 64, 4.0
CASES = {
    "0.0": (0.0, (0.0, 0.0)),
    "2.5": (2.5, (0.0, 0.0)),
    "5.0": (5.0, (0.02, 0.1)),
}  # torque noise N·m, late start s
PUBLISHED = {"0.0": 0.07, "2.5": 0.083, "5.0": 0.187}  # mean relative error of armature and dry friction
RANGES = {"armature_kgm2": (0.01, 0.05), "dry_friction_nm": (0.2, 1.5), "viscous_friction_nms": (0.05, 0.5)}
DELAY_S = (0.0, 0.015)


class Stepping:
    """Counts the time in the simulator's own calls."""

    def __init__(self) -> None:
        self.seconds = 0.0
        guarded = Worlds._guarded

        def timed(worlds: Worlds, call: Callable[[], object]) -> bool:
            started = time.perf_counter()
            raised = guarded(worlds, call)
            self.seconds += time.perf_counter() - started
            return raised

        Worlds._guarded = timed  # type: ignore[method-assign, assignment]


def draw(robot: Robot, noise_nm: float, shift_s: tuple[float, float], seed: int) -> Twin:
    """A robot that nobody has seen."""
    rng = np.random.default_rng([seed, 71])
    hidden: dict[str, Any] = {name: tuple(rng.uniform(*span, robot.contract.n_joints)) for name, span in RANGES.items()}
    hidden |= {"delay_s": float(rng.uniform(*DELAY_S)), "torque_noise_nm": noise_nm}
    return Twin(f"drawn-{seed}", Physics(robot, hidden), time_shift_s=shift_s)


def one(case: str, seed: int, stepping: Stepping) -> dict[str, Any]:
    """Record, fit, compare."""
    robot = load_robot("go2")
    twin = draw(robot, *CASES[case], seed)
    log = record(twin, POLICY, rollouts=ROLLOUTS, seconds=SECONDS, seed=900 + seed)
    walked = Case(robot, POLICY, log, schedule=schedule_of(log, robot))
    stepping.seconds, started = 0.0, time.perf_counter()
    fit = Fit(walked, FitSettings(seed=seed), None)
    result = fit.run()
    wall_s = time.perf_counter() - started
    row: dict[str, Any] = {
        "case": case,
        "seed": seed,
        "commit": commit(),
        "fallen_episodes": log.metadata["fallen_episodes"],
    }
    covered = []
    for name in (*RANGES, "delay_s", "torque_noise_nm"):
        knobs = [knob for knob in result.adaptation.knobs if knob.parameter == name]
        true = np.broadcast_to(twin.physics.parameters[name], len(knobs))
        found = np.array([knob.value for knob in knobs])
        row[name] = {"absolute": float(np.abs(found - true).mean()), "found": found.tolist(), "true": true.tolist()}
        row[name] |= {"half_width": float(np.mean([(knob.interval[1] - knob.interval[0]) / 2 for knob in knobs]))}
        if name in RANGES:
            start = np.array([knob.start for knob in knobs])
            row[name] |= {
                "relative": float((np.abs(found - true) / true).mean()),
                "at_start": float((np.abs(start - true) / true).mean()),
            }
        covered += [knob.interval[0] <= value <= knob.interval[1] for knob, value in zip(knobs, true, strict=True)]
    assert result.held_before is not None
    assert result.held_after is not None
    gaps = {
        "before": result.before,
        "after": result.after,
        "held_out_before": result.held_before,
        "held_out_after": result.held_after,
    }
    row |= {
        name: {"gap": m.gap.total, "floor": m.gap.total_floor, "over_floor": m.gap.total / m.gap.total_floor}
        for name, m in gaps.items()
    }
    last = result.steps[-1]
    row |= {
        "mean_error": (row["armature_kgm2"]["relative"] + row["dry_friction_nm"]["relative"]) / 2,
        "covered": [int(sum(covered)), len(covered)],
        "iterations": last.iteration,
        "evaluations": last.evaluations,
        "simulated_s": last.simulated_s,
        "wall_clock_s": wall_s,
        "outside_stepping": 1 - stepping.seconds / wall_s,
        "stopped": result.stopped,
        "flags": {knob.name: knob.flag for knob in result.adaptation.knobs if knob.flag},
    }
    return row


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds of each case."""
    found = {}
    for case in CASES:
        rows = [run for run in runs if run["case"] == case]
        if not rows:
            continue
        found[case] = {
            "seeds": len(rows),
            "mean_error": float(np.mean([row["mean_error"] for row in rows])),
            "published": PUBLISHED[case],
            "armature": float(np.mean([row["armature_kgm2"]["relative"] for row in rows])),
            "dry_friction": float(np.mean([row["dry_friction_nm"]["relative"] for row in rows])),
            "dry_friction_nm": float(np.mean([row["dry_friction_nm"]["absolute"] for row in rows])),
            "viscous_friction": float(np.mean([row["viscous_friction_nms"]["relative"] for row in rows])),
            "over_floor": float(np.mean([row["after"]["over_floor"] for row in rows])),
            "held_out_over_floor": float(np.mean([row["held_out_after"]["over_floor"] for row in rows])),
            "covered": float(sum(row["covered"][0] for row in rows) / sum(row["covered"][1] for row in rows)),
            "wall_clock_min": float(np.mean([row["wall_clock_s"] for row in rows]) / 60),
            "outside_stepping": float(np.mean([row["outside_stepping"] for row in rows])),
        }
    return found


def main() -> None:
    """Measure what is missing, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    path = RESULTS / "recover.json"
    done = {(row["case"], row["seed"]): row for row in json.loads(path.read_text())["runs"]} if path.exists() else {}
    stepping = Stepping()
    for seed in range(options.seeds):
        for case in options.cases:
            if (case, seed) in done:
                continue
            row = done[case, seed] = one(case, seed, stepping)
            print(
                f"{case} N·m, seed {seed}: armature {row['armature_kgm2']['relative']:.1%}, dry friction"
                f" {row['dry_friction_nm']['relative']:.1%} ({row['dry_friction_nm']['absolute']:.3f} N·m), gap"
                f" {row['after']['over_floor']:.2f} and {row['held_out_after']['over_floor']:.2f} × floor, covered"
                f" {row['covered'][0]}/{row['covered'][1]}, {row['wall_clock_s'] / 60:.1f} min,"
                f" {row['outside_stepping']:.0%} outside stepping",
                flush=True,
            )
            runs = [done[key] for key in sorted(done)]
            write_results("recover.json", {"summary": summary(runs), "runs": runs})


if __name__ == "__main__":
    main()
