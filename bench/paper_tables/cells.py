"""Cells, the files that keep them, and the order in which they are measured.

One file per table, written whole after every cell, so that a run can be stopped at any time and goes on with what is
missing. The first seed of every cell comes before the second of any: a run that ends early leaves whole tables with
fewer seeds.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results import RESULTS, commit, machine, write_results

from surefoot.cores import usable_cores
from surefoot.errors import SurefootError, nearest
from surefoot.files import json_ready

FOLDER = RESULTS / "paper"
Say = Callable[[str], object]


class Refused(SurefootError):
    """An outcome, not a mistake: a method that says that it has no answer."""


@dataclass(frozen=True)
class Settings:
    """What every method of a table is given alike."""

    simulated_s: float = 40_000.0  # of a search: about 5 minutes of two cores
    iterations: int = 60  # of fine-tuning: about 2 minutes of two cores, and half of one for the trim; 0 leaves it out
    work: Path = Path("runs/paper")  # fits and trainings on their way, which the same command continues

    def folder(self, table: str, cell: "Cell") -> Path:
        """Where a cell keeps what it may continue with; another commit begins anew."""
        name = (
            f"{cell.row} {cell.column} {cell.seed} {self.simulated_s:g} {self.iterations} {(commit() or 'unknown')[:8]}"
        )
        return self.work / table / name.replace(",", "").replace(" ", "-")


@dataclass(frozen=True)
class Cell:
    """One measurement."""

    row: str
    column: str
    seed: int

    def __str__(self) -> str:
        return f"{self.row}, {self.column}, seed {self.seed}"


@dataclass(frozen=True)
class Table:
    """What is measured, where, and which figure stands for a cell."""

    name: str
    places: tuple[tuple[str, str], ...]  # rows and columns that have a cell
    measure: Callable[[Cell, Settings], dict[str, Any]]
    figure: str  # what `--quick` compares
    quick: tuple[str, str]  # the cell that it measures, with a seed that is not committed
    uses: tuple[str, ...] = ("simulated_s",)  # settings that a cell depends on
    depends: Callable[[], dict[str, Any]] = dict  # on what else, which may not differ between cells either


@dataclass(frozen=True)
class Kept:
    """A measured cell."""

    row: str
    column: str
    seed: int
    figures: dict[str, Any]  # numbers; or `refused`, with the reason
    asked: dict[str, Any] = field(default_factory=dict)  # the settings it was measured with
    commit: str | None = None
    date: str = ""
    wall_clock_s: float = float("nan")
    cores: int = 2  # that it had
    machine: str = ""  # its processor, and the versions of Python and MuJoCo; older cells do not keep it

    @property
    def core_minutes(self) -> float:
        """What it took: a cell of one core takes longer than one of two, and no more of the machine."""
        return self.cores * self.wall_clock_s / 60

    @property
    def cell(self) -> Cell:
        """Which one."""
        return Cell(self.row, self.column, self.seed)


def path_of(table: str, folder: Path = FOLDER) -> Path:
    """The file of a table."""
    return folder / f"{table}.json"


def read_kept(table: str, folder: Path = FOLDER) -> tuple[list[Kept], dict[str, Any]]:
    """The cells of a table's file, and its provenance; none where there is no file."""
    path = path_of(table, folder)
    if not path.exists():
        return [], {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return [Kept(**one) for one in content["cells"]], content["provenance"]
    except (ValueError, KeyError, TypeError) as reason:
        raise SurefootError(
            f"{path} cannot be read as cells of the table {table!r} ({reason}); restore it with git, or delete it to"
            " measure anew"
        ) from None


def write_kept(table: str, kept: Sequence[Kept], folder: Path = FOLDER) -> Path:
    """Write all cells of a table."""
    cells = [json_ready(asdict(one)) for one in sorted(kept, key=lambda one: (one.seed, one.row, one.column))]
    return write_results(path_of(table).name, {"table": table, "cells": cells}, path_of(table, folder))


def order(tables: Sequence[Table], seeds: Sequence[int]) -> Iterator[tuple[Table, Cell]]:
    """All cells, breadth first."""
    for seed in seeds:
        for table in tables:
            for row, column in table.places:
                yield table, Cell(row, column, seed)


def only(
    tables: Sequence[Table], rows: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> list[Table]:
    """The tables with these of their rows and columns, None: all; tables that have none of them are left out."""
    few = list(tables)
    for k, (what, wanted) in enumerate((("row", rows), ("column", columns))):
        if wanted is None:
            continue
        there = {place[k] for table in tables for place in table.places}
        for name in wanted:
            if name not in there:
                raise SurefootError(f"no table has a {what} {name!r}{nearest(name, sorted(there))}")
        few = [replace(table, places=tuple(place for place in table.places if place[k] in wanted)) for table in few]
    return [table for table in few if table.places]


def asked_of(table: Table, settings: Settings) -> dict[str, Any]:
    """The settings that decide what a cell of this table gives."""
    return {name: getattr(settings, name) for name in table.uses} | table.depends()


def budget_words(asked: dict[str, Any]) -> str:
    """A budget, for a sentence."""
    return (
        ", ".join(f"{name} {value if isinstance(value, str) else format(value, 'g')}" for name, value in asked.items())
        or "none"
    )


def one_budget(table: str, kept: Sequence[Kept], folder: Path) -> dict[str, Any] | None:
    """The budget that all kept cells of a table had, None where there is no cell: figures of different
    budgets are no spread over seeds.
    """
    found = [one.asked for k, one in enumerate(kept) if one.asked not in [other.asked for other in kept[:k]]]
    if len(found) > 1:
        raise SurefootError(
            f"{path_of(table, folder)} holds cells of different budgets ({'; '.join(map(budget_words, found))}); remove"
            " those of all but one"
        )
    return found[0] if found else None


def must_have_budget(table: Table, settings: Settings, folder: Path) -> None:
    """Raise where the file of a table was measured with another budget."""
    there = one_budget(table.name, read_kept(table.name, folder)[0], folder)
    if there is not None and there != asked_of(table, settings):
        raise SurefootError(
            f"{path_of(table.name, folder)} was measured with another budget ({budget_words(there)}; now"
            f" {budget_words(asked_of(table, settings))}); ask for the same, measure into another folder with --out, or"
            " remove the file"
        )


def measured(table: Table, cell: Cell, settings: Settings) -> Kept:
    """Measure one cell; a method that refuses to answer is an outcome too."""
    started = time.perf_counter()
    try:
        figures = table.measure(cell, settings)
    except Refused as reason:
        figures = {"refused": str(reason)}
    wall_s = time.perf_counter() - started
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return Kept(
        cell.row,
        cell.column,
        cell.seed,
        figures,
        asked_of(table, settings),
        commit(),
        date,
        wall_s,
        usable_cores(),
        machine(),
    )


def run(
    tables: Sequence[Table],
    settings: Settings,
    seeds: Sequence[int],
    *,
    most_cells: int | None = None,
    most_minutes: float | None = None,
    folder: Path = FOLDER,
    say: Say = print,
) -> list[str]:
    """Measure what is missing, until all is done or the limits are reached; what could not be measured, in words.

    A file that was measured with other settings is refused before anything is measured.
    """
    for table in tables:
        must_have_budget(table, settings, folder)
    started, done, problems = time.perf_counter(), 0, []
    for table, cell in order(tables, seeds):
        kept, _ = read_kept(table.name, folder)
        if any(one.cell == cell for one in kept):
            continue
        if done == most_cells or (most_minutes is not None and time.perf_counter() - started > 60 * most_minutes):
            say(f"stopped after {done} cell{'' if done == 1 else 's'}; the same command continues")
            break
        say(f"{table.name}: {cell}")
        try:
            new = measured(table, cell, settings)
        except SurefootError as reason:
            problems.append(f"{table.name}: {cell}: {reason}")
            say(f"  not measured: {reason}")
            continue
        done += 1
        others = [
            one for one in read_kept(table.name, folder)[0] if one.cell != cell
        ]  # another run may have written meanwhile
        write_kept(table.name, [*others, new], folder)
        say(f"  {told(new.figures)}, {new.wall_clock_s / 60:.1f} min")
    return problems


def told(figures: dict[str, Any]) -> str:
    """The figures on one line."""
    return ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items()
    )
