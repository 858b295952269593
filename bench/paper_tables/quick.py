"""One cell of each table with a seed that is not committed, held against the committed spread."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paper_tables.cells import FOLDER, Cell, Say, Settings, Table, budget_words, measured, one_budget, path_of, read_kept, write_kept
from paper_tables.spread import is_number, judge, spread_of
from surefoot.errors import SurefootError


def quick(tables: Sequence[Table], settings: Settings, out: Path, *, committed: Path = FOLDER, say: Say = print) -> bool:
    """Measure, write to `out`, and compare; whether all were judged, and belong to what is committed.

    Policies are not trained here: what is compared is the fit. A seed that is committed would give its own figure again and test
    nothing, so the next one is measured.
    """
    kept = {table.name: read_kept(table.name, committed)[0] for table in tables}
    for table in tables:
        there = one_budget(table.name, kept[table.name], committed)
        if there is not None and there.get("simulated_s") != settings.simulated_s:
            raise SurefootError(
                f"{path_of(table.name, committed)} was measured with {there.get('simulated_s')} simulated s, "
                f"and {settings.simulated_s:g} cannot be held against it; ask with --simulated-s {there.get('simulated_s')}"
            )
        if there is not None and table.depends().items() - there.items():
            raise SurefootError(
                f"{path_of(table.name, committed)} was measured with {budget_words({key: there.get(key) for key in table.depends()})}, and what is here now is "
                f"{budget_words(table.depends())}; remove that file and measure anew with --table {table.name}"
            )
    started, judged, fine = time.perf_counter(), 0, True
    for table in tables:
        row, column = table.quick
        known = spread_of(kept[table.name], row, column, table.figure)
        if known.interval is None:
            say(
                f"{table.name}: {row}, {column}: not measured, since {known.n or 'no'} seed{'' if known.n == 1 else 's'} of it is committed, and a spread needs two"
            )
            continue
        seed = 1 + max(one.seed for one in kept[table.name])
        new = measured(table, Cell(row, column, seed), replace(settings, iterations=0, work=out / "work"))
        write_kept(table.name, [new], out)
        judged += 1
        value = new.figures.get(table.figure)
        name = f"{table.name}: {new.cell}: {table.figure}"
        if not is_number(value):
            fine = False
            say(f"{name}: none, {new.figures.get('refused', 'not measured')}; {new.wall_clock_s:.0f} s")
            continue
        inside, words = judge(float(value), known)
        fine &= inside
        say(f"{name} {words}; {new.wall_clock_s:.0f} s")
    say(f"judged {judged} of {len(tables)} tables in {(time.perf_counter() - started) / 60:.1f} min")
    return fine and judged == len(tables)
