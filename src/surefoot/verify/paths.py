"""Straight walks from above, small enough to keep beside the figures and to draw anywhere."""

import warnings
from dataclasses import dataclass

import numpy as np

from surefoot.verify.trial import Trial


@dataclass(frozen=True)
class Track:
    """Walks in one direction from their start on: mean and span over the episodes, NaN from where on all of
    them lie on the floor.
    """

    ahead_m: tuple[float, ...]  # along the command
    left_m: tuple[float, ...]  # across it
    low_m: tuple[float, ...]  # the rightmost of the episodes
    high_m: tuple[float, ...]  # the leftmost


def tracks_of(trial: Trial) -> dict[str, Track]:
    """By direction, to the millimetre."""
    found = {}
    for k, name in enumerate(trial.directions):
        ahead, left = trial.path_m[k, :, :, 0], trial.path_m[k, :, :, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of points at which no episode is left
            lines = np.array(
                [np.nanmean(ahead, axis=0), np.nanmean(left, axis=0), np.nanmin(left, axis=0), np.nanmax(left, axis=0)]
            )
        found[name] = Track(*map(tuple, np.round(lines, 3).tolist()))
    return found
