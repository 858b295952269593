"""One cell of each table again, held against the committed spread."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from paper_tables.cells import FOLDER, Cell, Say, Settings, Table, measured, read_kept, write_kept
from paper_tables.spread import judge, spread_of


def quick(tables: Sequence[Table], settings: Settings, out: Path, *, committed: Path = FOLDER, say: Say = print) -> bool:
    """Measure, write to `out`, and compare; whether all belong to what is committed.

    Policies are not trained here: what is compared is the fit.
    """
    fine = True
    for table in tables:
        if table.quick is None:
            say(f"{table.name}: not measured yet")
            continue
        row, column = table.quick
        new = measured(table, Cell(row, column, 0), replace(settings, iterations=0, work=out / "work"))
        write_kept(table.name, [new], out)
        value = new.figures.get(table.figure)
        name = f"{table.name}: {row}, {column}: {table.figure}"
        if not isinstance(value, (int, float)):
            fine = False
            say(f"{name}: none, {new.figures.get('refused', 'not measured')}; {new.wall_clock_s:.0f} s")
            continue
        inside, words = judge(float(value), spread_of(read_kept(table.name, committed)[0], row, column, table.figure))
        fine &= inside
        say(f"{name} {words}; {new.wall_clock_s:.0f} s")
    return fine
