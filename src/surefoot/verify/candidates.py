"""Robots that a fit cannot rule out: drawn inside the 90 % intervals of its knobs, and where among them a
policy does worst.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.adapt import Adaptation, Fitted, read_priors
from surefoot.adapt.plausible import plausible
from surefoot.errors import FitError, shown
from surefoot.robot import Robot
from surefoot.sim.values import names_of, resolve
from surefoot.streams import Stream

CORNER_KNOBS = 3  # at their ends together; all knobs at their ends at once is no robot that the log leaves possible
NAMED_KNOBS = 3  # that a worst case is characterized by
OFF_MIDDLE = 0.3  # of the half interval, from which a knob is called high or low


@dataclass(frozen=True)
class KnobInterval:
    """A knob and how far the log lets it be: `place` -1 is the low end of the interval, 1 the high end."""

    knob: Fitted
    low: float
    high: float

    def at(self, place: float) -> float:
        """The value at a place."""
        return self.low + (self.high - self.low) * (place + 1) / 2

    def place(self, value: float) -> float:
        """The place of a value."""
        return 2 * (value - self.low) / (self.high - self.low) - 1


def spans_of(adaptation: Adaptation) -> tuple[KnobInterval, ...]:
    """Knobs that have some room: their intervals, or what is plausible where the log told nothing, as in
    fine-tuning.
    """
    priors, found = read_priors(), []
    for knob in adaptation.knobs:
        if knob.flag == "no effect" or knob.parameter not in adaptation.settings:
            continue
        low, high, _ = plausible(knob, priors.get(knob.parameter))
        if high - low > 1e-9 * max(abs(high), abs(low)):
            found.append(KnobInterval(knob, low, high))
    return tuple(found)


def draw(spans: Sequence[KnobInterval], count: int, seed: int) -> np.ndarray:
    """Places (count, n_spans) in [-1, 1], a Latin hypercube: each knob is once in each of `count` equal
    parts of its interval.
    """
    random = np.random.default_rng([seed, Stream.CANDIDATES])
    columns = [(random.permutation(count) + random.uniform(size=count)) / count for _ in spans]
    return 2 * np.array(columns).reshape(len(spans), count).T - 1


def settings_at(
    adaptation: Adaptation, robot: Robot, spans: Sequence[KnobInterval], places: np.ndarray
) -> dict[str, Any]:
    """The adaptation's settings with the knobs at these places."""
    settings = copy.deepcopy(adaptation.settings)
    for span, place in zip(spans, places, strict=True):
        knob, value = span.knob, span.at(float(place))
        names = names_of(knob.parameter, robot)
        if not names:
            settings[knob.parameter] = value
            continue
        values = resolve(knob.parameter, settings[knob.parameter], robot, error=FitError)[0].copy()
        for where in knob.where or names:
            if where not in names:
                raise FitError(
                    f"the knob {shown(knob.name)} is of {shown(where)}, which {robot.name} does not have; fit again"
                )
            values[names.index(where)] = value
        settings[knob.parameter] = values.tolist()
    return settings


def correlations(places: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Of each knob's place with the score over the candidates, (n_spans,); 0 where there is nothing to tell."""
    finite = np.isfinite(score)
    if finite.sum() < 3 or np.ptp(score[finite]) <= 1e-12:
        return np.zeros(places.shape[1])
    x, y = places[finite] - places[finite].mean(axis=0), score[finite] - score[finite].mean()
    size = np.linalg.norm(x, axis=0) * np.linalg.norm(y)
    return np.asarray(np.where(size > 0, x.T @ y / np.where(size > 0, size, 1.0), 0.0))


def worst_corner(spans: Sequence[KnobInterval], correlation: np.ndarray) -> np.ndarray | None:
    """Places with the knobs that matter most at their bad ends and the others at their fitted values; None
    where none matters.
    """
    strongest = np.argsort(-np.abs(correlation), kind="stable")[:CORNER_KNOBS]
    strongest = strongest[correlation[strongest] != 0]
    if not len(strongest):
        return None
    places = np.array([span.place(span.knob.value) for span in spans])
    places[strongest] = np.sign(correlation[strongest])
    return places


def characterized(spans: Sequence[KnobInterval], places: np.ndarray, correlation: np.ndarray, drawn: int) -> str:
    """What marks a worst case: knobs that are off their middle there, on the side on which the score rises
    beyond chance.

    A corner is marked by the knobs that stand at their ends in it. Empty where no knob stands out.
    """
    limit = 2 / np.sqrt(max(drawn, 1))  # the correlation that chance reaches in one of twenty
    at_end = np.abs(places) > 1 - 1e-9
    told = (np.abs(correlation) >= limit) & (places * correlation > 0) & (np.abs(places) >= OFF_MIDDLE)
    found = [
        f"{spans[k].knob.name} {'high' if places[k] > 0 else 'low'} ({spans[k].at(float(places[k])):.3g}, correlation"
        f" {correlation[k]:+.2f})"
        for k in np.argsort(-np.abs(correlation), kind="stable")
        if at_end[k] or told[k]
    ]
    return ", ".join(found[:NAMED_KNOBS])
