"""The worst quartile: the quarter of the robots that a fit cannot rule out in which a change of policy does worst.

The mean over the worst quarter is the conditional value at risk at 25 % (Rockafellar and Uryasev 2000, Optimization of
conditional value-at-risk), over the robots. The mean over all of them hides a quarter that gets worse behind others
that get better, and one robot by itself walks too few episodes to be sure of. The quarter must not be chosen by the
episodes that measure it: the worst of several by chance looks worse by chance. So it is cross-fitted: each half of the
episodes is measured on the robots that the other half chose, which leaves the mean without that bias and errs only by
choosing too mild a quarter. All robots walk the same episodes, so each is averaged over the robots first.
"""

import math
from collections.abc import Sequence

import numpy as np

from surefoot.verify.compare import PER_EPISODE, Compared, FallCounts, Side, estimate, finite_mean
from surefoot.verify.trial import Trial

SHARE = 0.25  # a policy that is worse in so many of the plausible robots is no gain, whatever it does in the others


def compare_worst(name: str, pairs: Sequence[tuple[Trial, Trial]]) -> Compared:
    """Both policies in the worst quarter of several simulators, which is another one for each figure, and for falls."""
    before, after, change = {}, {}, {}
    for figure in PER_EPISODE:
        old, new = _measured(*(np.stack([getattr(pair[k], figure) for pair in pairs]) for k in range(2)))
        before[figure], after[figure], change[figure] = estimate(old), estimate(new), estimate(new - old)
    old, new = (
        np.stack([np.concatenate([pair[k].fell, pair[k].fell_straight.ravel()]) for pair in pairs]) for k in range(2)
    )
    old_pushed, new_pushed = (np.stack([pair[k].fell_pushed for pair in pairs]) for k in range(2))
    directions, straight = pairs[0][0].fell_straight.shape
    walks, starts = np.arange(old_pushed.shape[1]) % 2, np.arange(straight) % 2
    falls = _falls(old, new, np.concatenate([walks, np.tile(starts, directions)]))
    sides = [Side(figures, math.nan, {}, {}, {}) for figures in (before, after)]
    return Compared(name, sides[0], sides[1], change, falls, _falls(old_pushed, new_pushed, walks))


def _measured(old: np.ndarray, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Figures (robots, episodes) of both policies as (episodes,) over the worst quarter; NaN where nothing
    could choose it.
    """
    unknown = ~np.isfinite(new - old)
    values = np.where(unknown, np.nan, np.stack([old, new]))
    half = np.arange(old.shape[1]) % 2
    means = np.full((2, old.shape[1]), np.nan)
    for k in range(2):
        chosen = _worst(finite_mean((values[1] - values[0])[:, half != k].T))
        means[:, half == k] = [finite_mean(side[chosen][:, half == k]) for side in values]
    return means[0], means[1]


def _falls(old: np.ndarray, new: np.ndarray, half: np.ndarray) -> FallCounts:
    """Falls (robots, episodes) over the quarter in which the other `half` (episodes,) has most new ones.

    The robots of it share their commands, so that these falls are not quite independent: a sign test errs
    towards NO-GO.
    """
    counts = []
    for k in range(2):
        chosen = _worst((new[:, half != k].sum(axis=1) - old[:, half != k].sum(axis=1)).astype(float))
        counts.append(FallCounts.of(old[chosen][:, half == k].ravel(), new[chosen][:, half == k].ravel()))
    return FallCounts.together(counts)


def _worst(change: np.ndarray) -> np.ndarray:
    """Which robots have the largest change; none where nothing is known of it."""
    count = max(1, round(SHARE * len(change)))
    order = np.argsort(-np.where(np.isfinite(change), change, -np.inf), kind="stable")[:count]
    return order[np.isfinite(change[order])]
