"""Which family of changes: the simplest one whose held-out gap cannot be told from none, or that no richer one clearly beats.

Families are climbed from the simplest: numbers of the model; with a torque that the model has no part for, linear in what the
joint does, one for each type of joint; one for each joint; and a network for what is not linear. Each starts where the one
before ended. The choice uses episodes that no fit saw, so a family that only follows its own episodes cannot win.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.errors import FitError
from surefoot.fit.family import MISSING, STATIC, Family, FitSettings
from surefoot.fit.result import FitResult, Tried
from surefoot.gap import Gap

TYPE, JOINT = Family("torque"), Family("torque", per_joint=True)
NETWORK = Family("torque", curved=True)
RUNGS = (STATIC, TYPE, JOINT, NETWORK)
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

    def row(self, chosen: bool) -> Tried:
        """For the table of families."""
        gap, steps = self.judged, self.result.steps
        evaluations, simulated_s, wall_s = (steps[-1].evaluations, steps[-1].simulated_s, steps[-1].wall_s) if steps else (0, 0.0, 0.0)
        return Tried(
            self.family.name, len(self.result.adaptation.knobs) + len(self.result.knots), gap.total, gap.total_floor, gap.total_limit,
            self.result.held_after is not None, evaluations, simulated_s, wall_s, chosen,
        )  # fmt: skip


def climb(settings: FitSettings, fit: FitOne, rungs: tuple[Family, ...] = RUNGS) -> FitResult:
    """Fit family after family with `fit(settings, start, base)`, and choose; the table of what was tried comes with the result.

    A network adds to the plain terms of the family that did best so far, shared in the same way, and these stay as they are.
    """
    tried: list[Rung] = []
    given_up: tuple[str, ...] = ()
    for family in rungs:
        last = choose(tried) if tried and family.curved else tried[-1] if tried else None
        if family.curved and last is not None and last.family.adds == family.adds:
            family = replace(family, per_joint=last.family.per_joint)
        try:
            result = fit(replace(settings, family=family), *_from(last, family))
        except FitError as reason:
            if not tried:
                raise
            given_up = (f"{family.name} was given up: {reason}",)
            break
        tried.append(Rung(family, _with_terms(result, last) if family.curved and last is not None else result))
        if not tried[-1].judged.measurable or not result.steps:
            break
    chosen = choose(tried)
    first = tried[0].result
    return replace(
        chosen.result, tried=tuple(rung.row(rung is chosen) for rung in tried), remarks=(*chosen.result.remarks, *given_up),
        before=first.before, held_before=first.held_before,
    )  # fmt: skip


def _from(last: Rung | None, family: Family) -> tuple[dict[str, float], dict[str, Any]]:
    """Where a family begins, by the names of its knobs, and what it has beside them."""
    if last is None:
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
    places = [k for k, knob in enumerate(last.result.adaptation.knobs) if adds is not None and knob.parameter in MISSING[adds]]
    n = len(result.adaptation.knobs)
    correlation = np.zeros((n + len(places), n + len(places)))
    correlation[:n, :n], correlation[n:, n:] = result.correlation, last.result.correlation[np.ix_(places, places)]
    terms = tuple(last.result.adaptation.knobs[k] for k in places)
    steps = tuple(replace(step, values=(*step.values, *(knob.value for knob in terms))) for step in result.steps)
    adaptation = replace(result.adaptation, knobs=(*result.adaptation.knobs, *terms))
    return replace(result, adaptation=adaptation, correlation=correlation, steps=steps)


def choose(tried: list[Rung]) -> Rung:
    """The simplest within the floor's uncertainty of the best."""
    best = min(tried, key=lambda rung: rung.judged.total)
    uncertain = best.judged.total_limit - best.judged.total_floor
    return next(rung for rung in tried if not rung.judged.measurable or rung.judged.total <= best.judged.total + uncertain)
