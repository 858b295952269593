"""Figures over seeds: mean, standard deviation, and whether a new one belongs to them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from paper_tables.cells import Kept

# 97.5 % of Student's t for 1, 2, ... degrees of freedom; for more, the last, which is wider than needed.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class Spread:
    """One figure of one cell over its seeds."""

    values: tuple[float, ...]
    refused: int = 0  # seeds for which the method gave no answer
    cut: int = 0  # seeds whose search was cut by its budget, before it settled
    fell: int = 0  # seeds in which no robot stayed up to have the figure: worse than any value

    @property
    def n(self) -> int:
        """Seeds with a value."""
        return len(self.values)

    @property
    def known(self) -> bool:
        """Whether anything was measured: a value, or that all fell."""
        return self.n > 0 or self.fell > 0

    @property
    def mean(self) -> float:
        """NaN where there is no value."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def deviation(self) -> float:
        """Standard deviation; NaN of fewer than two."""
        return float(np.std(self.values, ddof=1)) if self.n > 1 else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where another seed lies with a probability of 95 %; None where fewer than two say nothing about that."""
        if self.n < 2:
            return None
        half = STUDENT[min(self.n - 1, len(STUDENT)) - 1] * self.deviation * math.sqrt(1 + 1 / self.n)
        return self.mean - half, self.mean + half


def spread_of(kept: Sequence[Kept], row: str, column: str, figure: str) -> Spread:
    """A figure of one cell; seeds that have no such figure are left out, and counted where that is an outcome."""
    here = [one.figures for one in kept if (one.row, one.column) == (row, column)]
    return Spread(
        tuple(float(one[figure]) for one in here if is_number(one.get(figure))), sum("refused" in one for one in here),
        sum(was_cut(one) for one in here), sum(figure in one and not is_number(one[figure]) and bool(one.get("falls_straight")) for one in here),
    )  # fmt: skip


def is_number(value: object) -> TypeGuard[float]:
    """Whether a figure has a value; files keep NaN as null."""
    return isinstance(value, (int, float)) and not math.isnan(value)


def was_cut(figures: Mapping[str, Any]) -> bool:
    """Whether a search ended before it settled."""
    stopped = str(figures.get("stopped", ""))
    return stopped.endswith("before it settled") or stopped.startswith("not settled")


def apart(low: Spread, high: Spread) -> bool:
    """Whether the mean of `high` is above that of `low` by more than two standard errors of their difference."""
    if low.n < 2 or high.n < 2:
        return False
    return high.mean - low.mean > 2 * math.hypot(low.deviation / math.sqrt(low.n), high.deviation / math.sqrt(high.n))


def surety(one: Spread, other: Spread) -> str:
    """Whether a difference of means can be told from chance, in words."""
    if one.n < 2 or other.n < 2:
        return "one seed: not judged"
    return "more than two standard errors apart" if apart(one, other) or apart(other, one) else "within two standard errors"


def judge(new: float, committed: Spread) -> tuple[bool, str]:
    """Whether a new figure belongs to the committed ones, and in words; where they say nothing, it is not held against it."""
    interval = committed.interval
    if interval is None:
        seeds = "no seed is" if committed.n == 0 else "one seed is"
        return True, f"{new:.4g}, not judged: {seeds} committed, and a spread needs two"
    inside = interval[0] <= new <= interval[1]
    place = "inside" if inside else "OUTSIDE"
    wide = (interval[1] - committed.mean) / committed.deviation if committed.deviation else 0.0
    return inside, (
        f"{new:.4g}, {place} {interval[0]:.4g} to {interval[1]:.4g} "
        f"(95 % for another seed, from {committed.n} committed ones: mean ± {wide:.1f} standard deviations)"
    )
