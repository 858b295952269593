"""Reproduces in simulation what the paper claims (arXiv 2604.11090): six tables, ours and the baselines from the same run.

  python bench/paper.py                                # all tables, breadth first; what is done is kept, the same command continues
  python bench/paper.py --table recovery --cells 4     # one table, and stop after four cells; or --minutes 50
  python bench/paper.py --quick                        # one cell of each table again, against the committed spread (exit code 1 outside it)
  python bench/paper.py --render                       # docs/results.md and its figures, from the kept cells alone

recovery: parameters recovered with every cost under noise. families: static, action-delta and residual on a parameter shift and a
spring joint. horizon: a network found by match-s, and the policy that comes of it. data: how much of it is needed. biped: not
measured yet. failures: rollouts that fall. A cell takes about 4 minutes of two cores, 8 where a policy is fine-tuned (these need
PyTorch: pip install '.[train]'). Writes bench/results/paper/*.json and, at the end, docs/results.md.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from paper_tables.cells import Settings, run
from paper_tables.quick import quick
from paper_tables.render import render
from paper_tables.tables import TABLES

from surefoot.errors import SurefootError


def main(words: list[str] | None = None) -> int:
    """Measure what is missing; the exit code is 1 where something could not be measured, or is outside the committed spread."""
    usual = Settings()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cells", type=int, help="stop after so many")
    parser.add_argument("--minutes", type=float, help="begin no cell after so many")
    parser.add_argument("--simulated-s", type=float, default=usual.simulated_s, help="that each search may simulate")
    parser.add_argument("--iterations", type=int, default=usual.iterations, help="of fine-tuning, about 4 minutes for the default; 0: none")
    parser.add_argument("--quick", action="store_true", help="one cell of each table, compared with what is committed")
    parser.add_argument("--render", action="store_true", help="write the page only")
    options = parser.parse_args(words)
    settings = Settings(options.simulated_s, options.iterations)
    tables = [TABLES[name] for name in options.table]
    try:
        if options.quick:
            with tempfile.TemporaryDirectory() as out:
                return 0 if quick(tables, settings, Path(out)) else 1
        problems = [] if options.render else run(tables, settings, options.seeds, most_cells=options.cells, most_minutes=options.minutes)
        print(f"wrote {render()}")
    except SurefootError as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
