"""Damage valid log files in thousands of random ways: each must be read or refused with one sentence, soon and in little memory.

Nothing else may happen: no other exception, nothing on standard error, no case above the time limit, no process above
the memory limit. Every case has its own seed, so that a failure can be repeated: --only KIND:SEED shows it.
"""

import argparse
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from results import write_results

from surefoot.errors import SurefootError
from surefoot.robot import load_robot

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from log_files import KINDS, damaged, read_whole, valid_file

LIMIT_S = 10
LIMIT_GB = 1.0
ADDRESS_GB = 4.0  # what a process may reserve at all; libraries reserve more than they touch


def check(kind: str, seeds: range) -> dict[str, Any]:
    """Damage one kind of file once for each seed."""
    resource.setrlimit(resource.RLIMIT_AS, (int(ADDRESS_GB * 1e9),) * 2)
    robot = load_robot("go2")
    warnings.simplefilter("error")  # a warning would stand on the user's screen
    outcomes: Counter[str] = Counter()
    failures, slowest = [], 0.0

    def alarm(*_: object) -> None:
        raise TimeoutError(f"more than {LIMIT_S} s")

    signal.signal(signal.SIGALRM, alarm)
    with tempfile.TemporaryDirectory() as folder:
        path = valid_file(kind, Path(folder))
        content = path.read_bytes()
        read_whole(kind, path, robot)  # whole, it can be read
        before_gb = _peak_gb()
        for seed in seeds:
            path.write_bytes(damaged(kind, content, np.random.default_rng([seed, KINDS.index(kind)])))
            start = time.perf_counter()
            signal.alarm(LIMIT_S)
            try:
                read_whole(kind, path, robot)
                outcomes["read"] += 1
            except SurefootError as mistake:
                outcomes["refused"] += 1
                if "\n" in str(mistake):
                    failures.append(f"{kind}:{seed} several lines: {mistake}")
            except BaseException as reason:
                failures.append(f"{kind}:{seed} {''.join(traceback.format_exception(reason)[-2:])}")
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.perf_counter() - start)
    return {
        "kind": kind, "cases": len(seeds), "outcomes": outcomes, "failures": failures, "slowest_s": slowest,
        "peak_gb": _peak_gb(), "before_gb": before_gb,
    }  # fmt: skip


def _peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="of all kinds together")
    parser.add_argument("--only", help="one case, KIND:SEED")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.only:
        kind, seed = arguments.only.split(":")
        print(check(kind, range(int(seed), int(seed) + 1)))
        return
    each = -(-arguments.cases // len(KINDS))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        found = list(pool.map(check, KINDS, [range(each)] * len(KINDS)))
    for result in found:
        print(f"{result['kind']:14} {result['cases']:5} cases  {dict(result['outcomes'])}  slowest {result['slowest_s']:.2f} s  peak {result['peak_gb']:.2f} GB  {len(result['failures'])} failures")  # fmt: skip
        for failure in result["failures"][:5]:
            print(f"  {failure}")
    failed = sum(len(result["failures"]) for result in found)
    peak_gb = max(result["peak_gb"] for result in found)
    summary = {"cases": each * len(KINDS), "failures": failed, "limit_s": LIMIT_S, "limit_gb": LIMIT_GB, "peak_gb": round(peak_gb, 3)}
    kinds = [
        {key: round(value, 3) if isinstance(value, float) else value for key, value in result.items() if key != "failures"}
        | {"failures": len(result["failures"])}
        for result in found
    ]
    write_results("fuzz_logs.json", {"summary": summary, "kinds": kinds}, arguments.out)
    sys.exit(failed > 0 or peak_gb > LIMIT_GB)


if __name__ == "__main__":
    main()
