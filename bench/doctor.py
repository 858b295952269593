"""What the doctor finds and what it cries wolf about: faults planted into clean logs of virtual robots.

  python bench/doctor.py              # the shipped twins, trot and trained policy, 20 seeds: about half an hour on 2 cores
  python bench/doctor.py --seeds 2    # a few minutes

Clean logs of every twin, policy and seed must raise nothing above a note. Into those of the first seeds each fault of
tests/plant.py is planted, on joints drawn at random. Found: the right finding with the right joints and time. Elsewhere:
the right finding, but of other joints or at another time. Also said: other warnings and errors in the same diagnosis.
Writes bench/results/doctor.json.
"""

import argparse
import importlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from results import write_results

from surefoot.logs import RobotLog, record
from surefoot.logs.doctor import diagnose
from surefoot.policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim import load_twin
from surefoot.sim.twin import shipped_twins

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
plant: Any = importlib.import_module("plant")  # shared with the tests


def find_policy(robot: Robot, name: str) -> OnnxPolicy | None:
    file = robot.path.parent / "policies" / f"{name}.onnx"
    return OnnxPolicy.load(file) if file.is_file() else None


def plant_all(log: RobotLog, robot: Robot, where: dict[str, Any], seed: int) -> list[dict[str, Any]]:
    """Plant every fault once, on two joints drawn for it."""
    rows = []
    rng = np.random.default_rng([seed, 7])
    for fault in plant.faults(robot, (robot.contract.joints[0], robot.contract.joints[1]), rng):
        one, other = (robot.contract.joints[i] for i in rng.choice(robot.contract.n_joints, 2, replace=False))
        planted = plant.faults(robot, (one, other), rng)[fault](log)
        findings = diagnose(planted.log, robot, needed_s=60.0).findings
        rows.append(
            {
                **where, "fault": fault, "joints": list(planted.joints), "found": bool(plant.found(planted, findings)),
                "elsewhere": any(f.code in planted.codes for f in findings) and not plant.found(planted, findings),
                "also_said": [f.code for f in plant.false_alarms(planted, findings)],
            }
        )  # fmt: skip
    return rows


def speed(log: RobotLog, robot: Robot) -> dict[str, float]:
    """Seconds for ten minutes at 500 Hz, made of this log."""
    rows = np.resize(np.arange(len(log.time_s)), 300_000)
    big = plant.taken(log, rows)
    lap = np.arange(len(rows)) // len(log.time_s)
    big = plant.changed(big, episode=(log.episode[rows] + lap * log.n_episodes).astype(np.int32), time_s=log.time_s[rows] / 10)
    start = time.perf_counter()
    diagnose(big, robot)
    return {"rows": len(rows), "seconds": time.perf_counter() - start}


def table(planted: list[dict[str, Any]]) -> str:
    lines = [f"{'fault':<40} {'planted':>7} {'found':>6} {'elsewhere':>9}  also said"]
    for fault in dict.fromkeys(row["fault"] for row in planted):
        rows = [row for row in planted if row["fault"] == fault]
        said = Counter(code for row in rows for code in row["also_said"])
        also = ", ".join(f"{code} {count}" for code, count in said.most_common())
        lines.append(f"{fault:<40} {len(rows):>7} {sum(r['found'] for r in rows):>6} {sum(r['elsewhere'] for r in rows):>9}  {also}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", nargs="+", default=list(shipped_twins()))
    parser.add_argument("--policies", nargs="+", default=["trot", "walk"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fault-seeds", type=int, default=2, help="seeds whose logs get faults")
    parser.add_argument("--rollouts", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="where to write; default bench/results/")
    arguments = parser.parse_args()
    clean: list[dict[str, Any]] = []
    planted: list[dict[str, Any]] = []
    timing: dict[str, float] = {}
    for name in arguments.twins:
        twin = load_twin(name)
        for policy in arguments.policies:
            for seed in range(arguments.seeds):
                log = record(twin, policy, rollouts=arguments.rollouts, seconds=arguments.seconds, seed=seed, threads=arguments.threads)
                where = {"twin": name, "policy": policy, "seed": seed}
                diagnosis = diagnose(
                    log, twin.robot, find_policy(twin.robot, policy), needed_s=0.9 * arguments.rollouts * arguments.seconds
                )
                loud = [f"{f.severity} {f.code}: {f.title}" for f in diagnosis.findings if f.severity != "note"]
                fell = log.metadata["fallen_episodes"]
                delay = diagnosis.delay
                clean.append({**where, "above_note": loud, "fallen": fell, "delay_ms": None if delay is None else [1e3 * s for s in (delay.seconds, delay.low_s, delay.high_s)]})  # fmt: skip
                if seed < arguments.fault_seeds:
                    planted += plant_all(log, twin.robot, where, seed)
                timing = timing or speed(log, twin.robot)
            mine = [row for row in clean if (row["twin"], row["policy"]) == (name, policy)]
            print(
                f"{name} driven by {policy}: {sum(bool(row['above_note']) for row in mine)} of {len(mine)} clean logs raise something above a note",
                flush=True,
            )
    print(table(planted))
    cried = [row for row in clean if row["above_note"]]
    print(f"\nclean logs above a note: {len(cried)} of {len(clean)}; faults found {sum(r['found'] for r in planted)} of {len(planted)}")
    print(f"{timing['rows']:.0f} rows in {timing['seconds']:.1f} s")
    summary = {"clean": len(clean), "clean_above_note": len(cried), "planted": len(planted), "found": sum(r["found"] for r in planted)}
    write_results("doctor.json", {"summary": summary, "speed": timing, "clean": clean, "planted": planted}, arguments.out)


if __name__ == "__main__":
    main()
