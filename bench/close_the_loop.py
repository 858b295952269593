"""Does the policy walk better on a robot whose physics nobody told it? Log, fit, fine-tune, measured on the
virtual robot.

  python bench/close_the_loop.py                        # all pieces; every step continues where it was stopped
  python bench/close_the_loop.py --pieces go2-spring
  python bench/close_the_loop.py --pieces ablation --minutes 5

For each virtual robot: 64 episodes of 4 s, `surefoot fit`, `surefoot finetune`, and both policies on the virtual robot:
where they are after 4 s at full speed in +x, -x, +y and -y, off the place that was commanded (total drift: the four
distances summed) and off the line to it (lateral), tracking, falls. `ablation`, on go2-identified and with the same
training time: fine-tuning in the nominal simulator, under wide randomization instead of an adaptation, and with an
adaptation fitted by match-o and by match-s with a horizon of one tick (CMA-ES, with as many simulated seconds as our
fit took and our cost on falls, which the publication does not have); all of them trimmed in their own simulator as ours
is. Beside them ours with nothing but the trim, and without it. `slow log`: the log has speeds up to 0.6 m/s only. Steps
run by the commands that a user would give, in runs/close_the_loop. Writes bench/results/close_the_loop.json.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from results import RESULTS, commit, write_results

from surefoot.adapt import ADAPTATION, Adaptation, write_adaptation
from surefoot.policy.agents import PolicyAgent
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import load_robot
from surefoot.robot.legs import joint_types
from surefoot.sim.twin import load_twin
from surefoot.verify.evaluate import Evaluation, evaluate

WORK = Path("runs/close_the_loop")
POLICY = "walk"
STRAIGHT = ("+x", "-x", "+y", "-y")
WIDE = {  # all that a fit searches, from as wide as it may lie
    "armature_kgm2": {"set": [0.005, 0.05]},
    "dry_friction_nm": {"set": [0.0, 1.5]},
    "viscous_friction_nms": {"set": [0.0, 0.5]},
    "delay_s": {"set": [0.0, 0.02], "together": True},
    "motor_strength": {"scale": [0.8, 1.2]},
    "floor_friction": {"set": [0.3, 2.0]},
    "base_mass_kg": {"scale": [0.85, 1.25]},
    "base_com_offset_m": {"set": [-0.04, 0.04]},
    "encoder_noise_rad": 0.01,
    "velocity_noise_rad_s": 0.3,
    "gyro_noise_rad_s": 0.05,
    "gravity_noise": 0.02,
    "push": {"velocity_m_s": 0.5, "every_s": 5.0},
}


def surefoot(*words: str) -> float:
    """Run a command as a user would; its wall-clock seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "surefoot", *words], check=True)
    return time.perf_counter() - started


def drawn_twin(k: int) -> str:
    """A virtual robot that nobody chose: each type of joint its own friction and inertia, and on one of
    them a spring.
    """
    robot, rng, path = load_robot("go2"), np.random.default_rng([k, 97]), WORK / f"drawn-{k}.yaml"
    content: dict[str, Any] = {"robot": "go2"}
    for name, span in (
        ("armature_kgm2", (0.015, 0.045)),
        ("dry_friction_nm", (0.3, 1.2)),
        ("viscous_friction_nms", (0.1, 0.4)),
    ):
        content[name] = {f"*_{label}": round(float(rng.uniform(*span)), 4) for label in joint_types(robot)}
    content |= {"delay_s": round(float(rng.uniform(0.002, 0.012)), 4), "torque_noise_nm": 0.5}
    if k % 2:
        content["springs"] = [
            {"joints": "*_thigh_joint", "stiffness_nm_per_rad": round(float(rng.uniform(6, 15)), 2), "rest_rad": 0.8}
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content))
    return str(path)


def figures(found: Evaluation) -> dict[str, Any]:
    """What counts of an evaluation."""
    ways = {name: found.directions[name] for name in STRAIGHT}
    off = {name: way.off_m for name, way in ways.items()}
    return {
        "drift_m": off,
        "total_drift_m": sum(off.values()),
        "total_lateral_m": sum(way.lateral_abs_m for way in ways.values()),
        "velocity_error_m_s": found.walk.velocity_error_m_s,
        "turn_error_rad_s": found.walk.turn_error_rad_s,
        "falls": found.walk.falls,
        "falls_straight": sum(way.falls for way in ways.values()),
        "speed_m_s": {name: float(np.hypot(*way.command[:2])) for name, way in ways.items()},
        "falls_pushed": found.pushed.falls,
        "episodes": found.walk.episodes,
        "cost_of_transport": found.walk.cost_of_transport,
    }


def on_twin(policy: Path, twin: str) -> dict[str, Any]:
    """A policy on the virtual robot itself."""
    virtual = load_twin(twin)
    loaded = OnnxPolicy.load(policy)
    return figures(
        evaluate(
            virtual.robot, lambda n: virtual.worlds(n, seed=5), lambda n: PolicyAgent(loaded, virtual.robot, n), seed=5
        )
    )


def prepared(folder: Path, twin: str, seed: int, *more: str) -> dict[str, float]:
    """A log of the virtual robot and the fit to it; what they took."""
    log, fit = folder / "log.parquet", folder / "fit"
    if not log.exists():
        surefoot(
            "record",
            "--twin",
            twin,
            "--policy",
            POLICY,
            "--rollouts",
            "64",
            "--seed",
            f"{300 + seed}",
            "--out",
            f"{log}",
            *more,
        )
    if (fit / ADAPTATION).exists():
        return {}
    return {"fit_s": surefoot("fit", f"{log}", "--policy", POLICY, "--seed", f"{seed}", "--out", f"{fit}")}


def tuned(folder: Path, adaptation: Path, minutes: float, seed: int, *more: str) -> tuple[Path, float | None]:
    """A fine-tuned policy, and what it took with both measurements; None where it was there."""
    out = folder / f"tuned-{minutes:g}-min"
    policy = out / "policy.onnx"
    if policy.exists() and json.loads((out / "eval.json").read_text()).get("after"):
        return policy, None
    words = (
        "finetune",
        POLICY,
        "--adaptation",
        f"{adaptation}",
        "--out",
        f"{out}",
        "--minutes",
        f"{minutes}",
        "--seed",
        f"{seed}",
    )
    return policy, surefoot(*words, *more)


def closed(twin: str, name: str, minutes: float, seed: int, *record: str) -> dict[str, Any]:
    """The loop on one virtual robot."""
    folder = WORK / name
    took = prepared(folder, twin, seed, *record)
    policy, finetune_s = tuned(folder, folder / "fit", minutes, seed)
    fit = json.loads((folder / "fit" / "fit.json").read_text())
    before, after = on_twin(load_robot("go2").path.parent / "policies" / f"{POLICY}.onnx", twin), on_twin(policy, twin)
    row = {
        "commit": commit(),
        "minutes": minutes,
        **took,
        "finetune_s": finetune_s,
        "fit": fit["verdict"],
        "family": [one["family"] for one in fit["families"] if one["chosen"]],
        "before": before,
        "after": after,
        "times_less_drift": before["total_drift_m"] / after["total_drift_m"],
    }
    drifts = f"{before['total_drift_m']:.2f} -> {after['total_drift_m']:.2f} m"
    print(f"{name}: drift {drifts}, falls {before['falls']} -> {after['falls']}", flush=True)
    return row


def instead(what: str, minutes: float, seed: int) -> dict[str, Any]:
    """The same training time without the adaptation, or with another one, on go2-identified."""
    robot, twin, folder = load_robot("go2"), "go2-identified", WORK / "go2-identified"
    prepared(folder, twin, 0)
    place = folder / what.replace(" ", "-")
    place.mkdir(parents=True, exist_ok=True)
    more: tuple[str, ...] = ()
    if what == "trim alone":
        adaptation, more = folder / "fit", ("--iterations", "0")
    elif what == "no trim":
        adaptation, more = folder / "fit", ("--trim-s", "0")
    elif what.startswith("match"):
        adaptation = place / "fit"
        if not (adaptation / ADAPTATION).exists():
            log = place / "log.parquet"  # the same walks, with the base as motion capture would see it
            surefoot(
                "record",
                "--twin",
                twin,
                "--policy",
                POLICY,
                "--rollouts",
                "64",
                "--seed",
                "300",
                "--base",
                "--out",
                f"{log}",
            )
            ours = sum(one["simulated_s"] for one in json.loads((folder / "fit" / "fit.json").read_text())["families"])
            words = ("fit", f"{log}", "--policy", POLICY, "--search", "cma", "--cost", what, "--family", "static")
            surefoot(*words, "--most-simulated-s", f"{ours:.0f}", "--out", f"{adaptation}")
    else:
        adaptation = place / ADAPTATION
        write_adaptation(adaptation, Adaptation(robot.name, robot.hash, "static", (), {}))
        if what == "wide randomization":
            (place / "wide.yaml").write_text(yaml.safe_dump(WIDE))
            more = ("--randomization", str(place / "wide.yaml"))
    policy, took = tuned(place, adaptation, minutes, seed, *more)
    after = on_twin(policy, twin)
    print(f"{what}: drift {after['total_drift_m']:.2f} m", flush=True)
    return {"commit": commit(), "minutes": 0.0 if what == "trim alone" else minutes, "finetune_s": took, "after": after}


def main() -> None:
    """Measure what is missing, and write the file after each."""
    twins = ["go2-identified", "go2-spring", "drawn-0", "drawn-1"]
    pieces = [*twins, "seeds", "ablation", "slow log"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", nargs="+", default=pieces, choices=pieces)
    parser.add_argument("--minutes", type=float, default=5.0)
    options = parser.parse_args()
    path = RESULTS / "close_the_loop.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    kept.pop("provenance", None)

    def keep(name: str, job: Any) -> None:
        if name not in kept or kept[name]["minutes"] not in (0.0, options.minutes):
            kept[name] = job()
            write_results("close_the_loop.json", kept)

    for piece in options.pieces:
        if piece in twins:
            twin = drawn_twin(int(piece[-1])) if piece.startswith("drawn") else piece
            keep(piece, lambda twin=twin, piece=piece: closed(twin, piece, options.minutes, 0))
        elif piece == "seeds":
            for seed in (1, 2):
                name = f"go2-identified-seed-{seed}"
                keep(name, lambda seed=seed, name=name: closed("go2-identified", name, options.minutes, seed))
        elif piece == "ablation":
            for what in ("nominal", "wide randomization", "match-o", "match-s-1", "trim alone", "no trim"):
                keep(f"instead: {what}", lambda what=what: instead(what, options.minutes, 0))
        else:
            keep(piece, lambda: closed("go2-identified", "slow-log", options.minutes, 0, "--speed-m-s", "0", "0.6"))


if __name__ == "__main__":
    main()
