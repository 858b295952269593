"""What the doctor finds and what it cries wolf about: faults planted into clean logs of virtual robots.

  python bench/doctor.py              # the shipped twins, trot and trained policy, 20 seeds: half an hour on 2 cores
  python bench/doctor.py --seeds 2    # a few minutes

Clean logs of every twin, policy and seed must raise nothing above a note. Into those of the first seeds each fault of
tests/support/plant.py is planted, on joints drawn anew each time. The doctor's thresholds were chosen on logs of the
shipped twins (other seeds), so robots with physics drawn at random stand beside them. Found: the right finding with the
right joints and time. Elsewhere: the right finding, but of other joints or at another time. Also said: other warnings
and errors in the same report. Writes bench/results/doctor.json.
"""

import argparse
import json
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from results import write_results

from surefoot.logs import RobotLog, record
from surefoot.logs.doctor import check_log
from surefoot.policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.sim import load_twin
from surefoot.sim.twin import Twin, shipped_twins

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import plant


def find_policy(robot: Robot, name: str) -> OnnxPolicy | None:
    file = robot.path.parent / "policies" / f"{name}.onnx"
    return OnnxPolicy.load(file) if file.is_file() else None


def drawn_twin(number: int, folder: Path) -> Twin:
    """A Go2 with physics drawn at random, which no threshold of the doctor was chosen on."""
    rng = np.random.default_rng([number, 11])
    content = {
        "robot": "go2",
        "delay_s": rng.uniform(0, 0.02),
        "dry_friction_nm": rng.uniform(0, 1.0),
        "viscous_friction_nms": rng.uniform(0, 0.5),
        "armature_kgm2": rng.uniform(0.01, 0.04),
        "floor_friction": rng.uniform(0.35, 1.2),
        "torque_noise_nm": rng.uniform(0, 1.5),
        "encoder_noise_rad": rng.uniform(0, 0.003),
        "velocity_noise_rad_s": rng.uniform(0, 0.15),
        "gyro_noise_rad_s": rng.uniform(0, 0.03),
        "gravity_noise": rng.uniform(0, 0.01),
        "time_jitter_s": rng.uniform(0, 0.001),
        "motor": {"strength": rng.uniform(0.8, 1.1)},
    }
    path = folder / f"drawn-{number}.yaml"
    path.write_text(json.dumps(content))  # JSON is YAML
    return load_twin(path)


def plant_all(log: RobotLog, robot: Robot, where: dict[str, Any], draws: int) -> list[dict[str, Any]]:
    """Plant every fault; those of joints several times, on joints drawn anew for each twin, policy, seed and fault."""
    rows = []
    names = robot.contract.joints
    for fault in plant.faults(robot, (names[0], names[1]), np.random.default_rng(0)):
        for draw in range(draws):
            rng = np.random.default_rng(zlib.crc32(repr((*where.values(), fault, draw)).encode()))
            one, other = (names[i] for i in rng.choice(len(names), 2, replace=False))
            planted = plant.faults(robot, (one, other), rng)[fault](log)
            findings = check_log(planted.log, robot, needed_s=60.0).findings
            rows.append(
                {
                    **where,
                    "fault": fault,
                    "joints": list(planted.joints),
                    "found": bool(plant.found(planted, findings)),
                    "elsewhere": any(f.code in planted.codes for f in findings) and not plant.found(planted, findings),
                    "also_said": [f.code for f in plant.false_alarms(planted, findings)],
                }
            )
            if not planted.joints:
                break
    return rows


def speed(log: RobotLog, robot: Robot) -> dict[str, float]:
    """Seconds for ten minutes at 500 Hz, made of this log."""
    rows = np.resize(np.arange(len(log.time_s)), 300_000)
    big = plant.taken(log, rows)
    lap = np.arange(len(rows)) // len(log.time_s)
    big = plant.changed(
        big, episode=(log.episode[rows] + lap * log.n_episodes).astype(np.int32), time_s=log.time_s[rows] / 10
    )
    start = time.perf_counter()
    check_log(big, robot)
    return {"rows": len(rows), "seconds": time.perf_counter() - start}


def table(planted: list[dict[str, Any]]) -> str:
    lines = [f"{'fault':<40} {'planted':>7} {'found':>6} {'elsewhere':>9}  also said"]
    for fault in dict.fromkeys(row["fault"] for row in planted):
        rows = [row for row in planted if row["fault"] == fault]
        said = Counter(code for row in rows for code in row["also_said"])
        also = ", ".join(f"{code} {count}" for code, count in said.most_common())
        lines.append(
            f"{fault:<40} {len(rows):>7} {sum(r['found'] for r in rows):>6} {sum(r['elsewhere'] for r in rows):>9} "
            f" {also}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twins", nargs="+", default=list(shipped_twins()))
    parser.add_argument("--policies", nargs="+", default=["trot", "walk"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--fault-seeds", type=int, default=1, help="seeds whose logs get faults")
    parser.add_argument("--draws", type=int, default=3, help="joints drawn for each fault of a joint, on each log")
    parser.add_argument("--drawn", type=int, default=4, help="robots with physics drawn at random, one seed each")
    parser.add_argument(
        "--first-seed", type=int, default=100, help="the doctor was developed on logs of seeds below 100"
    )
    parser.add_argument("--rollouts", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--out", type=Path, default=None, help="where to write; default bench/results/")
    arguments = parser.parse_args()
    clean: list[dict[str, Any]] = []
    planted: list[dict[str, Any]] = []
    timing: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        twins = [(load_twin(name), arguments.seeds) for name in arguments.twins]
        twins += [(drawn_twin(number, Path(folder)), 1) for number in range(arguments.drawn)]
    for twin, seeds in twins:
        name = twin.name
        for policy in arguments.policies:
            for seed in range(arguments.first_seed, arguments.first_seed + seeds):
                log = record(
                    twin,
                    policy,
                    rollouts=arguments.rollouts,
                    seconds=arguments.seconds,
                    seed=seed,
                    threads=arguments.threads,
                )
                where = {"twin": name, "policy": policy, "seed": seed}
                report = check_log(
                    log,
                    twin.robot,
                    find_policy(twin.robot, policy),
                    needed_s=0.9 * arguments.rollouts * arguments.seconds,
                )
                loud = [f"{f.severity} {f.code}: {f.title}" for f in report.findings if f.severity != "note"]
                fell = log.metadata["fallen_episodes"]
                delay = report.delay
                clean.append(
                    {
                        **where,
                        "above_note": loud,
                        "fallen": fell,
                        "delay_ms": (
                            None if delay is None else [1e3 * s for s in (delay.seconds, delay.low_s, delay.high_s)]
                        ),
                    }
                )
                if seed < arguments.first_seed + arguments.fault_seeds:
                    planted += plant_all(log, twin.robot, where, arguments.draws)
                timing = timing or speed(log, twin.robot)
            mine = [row for row in clean if (row["twin"], row["policy"]) == (name, policy)]
            print(
                f"{name} driven by {policy}: {sum(bool(row['above_note']) for row in mine)} of {len(mine)} clean logs"
                " raise something above a note",
                flush=True,
            )
    print(table(planted))
    for row in planted:
        if not row["found"]:
            print(
                f"missed: {row['fault']} of {', '.join(row['joints'])} on {row['twin']} driven by {row['policy']}; said"
                f" {row['also_said']}"
            )
    cried = [row for row in clean if row["above_note"]]
    print(
        f"\nclean logs above a note: {len(cried)} of {len(clean)}; faults found {sum(r['found'] for r in planted)} of"
        f" {len(planted)}"
    )
    print(f"{timing['rows']:.0f} rows in {timing['seconds']:.1f} s")
    summary = {
        "clean": len(clean),
        "clean_above_note": len(cried),
        "planted": len(planted),
        "found": sum(r["found"] for r in planted),
    }
    write_results(
        "doctor.json", {"summary": summary, "speed": timing, "clean": clean, "planted": planted}, arguments.out
    )


if __name__ == "__main__":
    main()
