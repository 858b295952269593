"""Two policies in one simulator, compared episode by episode: figures, their change, and falls, with what chance would
do.

Both policies walk the same episodes (common random numbers), so changes are judged as paired differences, by Student's
t interval. Falls are counted where only one of the two fell: the exact form of McNemar's test (McNemar 1947, Note on
the sampling error of the difference between correlated proportions or percentages), a sign test on these episodes.
Where the worst of several comparisons counts, intervals are widened after Bonferroni (Dunn 1961, Multiple comparisons
among means): with k tries each has the level 1 - (1 - level) / k.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.student import student_half_width
from surefoot.verify.trial import Trial

LEVEL = 0.9  # of all intervals, as in a fit
QUALITY = ("velocity_error_m_s", "turn_error_rad_s", "drift_m", "way_error_m")  # what a better policy is better in
EFFORT = ("cost_of_transport", "action_change", "joint_acceleration_rad_s2")  # what it must not pay with
PER_EPISODE = (*QUALITY, "power_w", "action_change", "joint_acceleration_rad_s2")


@dataclass(frozen=True)
class Estimate:
    """A mean over episodes with its interval; infinitely wide where one episode tells nothing of the others."""

    value: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half of the interval."""
        return (self.high - self.low) / 2

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Estimate":
        """From what JSON holds: an end that is null is infinite where the value is known, and NaN where it is not."""
        value = math.nan if content["value"] is None else content["value"]
        ends = {"low": -math.inf, "high": math.inf} if content["value"] is not None else {}
        low, high = (ends.get(end, math.nan) if content[end] is None else content[end] for end in ("low", "high"))
        return Estimate(value, low, high, content["count"])


@dataclass(frozen=True)
class FallCounts:
    """Of both policies in the same episodes."""

    episodes: int
    before: int
    after: int
    only_after: int  # episodes that the old policy survived

    @property
    def chance(self) -> float:
        """Probability of so many new falls if both policies fell alike: McNemar's exact test."""
        only_before = self.before - (self.after - self.only_after)
        differ = only_before + self.only_after
        return sum(math.comb(differ, k) for k in range(self.only_after, differ + 1)) / 2**differ

    @staticmethod
    def of(before: np.ndarray, after: np.ndarray) -> "FallCounts":
        """From whether each episode fell."""
        return FallCounts(before.size, int(before.sum()), int(after.sum()), int((after & ~before).sum()))

    @staticmethod
    def together(falls: Sequence["FallCounts"]) -> "FallCounts":
        """Of several simulators."""
        return FallCounts(
            *(sum(getattr(counts, name) for counts in falls) for name in ("episodes", "before", "after", "only_after"))
        )


@dataclass(frozen=True)
class Side:
    """One policy's figures in one simulator."""

    figures: dict[str, Estimate]  # by the names of PER_EPISODE
    cost_of_transport: float
    drift_m: dict[str, Estimate]  # by direction, to the left positive
    drift_abs_m: dict[str, Estimate]
    way_m: dict[str, Estimate]

    def value(self, name: str) -> float:
        """A figure by name."""
        return self.cost_of_transport if name == "cost_of_transport" else self.figures[name].value


@dataclass(frozen=True)
class Compared:
    """Both policies in one simulator."""

    name: str
    before: Side
    after: Side
    change: dict[str, Estimate]  # after - before, over episodes that both have
    falls: FallCounts  # without pushes, straight walks too
    falls_pushed: FallCounts


def compare(name: str, before: Trial, after: Trial, level: float = LEVEL) -> Compared:
    """Figures of both policies in one simulator, and their change with an interval of this level."""
    return compare_over(name, [(before, after)], level)


def compare_over(name: str, pairs: Sequence[tuple[Trial, Trial]], level: float = LEVEL) -> Compared:
    """The same over several simulators that walked the same episodes: averaged over them first, since
    commands are what scatters.
    """
    old, new = ([pair[k] for pair in pairs] for k in range(2))
    change = {
        figure: estimate(finite_mean(_stacked(new, figure) - _stacked(old, figure)), level) for figure in PER_EPISODE
    }
    falls = [
        FallCounts.of(*(np.concatenate([trial.fell, trial.fell_straight.ravel()]) for trial in pair)) for pair in pairs
    ]
    pushed = [FallCounts.of(*(trial.fell_pushed for trial in pair)) for pair in pairs]
    return Compared(name, _side(old), _side(new), change, FallCounts.together(falls), FallCounts.together(pushed))


def _side(trials: Sequence[Trial]) -> Side:
    lateral = _stacked(trials, "lateral_m")
    by_direction = [
        {name: estimate(row) for name, row in zip(trials[0].directions, finite_mean(values), strict=True)}
        for values in (lateral, np.abs(lateral), _stacked(trials, "way_m"))
    ]
    figures = {figure: estimate(finite_mean(_stacked(trials, figure))) for figure in PER_EPISODE}
    return Side(figures, float(np.mean([trial.cost_of_transport for trial in trials])), *by_direction)


def _stacked(trials: Sequence[Trial], name: str) -> np.ndarray:
    return np.stack([getattr(trial, name) for trial in trials])


def finite_mean(values: np.ndarray) -> np.ndarray:
    """Over the first axis, of what is finite; NaN where nothing is."""
    finite = np.isfinite(values)
    count = finite.sum(axis=0)
    return np.where(count > 0, np.where(finite, values, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def estimate(values: np.ndarray, level: float = LEVEL) -> Estimate:
    """Mean and its Student interval over what is finite; NaN where nothing is."""
    values = values[np.isfinite(values)]
    if not len(values):
        return Estimate(math.nan, -math.inf, math.inf, 0)
    mean = float(values.mean())
    if len(values) == 1:
        return Estimate(mean, -math.inf, math.inf, 1)
    half = student_half_width(level, len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Estimate(mean, mean - half, mean + half, len(values))


def widened(single: Estimate, tries: int) -> Estimate:
    """With an interval for the best of several tries (Bonferroni), from one for a single try at LEVEL."""
    if single.count < 2:
        return single
    half = (
        single.half
        * student_half_width(1 - (1 - LEVEL) / tries, single.count - 1)
        / student_half_width(LEVEL, single.count - 1)
    )
    return Estimate(single.value, single.value - half, single.value + half, single.count)
