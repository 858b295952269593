"""One cell of each table with a seed that is not committed, held against the committed spread; as many at a
time as there are cores.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from paper_tables.cells import FOLDER, Cell, Kept, Say, Settings, Table, budget_words, one_budget, path_of, read_kept
from paper_tables.spread import Spread, is_number, judge, spread_of
from surefoot.cores import allowed_cores
from surefoot.errors import SurefootError

CAN_KEEP = hasattr(os, "sched_setaffinity")  # macOS and Windows cannot
PAPER = Path(__file__).parents[1] / "paper.py"
REASONS = ("not measured:", "error:")  # how lines of it begin that say why a cell is not there
Measure = Callable[[Table, Cell, Settings], Kept]


@dataclass(frozen=True)
class Asked:
    """What is measured, and what is known of it."""

    table: Table
    cell: Cell
    known: Spread
    simulated_s: float  # that the committed ones took


def by_itself(table: Table, cell: Cell, settings: Settings) -> Kept:
    """Measure one cell in a process of its own, which keeps to the core of the thread that started it."""
    out = settings.work.resolve() / table.name
    out.mkdir(parents=True)
    words = ["--table", table.name, "--row", cell.row, "--column", cell.column, "--seed", cell.seed]
    words += ["--simulated-s", settings.simulated_s, "--iterations", settings.iterations, "--out", out]
    done = subprocess.run(
        [sys.executable, str(PAPER), *map(str, words)], cwd=out, capture_output=True, text=True, check=False
    )
    kept = read_kept(table.name, out)[0]
    if done.returncode or not kept:
        said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip().startswith(REASONS)]
        why = said[0] if said else (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise SurefootError(f"{table.name}: {cell} could not be measured (exit code {done.returncode}): {why}")
    return kept[0]


def quick(
    tables: Sequence[Table],
    settings: Settings,
    out: Path,
    *,
    committed: Path = FOLDER,
    measure: Measure = by_itself,
    say: Say = print,
) -> bool:
    """Measure in `out`, and compare; whether all were judged, and belong to what is committed.

    Policies are not trained here: what is compared is the fit. A cell keeps one core busy better than two, so each has
    its own, and those that take longest come first.
    """
    kept = {table.name: read_kept(table.name, committed)[0] for table in tables}
    for table in tables:
        must_compare(table, kept[table.name], settings, committed)
    started, judged, fine = time.perf_counter(), 0, True
    asked = [one for table in tables if (one := ask(table, kept[table.name], say)) is not None]
    asked.sort(key=lambda one: -one.simulated_s)
    own = replace(settings, iterations=0, work=out / "work")
    cores: SimpleQueue[int] = SimpleQueue()
    for core in allowed_cores() if CAN_KEEP else [0]:
        cores.put(core)
    if asked:
        say(
            f"measuring {len(asked)} of {len(tables)} tables, {cores.qsize()} at a time, the longest first: 16 minutes"
            " of one core for all six"
        )
    with ThreadPoolExecutor(cores.qsize(), initializer=lambda: keep_to(cores.get())) as workers:
        running = {workers.submit(measure, one.table, one.cell, own): one for one in asked}
        try:
            for done in as_completed(running):
                try:
                    inside, words = verdict(running[done], done.result())
                    judged += 1
                except SurefootError as reason:
                    inside, words = False, str(reason)
                fine &= inside
                say(words)
        except KeyboardInterrupt:  # those that run have heard it too; no other begins
            workers.shutdown(wait=False, cancel_futures=True)
            raise
    say(f"judged {judged} of {len(tables)} tables in {(time.perf_counter() - started) / 60:.1f} min")
    return fine and judged == len(tables)


def must_compare(table: Table, kept: Sequence[Kept], settings: Settings, committed: Path) -> None:
    """Raise where what is measured now cannot be held against what is committed."""
    there = one_budget(table.name, kept, committed)
    if there is None:
        return
    if there.get("simulated_s") != settings.simulated_s:
        raise SurefootError(
            f"{path_of(table.name, committed)} was measured with {there.get('simulated_s')} simulated s, "
            f"and {settings.simulated_s:g} cannot be held against it; ask with --simulated-s {there.get('simulated_s')}"
        )
    if table.depends().items() - there.items():
        raise SurefootError(
            f"{path_of(table.name, committed)} was measured with"
            f" {budget_words({key: there.get(key) for key in table.depends()})}, and what is here now is"
            f" {budget_words(table.depends())}; remove that file and measure anew with --table {table.name}"
        )


def ask(table: Table, kept: Sequence[Kept], say: Say) -> Asked | None:
    """The next seed of a table: one that is committed would give its own figure again and test nothing.
    None where there is no spread yet.
    """
    row, column = table.quick
    known = spread_of(kept, row, column, table.figure)
    if known.interval is None:
        seeds = f"{known.n or 'no'} seed{'' if known.n == 1 else 's'}"
        say(f"{table.name}: {row}, {column}: not measured, since {seeds} of it is committed, and a spread needs two")
        return None
    took = spread_of(kept, row, column, "simulated_s")
    return Asked(table, Cell(row, column, 1 + max(one.seed for one in kept)), known, took.mean if took.n else 0.0)


def keep_to(core: int) -> None:
    """This thread, and the processes that it starts, run on one core; where a system cannot do that, one of
    them has all cores.
    """
    if CAN_KEEP:
        os.sched_setaffinity(0, {core})


def verdict(asked: Asked, new: Kept) -> tuple[bool, str]:
    """Whether a new figure belongs to the committed ones, and in words."""
    figure = asked.table.figure
    value = new.figures.get(figure)
    name = f"{asked.table.name}: {new.cell}: {figure}"
    if not is_number(value):
        return False, f"{name}: none, {new.figures.get('refused', 'not measured')}; {new.wall_clock_s:.0f} s"
    inside, words = judge(float(value), asked.known)
    return inside, f"{name} {words}; {new.wall_clock_s:.0f} s"
