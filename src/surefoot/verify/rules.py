"""When a fine-tuned policy may go onto the robot: rules over figures that compare it with the old one.

A policy that only looks better is refused: it must be better in the fitted simulator beyond chance, and no worse
anywhere that the robot may turn out to be. A figure is "clearly worse" where the interval of its change lies above zero
and the change is also large enough to matter; the two together keep both noise and trifles out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.verify.compare import EFFORT, LEVEL, QUALITY, Compared, Estimate, FallCounts, widened
from surefoot.verify.fit_gap import FitGap

LEAST_GAIN = 0.03  # of the old figure: less is not worth putting an unknown policy on a robot, however certain
# of the old figure: fine-tuning moves everything a little, and a tenth is what a user would notice
CLEARLY_WORSE = 0.10
TRIFLE = 0.01  # of full speed (or of the way walked): a tenth of next to nothing is nothing
# new falls that chance explains less often than this are no chance; strict, since a fall costs hardware
FALL_CHANCE = 0.1
# share of unpushed episodes: in the adapted simulator a robot that falls more is not ready, whatever it did before
MOST_FALLS = 0.1
ENERGY_FACTOR = 1.5  # cost of transport: more heats motors and empties the battery in two thirds of the time
ROUGH_FACTOR = 1.5  # action change and joint acceleration: shaking that a simulator forgives and gears do not
LEAST_ROUGH = {
    "action_change": 0.01,
    "joint_acceleration_rad_s2": 1.0,
    "cost_of_transport": 0.05,
}  # below this, nothing is strained
LIMITS = {
    "level": LEVEL,
    "least_gain": LEAST_GAIN,
    "clearly_worse": CLEARLY_WORSE,
    "trifle": TRIFLE,
    "fall_chance": FALL_CHANCE,
    "most_falls": MOST_FALLS,
    "energy_factor": ENERGY_FACTOR,
    "rough_factor": ROUGH_FACTOR,
}

NOMINAL, ADAPTED, POOLED, TOGETHER = "nominal", "adapted", "over the intervals", "all simulators together"
QUARTER = "worst quarter of the intervals"
WORSE = "worse"  # the rule of a figure that is clearly worse
TWIN = "twin "  # before the name of a virtual robot
WORDS = {
    "velocity_error_m_s": ("velocity error", "m/s"),
    "turn_error_rad_s": ("yaw-rate error", "rad/s"),
    "drift_m": ("total drift", "m"),
    "way_error_m": ("total way error", "m"),
    "power_w": ("mechanical power", "W"),
    "cost_of_transport": ("cost of transport", ""),
    "action_change": ("action change", ""),
    "joint_acceleration_rad_s2": ("joint acceleration", "rad/s²"),
}


@dataclass(frozen=True)
class Reason:
    """A rule that speaks against the policy."""

    rule: str
    simulator: str
    says: str
    short: str = ""  # without intervals and places; empty where there are none

    @property
    def headline(self) -> str:
        """One short sentence, for where the figures stand elsewhere."""
        return f"clearly worse: {self.short}" if self.rule == WORSE else self.short or self.says


def judge(
    named: Sequence[Compared],
    pooled: Compared | None,
    candidates: Sequence[Compared],
    full: dict[str, float],
    quarter: Compared | None = None,
    fit: FitGap | None = None,
) -> tuple[tuple[Reason, ...], tuple[str, ...]]:
    """Reasons against the new policy, and what it gained; `full` is what counts as full size of each figure of QUALITY.

    `pooled` is the mean over robots drawn in the intervals of the fit, `quarter` that over the worst of them;
    `candidates` are those one by one and others at ends of the intervals, with changes whose intervals are wide enough
    for the number of them. `fit` is how near the adapted simulator is to the robot, where that is known: errors in a
    nominal simulator that it has shown not to be the robot say nothing about the robot, and a policy fitted to one
    cannot fit both. Falls and strain there still count.
    """
    adapted = next(one for one in named if one.name == ADAPTED)
    gains = tuple(change_words(adapted, figure) for figure in QUALITY if better(adapted, figure))
    reasons: list[Reason] = []
    everywhere = (*named, *([] if pooled is None else [pooled]))
    for one in everywhere:
        # Candidates share their commands, so that pooled falls are not quite independent: this errs towards NO-GO.
        reasons += _more_falls(one.name, one.falls, one.falls_pushed, FALL_CHANCE)
        if not _excluded(one, fit):
            reasons += [_clearly_worse(one, figure) for figure in _worsened(one, full)]
        reasons += _strained([one])
    if not gains:
        changes = "; ".join(change_words(adapted, figure) for figure in QUALITY)
        sure = (
            f"beyond its uncertainty ({100 - 100 * (1 - LEVEL) / len(QUALITY):g} % intervals, since {len(QUALITY)} are"
            f" tried) and by {100 * LEAST_GAIN:g} %"
        )
        least = f"no figure is better beyond its uncertainty and by {100 * LEAST_GAIN:g} %"
        reasons.insert(0, Reason("not better", ADAPTED, f"no figure is better {sure}: {changes}", least))
    if fit is not None and not fit.nearer:
        reasons.insert(
            0,
            Reason(
                "no nearer", ADAPTED, "the fit came no nearer to the robot, whatever the policy does in its simulator"
            ),
        )
    if not any(
        reason.rule == "more falls" for reason in reasons
    ):  # too few in any one of them to be no chance may be enough together
        falls, pushed = (
            FallCounts.together([one.falls for one in everywhere]),
            FallCounts.together([one.falls_pushed for one in everywhere]),
        )
        reasons += _more_falls(TOGETHER, falls, pushed, FALL_CHANCE)
    for one in everywhere:
        if one.falls.after > MOST_FALLS * one.falls.episodes and (one is adapted or one.falls.after > one.falls.before):
            says = (
                f"falls in {one.falls.after} of {one.falls.episodes} episodes without a push, above"
                f" {100 * MOST_FALLS:g} %"
            )
            reasons.append(Reason("falls too often", one.name, says))
    if quarter is not None and pooled is not None:
        reasons += _only_in(quarter, pooled, full)
    reasons += _one_by_one(candidates, full)
    return tuple(reasons), gains


def set_aside(named: Sequence[Compared], full: dict[str, float], fit: FitGap | None) -> str:
    """What is clearly worse and does not count, with the reason; empty where there is nothing."""
    found = [change_words(one, figure) for one in named if _excluded(one, fit) for figure in _worsened(one, full)]
    if not found or fit is None:
        return ""
    why = (
        f"the robot is not that simulator: a gap of {fit.before:.3f} on held-out episodes, {fit.after:.3f} with the fit"
    )
    return f"worse in the nominal simulator, which does not count ({why}): {'; '.join(found)}"


def _excluded(one: Compared, fit: FitGap | None) -> bool:
    return one.name == NOMINAL and fit is not None and fit.excludes_nominal


def _worsened(one: Compared, full: dict[str, float]) -> list[str]:
    return [figure for figure in QUALITY if worse(one, figure, full)]


def better(one: Compared, figure: str) -> bool:
    """Whether a figure fell by more than its uncertainty, and by enough to matter; one gain of several is
    enough, so each is held to more.
    """
    change = widened(one.change[figure], len(QUALITY))
    return change.high < 0 and -change.value > LEAST_GAIN * one.before.value(figure)


def worse(one: Compared, figure: str, full: dict[str, float]) -> bool:
    """Whether a figure rose by more than its uncertainty, and by enough to matter."""
    return _clearly_up(one.change[figure], one.before.value(figure), TRIFLE * full[figure])


def _clearly_up(change: Estimate, before: float, least: float) -> bool:
    return change.low > 0 and change.value > max(CLEARLY_WORSE * before, least)


def _more_falls(name: str, falls: FallCounts, pushed: FallCounts, chance: float) -> list[Reason]:
    found = []
    for kind, one in (("", falls), (" when pushed", pushed)):
        if one.after > one.before and one.chance < chance:
            says = (
                f"falls{kind} in {one.after} of {one.episodes} episodes instead of {one.before}, by chance only"
                f" {_percent(one.chance)} of the time"
            )
            found.append(Reason("more falls", name, says))
    return found


def _strained(every: Sequence[Compared]) -> list[Reason]:
    """Energy and shaking; of several simulators the one in which a figure grows most."""
    found = []
    for figure in EFFORT:
        factor = ENERGY_FACTOR if figure == "cost_of_transport" else ROUGH_FACTOR
        grown = {
            one.name: one.after.value(figure) / max(one.before.value(figure), LEAST_ROUGH[figure]) for one in every
        }
        beyond = [one for one in every if grown[one.name] > factor]
        if beyond:
            most = max(beyond, key=lambda one: grown[one.name])
            before, after = (number_words(side.value(figure), figure) for side in (most.before, most.after))
            rule = "energy" if figure == "cost_of_transport" else "rough"
            says = f"{WORDS[figure][0]} {before} → {after}, more than {factor:g} times{_beside(beyond, every)}"
            found.append(Reason(rule, most.name, says))
    return found


def _only_in(quarter: Compared, pooled: Compared, full: dict[str, float]) -> list[Reason]:
    """What got worse in the worst quarter of the candidates and not over all of them, which has been said already."""
    found = []
    if not _more_falls(pooled.name, pooled.falls, pooled.falls_pushed, FALL_CHANCE):
        found += _more_falls(quarter.name, quarter.falls, quarter.falls_pushed, FALL_CHANCE)
    for figure in QUALITY:
        if worse(quarter, figure, full) and not worse(pooled, figure, full):
            found.append(_clearly_worse(quarter, figure))
    return found


def _beside(hurt: Sequence[Compared], every: Sequence[Compared]) -> str:
    return f", and in {len(hurt) - 1} more of {len(every)}" if len(hurt) > 1 else ""


def _one_by_one(every: Sequence[Compared], full: dict[str, float]) -> list[Reason]:
    """What speaks against the policy in the worst of the candidates."""
    found: list[Reason] = []
    for one in every:
        found += _more_falls(one.name, one.falls, one.falls_pushed, FALL_CHANCE / len(every))
    for figure in QUALITY:
        hurt = [one for one in every if worse(one, figure, full)]
        if hurt:
            most = max(hurt, key=lambda one: one.change[figure].value)
            found.append(_clearly_worse(most, figure, _beside(hurt, every)))
    return found + _strained(every)


def _clearly_worse(one: Compared, figure: str, elsewhere: str = "") -> Reason:
    """`elsewhere` says in how many more simulators."""
    says = f"{change_words(one, figure)}, clearly worse{elsewhere}"
    return Reason(WORSE, one.name, says, f"{_both_words(one, figure)}{elsewhere}")


def change_words(one: Compared, figure: str) -> str:
    """A figure before and after, with its change."""
    return f"{_both_words(one, figure)} ({signed_words(one.change[figure], figure)})"


def _both_words(one: Compared, figure: str) -> str:
    name, unit = WORDS[figure]
    before, after = (number_words(side.value(figure), figure) for side in (one.before, one.after))
    return f"{name} {before} → {after}{f' {unit}' if unit else ''}"


def number_words(value: float, figure: str) -> str:
    """A figure with as many decimals as it deserves."""
    return f"{value:.1f}" if figure in ("power_w", "joint_acceleration_rad_s2") else f"{value:.3f}"


def signed_words(change: Estimate, figure: str) -> str:
    """A change with half of its interval."""
    decimals = 1 if figure in ("power_w", "joint_acceleration_rad_s2") else 3
    if np.isnan(change.value):
        return "not measurable"
    return (
        f"{change.value:+.{decimals}f} ± {change.half:.{decimals}f}"
        if np.isfinite(change.half)
        else f"{change.value:+.{decimals}f}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
