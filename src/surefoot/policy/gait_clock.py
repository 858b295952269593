"""The clock that a policy with a gait phase observes: one phase for each foot, for n robots at once."""

from typing import TYPE_CHECKING

import numpy as np

from surefoot.robot import Contract
from surefoot.robot.terms import HOLD, GaitPhase

if TYPE_CHECKING:
    from surefoot.policy.observation import Tick


class GaitClock:
    """Gives the clock's entries of the observation, (n, width), and moves on by one control tick with each call.

    The first observation after a reset, and the first after standing at a phase that was set, show the phases at their
    offsets.
    """

    def __init__(self, gait: GaitPhase, contract: Contract, n: int) -> None:
        self._gait = gait
        self._dt_s = contract.control_dt_s
        self._offsets = np.array(gait.offsets)
        self._phase = np.tile(self._offsets, (n, 1))  # of the next observation, cycles
        self._stood = np.zeros(n, bool)
        names = contract.command_names
        self._frequency_column = names.index(gait.frequency_command) if gait.frequency_command else None
        self._parked = None if isinstance(gait.standing_phase, str) else np.array(gait.standing_phase)

    def __call__(self, tick: "Tick") -> np.ndarray:
        """The entries of this tick."""
        gait = self._gait
        self._phase[tick.fresh] = self._offsets
        self._stood[tick.fresh] = False
        standing = np.zeros(len(self._phase), bool)
        if self._parked is not None or gait.standing_phase == HOLD:
            standing = np.abs(tick.command[:, :3]).max(axis=1) <= gait.standing_below
        if self._parked is not None:
            self._phase[self._stood & ~standing] = self._offsets
            self._phase[standing] = self._parked
            self._stood = standing
        shown = self._phase % 1.0
        frequency = (
            np.full(len(shown), gait.frequency_hz)
            if self._frequency_column is None
            else tick.command[:, self._frequency_column]
        )
        self._phase = np.where(standing[:, None], self._phase, (self._phase + (frequency * self._dt_s)[:, None]) % 1.0)
        return _entries(shown, gait.form)


def _entries(phase: np.ndarray, form: str) -> np.ndarray:
    """Phases (n, n_feet) in cycles as the entries that the form asks for."""
    if form == "phase":
        return phase
    angle = 2 * np.pi * phase
    if form == "phase_rad":
        return angle
    sine, cosine = np.sin(angle), np.cos(angle)
    if form in ("sin", "cos"):
        return sine if form == "sin" else cosine
    pair = (sine, cosine) if form.startswith("sin") else (cosine, sine)
    if form.endswith(("then_cos", "then_sin")):
        return np.concatenate(pair, axis=1)
    return np.stack(pair, axis=2).reshape(len(phase), -1)
