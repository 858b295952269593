"""Reproduces in simulation what the paper claims (arXiv 2604.11090): six tables, ours and the baselines
from the same run.

  python bench/paper.py                                # all tables, breadth first; what is done is kept, and the
                                                       # same command continues
  python bench/paper.py --table recovery --cells 4     # one table, and stop after four cells; or --minutes 50
  taskset -c 1 python bench/paper.py --row ours mmd    # some rows, on one core: two such runs do more in the same time
                                                       # than one on two cores
  python bench/paper.py --column 2.5 5.0 --seed 3      # some columns, and a robot beyond the three of every cell
  python bench/paper.py --quick                        # of one cell of each table a seed that is not committed, against
                                                       # the spread (exit code 1 outside it)
  python bench/paper.py --render                       # docs/results.md and its figures, from the kept cells alone
  python bench/paper.py --simulated-s 5000 --out runs/small   # another budget, files and page of its own

recovery: parameters recovered with every cost under noise. families: static, action-delta and residual on a parameter
shift and a spring joint. horizon: a network by match-s, its weights searched as in the paper or the curves that it is
taught, and the policy that comes of it. data: how much of it is needed. biped: walking on the hind legs. failures:
rollouts that fall. A cell of CMA-ES takes about 5 minutes of two cores, one of ours less, in proportion to its data; 3
more where a policy is fine-tuned (these need PyTorch: pip install '.[train]'). Writes bench/results/paper/*.json and,
at the end, docs/results.md; or both into --out.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from paper_tables.cells import FOLDER, Settings, only, run
from paper_tables.quick import quick
from paper_tables.render import DOCS, QUICK, render
from paper_tables.tables import TABLES
from results import write_results

from surefoot.errors import SurefootError


def main(words: list[str] | None = None) -> int:
    """Measure what is missing; the exit code is 1 where something could not be measured, or is outside the
    committed spread.
    """
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--row", nargs="+", help="of these tables, no other rows")
    parser.add_argument("--column", nargs="+", help="of these tables, no other columns")
    seeds = parser.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=int, default=3, help="how many of each cell")
    seeds.add_argument("--seed", type=int, nargs="+", help="these alone")
    parser.add_argument("--cells", type=int, help="stop after so many")
    parser.add_argument("--minutes", type=float, help="begin no cell after so many")
    parser.add_argument("--simulated-s", type=float, default=usual.simulated_s, help="that each search may simulate")
    parser.add_argument(
        "--iterations",
        type=int,
        default=usual.iterations,
        help="of fine-tuning, about 2 minutes for the default; 0: none",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one cell of each table, a seed that is not committed, compared with those that are",
    )
    parser.add_argument("--keep", action="store_true", help="with --quick: keep what it said, and show it on the page")
    parser.add_argument("--render", action="store_true", help="write the page only")
    parser.add_argument("--out", type=Path, help="keep cells and page in another folder, as for another budget")
    options = parser.parse_args(words)
    folder, docs = (FOLDER, DOCS) if options.out is None else (options.out, options.out)
    settings = Settings(options.simulated_s, options.iterations)
    try:
        if any(seed < 0 for seed in options.seed or ()):
            raise SurefootError(f"a seed is 0, 1, 2, ..., not {min(options.seed)}")
        if options.keep and not options.quick:
            raise SurefootError("--keep keeps what --quick says, and goes with it; cells are always kept")
        tables = only([TABLES[name] for name in options.table], options.row, options.column)
        if options.quick:
            fixed = [
                f"--{name}"
                for name in ("row", "column", "seed", "cells", "minutes")
                if getattr(options, name) is not None
            ]
            if fixed:
                raise SurefootError(
                    f"--quick knows which cells it measures, and takes no {' or '.join(fixed)}; --table chooses among"
                    " them"
                )
            said: list[str] = []

            def say(line: str) -> None:
                said.append(line)
                print(line, flush=True)

            with tempfile.TemporaryDirectory() as out:
                fine = quick(tables, settings, Path(out), committed=folder, say=say)
            if options.keep:
                write_results(QUICK, {"inside": fine, "said": said}, folder / QUICK)
                print(f"wrote {render(folder, docs)}")
            return 0 if fine else 1
        limits = {"most_cells": options.cells, "most_minutes": options.minutes}
        problems = (
            []
            if options.render
            else run(tables, settings, options.seed or range(options.seeds), folder=folder, **limits)
        )
        print(f"wrote {render(folder, docs)}")
    except SurefootError as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
