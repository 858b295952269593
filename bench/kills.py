"""kill -9 at random moments of every long verb, then the same command: it must end as if nothing had happened.

  python bench/kills.py                # 100 kills over all verbs; the same command continues
  python bench/kills.py --verb gap     # one verb

Each trial starts a verb in a new folder, kills its process group at a random moment of its usual time, and calls the
same command line again. `equal` compares what the verb promises to be the same: every figure to the last bit for
record, gap, fit and verdict; for train and fine-tune, which draw other worlds when they continue, that the asked
iterations were done and the policy works; for the loop, all of that for its steps. Nothing may be left behind: no lock,
no half-written file.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from results import RESULTS, commit, provenance

from surefoot.files import write_text
from surefoot.learn import checkpoint
from surefoot.policy import OnnxPolicy
from surefoot.robot import load_robot

RESULT = RESULTS / "kills.json"
SCRIPT = Path(sys.executable).with_name("surefoot")
TIMES = {"wall_s", "started", "elapsed_s", "took_s", "written_by"}  # figures that are of the run and not of its result
SMALL_FIT = ("--most-evaluations", "60", "--tie", "type", "--family", "static", "--threads", "1")


@dataclass(frozen=True)
class Trial:
    """A verb to kill: its words, how often, and what must be the same afterwards."""

    words: tuple[str, ...]
    kills: int
    equal: Callable[[Path, Path], str]  # folders of the whole and of the killed run; what differs, or nothing


def prepare(folder: Path) -> None:
    """What the verbs read: a log, a fit of it, and a longer log, since the loop refuses one below a minute."""
    record = ("record", "--twin", "go2-identified", "--policy", "walk", "--seconds", "2.5", "--seed", "3")
    run(folder, *record, "--rollouts", "12", "--out", "log.parquet")
    run(folder, *record, "--rollouts", "26", "--out", "longer.parquet")
    run(folder, "fit", "log.parquet", "--policy", "walk", "--out", "fit", *SMALL_FIT)


def run(folder: Path, *words: str) -> None:
    done = subprocess.run([SCRIPT, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")


def same_bytes(*names: str) -> Callable[[Path, Path], str]:
    return lambda whole, killed: ", ".join(
        name for name in names if (whole / name).read_bytes() != (killed / name).read_bytes()
    )


def same_figures(*names: str) -> Callable[[Path, Path], str]:
    """JSON files, to the last digit, without times."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items() if key not in TIMES}
        return [plain(item) for item in value] if isinstance(value, list) else value

    def compare(whole: Path, killed: Path) -> str:
        pairs = (
            (name, *(plain(json.loads((folder / name).read_text())) for folder in (whole, killed))) for name in names
        )
        return ", ".join(f"{name}: {_first_difference(a, b)}" for name, a, b in pairs if a != b)

    return compare


def _first_difference(a: Any, b: Any, path: str = "") -> str:
    if isinstance(a, dict) and isinstance(b, dict):
        key = next(key for key in {**a, **b} if a.get(key) != b.get(key))
        return _first_difference(a.get(key), b.get(key), f"{path}.{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        k = next(k for k in range(len(a)) if a[k] != b[k])
        return _first_difference(a[k], b[k], f"{path}[{k}]")
    return f"{path} {str(a)[:60]} against {str(b)[:60]}"


def trained(name: str, iterations: int) -> Callable[[Path, Path], str]:
    """The policy is whole and finite, and was trained as long as was asked."""

    def compare(whole: Path, killed: Path) -> str:
        robot = load_robot("go2")
        policy = OnnxPolicy.load(killed / name / "policy.onnx")
        policy.check(robot)
        actions = policy.run(np.zeros((3, robot.contract.observation_size), np.float32))
        _, state = checkpoint.load(killed / name / "checkpoint.safetensors")
        problems = [] if np.isfinite(actions).all() else ["actions are not finite"]
        problems += (
            [] if state["iteration"] == iterations else [f"{state['iteration']} iterations instead of {iterations}"]
        )
        left = {path.name for path in (whole / name).iterdir()} ^ {path.name for path in (killed / name).iterdir()}
        problems += [f"other files: {', '.join(sorted(left))}"] if left else []
        return "; ".join(problems)

    return compare


def looped(whole: Path, killed: Path) -> str:
    found = [
        same_figures("loop/gap/gap.json", "loop/doctor/doctor.json")(whole, killed),
        same_figures("loop/fit/adaptation.json")(whole, killed),
    ]
    states = {
        name: step["state"] for name, step in json.loads((killed / "loop" / "run.json").read_text())["steps"].items()
    }
    found += [f"steps {states}"] if set(states.values()) != {"done"} else []
    found += [] if (killed / "loop" / "report.html").exists() else ["no report"]
    return "; ".join(part for part in found if part)


THREAD = ("--threads", "1")
TRIALS = {
    "record": Trial(
        (
            "record",
            "--twin",
            "go2-identified",
            "--policy",
            "walk",
            "--rollouts",
            "48",
            "--seconds",
            "4",
            "--out",
            "new.parquet",
            *THREAD,
        ),
        16,
        same_bytes("new.parquet"),
    ),
    "gap": Trial(("gap", "log.parquet", "--policy", "walk", "--out", "gap", *THREAD), 18, same_figures("gap/gap.json")),
    "fit": Trial(
        ("fit", "log.parquet", "--policy", "walk", "--out", "new", *SMALL_FIT),
        18,
        same_figures("new/adaptation.json", "new/fit.json"),
    ),
    "verdict": Trial(
        (
            "verdict",
            "--before",
            "walk",
            "--after",
            "walk",
            "--adaptation",
            "fit",
            "--episodes",
            "4",
            "--straight-episodes",
            "2",
            "--candidates",
            "2",
            "--candidate-episodes",
            "2",
            "--seconds",
            "4",
            "--out",
            "verdict",
            *THREAD,
        ),
        16,
        same_figures("verdict/verdict.json"),
    ),
    "train": Trial(
        ("train", "walk", "--out", "train", "--iterations", "12", "--worlds", "64", "--no-evaluate", *THREAD),
        14,
        trained("train", 12),
    ),
    "finetune": Trial(
        (
            "finetune",
            "walk",
            "--adaptation",
            "fit",
            "--out",
            "tuned",
            "--iterations",
            "8",
            "--worlds",
            "64",
            "--judges",
            "8",
            "--episodes",
            "4",
            *THREAD,
        ),
        12,
        trained("tuned", 8),
    ),
    "loop": Trial(
        ("loop", "longer.parquet", "--policy", "walk", "--minutes", "0.1", "--out", "loop", *THREAD), 6, looped
    ),
}


def start(words: tuple[str, ...], folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [SCRIPT, *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def copy_inputs(source: Path, folder: Path) -> None:
    folder.mkdir()
    for name in ("log.parquet", "longer.parquet"):
        shutil.copy(source / name, folder)
    shutil.copytree(source / "fit", folder / "fit")


def one_kill(verb: str, seed: int, source: Path, whole: Path, usual_s: float) -> dict[str, Any]:
    """Kill one run at a random moment, run the command again, and compare."""
    trial, folder = TRIALS[verb], source.parent / f"{verb}-{seed}"
    copy_inputs(source, folder)
    at_s = float(np.random.default_rng([seed, sorted(TRIALS).index(verb)]).uniform(0.3, 0.98 * usual_s))
    process = start(trial.words, folder)
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < at_s:
        time.sleep(0.01)
    killed = process.poll() is None
    if killed:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    again = start(trial.words, folder)
    began = time.monotonic()
    _, error = again.communicate(timeout=1800)
    left = [str(path.relative_to(folder)) for path in folder.rglob(".surefoot*") if path.name != ".surefoot.json"]
    problem = (
        f"exit code {again.returncode}: {error[-500:]}"
        if again.returncode not in (0, 3, 4)
        else trial.equal(whole, folder)
    )
    problem += f"; left behind {left}" if left else ""
    shutil.rmtree(folder)
    return {
        "verb": verb,
        "seed": seed,
        "at_s": round(at_s, 2),
        "killed": killed,
        "again_s": round(time.monotonic() - began, 1),
        "problem": problem,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verb", choices=list(TRIALS), action="append")
    parser.add_argument("--kills", type=int, help="instead of the usual number")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    known = json.loads(arguments.out.read_text())["rows"] if arguments.out.exists() else []
    rows = [row for row in known if row["commit"] == commit()]
    with tempfile.TemporaryDirectory() as top:
        source = Path(top) / "source"
        source.mkdir()
        prepare(source)
        for verb in arguments.verb or TRIALS:
            trial = TRIALS[verb]
            wanted = arguments.kills or trial.kills
            done = [row for row in rows if row["verb"] == verb]
            if sum(row["killed"] for row in done) >= wanted:
                continue
            whole = Path(top) / f"{verb}-whole"
            copy_inputs(source, whole)
            began = time.monotonic()
            run(whole, *trial.words)
            usual_s = time.monotonic() - began
            seed = max((row["seed"] for row in done), default=-1)
            while sum(row["killed"] for row in rows if row["verb"] == verb) < wanted:
                seed += 1
                row = one_kill(verb, seed, source, whole, usual_s)
                rows.append(row | {"usual_s": round(usual_s, 1), "commit": commit()})
                print(
                    f"{verb:9} killed after {row['at_s']:6.2f} of {usual_s:.1f}"
                    f" s{'' if row['killed'] else ' (had ended)'}  {row['problem'] or 'same'}",
                    flush=True,
                )
                _write(rows, arguments.out)
    failed = [row for row in rows if row["problem"]]
    print(json.dumps(_table(rows), indent=1))
    sys.exit(bool(failed))


def _table(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for verb in TRIALS:
        of = [row for row in rows if row["verb"] == verb]
        if of:
            found.append(
                {
                    "verb": verb,
                    "kills": sum(row["killed"] for row in of),
                    "same": sum(row["killed"] and not row["problem"] for row in of),
                    "usual_s": of[-1]["usual_s"],
                }
            )
    return found


def _write(rows: list[dict[str, Any]], out: Path) -> None:
    write_text(out, json.dumps({"provenance": provenance(), "table": _table(rows), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
