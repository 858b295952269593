"""Cells of the tables in bench/paper_tables, made up."""

from typing import Any

from paper_tables.cells import Cell, Kept, Settings, Table

FEW = (("a", "x"), ("a", "y"), ("b", "x"))
SETTINGS = Settings(simulated_s=10.0, iterations=2)


class Counted:
    """A measurement that says what was asked of it."""

    def __init__(self, figures=lambda cell: {"error": float(cell.seed)}):
        self.calls: list[tuple[str, str, int]] = []
        self.settings: list[Settings] = []
        self.figures = figures

    def __call__(self, cell: Cell, settings: Settings) -> dict:
        self.calls.append((cell.row, cell.column, cell.seed))
        self.settings.append(settings)
        return self.figures(cell)


def fake(measure, name: str = "fake", **more) -> Table:
    return Table(name, FEW, measure, figure="error", quick=("a", "x"), **more)


def kept(row: str, column: str, *values: float, figure: str = "error", **more: Any) -> list[Kept]:
    return [
        Kept(row, column, seed, {figure: value, **more}, {"simulated_s": 40000.0}, "abc", "", 60.0)
        for seed, value in enumerate(values)
    ]
