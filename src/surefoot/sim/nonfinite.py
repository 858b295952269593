"""Actions that are not finite numbers: a broken network looks like a robot that falls, unless somebody says so."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.robot.sensors import Sensors
from surefoot.sim.walk import Script
from surefoot.sim.worlds import Worlds

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


@dataclass(frozen=True, eq=False)
class NonFiniteRecord:
    """The first action of each episode that is not finite."""

    first_tick: np.ndarray  # (n_worlds,) counted from the start of the rise; FINITE: there is none
    command: np.ndarray  # (n_worlds, 3) at that tick


class NonFiniteProbe:
    """Notes the first tick of each episode at which the action is not finite."""

    def start(self, worlds: Worlds, script: Script) -> None:
        """All actions were finite so far."""
        self._script = script
        self._first_tick = np.full(worlds.n, FINITE)
        self._command = np.zeros((worlds.n, 3))  # the velocities

    def tick(self, k: int, sensors: Sensors, action: np.ndarray, worlds: Worlds) -> None:
        """Look at the actions (n_worlds, n_joints)."""
        if np.isfinite(action).all():
            return
        new = ~np.isfinite(action).all(axis=1) & (self._first_tick == FINITE)
        self._first_tick[new], self._command[new] = k + self._script.n_rise, self._script.command(k)[new, :3]

    def result(self) -> NonFiniteRecord:
        """When, and under which commands."""
        return NonFiniteRecord(self._first_tick, self._command)


def first_nonfinite(action: np.ndarray, command: np.ndarray) -> NonFiniteRecord:
    """The same from what was recorded: actions (n_worlds, n_ticks, n_joints) and commands (n_worlds, n_ticks, 3)."""
    bad = ~np.isfinite(action).all(axis=2)
    first = bad.argmax(axis=1)
    return NonFiniteRecord(np.where(bad.any(axis=1), first, FINITE), command[np.arange(len(command)), first, :3])


def nonfinite(parts: Sequence[tuple[NonFiniteRecord, np.ndarray]], control_dt_s: float) -> NonFinite | None:
    """Over some rows of some records; None where all actions were finite."""
    tick = np.concatenate([record.first_tick[rows.ravel()] for record, rows in parts])
    command = np.concatenate([record.command[rows.ravel()] for record, rows in parts])
    bad = tick != FINITE
    if not bad.any():
        return None
    first = int(np.flatnonzero(bad)[np.argmin(tick[bad])])
    triples = (command[first], command[bad].min(axis=0), command[bad].max(axis=0))
    given, low, high = ((float(x), float(y), float(w)) for x, y, w in triples)
    return NonFinite(int(bad.sum()), len(tick), float(tick[first]) * control_dt_s, given, low, high)
