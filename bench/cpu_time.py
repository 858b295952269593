"""CPU time of every verb at two commits, run in turns: what a change costs its users.

  python bench/cpu_time.py --base COMMIT      # against the present commit

Both commits are checked out beside each other and run with the same interpreter and packages, five times each, in
turns, with one thread, so that whatever else the machine does falls on both alike. CPU time is that of the process and
its children, user and system.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from results import RESULTS, provenance

from surefoot.files import write_text

HERE = Path(__file__).parent.parent
ONE = ("--threads", "1")
VERBS: dict[str, tuple[str, ...]] = {
    "robot check": ("robot", "check", "go2", "--out", "{out}.png"),
    "robot new": ("robot", "new", "hexapod.xml", "--out", "{out}.yaml"),
    "policy show": ("policy", "show", "walk.onnx"),
    "policy attach": ("policy", "attach", "walk.onnx", "--robot", "go2", "--out", "{out}.onnx"),
    "record": (
        "record",
        "--twin",
        "go2-identified",
        "--policy",
        "walk",
        "--rollouts",
        "64",
        "--seconds",
        "4",
        "--out",
        "{out}.parquet",
        *ONE,
    ),
    "log import": ("log", "import", "log.parquet", "--out", "{out}.parquet"),
    "log show": ("log", "show", "log.parquet"),
    "log plot": ("log", "plot", "log.parquet", "--robot", "go2", "--out", "{out}.html"),
    "doctor": ("doctor", "log.parquet", "--policy", "walk", "--html", "{out}.html"),
    "gap": ("gap", "short.parquet", "--policy", "walk", "--out", "{out}", *ONE),
    "fit": (
        "fit",
        "short.parquet",
        "--policy",
        "walk",
        "--most-evaluations",
        "60",
        "--tie",
        "type",
        "--family",
        "static",
        "--out",
        "{out}",
        *ONE,
    ),
    "evaluate": ("evaluate", "walk", "--episodes", "10", "--straight-episodes", "2", "--out", "{out}.json", *ONE),
    "verdict": (
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
        "{out}",
        *ONE,
    ),
    "adapt show": ("adapt", "show", "fit"),
    "adapt export": ("adapt", "export", "fit", "--to", "mjlab", "--out", "{out}.py"),
    "train": ("train", "walk", "--iterations", "4", "--worlds", "128", "--no-evaluate", "--out", "{out}", *ONE),
    "finetune": (
        "finetune",
        "walk",
        "--adaptation",
        "fit",
        "--iterations",
        "3",
        "--worlds",
        "64",
        "--judges",
        "8",
        "--episodes",
        "4",
        "--out",
        "{out}",
        *ONE,
    ),
}
START = "import sys; from surefoot.cli.main import main; sys.argv[0] = 'surefoot'; main()"


def run(tree: Path, folder: Path, words: tuple[str, ...]) -> float:
    """CPU seconds of one command line with the sources of a tree."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "MUJOCO_GL": "off"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's second run does not compile the sources again
    done = subprocess.run(
        [sys.executable, "-c", START, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3, 4):
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-1000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def prepare(tree: Path, folder: Path) -> None:
    folder.mkdir()
    robots = HERE / "src" / "surefoot" / "robots" / "go2"
    shutil.copy(robots / "policies" / "walk.onnx", folder)
    shutil.copy(HERE / "tests" / "robots" / "hexapod" / "hexapod.xml", folder)
    record = ("record", "--twin", "go2-identified", "--policy", "walk", "--seed", "3")
    run(tree, folder, (*record, "--rollouts", "64", "--seconds", "4", "--out", "log.parquet"))
    run(tree, folder, (*record, "--rollouts", "12", "--seconds", "2.5", "--out", "short.parquet"))
    run(tree, folder, tuple(word.replace("{out}", "fit") for word in VERBS["fit"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", required=True, help="the commit to compare with")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--verb", action="append", choices=list(VERBS))
    parser.add_argument("--out", type=Path, default=RESULTS / "cpu_time.json")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as top:
        trees = {}
        for name, commit in (("base", arguments.base), ("now", "HEAD")):
            trees[name] = Path(top) / name
            subprocess.run(["git", "clone", "-q", str(HERE), str(trees[name])], check=True)
            subprocess.run(["git", "-C", str(trees[name]), "checkout", "-q", _commit(commit)], check=True)
            prepare(trees[name], Path(top) / f"{name}-work")
        for verb in arguments.verb or VERBS:
            spent: dict[str, list[float]] = {"base": [], "now": []}
            for k in range(arguments.runs):
                for name in ("base", "now") if k % 2 == 0 else ("now", "base"):
                    words = tuple(word.replace("{out}", f"out-{verb.replace(' ', '-')}-{k}") for word in VERBS[verb])
                    spent[name].append(run(trees[name], Path(top) / f"{name}-work", words))
            base, now = (statistics.median(spent[name]) for name in ("base", "now"))
            rows.append(
                {
                    "verb": verb,
                    "base_s": round(base, 3),
                    "now_s": round(now, 3),
                    "ratio": round(now / base, 4),
                    "runs": {name: [round(s, 3) for s in values] for name, values in spent.items()},
                }
            )
            print(f"{verb:14} {base:7.2f} s -> {now:7.2f} s  {100 * (now / base - 1):+.1f} %", flush=True)
    about = provenance() | {"base": _commit(arguments.base), "commit": _commit("HEAD")}
    write_text(arguments.out, json.dumps({"provenance": about, "verbs": rows}, indent=1) + "\n")
    print(f"wrote {arguments.out}")


def _commit(name: str) -> str:
    return subprocess.run(
        ["git", "-C", str(HERE), "rev-parse", name], capture_output=True, text=True, check=True
    ).stdout.strip()


if __name__ == "__main__":
    main()
