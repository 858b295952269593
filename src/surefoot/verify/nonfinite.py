"""Actions that are not finite numbers: a broken network looks like a robot that falls, unless somebody says so."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FINITE = -1  # instead of a tick


@dataclass(frozen=True)
class NonFinite:
    """In how many episodes a policy gave NaN or infinity, when first, and under which commands."""

    episodes: int
    of: int
    first_s: float  # after the start of its episode
    command: tuple[float, float, float]  # that it was first under: forward m/s, left m/s, turn rad/s
    low: tuple[float, float, float]  # of the commands of all these episodes, axis by axis
    high: tuple[float, float, float]

    @property
    def says(self) -> str:
        """One sentence."""
        first = " ".join(f"{value:g}" for value in np.round(self.command, 3))
        ranges = ", ".join(
            f"{name} {low:.2f} to {high:.2f}"
            for name, low, high in zip(("vx", "vy", "wz"), self.low, self.high, strict=True)
        )
        return (
            f"the policy gave actions that are not finite numbers in {self.episodes} of {self.of} episodes, first after"
            f" {self.first_s:.2f} s under the command {first} (forward m/s, left m/s, turn rad/s); in all of these:"
            f" {ranges}; the network is broken, export it again"
        )


class NonFiniteWatch:
    """Notes the first tick of each episode at which the action is not finite."""

    def __init__(self, n: int) -> None:
        self.tick = np.full(n, FINITE)
        self.command = np.zeros((n, 3))

    def look(self, action: np.ndarray, command: np.ndarray, tick: int) -> None:
        """Look at the actions (n, n_joints) of one tick."""
        if np.isfinite(action).all():
            return
        new = ~np.isfinite(action).all(axis=1) & (self.tick == FINITE)
        self.tick[new], self.command[new] = tick, command[new]


def nonfinite(parts: Sequence[tuple[NonFiniteWatch, np.ndarray]], control_dt_s: float) -> NonFinite | None:
    """Over some rows of some watches; None where all actions were finite."""
    tick = np.concatenate([watch.tick[rows.ravel()] for watch, rows in parts])
    command = np.concatenate([watch.command[rows.ravel()] for watch, rows in parts])
    bad = tick != FINITE
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[np.argmin(tick[bad])])
    triples = (command[first], command[bad].min(axis=0), command[bad].max(axis=0))
    given, low, high = ((float(x), float(y), float(w)) for x, y, w in triples)
    return NonFinite(int(bad.sum()), len(tick), float(tick[first]) * control_dt_s, given, low, high)
