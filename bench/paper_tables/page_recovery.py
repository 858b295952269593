"""What docs/results.md says about parameter recovery. Every sentence is computed: none knows a result."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from recover import CASES
from recover import PUBLISHED as RECOVERED
from results import RESULTS

from paper_tables import recovery
from paper_tables.spread import Spread, apart, surety
from paper_tables.words import NOT_YET, NOTHING, Figures, gaps, listed, nowhere, percent, plain, published, share, table

PUBLISHED_ERRORS = {  # method, torque noise -> what the paper reports; of match-s it is not known to us which horizon is meant
    **{("wasserstein", case): f"{100 * error:g} %" for case, error in RECOVERED.items()},
    ("match-s", "5.0"): "37.8 % (horizon not known)", ("match-o", "2.5"): "40.7 %", ("match-o", "5.0"): "86.3 %",
}  # fmt: skip
PUBLISHED_CANDIDATES = 200 * 13  # generations × population of 24 numbers, each candidate on 64 rollouts
NOISES = {"0.0": "no noise", "2.5": "2.5 N·m", "5.0": "5.0 N·m, late by 0.02-0.1 s"}
STATE_COSTS = ("match-s-1", "match-s-20", "match-s")
OURS = (recovery.OURS, recovery.OURS_WHOLE)


def best_of(found: Figures, rows: Sequence[str], column: str, figure: str) -> tuple[str, Spread] | None:
    """The row with the lowest mean."""
    there = [(row, found.at(row, column, figure)) for row in rows]
    there = [(row, spread) for row, spread in there if spread.n]
    return min(there, key=lambda one: one[1].mean) if there else None


def recovery_section(found: Figures) -> tuple[list[str], list[str]]:
    """Parameters recovered."""
    headings = ["method"] + [text for case in CASES for text in (NOISES[case], "published")] + ["simulated s", "min a cell"]
    rows = []
    first = [
        text for case in CASES for text in (percent(replace(found.at(recovery.OURS, case, "error_before"), cut=0), found.seeds), NOTHING)
    ]
    rows.append(["not fitted", *first, NOTHING, NOTHING])
    for method in recovery.METHODS:
        cells = [
            text
            for case in CASES
            for text in (percent(found.at(method, case, "error"), found.seeds), published(PUBLISHED_ERRORS, method, case))
        ]
        minutes = [one.wall_clock_s / 60 for one in found.kept if one.row == method]
        took = Spread(tuple(minutes))
        name = f"CMA-ES, {method}" if method in recovery.COSTS else f"{method} (quantile)"
        rows.append([name, *cells, plain(found.over_columns(method, "simulated_s"), digits=0), plain(took, digits=1)])
    said = [recovery_order(found, case) for case in ("2.5", "5.0")] + [recovery_best(found), recovery_worse(found)]
    return table(headings, rows), [*said, *recovery_effort(found), *recovery_harder()]


def recovery_effort(found: Figures) -> list[str]:
    """What the searches had to do with, against the published ones."""
    tried = Spread(tuple(value for cost in recovery.COSTS for value in found.over_columns(cost, "evaluations").values))
    ours = found.over_columns(recovery.OURS, "evaluations")
    if not tried.n or not ours.n:
        return []
    return [
        f"CMA-ES simulated {tried.mean:.0f} candidates a cell, and the published search {PUBLISHED_CANDIDATES} (200 generations of 13), each of these on "
        f"{recovery.PUBLISHED_ROLLOUTS} rollouts instead of {recovery.ROLLOUTS}; ours settled after {ours.mean:.0f}."
    ]


def recovery_harder(path: Path = RESULTS / "recover.json") -> list[str]:
    """What our fit does where more is hidden, from the bench of that."""
    if not path.exists():
        return []
    cases = json.loads(path.read_text(encoding="utf-8"))["summary"]
    parts = [f"{100 * cases[case]['mean_error']:.1f} % at {case} N·m" for case in CASES if case in cases]
    return [
        f"The problem that users have is harder: with viscous friction and delay hidden too (38 numbers, 64 rollouts, the fit as it comes), the same error is {listed(parts)} "
        "([bench/recover.py](../bench/recover.py))."
    ]


def recovery_order(found: Figures, case: str) -> str:
    """Whether Wasserstein < match-s < match-o, all with CMA-ES; of match-s the horizon that does best."""
    near, far = found.at("wasserstein", case, "error"), found.at("match-o", case, "error")
    state = best_of(found, STATE_COSTS, case, "error")
    if not near.n or not far.n or state is None:
        return f"The order of the costs at {case} N·m: not measured yet."
    name, middle = state
    others = [f"{cost} {share(found.at(cost, case, 'error'))}" for cost in STATE_COSTS if cost != name and found.at(cost, case, "error").n]
    horizon = f"{name}, its best horizon" + (f"; {listed(others)}" if others else "")
    figures = f"Wasserstein {share(near)}, match-s {share(middle)} ({horizon}), match-o {share(far)}"
    some = [f"{spread.refused} of {words}" for spread, words in ((near, "Wasserstein"), (middle, "match-s"), (far, "match-o")) if spread.refused]  # fmt: skip
    figures += f" (seeds that were refused: {listed(some)})" if some else ""
    order = f"At {case} N·m the published order (Wasserstein better than match-s better than match-o)"
    pairs = ((near, middle, "the first two"), (middle, far, "the last two"))
    if any(spread.n < 2 for spread in (near, middle, far)):
        return f"{order}: {figures}; one seed: not judged."
    if any(apart(high, low) for low, high, _ in pairs):
        return f"{order} is refuted here: {figures}."
    if not near.mean < middle.mean < far.mean:
        turned = listed([words for low, high, words in pairs if not low.mean < high.mean])
        return f"{order} is neither confirmed nor refuted: {figures}; {turned} are the other way round, within two standard errors."
    doubts = [words for low, high, words in pairs if not apart(low, high)]
    doubt = f", though {listed(doubts)} are within two standard errors" if doubts else ", each step by more than two standard errors"
    return f"{order} holds: {figures}{doubt}."


def recovery_best(found: Figures) -> str:
    """Our best row against the published figures."""
    parts = []
    for case in ("2.5", "5.0"):
        best = best_of(found, OURS, case, "error")
        if best is not None:
            beaten = best[1].mean < RECOVERED[case]
            parts.append(f"{share(best[1])} at {case} N·m ({best[0]}), {'below' if beaten else 'NOT below'} the published {100 * RECOVERED[case]:g} %{'' if best[1].n > 1 else ' (one seed: not judged)'}")  # fmt: skip
    return f"Our best row: {'; '.join(parts)}." if parts else f"Our rows: {NOT_YET.lower()}"


def recovery_worse(found: Figures) -> str:
    """Where another method, with the same data, is better than ours, and where ours stays above the published figure."""
    worse, names = [], (recovery.OURS, *recovery.COSTS)
    cells = {f"{method} at {case} N·m": found.at(method, case, "error") for method in names for case in CASES}
    compared = False
    for case in CASES:
        ours = found.at(recovery.OURS, case, "error")
        for method in recovery.COSTS:
            other = found.at(method, case, "error")
            compared |= bool(ours.n and other.n)
            if ours.n and other.n and other.mean < ours.mean:
                worse.append(f"than {method} at {case} N·m ({share(ours)} against {share(other)}, {surety(ours, other)})")
        if ours.n and ours.mean > RECOVERED[case]:
            worse.append(f"than the published {100 * RECOVERED[case]:g} % at {case} N·m ({share(ours)}, with {recovery.ROLLOUTS} rollouts instead of 64)")  # fmt: skip
    if not compared:
        return f"Where ours is worse: {NOT_YET.lower()}"
    if worse:
        return f"Ours is worse {listed(worse)}{gaps(cells)}."
    return nowhere("Ours", cells, "with the same data and the same simulated seconds")
