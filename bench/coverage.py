"""Do the intervals hold? Known parameters are planted and fitted many times; a 90 % interval should hold
about 90 % of them.

  python bench/coverage.py                     # 20 planted robots
  python bench/coverage.py --robots 5

A smaller problem than a whole fit: joints of all legs tied, 16 episodes of 4 s, no episodes held back. Every robot has
its own commands, starts and noise. Finished robots are kept: the same command continues. Writes
bench/results/coverage.json.
"""

import argparse
import json
import time
from collections import defaultdict
from typing import Any

from results import RESULTS, commit, write_results

from surefoot.fit.family import FitSettings
from surefoot.fit.rehearse import commands_to_rehearse, rehearse, relative_errors
from surefoot.policy.driver import make_driver
from surefoot.robot import load_robot

POLICY, ROLLOUTS, SECONDS = "walk", 16, 4.0
NOISES_NM = (0.5, 2.5)  # torque noise, robots in turn


def one(seed: int) -> dict[str, Any]:
    """Plant, fit, and see which intervals hold."""
    robot = load_robot("go2")
    started = time.perf_counter()
    schedule = commands_to_rehearse(robot, ROLLOUTS, SECONDS, seed)
    noise = {"torque_noise_nm": NOISES_NM[seed % len(NOISES_NM)]}
    settings = FitSettings(tie="type", held_out=0.0, seed=seed)
    found = rehearse(make_driver(POLICY, robot), schedule, settings, noise, seed=seed)
    knobs = [
        {
            "name": knob.name,
            "planted": found.planted[knob.name],
            "found": knob.value,
            "interval": list(knob.interval),
            "covered": bool(held),
            "flag": knob.flag,
        }
        for knob, held in zip(found.estimates, found.covered, strict=True)
    ]
    last = found.result.steps[-1]
    return {
        "seed": seed,
        "commit": commit(),
        "torque_noise_nm": noise["torque_noise_nm"],
        "covered": [int(sum(found.covered)), len(knobs)],
        "errors": relative_errors(found),
        "evaluations": last.evaluations,
        "wall_clock_s": time.perf_counter() - started,
        "stopped": found.result.stopped,
        "knobs": knobs,
    }


def main() -> None:
    """Measure what is missing, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", type=int, default=20)
    options = parser.parse_args()
    path = RESULTS / "coverage.json"
    done = {row["seed"]: row for row in json.loads(path.read_text())["runs"]} if path.exists() else {}
    for seed in range(options.robots):
        if seed in done:
            continue
        row = done[seed] = one(seed)
        print(f"robot {seed}: {row['covered'][0]} of {row['covered'][1]} hold, {row['wall_clock_s']:.0f} s", flush=True)
        runs = [done[key] for key in sorted(done)]
        held, every = (sum(run["covered"][i] for run in runs) for i in range(2))
        kinds: dict[str, list[bool]] = defaultdict(list)
        for run in runs:
            for knob in run["knobs"]:
                kinds[knob["name"].partition("[")[0]].append(knob["covered"])
        by_parameter = {name: [sum(held), len(held)] for name, held in kinds.items()}
        write_results(
            "coverage.json",
            {
                "nominal": 0.9,
                "coverage": held / every,
                "covered": [held, every],
                "by_parameter": by_parameter,
                "runs": runs,
            },
        )


if __name__ == "__main__":
    main()
