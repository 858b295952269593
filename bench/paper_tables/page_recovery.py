"""What docs/results.md says about parameter recovery. Every sentence is computed: none knows a result."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from recover import CASES
from recover import PUBLISHED as RECOVERED
from results import RESULTS

from paper_tables import recovery
from paper_tables.fits import SECONDS
from paper_tables.spread import Spread, apart, differences, is_number, shared, surety, was_cut
from paper_tables.words import NOT_YET, NOTHING, Figures, by, gaps, listed, percent, plain, published, share, table

# method, torque noise -> what the paper reports; of match-s it is not known to us which horizon is meant
PUBLISHED_ERRORS = {
    **{("wasserstein", case): f"{100 * error:g} %" for case, error in RECOVERED.items()},
    ("match-s", "5.0"): "37.8 % (horizon not known)",
    ("match-o", "2.5"): "40.7 %",
    ("match-o", "5.0"): "86.3 %",
}
PUBLISHED_GENERATIONS, POPULATION = 200, 13  # of 24 numbers: 4 + 3 log(24)
# times the cost of the truth: without noise that costs nothing to some, and their answers have no multiple of it
BOUNDLESS = 1000.0
PROBED = 26  # candidates before the first generation: each knob turned by itself, and none
COSTS_KEPT = ("cost", "cost_of_truth", "cost_of_counted")
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
    headings = (
        ["method"]
        + [text for case in CASES for text in (NOISES[case], "published")]
        + ["simulated s", "core-min a cell", "cost of the answer / of the truth"]
    )
    rows = []
    first = [
        text
        for case in CASES
        for text in (percent(replace(found.at(recovery.OURS, case, "error_before"), cut=0), found.seeds), NOTHING)
    ]
    rows.append(["not fitted", *first, NOTHING, NOTHING, NOTHING])
    for method in recovery.METHODS:
        cells = [
            text
            for case in CASES
            for text in (
                percent(found.at(method, case, "error"), found.seeds),
                published(PUBLISHED_ERRORS, method, case),
            )
        ]
        minutes = [one.core_minutes for one in found.kept if one.row == method]
        took = Spread(tuple(minutes))
        name = f"CMA-ES, {method}" if method in recovery.COSTS else f"{method} (quantile)"
        rows.append(
            [
                name,
                *cells,
                plain(found.over_columns(method, "simulated_s"), digits=0),
                plain(took, digits=1),
                _times(costs_over_truth(found, method)),
            ]
        )
    said = [recovery_order(found, case) for case in ("2.5", "5.0")]
    said += [
        *recovery_aim(found),
        recovery_published(found),
        recovery_best(found),
        *recovery_worse(found),
        recovery_channels(found),
    ]
    return [*table(headings, rows), *recovery_pairs(found)], [*said, *recovery_effort(found), *recovery_harder()]


def recovery_pairs(found: Figures) -> list[str]:
    """A second table: who is better, robot by robot, of the pairs that the published order names and of
    ours with each cost.
    """
    wanted = {"wasserstein": (*STATE_COSTS, "match-o"), **dict.fromkeys(STATE_COSTS, ("match-o",))}
    wanted |= dict.fromkeys((recovery.OURS, recovery.OURS_NARROW), recovery.COSTS)
    rows = []
    for case in CASES:
        for one, others in wanted.items():
            mine = found.at(one, case, "error")
            cells = {other: against(mine, found.at(other, case, "error")) for other in others}
            shown = [cells[other] or NOTHING if other in cells else "" for other in recovery.COSTS]
            rows += [[f"{one} at {case} N·m", *shown]] * any(cells.values())
    if not rows:
        return []
    head = (
        "On how many of the robots that both have the row is better than the column; **bold**: the mean difference is"
        " beyond chance, each pair by itself."
    )
    return ["", head, "", *table(["", *(f"than {cost}" for cost in recovery.COSTS)], rows)]


def recovery_effort(found: Figures) -> list[str]:
    """What the searches had to do with, against the published ones."""
    tried = Spread(tuple(value for cost in recovery.COSTS for value in found.over_columns(cost, "evaluations").values))
    took_s = Spread(tuple(value for cost in recovery.COSTS for value in found.over_columns(cost, "simulated_s").values))
    ours_s = found.over_columns(recovery.OURS, "simulated_s")
    if not tried.n or not ours_s.n:
        return []
    generations = [
        (each.mean - PROBED) / (1 + POPULATION)
        for cost in recovery.COSTS
        if (each := found.over_columns(cost, "evaluations")).n
    ]
    settled = [not was_cut(one.figures) for one in found.kept if one.row == recovery.OURS]
    times = PUBLISHED_CANDIDATES * recovery.PUBLISHED_ROLLOUTS * SECONDS / took_s.mean
    return [
        f"CMA-ES simulated {tried.mean:.0f} candidates a cell, {_range(generations)} generations of {POPULATION} and"
        f" their mean, in {took_s.mean:.0f} s; the published search had {PUBLISHED_GENERATIONS} generations with"
        f" {recovery.PUBLISHED_ROLLOUTS} rollouts each, {times:.0f} times as many simulated seconds. These baselines"
        f" are what equal budgets give, not the best that they can do. Ours took {ours_s.mean:.0f} s, and settled in"
        f" {sum(settled)} of {len(settled)} cells."
    ]


def _range(values: Sequence[float], digits: int = 0) -> str:
    """From the least to the most."""
    if not values:
        return NOTHING
    low, high = (
        f"{end:.{digits}f}" if end < BOUNDLESS else f"more than {BOUNDLESS:g}" for end in (min(values), max(values))
    )
    return low if low == high else f"{low} to {high}"


def _times(values: Sequence[float]) -> str:
    """A range, and of how many cells."""
    return f"{_range(values, 2)} (n = {len(values)})" if values else NOTHING


def recovery_harder(path: Path = RESULTS / "recover.json") -> list[str]:
    """What our fit does where more is hidden, from the bench of that."""
    if not path.exists():
        return []
    cases = json.loads(path.read_text(encoding="utf-8"))["summary"]
    parts = [f"{100 * cases[case]['mean_error']:.1f} % at {case} N·m" for case in CASES if case in cases]
    return [
        "The problem that users have is harder: with viscous friction and delay hidden too (38 numbers, 64 rollouts,"
        f" the fit as it comes), the same error is {listed(parts)}, to be compared with the row of 64 rollouts"
        " ([bench/recover.py](../bench/recover.py))."
    ]


def recovery_order(found: Figures, case: str) -> str:
    """Whether Wasserstein < match-s < match-o, all with CMA-ES, step by step and for each horizon of
    match-s by itself.
    """
    rows = ("wasserstein", *STATE_COSTS, "match-o")
    errors = {
        row: found.at(row, case, "error")
        for row in rows
        if found.at(row, case, "error").known or found.at(row, case, "error").refused
    }
    states = [row for row in STATE_COSTS if row in errors]
    if "wasserstein" not in errors or "match-o" not in errors or not states:
        return f"The order of the costs at {case} N·m: not measured yet."
    near, far = errors["wasserstein"], errors["match-o"]
    most = max(spread.n for spread in errors.values())
    figures = ", ".join(f"{row} {share(spread)}{_counted(spread, most)}" for row, spread in errors.items())
    first, second = (
        {row: order_of(near, errors[row]) for row in states},
        {row: order_of(errors[row], far) for row in states},
    )
    off = ", ".join(
        f"{row} {by(near, errors[row], scale=100, unit=' points', digits=1)}" for row in (*states, "match-o")
    )
    start = {row: shared(found.at(row, case, "error_before"), spread) for row, spread in errors.items()}
    astray = [row for row, (before, after) in start.items() if before.n and after.n and after.mean > before.mean]
    lost = f" Further from the truth than not fitting at all: {listed(astray)}." if astray else ""
    cut = [row for row, spread in errors.items() if spread.cut]
    budget = f" That is so at this budget: cut before they settled were {listed(cut)}." if cut else ""
    return (
        f"At {case} N·m, with CMA-ES: {figures}. Of the published order, that Wasserstein is better than match-s is"
        f" {_judged(first)}; that match-s is better than match-o is {_judged(second)}; that Wasserstein is better than"
        f" match-o is {order_of(near, far)}. Off by more than Wasserstein: {off}.{lost}{budget}"
    )


def _judged(verdicts: dict[str, str]) -> str:
    """Which verdict goes for which rows."""
    rows: dict[str, list[str]] = {}
    for row, verdict in verdicts.items():
        rows.setdefault(verdict, []).append(row)
    return listed([f"{verdict} for {listed(of)}" for verdict, of in rows.items()])


def _counted(spread: Spread, most: int) -> str:
    """How many seeds, where not all have the same number, and how many were refused."""
    words = [f"{spread.n} of {most} seeds"] * (spread.n < most) + [f"{spread.refused} refused"] * bool(spread.refused)
    return f" ({', '.join(words)})" if words else ""


def against(one: Spread, other: Spread) -> str:
    """On how many of the robots that both have the first is the better one, bold beyond chance; empty where
    they share none.
    """
    more = differences(one, other)
    if not len(more):
        return ""
    text = f"{int((more > 0).sum())} of {len(more)}"
    return f"**{text}**" if apart(one, other) or apart(other, one) else text


def order_of(better: Spread, worse: Spread) -> str:
    """Whether one is better than the other, in words."""
    if len(both := differences(better, worse)) < 2:
        return "not judged (one seed)" if len(both) else "not judged (no robot that both have)"
    if apart(worse, better):
        return "refuted"
    return "confirmed" if apart(better, worse) else "neither confirmed nor refuted"


def costs_over_truth(found: Figures, row: str) -> list[float]:
    """What answers cost, in what the hidden armature and friction cost, for the cells that keep all of it.

    These are taken with the noise of the truth or that of the answer, whichever costs less: costs in time
    prefer no noise.
    """
    kept = [
        one.figures
        for one in found.kept
        if one.row == row and all(is_number(one.figures.get(key)) for key in COSTS_KEPT)
    ]
    return [min(one["cost"] / max(min(one["cost_of_truth"], one["cost_of_counted"]), 1e-12), BOUNDLESS) for one in kept]


def recovery_aim(found: Figures) -> list[str]:
    """Whether the answers are minima of their costs: what they cost beside what the hidden numbers cost."""
    times = {row: each for row in recovery.COSTS if (each := costs_over_truth(found, row))}
    if not times:
        return []
    above = ", ".join(f"{row} {sum(one > 1 for one in each)} of {len(each)}" for row, each in times.items())
    return [
        "Is an answer the minimum of its cost? In the last column its cost is divided by the cost of the hidden"
        " armature and friction, with the noise of the truth or of the answer, whichever is less, over all noises."
        f" Above 1 the search had not found the minimum ({above}, of the cells that keep it); below 1 something else"
        " costs less than the truth on that log."
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
    return (
        f"The published method, CMA-ES on the Wasserstein distance, leaves {listed(parts)} here, with"
        f" {recovery.ROLLOUTS} rollouts instead of {recovery.PUBLISHED_ROLLOUTS} and fewer generations."
    )


def recovery_best(found: Figures) -> str:
    """Our best row against the published figures, and the best of those with the most seeds where that is
    another one.
    """
    parts = []
    for case in ("2.5", "5.0"):
        most = max(found.at(row, case, "error").n for row in OURS)
        rows = [
            best_of(found, OURS, case, "error"),
            best_of(found, [row for row in OURS if found.at(row, case, "error").n == most], case, "error"),
        ]
        for row, spread in dict.fromkeys(one for one in rows if one is not None):
            below = sum(value < RECOVERED[case] for value in spread.values)
            side = "below" if spread.mean < RECOVERED[case] else "NOT below"
            refused = f", {spread.refused} refused" if spread.refused else ""
            parts.append(
                f"{share(spread)} at {case} N·m ({row}), {side} the published {100 * RECOVERED[case]:g} %, in {below}"
                f" of {spread.n} seeds{refused}"
            )
    return f"Our best row: {'; '.join(parts)}." if parts else f"Our rows: {NOT_YET.lower()}"


def recovery_worse(found: Figures) -> list[str]:
    """Where the rows of ours that have the same logs as the others are worse than one of them, or than the
    published figures.
    """
    said = []
    for row in (recovery.OURS, recovery.OURS_NARROW):
        met, worse = False, []
        for case in CASES:
            ours, here = found.at(row, case, "error"), []
            for method in recovery.COSTS:
                other = found.at(method, case, "error")
                more = differences(ours, other)
                met |= len(more) > 0
                if len(more) and more.mean() < 0:
                    one, two = shared(ours, other)
                    where = f"on {int((more < 0).sum())} of {len(more)}, {surety(ours, other)}"
                    here.append(f"{method} ({share(one)} against {share(two)}, {where})")
            if ours.n and ours.mean > RECOVERED[case]:
                few = f"{share(ours)}, with {recovery.ROLLOUTS} rollouts instead of {recovery.PUBLISHED_ROLLOUTS}"
                here.append(f"the published {100 * RECOVERED[case]:g} % ({few})")
            worse += [f"at {case} N·m than {listed(here)}"] * bool(here)
        name = f"{row[0].upper()}{row[1:]}, with the logs that the others have,"
        if worse:
            said.append(f"{name} is worse {', '.join(worse)}.")
        elif met:
            said.append(
                f"{name} is not worse in the mean than any of them where both have an answer{_few(found, row)}, nor"
                " than the published figures."
            )
    names = (recovery.OURS, recovery.OURS_NARROW, *recovery.COSTS)
    left = gaps(
        {f"{method} at {case} N·m": found.at(method, case, "error") for method in names for case in CASES}
    ).removeprefix("; ")
    return [*said, *([f"{left[0].upper()}{left[1:]}."] if said and left else [])] or [
        f"Where ours is worse: {NOT_YET.lower()}"
    ]


def _few(found: Figures, row: str) -> str:
    """A word where a comparison rests on one robot."""
    pairs = [(found.at(row, case, "error"), found.at(cost, case, "error")) for case in CASES for cost in recovery.COSTS]
    return " (one robot in some cells)" if any(len(differences(*pair)) == 1 for pair in pairs) else ""


def recovery_channels(found: Figures) -> str:
    """What of it is the search, and what the channels that it looks at."""
    parts = []
    for case in CASES:
        wide, narrow, other = (
            found.at(row, case, "error") for row in (recovery.OURS, recovery.OURS_NARROW, "wasserstein")
        )
        seeds = tuple(seed for seed in narrow.by_seed if seed in wide.by_seed and seed in other.by_seed)
        if seeds:
            wide, narrow, other = (one.among(seeds) for one in (wide, narrow, other))
            parts.append(
                f"{share(narrow)} at {case} N·m ({share(wide)} with all channels, {share(other)} with CMA-ES on the"
                " same channels)"
            )
    return (
        f"With position, velocity and action alone, our search leaves {listed(parts)}."
        if parts
        else f"Our search on the published channels: {NOT_YET.lower()}"
    )
