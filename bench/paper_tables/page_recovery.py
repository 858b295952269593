"""What docs/results.md says about parameter recovery. Every sentence is computed: none knows a result."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from recover import CASES
from recover import PUBLISHED as RECOVERED
from results import RESULTS

from paper_tables import recovery
from paper_tables.fits import SECONDS
from paper_tables.spread import Spread, apart, differences, surety, was_cut
from paper_tables.words import NOT_YET, NOTHING, Figures, gaps, listed, nowhere, percent, plain, published, share, table

PUBLISHED_ERRORS = {  # method, torque noise -> what the paper reports; of match-s it is not known to us which horizon is meant
    **{("wasserstein", case): f"{100 * error:g} %" for case, error in RECOVERED.items()},
    ("match-s", "5.0"): "37.8 % (horizon not known)", ("match-o", "2.5"): "40.7 %", ("match-o", "5.0"): "86.3 %",
}  # fmt: skip
PUBLISHED_GENERATIONS, POPULATION = 200, 13  # of 24 numbers: 4 + 3 log(24)
PUBLISHED_CANDIDATES = PUBLISHED_GENERATIONS * POPULATION
NOISES = {"0.0": "no noise", "2.5": "2.5 N·m", "5.0": "5.0 N·m, late by 0.02-0.1 s"}
STATE_COSTS = ("match-s-1", "match-s-20", "match-s")
OURS = (recovery.OURS, recovery.OURS_NARROW, recovery.OURS_WHOLE)


def best_of(found: Figures, rows: Sequence[str], column: str, figure: str) -> tuple[str, Spread] | None:
    """The row with the lowest mean."""
    there = [(row, found.at(row, column, figure)) for row in rows]
    there = [(row, spread) for row, spread in there if spread.n]
    return min(there, key=lambda one: one[1].mean) if there else None


def recovery_section(found: Figures) -> tuple[list[str], list[str]]:
    """Parameters recovered."""
    headings = ["method"] + [text for case in CASES for text in (NOISES[case], "published")] + ["simulated s", "core-min a cell"]
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
        minutes = [one.core_minutes for one in found.kept if one.row == method]
        took = Spread(tuple(minutes))
        name = f"CMA-ES, {method}" if method in recovery.COSTS else f"{method} (quantile)"
        rows.append([name, *cells, plain(found.over_columns(method, "simulated_s"), digits=0), plain(took, digits=1)])
    said = [recovery_order(found, case) for case in ("2.5", "5.0")]
    said += [*recovery_aim(found), recovery_published(found), recovery_best(found), recovery_worse(found), recovery_channels(found)]
    return table(headings, rows), [*said, *recovery_effort(found), *recovery_harder()]


def recovery_effort(found: Figures) -> list[str]:
    """What the searches had to do with, against the published ones."""
    tried = Spread(tuple(value for cost in recovery.COSTS for value in found.over_columns(cost, "evaluations").values))
    took_s = Spread(tuple(value for cost in recovery.COSTS for value in found.over_columns(cost, "simulated_s").values))
    ours_s = found.over_columns(recovery.OURS, "simulated_s")
    if not tried.n or not ours_s.n:
        return []
    settled = [not was_cut(one.figures) for one in found.kept if one.row == recovery.OURS]
    times = PUBLISHED_CANDIDATES * recovery.PUBLISHED_ROLLOUTS * SECONDS / took_s.mean
    return [
        f"CMA-ES simulated {tried.mean:.0f} candidates a cell, about {tried.mean / (1 + POPULATION):.0f} generations of {POPULATION} and their mean, in {took_s.mean:.0f} s; the "
        f"published search had {PUBLISHED_GENERATIONS} generations with {recovery.PUBLISHED_ROLLOUTS} rollouts each, {times:.0f} times as many simulated seconds. These baselines "
        f"are what equal budgets give, not the best that they can do. Ours took {ours_s.mean:.0f} s, and settled in {sum(settled)} of {len(settled)} cells."
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
    """Whether Wasserstein < match-s < match-o, all with CMA-ES, for each horizon of match-s by itself."""
    rows = ("wasserstein", *STATE_COSTS, "match-o")
    errors = {
        row: found.at(row, case, "error") for row in rows if found.at(row, case, "error").known or found.at(row, case, "error").refused
    }
    states = [row for row in STATE_COSTS if row in errors]
    if "wasserstein" not in errors or "match-o" not in errors or not states:
        return f"The order of the costs at {case} N·m: not measured yet."
    verdicts: dict[str, list[str]] = {}
    for row in states:
        verdicts.setdefault(order_of(errors["wasserstein"], errors[row], errors["match-o"]), []).append(row)
    figures = ", ".join(
        f"{row} {share(spread)}{f' ({spread.refused} refused)' if spread.refused else ''}" for row, spread in errors.items()
    )
    judged = listed([f"{verdict} for {listed(of)}" for verdict, of in verdicts.items()])
    cut = [row for row, spread in errors.items() if spread.cut]
    budget = f" That is so at this budget: cut before they settled were {listed(cut)}." if cut else ""
    return (
        f"At {case} N·m, with CMA-ES: {figures}. The published order (Wasserstein better than match-s better than match-o) is {judged}. "
        f"Pair by pair, {pair_by_pair(errors)}.{budget}"
    )


def pair_by_pair(errors: Mapping[str, Spread]) -> str:
    """What Wasserstein is against each of the others, and on how many robots."""
    sides: dict[str, list[str]] = {"better than": [], "worse than": []}
    for row, spread in errors.items():
        more = differences(errors["wasserstein"], spread)
        if row != "wasserstein" and len(more):
            better = more.mean() > 0
            count = int((more > 0).sum() if better else (more < 0).sum())
            where = f"on {count} of {len(more)} robots, {surety(errors['wasserstein'], spread)}"
            sides["better than" if better else "worse than"].append(f"{row} ({where})")
    return f"wasserstein is {' and '.join(f'{side} {listed(of)}' for side, of in sides.items() if of)}"


def order_of(near: Spread, middle: Spread, far: Spread) -> str:
    """Whether these are in this order, in words."""
    pairs = ((near, middle), (middle, far))
    if any(len(differences(*pair)) < 2 for pair in pairs):
        return "not judged (one seed)"
    if any(apart(high, low) for low, high in pairs):
        return "refuted"
    return "confirmed" if all(apart(low, high) for low, high in pairs) else "neither confirmed nor refuted"


def recovery_aim(found: Figures) -> list[str]:
    """Whether searches were cut on their way, or their costs lead elsewhere: what their answers cost beside what the hidden numbers cost."""
    parts = []
    for row in recovery.COSTS:
        kept = [one.figures for one in found.kept if one.row == row and one.figures.get("cost_of_counted")]
        ratio = Spread(tuple(one["cost"] / one["cost_of_counted"] for one in kept))
        if ratio.n:
            parts.append(f"{row} {ratio.mean:.2f} (n = {ratio.n}, {min(ratio.values):.2f} to {max(ratio.values):.2f})")
    if not parts:
        return []
    return [
        f"The cost of the answer over its cost with the hidden armature and friction instead, in the cells that keep it: {', '.join(parts)}. Above 1 the search was cut on its way, and "
        "a longer one would come nearer; below 1 the cost itself prefers another robot than the true one, and no search mends that."
    ]


def recovery_published(found: Figures) -> str:
    """What the published method gives here, against its published figures."""
    parts = [
        f"{share(spread)} at {case} N·m (published {100 * RECOVERED[case]:g} %)"
        for case in CASES
        if (spread := found.at("wasserstein", case, "error")).n
    ]
    if not parts:
        return f"The published method here: {NOT_YET.lower()}"
    return f"The published method, CMA-ES on the Wasserstein distance, leaves {listed(parts)} here, with {recovery.ROLLOUTS} rollouts instead of {recovery.PUBLISHED_ROLLOUTS} and fewer generations."


def recovery_best(found: Figures) -> str:
    """Our best row against the published figures."""
    parts = []
    for case in ("2.5", "5.0"):
        best = best_of(found, OURS, case, "error")
        if best is None:
            continue
        row, spread = best
        below = sum(value < RECOVERED[case] for value in spread.values)
        side = "below" if spread.mean < RECOVERED[case] else "NOT below"
        refused = f", {spread.refused} refused" if spread.refused else ""
        parts.append(
            f"{share(spread)} at {case} N·m ({row}), {side} the published {100 * RECOVERED[case]:g} %, in {below} of {spread.n} seeds{refused}"
        )
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
            worse.append(
                f"than the published {100 * RECOVERED[case]:g} % at {case} N·m ({share(ours)}, with {recovery.ROLLOUTS} rollouts instead of {recovery.PUBLISHED_ROLLOUTS})"
            )
    if not compared:
        return f"Where ours is worse: {NOT_YET.lower()}"
    if worse:
        return f"Ours is worse {listed(worse)}{gaps(cells)}."
    return nowhere("Ours", cells, "than the others, which have the same logs and no fewer simulated seconds")


def recovery_channels(found: Figures) -> str:
    """What of it is the search, and what the channels that it looks at."""
    parts = []
    for case in CASES:
        wide, narrow, other = (found.at(row, case, "error") for row in (recovery.OURS, recovery.OURS_NARROW, "wasserstein"))
        if wide.n and narrow.n and other.n:
            parts.append(
                f"{share(narrow)} at {case} N·m ({share(wide)} with all channels, {share(other)} with CMA-ES on the same channels)"
            )
    return (
        f"With position, velocity and action alone, our search leaves {listed(parts)}."
        if parts
        else f"Our search on the published channels: {NOT_YET.lower()}"
    )
