"""What a fit came to: whether the gap closed, stays closed on held-out episodes, and what follows."""

from dataclasses import dataclass
from math import floor, log10
from typing import Literal

import numpy as np

from surefoot.adapt.adaptation import Fitted
from surefoot.fit.result import FitResult, Traces
from surefoot.gap import Gap, Measured
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.residual import TERMS
from surefoot.text import number

# the last two iterations over the two before: a search that ends below had not arrived, whatever its noise
STILL_FALLING = 0.85


@dataclass(frozen=True)
class FitJudgement:
    """What a fit came to: a mark, a word, a sentence with the figures, and what follows from it."""

    state: Literal["good", "warn", "bad"]
    word: str
    says: str
    advice: str


def judge_fit(result: FitResult) -> FitJudgement:
    """Judge a fit by its gap on fitted and on held-out episodes, each beside its floor and what is
    measurable at all.
    """
    if result.traces is not None:
        return _of_traces(*result.traces)
    before, after = result.before.gap, result.after.gap
    held = None if result.held_after is None else result.held_after.gap
    says = _moved(result)
    if after.measurable and after.total > before.total:
        return FitJudgement(
            "bad",
            "worse",
            f"{says}.",
            "Keep the simulator as it was; the search went astray, and the remarks may say why.",
        )
    if overfits(result):
        return FitJudgement(
            "bad",
            "overfit",
            f"{says}: clearly worse than on the episodes that were fitted.",
            "The values follow these episodes and not the robot. Free fewer parameters, tie joints together, or record"
            " more episodes with other commands.",
        )
    if not before.measurable:
        return FitJudgement(
            "good",
            "no gap",
            f"Nothing measurable was there to close: the gap was {_figures(before)}, and can be told from none only"
            f" above {number(before.total_limit, 2)}.",
            "Keep the simulator as it was: where parameters moved, chance moved them.",
        )
    left = after if after.measurable else held if held is not None and held.measurable else None
    if left is not None:
        where = "" if left is after else " on the held-out episodes"
        says = (
            f"{says}. It stays {number(left.total - left.total_floor, 2)} above its floor{where}, where"
            f" {number(left.total_limit - left.total_floor, 2)} would be chance."
        )
        return FitJudgement(
            "warn",
            "above its floor",
            says,
            f"{_missing(result)} What is left is largest in {left.channels[left.worst[0]].name}.",
        )
    if held is None:
        return FitJudgement(
            "warn",
            "closed, not checked",
            f"{says}.",
            "Record more episodes, and some can be held back to check the values on.",
        )
    return FitJudgement("good", "closed", f"{says}.", "What remains cannot be told from the simulator's own scatter.")


def _of_traces(fitted: Traces, held: Traces | None) -> FitJudgement:
    """Of targets that were played again: what counts is how near the simulator's legs stay to the robot's,
    tick by tick.
    """
    says = (
        f"Joint positions are off by {number(fitted.after, 3)} rad (root mean square) instead of"
        f" {number(fitted.before, 3)}"
    )
    if held is None:
        return FitJudgement(
            "warn",
            "not checked",
            f"{says}; nothing was held back.",
            "Record more, and some can be held back to check the values on.",
        )
    says = f"{says}; on what was held back by {number(held.after, 3)} instead of {number(held.before, 3)}."
    if held.after >= held.before:
        return FitJudgement(
            "bad",
            "overfit",
            says,
            "The values follow these recordings and not the robot: tie joints together, or record more.",
        )
    return FitJudgement(
        "good", "predicts", says, "What remains is what these parameters cannot say: gains, backlash, the stand itself."
    )


def overfits(result: FitResult) -> bool:
    """Whether the held-out gap is clearly worse: its interval, floor taken off, lies above that of the
    fitted one, or above where it began.
    """
    if result.held_after is None or result.held_before is None or not result.held_after.gap.measurable:
        return False
    held, after = result.held_after.gap, result.after.gap
    apart = held.interval[0] - held.total_floor > after.interval[1] - after.total_floor
    return apart or held.interval[0] > result.held_before.gap.total


def _moved(result: FitResult) -> str:
    before, after = result.before.gap, result.after.gap
    moved = (
        f"The gap {'fell' if after.total < before.total else 'went'} from {_three(before.total)} to {_figures(after)}"
    )
    if result.held_before is None or result.held_after is None:
        return f"{moved}; too little was recorded to hold any episodes back, so nothing says that it holds beyond these"
    count = episodes_of(result.held_after)
    start = _three(result.held_before.gap.total)
    return (
        f"{moved}; on {count} held-out episode{'s' if count != 1 else ''} from {start} to"
        f" {_figures(result.held_after.gap)}"
    )


def _figures(gap: Gap) -> str:
    return f"{_three(gap.total)} (floor {_three(gap.total_floor)})"


def _three(value: float) -> str:
    """Three decimals, which compare at a glance; more where they would leave nothing."""
    decimals = 3 if not 0 < value < 1e-3 else min(8, -floor(log10(value)))
    return f"{value:.{decimals}f}"


def _missing(result: FitResult) -> str:
    """Why a gap stays: a search that was cut short and a bound that stops it come before missing physics."""
    costs = [step.cost for step in result.steps]
    if len(costs) > 3 and sum(costs[-2:]) < STILL_FALLING * sum(costs[-4:-2]):
        return "The gap was still falling when the search stopped: let it go on before anything else."
    bound = sum(knob.flag == "at its bound" for knob in result.adaptation.knobs)
    if bound:
        return (
            f"{_count(bound)} ended at {'its bound' if bound == 1 else 'their bounds'}: let the search go further"
            " if the robot allows it; if not, physics is missing, not numbers."
        )
    if any(
        len(knob.where) > 1 and not PARAMETERS[knob.parameter].shared and not _added(knob)
        for knob in result.adaptation.knobs
    ):
        return "Joints that were tied together may differ: untie them (tie 'none') before physics is blamed."
    return "Physics is missing, not numbers: no values of these parameters make this simulator move as the robot does."


def _added(knob: Fitted) -> bool:
    """Whether it is a term of what was added, which is shared by type on purpose."""
    return knob.parameter in TERMS or knob.parameter == "action_offset_rad"


def episodes_of(measured: Measured) -> int:
    """Number of episodes that were compared."""
    return len(np.unique(measured.simulator.schedule.episode))


def _count(parameters: int) -> str:
    return f"{parameters} parameter{'s' if parameters != 1 else ''}"
