"""Whether a fine-tuned policy really does better than the old one, by the rules of `verify.rules`.

Both walk in the nominal and in the fitted simulator, on a virtual robot, and on robots drawn from what the
fit leaves open.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from surefoot.adapt import Adaptation
from surefoot.policy.agents import Agent
from surefoot.records import from_json
from surefoot.robot import Robot
from surefoot.shown import Shown, dataframe
from surefoot.sim.nonfinite import NonFinite
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
from surefoot.verify.candidates import (
    KnobInterval,
    characterized,
    correlations,
    draw,
    settings_at,
    spans_of,
    worst_corner,
)
from surefoot.verify.compare import LEVEL, QUALITY, Compared, compare, compare_over, estimate
from surefoot.verify.evaluate import EPISODE_S
from surefoot.verify.fit_gap import UNKNOWN, FitGap
from surefoot.verify.paths import Track, tracks_of
from surefoot.verify.rules import ADAPTED, LIMITS, NOMINAL, POOLED, QUARTER, TWIN, Reason, judge, set_aside
from surefoot.verify.trial import Place, Trial, drift_s_of, lines_of, run_trials
from surefoot.verify.worst_quartile import compare_worst


@dataclass(frozen=True)
class Worst:
    """The worst of the robots that the fit cannot rule out, for one policy or for the change from one to the other."""

    what: str
    simulator: str  # which candidate
    score: float
    typical: float  # mean over the drawn candidates
    where: str  # which knobs mark it
    settings: dict[str, float]  # all knobs there


@dataclass(frozen=True, eq=False)
class Verdict(Shown):
    """GO without reasons against it, NO-GO with."""

    reasons: tuple[Reason, ...]
    gains: tuple[str, ...]  # what got better in the adapted simulator
    named: tuple[Compared, ...]  # nominal, adapted, and the virtual robot where one was given
    pooled: Compared | None  # the mean over the candidates
    candidates: tuple[Compared, ...]  # drawn in the intervals
    corners: tuple[Compared, ...]  # and at ends of it
    worst: tuple[Worst, ...]
    paths: dict[
        str, tuple[dict[str, Track], dict[str, Track]]
    ]  # of the named simulators, before and after, by direction
    quarter: Compared | None = None  # the mean over the worst quarter of the candidates
    fit: FitGap | None = None  # how near the adapted simulator is to the robot
    aside: str = ""  # what is worse and does not count, and why
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def go(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons

    @property
    def word(self) -> str:
        """GO or NO-GO."""
        return "GO" if self.go else "NO-GO"

    @property
    def about_fit(self) -> str:
        """One sentence on what the adapted simulator is worth."""
        return UNKNOWN if self.fit is None else self.fit.says

    def to_dataframe(self) -> Any:
        """The figures of both policies in each simulator as a pandas DataFrame, with the interval of their change."""
        rows = []
        for compared in (*self.named, *self.candidates, *self.corners):
            for figure, change in compared.change.items():
                sides = {"before": compared.before.value(figure), "after": compared.after.value(figure)}
                ends = {"change": change.value, "low": change.low, "high": change.high}
                rows.append({"simulator": compared.name, "figure": figure, **sides, **ends})
        return dataframe(rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        every = {"simulators": self.named, "candidates": self.candidates, "corners": self.corners}
        return {
            "provenance": self.provenance,
            "verdict": self.word,
            "reasons": [asdict(reason) for reason in self.reasons],
            "gains": list(self.gains),
            "fit": ({} if self.fit is None else asdict(self.fit)) | {"says": self.about_fit},
            "aside": self.aside,
            "intervals": None if self.pooled is None else asdict(self.pooled),
            "worst_quarter": None if self.quarter is None else asdict(self.quarter),
            "limits": LIMITS,
            **{key: [asdict(one) for one in found] for key, found in every.items()},
            "worst": [asdict(one) for one in self.worst],
            "paths": {
                name: {
                    side: {direction: asdict(track) for direction, track in tracks.items()}
                    for side, tracks in zip(("before", "after"), both, strict=True)
                }
                for name, both in self.paths.items()
            },
        }

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Verdict":
        """From what `to_dict` gave, through JSON or not."""

        def compared(rows: list[Any]) -> tuple[Compared, ...]:
            return tuple(from_json(Compared, row) for row in rows)

        def tracks(rows: dict[str, Any]) -> dict[str, Track]:
            return {direction: from_json(Track, row) for direction, row in rows.items()}

        about = {key: value for key, value in content["fit"].items() if key != "says"}
        pooled, quarter = content["intervals"], content["worst_quarter"]
        return Verdict(
            tuple(from_json(Reason, reason) for reason in content["reasons"]),
            tuple(content["gains"]),
            compared(content["simulators"]),
            None if pooled is None else from_json(Compared, pooled),
            compared(content["candidates"]),
            compared(content["corners"]),
            tuple(from_json(Worst, worst) for worst in content["worst"]),
            {name: (tracks(both["before"]), tracks(both["after"])) for name, both in content["paths"].items()},
            None if quarter is None else from_json(Compared, quarter),
            FitGap(**about) if about else None,
            content["aside"],
            content["provenance"],
        )


def full_sizes(robot: Robot, seconds: float) -> dict[str, float]:
    """Full speed, full turn, and the way of all straight walks together."""
    speeds = [float(np.hypot(command[0], command[1])) for command in lines_of(robot).values()]
    turn = float(np.abs(robot.contract.command_range[2]).max())
    way_m = sum(speeds) * drift_s_of(seconds) or 1.0
    return {
        "velocity_error_m_s": max(speeds, default=1.0),
        "turn_error_rad_s": turn or 1.0,
        "drift_m": way_m,
        "way_error_m": way_m,
    }


def score_of(trial: Trial, full: dict[str, float]) -> float:
    """One number to rank candidates by, 0 for perfect: shares of full speed, of the way and of episodes
    that are lost.
    """
    fallen = float(np.concatenate([trial.fell, trial.fell_pushed, trial.fell_straight.ravel()]).mean())
    shares = [estimate(getattr(trial, figure)).value / full[figure] for figure in QUALITY]
    return fallen + sum(1.0 if np.isnan(share) else share for share in shares)


@dataclass(frozen=True)
class Effort:
    """How much is simulated."""

    episodes: int = 40
    straight_episodes: int = 8
    candidates: int = 16
    candidate_episodes: int = 8  # of each candidate; straight ones half as many
    seconds: float = EPISODE_S

    @property
    def candidate_straight(self) -> int:
        """Straight walks of a candidate, in each direction; two are the fewest with an interval."""
        return max(2, self.candidate_episodes // 2)


VerdictProgress = Callable[[str, int, int], None]


def reach_verdict(
    robot: Robot,
    before: Callable[[int], Agent],
    after: Callable[[int], Agent],
    adaptation: Adaptation,
    twin: Twin | None = None,
    *,
    fit: FitGap | None = None,
    effort: Effort | None = None,
    seed: int = 0,
    threads: int = 0,
    progress: VerdictProgress | None = None,
) -> Verdict:
    """Walk both policies in all simulators and judge; the same seed gives the same verdict. `fit`: how near
    the adaptation came.
    """
    effort = Effort() if effort is None else effort
    spans = spans_of(adaptation)
    full = full_sizes(robot, effort.seconds)
    counts = effort.episodes, effort.straight_episodes
    fitted = adaptation.physics(robot)
    named = [Place(NOMINAL, Physics(robot), *counts), Place(ADAPTED, fitted, *counts)]
    if twin is not None:
        named.append(Place(f"{TWIN}{twin.name}", twin.physics, *counts))

    def walk(places: Sequence[Place], part: str) -> list[tuple[Trial, Trial]]:
        sides = []
        for name, make in (("before", before), ("after", after)):

            def tick(done: int, total: int, name: str = name) -> None:
                if progress is not None:
                    progress(f"{name}, {part}", done, total)

            sides.append(
                run_trials(robot, places, make, seconds=effort.seconds, seed=seed, threads=threads, progress=tick)
            )
        return list(zip(*sides, strict=True))

    def at(places: np.ndarray, name: str) -> list[Place]:
        counts = effort.candidate_episodes, effort.candidate_straight
        settings = [settings_at(adaptation, robot, spans, row) for row in places]
        return [Place(f"{name} {i + 1}", replace(fitted, parameters=one), *counts) for i, one in enumerate(settings)]

    places = draw(spans, effort.candidates if spans else 0, seed)
    trials = walk([*named, *at(places, "candidate")], "all simulators")
    drawn = trials[len(named) :]
    scores = _scores(drawn, full)
    ends = _corners(spans, places, scores)
    at_ends = walk(at(ends, "corner"), "corners of the intervals") if len(ends) else []
    level = 1 - (1 - LEVEL) / max(1, len(drawn) + len(at_ends))  # so that the worst of many is not the worst by chance
    compared = [compare(one.name, *pair) for one, pair in zip(named, trials[: len(named)], strict=True)]
    every = [compare(_name(i, len(drawn)), *pair, level) for i, pair in enumerate(drawn + at_ends)]
    pooled = compare_over(POOLED, drawn) if drawn else None
    quarter = compare_worst(QUARTER, drawn) if drawn else None
    reasons, gains = judge(compared, pooled, every, full, quarter, fit)
    names = [*(one.name for one in named), *(_name(i, len(drawn)) for i in range(len(drawn) + len(at_ends)))]
    broken = [(name, pair[1].nonfinite) for name, pair in zip(names, [*trials, *at_ends], strict=True)]
    reasons = (*_not_finite(broken), *reasons)
    everywhere, scores = np.concatenate([places, ends]), _scores(drawn + at_ends, full)
    marks = _marks(spans, everywhere, scores, len(drawn))
    reasons = tuple(
        replace(one, says=f"{one.says}; at {marks[one.simulator]}") if marks.get(one.simulator) else one
        for one in reasons
    )
    worst = _worst(spans, everywhere, scores, len(drawn))
    paths = {
        one.name: (tracks_of(pair[0]), tracks_of(pair[1]))
        for one, pair in zip(named, trials[: len(named)], strict=True)
    }
    return Verdict(
        reasons,
        gains,
        tuple(compared),
        pooled,
        tuple(every[: len(drawn)]),
        tuple(every[len(drawn) :]),
        worst,
        paths,
        quarter,
        fit,
        "; ".join(filter(None, (set_aside(compared, full, fit), _old_not_finite([pair[0] for pair in trials])))),
    )


def _not_finite(found: Sequence[tuple[str, NonFinite | None]]) -> list[Reason]:
    """One reason for a new policy whose network gives no numbers: where it was first seen, and in how many
    simulators.
    """
    broken = [(name, one) for name, one in found if one is not None]
    if not broken:
        return []
    name, one = broken[0]
    return [Reason("not finite", name, f"{one.says} (in {len(broken)} of {len(found)} simulators)", one.says)]


def _old_not_finite(trials: Sequence[Trial]) -> str:
    broken = [trial.nonfinite for trial in trials if trial.nonfinite is not None]
    return f"of the old policy: {broken[0].says}" if broken else ""


RANKED = ("before", "after", "the change")


def _scores(trials: Sequence[tuple[Trial, Trial]], full: dict[str, float]) -> np.ndarray:
    """Score of the old policy, of the new one, and their difference, (3, n)."""
    both = np.array([[score_of(trial, full) for trial in pair] for pair in trials]).reshape(-1, 2).T
    return np.concatenate([both, both[1:] - both[:1]])


def _corners(spans: Sequence[KnobInterval], places: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Where a first-order look at the candidates says that the new policy is worst, and worst against the old one."""
    found: list[np.ndarray] = []
    for score in scores[1:]:
        corner = worst_corner(spans, correlations(places, score))
        if corner is not None and not any(np.array_equal(corner, other) for other in found):
            found.append(corner)
    return np.array(found).reshape(len(found), len(spans))


def _name(k: int, drawn: int) -> str:
    return f"candidate {k + 1}" if k < drawn else f"corner {k - drawn + 1}"


def _marks(spans: Sequence[KnobInterval], places: np.ndarray, scores: np.ndarray, drawn: int) -> dict[str, str]:
    """By which knobs each candidate is known to be good or bad for the change of policy."""
    correlation = correlations(places[:drawn], scores[-1, :drawn])
    return {_name(k, drawn): characterized(spans, row, correlation, drawn) for k, row in enumerate(places)}


def _worst(spans: Sequence[KnobInterval], places: np.ndarray, scores: np.ndarray, drawn: int) -> tuple[Worst, ...]:
    found = []
    for what, score in zip(RANKED, scores, strict=True):
        if not drawn or np.ptp(score) <= 1e-12:  # nothing ranks them
            continue
        k = int(np.argmax(score))
        correlation = correlations(places[:drawn], score[:drawn])
        settings = {span.knob.name: span.at(float(place)) for span, place in zip(spans, places[k], strict=True)}
        where = characterized(spans, places[k], correlation, drawn) or "no knob stands out"
        found.append(Worst(what, _name(k, drawn), float(score[k]), float(score[:drawn].mean()), where, settings))
    return tuple(found)
