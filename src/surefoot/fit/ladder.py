"""Which family of changes: the simplest one whose held-out gap cannot be told from none, or that no richer one clearly beats.

Families are climbed from the simplest: numbers of the model; with a torque that the model has no part for, one for each type
of joint; one for each joint. Each starts where the one before ended. The choice uses episodes that no fit saw, so a family
that only follows its own episodes cannot win.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from surefoot.errors import FitError
from surefoot.fit.result import FitResult, Tried
from surefoot.fit.run import FitSettings, Shared
from surefoot.gap import Gap

NAMES: dict[Shared, str] = {"none": "static", "type": "residual by type", "joint": "residual by joint"}
RUNGS: tuple[Shared, ...] = ("none", "type", "joint")


@dataclass(frozen=True, eq=False)
class Rung:
    """One family, fitted."""

    torque: Shared
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
            NAMES[self.torque], len(self.result.adaptation.knobs), gap.total, gap.total_floor, gap.total_limit, self.result.held_after is not None,
            evaluations, simulated_s, wall_s, chosen,
        )  # fmt: skip


def climb(
    settings: FitSettings, fit: Callable[[FitSettings, str, Mapping[str, float]], FitResult], rungs: tuple[Shared, ...] = RUNGS
) -> FitResult:
    """Fit family after family with `fit(settings, name, start)`, and choose; the table of what was tried comes with the result."""
    tried: list[Rung] = []
    start: dict[str, float] = {}
    given_up: tuple[str, ...] = ()
    for torque in rungs:
        try:
            result = fit(replace(settings, torque=torque), NAMES[torque], start)
        except FitError as reason:
            if not tried:
                raise
            given_up = (f"{NAMES[torque]} was given up: {reason}",)
            break
        tried.append(Rung(torque, result))
        if not tried[-1].judged.measurable or not result.steps:
            break
        start = {knob.name: knob.value for knob in result.adaptation.knobs}
        if torque == "type":  # what is not tied any more begins where the tied ones were
            start |= {f"{knob.parameter}[{joint}]": knob.value for knob in result.adaptation.knobs for joint in knob.where}
    chosen = choose(tried)
    remarks = (*chosen.result.remarks, *given_up)
    return replace(chosen.result, tried=tuple(rung.row(rung is chosen) for rung in tried), remarks=remarks)


def choose(tried: list[Rung]) -> Rung:
    """The simplest within the floor's uncertainty of the best."""
    best = min(tried, key=lambda rung: rung.judged.total)
    uncertain = best.judged.total_limit - best.judged.total_floor
    return next(rung for rung in tried if not rung.judged.measurable or rung.judged.total <= best.judged.total + uncertain)
