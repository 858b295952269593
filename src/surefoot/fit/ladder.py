"""Which family of changes: the simplest one that no other clearly beats on held-out episodes.

This is forward model selection on a hold-out set, in the manner of the one-standard-error rule (Breiman, Friedman,
Olshen and Stone 1984, Classification and regression trees): the simplest model whose score is within the uncertainty of
the best one's. The uncertainty is `SIGMAS` standard deviations of the simulator's own scatter (`surefoot.gap.measure`).

Families are climbed from the simplest: numbers of the model; with a torque that the model has no part for, linear in
what the joint does, one for each type of joint; one for each joint; and a network for what is not linear. Each starts
where the one before ended, unless that left far too much, and the climb ends where nothing measurable is left. The
choice uses episodes that no fit saw, so a family that only follows its own episodes cannot win; the gap on them was
used to choose, and is that much too kind to the winner.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.fit.family import MISSING, STATIC, Family, FitSettings
from surefoot.fit.result import FitResult, Tried
from surefoot.fit.run import MatchesByFalling
from surefoot.gap import Gap

TYPE, JOINT = Family("torque"), Family("torque", per_joint=True)
NETWORK = Family("torque", curved=True)
RUNGS = (STATIC, TYPE, JOINT, NETWORK)
# times what is measurable: parameters that left so much were bent to stand for what is missing, and lead the next
# family astray
FAR = 2.0
# likewise: parameters that leave so much and come no nearer need not be polished; with calf springs, searching on took
# 504 of the 816 s of a fit, for an answer that was thrown away
HOPELESS = 3.0
CLEARLY = 0.05  # of the position error of replayed targets
NOISIER = 1.25  # of the robot's distance to itself: a simulator's own floor above that is its noise
FitOne = Callable[[FitSettings, Mapping[str, float], Mapping[str, Any]], FitResult]


@dataclass(frozen=True, eq=False)
class Rung:
    """One family, fitted."""

    family: Family
    result: FitResult

    @property
    def judged(self) -> Gap:
        """The gap that counts."""
        held = self.result.held_after
        return (self.result.after if held is None else held).gap

    @property
    def score(self) -> float:
        """What counts: the gap, or of replayed targets how far the legs are off, rad."""
        if self.result.traces is None:
            return self.judged.total
        fitted, held = self.result.traces
        return (fitted if held is None else held).after

    @property
    def uncertain(self) -> float:
        """By how much another score must be lower to be clearly so."""
        return self.judged.total_limit - self.judged.total_floor if self.result.traces is None else CLEARLY * self.score

    @property
    def closed(self) -> bool:
        """Whether nothing is left that a richer family could explain.

        A fit that hides missing physics in torque noise raises its own floor, and then has no measurable gap any more:
        it counts only where the floor is not far above the robot's distance to itself.
        """
        if self.result.traces is not None:
            return False
        return not self.judged.measurable and self.judged.total_floor <= NOISIER * self.judged.robot_floor

    def row(self, chosen: bool) -> Tried:
        """For the table of families."""
        gap, steps, stand = self.judged, self.result.steps, self.result.traces is not None
        evaluations, simulated_s, wall_s = (
            (steps[-1].evaluations, steps[-1].simulated_s, steps[-1].wall_s) if steps else (0, 0.0, 0.0)
        )
        return Tried(
            self.family.name,
            len(self.result.adaptation.knobs) + len(self.result.knots),
            self.score,
            0.0 if stand else gap.total_floor,
            0.0 if stand else gap.total_limit,
            self.result.held_after is not None,
            evaluations,
            simulated_s,
            wall_s,
            chosen,
        )


def climb(settings: FitSettings, fit: FitOne, rungs: tuple[Family, ...] = RUNGS) -> FitResult:
    """Fit family after family with `fit(settings, start, base)`, and choose; the table of what was tried
    comes with the result.

    A network adds to the plain terms of the family that did best so far, shared in the same way, and these
    stay as they are.
    """
    tried: list[Rung] = []
    remarks: list[str] = []
    for i, family in enumerate(rungs):
        last = choose(tried) if tried and family.curved else tried[-1] if tried else None
        if family.curved and last is not None and last.family.adds == family.adds:
            family = replace(family, per_joint=family.per_joint or last.family.per_joint)
        try:
            give_up = HOPELESS if family == STATIC and i < len(rungs) - 1 else None
            result = fit(replace(settings, family=family, give_up=give_up), *_from(last, family))
        except MatchesByFalling as reason:
            if not tried and i == len(rungs) - 1:
                raise
            remarks.append(f"{family.name} was given up: {reason}")
            continue
        tried.append(Rung(family, _with_terms(result, last) if family.curved and last is not None else result))
        if tried[-1].closed or not result.steps:
            break
        if result.held_after is None and i < len(rungs) - 1:
            remarks.append(f"no richer family than {family.name} was tried: nothing was held back to choose one by")
            break
    chosen = choose(tried)
    if chosen.result.gave_up:  # nothing richer did clearly better: it is worth settling
        tried[tried.index(chosen)] = Rung(chosen.family, fit(replace(settings, family=chosen.family), {}, {}))
        chosen = choose(tried)
    first = tried[0].result
    return replace(
        chosen.result,
        tried=tuple(rung.row(rung is chosen) for rung in tried),
        remarks=(*chosen.result.remarks, *remarks),
        before=first.before,
        held_before=first.held_before,
    )


def _from(last: Rung | None, family: Family) -> tuple[dict[str, float], dict[str, Any]]:
    """Where a family begins, by the names of its knobs, and what it has beside them."""
    if last is None or (last.family == STATIC and not family.curved and last.score > FAR * last.judged.total_limit):
        return {}, {}
    knobs = last.result.adaptation.knobs
    start = {knob.name: knob.value for knob in knobs}
    if family.per_joint and not last.family.per_joint:  # what is not tied any more begins where the tied ones were
        start |= {f"{knob.parameter}[{joint}]": knob.value for knob in knobs for joint in knob.where}
    terms = MISSING[family.adds] if family.curved and family.adds is not None else ()
    return start, {name: value for name, value in last.result.adaptation.settings.items() if name in terms}


def _with_terms(result: FitResult, last: Rung) -> FitResult:
    """What a network was added to, as it was found, with its intervals."""
    adds = last.family.adds
    present = {knob.parameter for knob in result.adaptation.knobs}
    wanted = set() if adds is None else set(MISSING[adds]) - present
    places = [k for k, knob in enumerate(last.result.adaptation.knobs) if knob.parameter in wanted]
    n = len(result.adaptation.knobs)
    correlation = np.zeros((n + len(places), n + len(places)))
    correlation[:n, :n], correlation[n:, n:] = result.correlation, last.result.correlation[np.ix_(places, places)]
    terms = tuple(last.result.adaptation.knobs[k] for k in places)
    steps = tuple(replace(step, values=(*step.values, *(knob.value for knob in terms))) for step in result.steps)
    adaptation = replace(result.adaptation, knobs=(*result.adaptation.knobs, *terms))
    return replace(result, adaptation=adaptation, correlation=correlation, steps=steps)


def choose(tried: list[Rung]) -> Rung:
    """The simplest that no other clearly beats."""
    best = min(tried, key=lambda rung: rung.score)
    return next(rung for rung in tried if rung.score <= best.score + best.uncertain)
