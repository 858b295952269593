"""Figures over seeds: mean, standard deviation, and whether a new one belongs to them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np

from paper_tables.cells import Kept

# 97.5 % of Student's t for 1, 2, ... degrees of freedom; for more, the last, which is wider than needed.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)

SETTLED = (
    "settled",
    "the population spreads",
    "no measurable gap",
)  # how the reasons begin for which a search ends well


@dataclass(frozen=True)
class Spread:
    """One figure of one cell over its seeds."""

    values: tuple[float, ...]
    of_seeds: tuple[int, ...] = ()  # whose values these are; empty: 0, 1, ...
    refused: int = 0  # seeds for which the method gave no answer
    cut: int = 0  # seeds whose search was cut by its budget, before it settled
    fell: int = 0  # seeds in which no robot stayed up to have the figure: worse than any value

    @property
    def n(self) -> int:
        """Seeds with a value."""
        return len(self.values)

    @property
    def by_seed(self) -> dict[int, float]:
        """The value of each seed."""
        return dict(zip(self.of_seeds or range(self.n), self.values, strict=True))

    def among(self, seeds: tuple[int, ...]) -> "Spread":
        """The values of these seeds alone."""
        return replace(self, values=tuple(self.by_seed[seed] for seed in seeds), of_seeds=seeds)

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
    cells = [one for one in kept if (one.row, one.column) == (row, column)]
    here, there = [one.figures for one in cells], [one for one in cells if is_number(one.figures.get(figure))]
    return Spread(
        tuple(float(one.figures[figure]) for one in there),
        tuple(one.seed for one in there),
        sum("refused" in one for one in here),
        sum(was_cut(one) for one in here),
        sum(figure in one and not is_number(one[figure]) and bool(one.get("falls_straight")) for one in here),
    )


def is_number(value: object) -> TypeGuard[float]:
    """Whether a figure has a value; files keep NaN as null."""
    return isinstance(value, (int, float)) and not math.isnan(value)


def was_cut(figures: Mapping[str, Any]) -> bool:
    """Whether a search ended before it settled: by its budget, or because it could not go on."""
    stopped = str(figures.get("stopped", ""))
    return bool(stopped) and not stopped.startswith(SETTLED)


def differences(low: Spread, high: Spread) -> np.ndarray:
    """`high` minus `low` seed by seed, where both have a value: methods meet the same robots, and some
    robots are harder than others.
    """
    first, second = low.by_seed, high.by_seed
    return np.array([second[seed] - first[seed] for seed in first if seed in second])


def shared(one: Spread, other: Spread) -> tuple[Spread, Spread]:
    """Both with the seeds that both have, as means over different robots compare nothing; as they are where
    they share none.
    """
    seeds = tuple(seed for seed in one.by_seed if seed in other.by_seed)
    return (one.among(seeds), other.among(seeds)) if seeds else (one, other)


def half_width(off: np.ndarray) -> float:
    """Of the 95 % interval of a mean difference, by Student's t; NaN of fewer than two."""
    if len(off) < 2:
        return math.nan
    return STUDENT[min(len(off) - 1, len(STUDENT)) - 1] * float(off.std(ddof=1)) / math.sqrt(len(off))


def apart(low: Spread, high: Spread) -> bool:
    """Whether `high` is above `low` beyond chance: by Student's t over the differences of each seed, at 95
    %, two-sided.
    """
    off = differences(low, high)
    return len(off) > 1 and float(off.mean()) > half_width(off)


def surety(one: Spread, other: Spread) -> str:
    """Whether a difference of means can be told from chance, in words."""
    if len(differences(one, other)) < 2:
        return "one seed: not judged"
    return "beyond chance" if apart(one, other) or apart(other, one) else "within chance"


def judge(new: float, committed: Spread) -> tuple[bool, str]:
    """Whether a new figure belongs to the committed ones, of which there are two or more, and in words."""
    interval = committed.interval
    assert interval is not None
    inside = interval[0] <= new <= interval[1]
    place = "inside" if inside else "OUTSIDE"
    wide = (interval[1] - committed.mean) / committed.deviation if committed.deviation else 0.0
    return (
        inside,
        (
            f"{new:.4g}, {place} {interval[0]:.4g} to {interval[1]:.4g} "
            f"(95 % for another seed, from {committed.n} committed ones: mean ± {wide:.1f} standard deviations)"
        ),
    )
