"""Does the diagnosis name the true cause? Virtual robots with known faults, several seeds each, as a confusion table.

  python bench/diagnosis.py                        # all twins, 10 seeds each, and 20 of the nominal robot
  python bench/diagnosis.py --twins go2-spring --seeds 3

Each seed records its own log (32 rollouts of 4 s) and is compared and diagnosed with its own random numbers. Finished
seeds are kept: the same command continues. Writes bench/results/diagnosis.json.
"""

import argparse
import json
import time
from collections import Counter
from typing import Any

from results import RESULTS, write_results

from surefoot.fit.diagnose import diagnose_gap
from surefoot.gap import Case, measure, schedule_of
from surefoot.logs import record
from surefoot.robot import load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin, load_twin

ROBOT, POLICY = "go2", "walk"
TRUE = {
    "go2-identified": "friction",
    "go2-spring": "spring",
    "go2-worn": "strength",
    "go2-slippery": "contact",
    "nominal": "none",
}
ROLLOUTS, SECONDS = 32, 4.0


def one(name: str, seed: int) -> dict[str, Any]:
    """Record, measure and diagnose."""
    robot = load_robot(ROBOT)
    twin = Twin("nominal", Physics(robot, {})) if name == "nominal" else load_twin(name)
    log = record(twin, POLICY, rollouts=ROLLOUTS, seconds=SECONDS, seed=500 + seed)
    started = time.perf_counter()
    case = Case(robot, POLICY, log, schedule=schedule_of(log, robot))
    measured = measure(case, seed=seed)
    found = diagnose_gap(case, measured, seed=seed)
    gap = measured.gap
    return {
        "twin": name,
        "seed": seed,
        "says": found.causes[0].key if found.causes else "none",
        "sure": found.sure,
        "sentence": found.says,
        "gap": gap.total,
        "floor": gap.total_floor,
        "limit": gap.total_limit,
        "remaining": {cause.key: cause.cost for cause in found.causes},
        "evaluations": found.evaluations,
        "simulated_s": found.simulated_s,
        "wall_clock_s": time.perf_counter() - started,
    }


def main() -> None:
    """Measure what is missing, and write the file after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", nargs="+", default=list(TRUE), choices=list(TRUE))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--nominal-seeds", type=int, default=20)
    options = parser.parse_args()
    path = RESULTS / "diagnosis.json"
    done = {(row["twin"], row["seed"]): row for row in json.loads(path.read_text())["runs"]} if path.exists() else {}
    for seed in range(max(options.seeds, options.nominal_seeds)):
        for name in options.twins:
            if (name, seed) in done or seed >= (options.nominal_seeds if name == "nominal" else options.seeds):
                continue
            row = done[name, seed] = one(name, seed)
            print(f"{name} {seed}: {row['sentence']} ({row['sure']}, {row['wall_clock_s']:.0f} s)", flush=True)
            runs = [done[key] for key in sorted(done)]
            table = {twin: dict(Counter(run["says"] for run in runs if run["twin"] == twin)) for twin in TRUE}
            right = {
                twin: [sum(run["says"] == cause for run in runs if run["twin"] == twin), sum(table[twin].values())]
                for twin, cause in TRUE.items()
            }
            write_results("diagnosis.json", {"true_cause": TRUE, "confusion": table, "right_of": right, "runs": runs})


if __name__ == "__main__":
    main()
