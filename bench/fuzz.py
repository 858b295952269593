"""Hostile input by the thousand, through the command line: each case must end in a result or in one sentence.

  python bench/fuzz.py                        # all kinds, in processes of their own; the same command continues
  python bench/fuzz.py --kind "ONNX policy"   # one kind
  python bench/fuzz.py --only "MJCF:17"       # one block of cases again, with what each printed

Hypothesis draws structured mutations of sound files (`fuzz_kinds/`). A case fails when anything else happens than an
exit code that the verb has and at most one sentence on standard error: an exception, a signal, more than 30 s, more
than 1.5 GB, a control character on the terminal, an input that changed, or a file that was written outside of the
output. The watchdog may end a process (exit code 2 and its sentence); that is counted as "stopped".

Whoever adds an input extends this bench: write a module or a function in `fuzz_kinds/` that makes a sound file, mutates
it and returns the command lines that read it, and list its `Kind`. Mutate the structure (fields, types, counts), not
only the bytes; let `check` look at what is written from it.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("MUJOCO_GL", "off")  # pictures take their time, and no input decides over them

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from results import RESULTS, write_results

BLOCK = 50  # cases of one process call; a block is a seed
LIMIT_S, LIMIT_GB = 30.0, 1.5
STALLED_S = 90.0  # without any progress: the parent ends the process, and the block has failed
CODES = {0, 1, 2, 3, 4}
PARTS = RESULTS / "fuzz"


def run_block(kind_name: str, block: int, report: Path, verbose: bool = False, keep: Path | None = None) -> None:
    """All cases of one block, in this process; each result is a line of the report, so that a death loses none."""
    from fuzz_kinds import KINDS

    kind = KINDS[kind_name]
    with (
        report.open("a", encoding="utf-8", buffering=1) as lines,
        tempfile.TemporaryDirectory(prefix="surefoot-fuzz-") as top,
    ):
        count = [0]

        @seed(block)
        @settings(
            max_examples=BLOCK,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def case(data: st.DataObject) -> None:
            folder = Path(top) / f"case{count[0]}"
            folder.mkdir()
            count[0] += 1
            began = time.perf_counter()
            outcome, said = run_case(
                kind, data.draw, folder, lambda: lines.write(json.dumps({"begin": count[0]}) + "\n")
            )
            wall_s, peak_gb = (
                time.perf_counter() - began,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
            )
            if wall_s > LIMIT_S:
                outcome, said = "failed", f"took {wall_s:.1f} s; {said}"
            if peak_gb > LIMIT_GB:
                outcome, said = "failed", f"took {peak_gb:.2f} GB; {said}"
            if verbose:
                print(f"{kind_name}:{block}#{count[0]} {outcome} {wall_s:.2f} s {said}")
            lines.write(
                json.dumps(
                    {
                        "outcome": outcome,
                        "said": said if outcome == "failed" else "",
                        "wall_s": wall_s,
                        "peak_gb": peak_gb,
                    }
                )
                + "\n"
            )
            if keep is not None and outcome == "failed":
                shutil.copytree(folder, keep / folder.name, symlinks=True, ignore=shutil.ignore_patterns("pipe"))
            shutil.rmtree(folder, ignore_errors=True)
            if peak_gb > LIMIT_GB:
                sys.exit(7)  # the peak of a process never falls

        case()


def run_case(kind: Any, draw: Any, folder: Path, begin: Callable[[], object]) -> tuple[str, str]:
    """Make the files of one case, run its verbs on them, and look at what happened."""
    from surefoot.cli.main import run

    outcome, said = "read", ""
    before_here = os.getcwd()
    os.chdir(folder)
    try:
        verbs = kind.make(draw, folder)
        begin()
        inputs = _hashes(folder)
        for verb in verbs:
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = run(verb)
            told = err.getvalue()
            said = f"{' '.join(verb[:3])} -> {code}: {told.strip()[:300]}"
            _look_at_text(out.getvalue() + told)
            assert code in CODES, f"exit code {code}"
            assert code != 2 or told.strip() or verb[0] == "doctor", "refused without a word"
            assert "Traceback" not in told, told
            outcome = "refused" if code == 2 else outcome
        after = _hashes(folder)
        changed = [name for name, content in inputs.items() if after.get(name) != content]
        written = [name for name in after if name not in inputs]
        assert not changed, f"inputs were changed: {changed[:3]}"
        assert not written, f"written outside of the output: {written[:3]}"
        kind.check(folder)
        return outcome, said
    except (Exception, SystemExit) as reason:
        if type(reason).__module__.startswith("hypothesis"):
            raise
        return "failed", f"{said} {''.join(traceback.format_exception(reason)[-6:])}"
    finally:
        os.chdir(before_here)


def _hashes(folder: Path) -> dict[str, str]:
    """Every file of a case but its output, and what lies beside the case."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and not name.startswith("out"):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found | {f"../{path.name}": "" for path in folder.parent.iterdir() if path != folder}


def _look_at_text(text: str) -> None:
    bad = {c for c in text if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf") and c != "\u00ad"}
    assert not bad, f"control characters on the terminal: {sorted(map(hex, map(ord, bad)))}"


def call_block(kind: str, block: int) -> dict[str, Any]:
    """One block in a process of its own, again from where it died, if it did."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        report.touch()
        process = subprocess.Popen(
            [sys.executable, __file__, "--block", f"{kind}:{block}", "--report", str(report)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env=os.environ | {"PYTHONFAULTHANDLER": "1"},
        )
        size, since = 0, time.monotonic()
        while process.poll() is None:
            time.sleep(0.1)
            if report.stat().st_size != size:
                size, since = report.stat().st_size, time.monotonic()
            elif time.monotonic() - since > STALLED_S:
                process.kill()
        assert process.stderr is not None
        told = process.stderr.read()
        rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    begun = sum("begin" in row for row in rows)
    done = [row for row in rows if "outcome" in row]
    outcomes = Counter(row["outcome"] for row in done)
    failures = [f"{kind}:{block} {row['said']}" for row in done if row["outcome"] == "failed"]
    if begun > len(done):  # it died within a case
        sentences = [line for line in told.splitlines() if line.startswith("surefoot: ")]
        if process.returncode == 2 and len(sentences) == 1 and len(told.splitlines()) == 1:
            outcomes["stopped"] += 1
        else:
            outcomes["failed"] += 1
            failures.append(f"{kind}:{block} died with {process.returncode} in case {begun}: {told[-1500:]}")
    elif process.returncode not in (0, 7):
        failures.append(f"{kind}:{block} ended with {process.returncode}: {told[-1500:]}")
    return {
        "cases": begun,
        "outcomes": dict(outcomes),
        "failures": failures,
        "slowest_s": max((row["wall_s"] for row in done), default=0.0),
        "peak_gb": max((row["peak_gb"] for row in done), default=0.0),
    }


def run_kind(kind: str, cases: int, workers: int, first_block: int) -> dict[str, Any]:
    """Blocks until there are enough cases; a block that died has fewer."""
    total: dict[str, Any] = {
        "kind": kind,
        "cases": 0,
        "outcomes": Counter(),
        "failures": [],
        "slowest_s": 0.0,
        "peak_gb": 0.0,
    }
    block = first_block
    with ThreadPoolExecutor(workers) as pool:
        while total["cases"] < cases:
            blocks = range(block, block + min(workers * 2, -(-(cases - total["cases"]) // BLOCK)))
            block = blocks.stop
            for result in pool.map(lambda b: call_block(kind, b), blocks):
                total["cases"] += result["cases"]
                total["outcomes"] += Counter(result["outcomes"])
                total["failures"] += result["failures"]
                for key in ("slowest_s", "peak_gb"):
                    total[key] = max(total[key], result[key])
    return total | {
        "outcomes": dict(total["outcomes"]),
        "slowest_s": round(total["slowest_s"], 2),
        "peak_gb": round(total["peak_gb"], 3),
        "blocks": block - first_block,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", action="append", help="only this kind; may be repeated")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of cases")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="first block; other seeds give other cases")
    parser.add_argument("--only", help="one block, KIND:SEED, with what each case printed")
    parser.add_argument("--keep", type=Path, help="with --only: a folder for the files of cases that fail")
    parser.add_argument("--fresh", action="store_true", help="forget kinds that are done")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--block", help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.block or arguments.only:
        kind, block = (arguments.block or arguments.only).rsplit(":", 1)
        run_block(
            kind, int(block), arguments.report or Path(os.devnull), verbose=bool(arguments.only), keep=arguments.keep
        )
        return
    from fuzz_kinds import KINDS

    PARTS.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in arguments.kind or KINDS:
        part = PARTS / f"{name.replace(' ', '_')}.{arguments.seed}.{arguments.share:g}.json"
        if part.exists() and not arguments.fresh:
            row = json.loads(part.read_text())
        else:
            began = time.perf_counter()
            row = run_kind(name, round(KINDS[name].cases * arguments.share), arguments.workers, 1000 * arguments.seed)
            row["wall_s"] = round(time.perf_counter() - began)
            part.write_text(json.dumps(row, indent=1))
        rows.append(row)
        print(
            f"{name:14} {row['cases']:6} cases  {row['outcomes']}  slowest {row['slowest_s']} s  peak {row['peak_gb']}"
            f" GB  {len(row['failures'])} failures  {row['wall_s']} s",
            flush=True,
        )
        for failure in row["failures"][:5]:
            print(f"  {failure}", flush=True)
    failed = sum(len(row["failures"]) for row in rows)
    summary = {
        "cases": sum(row["cases"] for row in rows),
        "failures": failed,
        "limit_s": LIMIT_S,
        "limit_gb": LIMIT_GB,
        "seed": arguments.seed,
        "slowest_s": max(row["slowest_s"] for row in rows),
        "peak_gb": max(row["peak_gb"] for row in rows),
    }
    print(summary)
    if not arguments.kind:
        write_results(
            "fuzz.json",
            {"summary": summary, "kinds": [{**row, "failures": len(row["failures"])} for row in rows]},
            arguments.out,
        )
        shutil.rmtree(PARTS)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
