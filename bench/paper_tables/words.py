"""Figures as text: a cell with its spread, tables in Markdown, lists in a sentence, and what a comparison
leaves out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paper_tables.cells import Kept
from paper_tables.spread import Spread, differences, half_width, is_number, spread_of

NOTHING = "–"
CUT = "†"  # a search of this cell ended with its budget, before it settled
NOT_YET = "Not measured yet."


@dataclass(frozen=True)
class Figures:
    """The measured cells of one table."""

    kept: Sequence[Kept]

    def at(self, row: str, column: str, figure: str) -> Spread:
        """One figure of one cell."""
        return spread_of(self.kept, row, column, figure)

    def over_columns(self, row: str, figure: str) -> Spread:
        """One figure of all cells of a row."""
        values = [one.figures.get(figure) for one in self.kept if one.row == row]
        return Spread(tuple(float(v) for v in values if is_number(v)))

    @property
    def seeds(self) -> int:
        """How many there are in the table."""
        return len({one.seed for one in self.kept})


def shown(spread: Spread, seeds: int, *, scale: float = 1.0, unit: str = "", digits: int = 2) -> str:
    """Mean and standard deviation; the count where it is not that of the table, what was refused or fell, and a mark
    where a search was cut.
    """
    if not spread.n:
        return (
            ", ".join([*["fell"] * bool(spread.fell), *[f"refused ({spread.refused})"] * bool(spread.refused)])
            or NOTHING
        )
    text = f"{scale * spread.mean:.{digits}f}"
    text += f" ± {scale * spread.deviation:.{digits}f}{unit}" if spread.n > 1 else unit
    text += f" (n = {spread.n})" if spread.n != seeds or spread.n == 1 else ""
    text += f", {spread.refused} refused" if spread.refused else ""
    text += f", {spread.fell} fell" if spread.fell else ""
    return text + (f" {CUT}" if spread.cut else "")


def percent(spread: Spread, seeds: int) -> str:
    """A share in percent."""
    return shown(spread, seeds, scale=100, unit=" %", digits=1)


def plain(spread: Spread, *, scale: float = 1.0, unit: str = "", digits: int = 2) -> str:
    """The mean alone, for a sentence."""
    return f"{scale * spread.mean:.{digits}f}{unit}" if spread.n else NOTHING


def share(spread: Spread) -> str:
    """The mean in percent, for a sentence."""
    return plain(spread, scale=100, unit=" %", digits=1)


def by(old: Spread, new: Spread, *, scale: float = 1.0, unit: str = "", digits: int = 2) -> str:
    """How much more the second is on the same robots, with the 95 % interval of that; or that one robot
    says nothing about chance.
    """
    off = scale * differences(old, new)
    if not len(off):
        return "not on the same robots"
    text = f"{off.mean():+.{digits}f}"
    return (
        f"{text}{unit} on one robot"
        if len(off) == 1
        else f"{text} ± {half_width(off):.{digits}f}{unit} on {len(off)} robots"
    )


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown; a bar inside a cell would end it."""
    lines = [[*headings], ["---"] * len(headings), *[list(row) for row in rows]]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def listed(words: Sequence[str]) -> str:
    """As a sentence lists things."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def published(figures: Mapping[tuple[str, str], str], row: str, column: str) -> str:
    """What the paper has in a cell, or a dash."""
    return figures.get((row, column), NOTHING)


def trainings(cells: Sequence[Kept]) -> str:
    """How many trainings were kept, of the cells that say it; empty where none does."""
    kept = [one.figures["training_kept"] for one in cells if "training_kept" in one.figures]
    parts, early = (
        sum(0 < one < 1 for one in kept),
        sum(one is False for one in kept),
    )  # a number since part of the way may be kept
    some = f", and part of the way to {parts} more" if parts else ""
    some += f" ({early} of the rest is from before part of the way could be)" if early else ""
    return f"{sum(one == 1 for one in kept)} of {len(kept)} trainings were kept{some}" if kept else ""


def gaps(cells: Mapping[str, Spread]) -> str:
    """What a comparison leaves out, in words: cells without a measurement, and seeds that were refused."""
    absent = [name for name, spread in cells.items() if not spread.known and not spread.refused]
    refused = [f"{name} ({spread.refused})" for name, spread in cells.items() if spread.refused]
    return "".join(
        [f"; not measured: {listed(absent)}" if absent else "", f"; refused: {listed(refused)}" if refused else ""]
    )


def nowhere(who: str, cells: Mapping[str, Spread], how: str) -> str:
    """That nothing was found to be worse; "nowhere" only where every cell has all its answers."""
    left = gaps(cells)
    seeds = "" if all(spread.n > 1 for spread in cells.values() if spread.known) else " (by one seed in some cells)"
    return (
        f"{who} is not worse {how} where both have an answer{seeds}{left}."
        if left
        else f"{who} is nowhere worse {how}{seeds}."
    )
