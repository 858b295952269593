"""What a fit asks of a search, and which searches there are."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from surefoot.fit.cma import CmaSearch
from surefoot.fit.family import FitSettings
from surefoot.fit.quantile import Ask, QuantileSearch


class Search(Protocol):
    """What a search must be able to do."""

    iteration: int
    path: list[np.ndarray]
    costs: list[float]

    @property
    def at(self) -> np.ndarray:
        """The present estimate, in normalized coordinates."""
        ...

    @property
    def done(self) -> str | None:
        """Why it ended; None while it goes on."""
        ...

    def ask(self) -> Ask:
        """What to evaluate next."""
        ...

    def tell(
        self,
        ask: Ask,
        residuals: np.ndarray,
        cost: np.ndarray,
        fallen: np.ndarray,
        influence_function: np.ndarray | None = None,
    ) -> None:
        """Take in what was asked for."""
        ...


def make_search(
    settings: FitSettings, low: np.ndarray, high: np.ndarray, kinds: np.ndarray, start: np.ndarray
) -> Search:
    """The search that is asked for, over knobs within bounds (low, high), in normalized coordinates; `kinds`
    are those of the residuals' channels.
    """
    if settings.search == "quantile":
        return QuantileSearch(low, high, kinds, settings.seed, settings.quantile, start)
    separable = settings.cma.separable or settings.search == "sep-cma"
    return CmaSearch(low, high, settings.seed, replace(settings.cma, separable=separable), start)
