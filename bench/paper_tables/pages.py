"""The sections of docs/results.md, each from the figures of its table. Every sentence is computed: none knows a result."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from recover import CASES
from recover import PUBLISHED as RECOVERED
from results import RESULTS

from paper_tables import data, failures, policies, recovery
from paper_tables.spread import Spread, apart, surety
from paper_tables.words import NOT_YET, NOTHING, Figures, listed, percent, plain, published, share, shown, table

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
    figures = f"Wasserstein {share(near)}, match-s {share(middle)} ({name}, its best horizon), match-o {share(far)}"
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
        return f"Ours is worse {listed(worse)}{_gaps(cells)}."
    return _nowhere("Ours", cells, "with the same data and the same simulated seconds")


def _gaps(cells: Mapping[str, Spread]) -> str:
    """What a comparison leaves out, in words: cells without a measurement, and seeds that were refused."""
    absent = [name for name, spread in cells.items() if not spread.known and not spread.refused]
    refused = [f"{name} ({spread.refused})" for name, spread in cells.items() if spread.refused]
    return "".join([f"; not measured: {listed(absent)}" if absent else "", f"; refused: {listed(refused)}" if refused else ""])


def _nowhere(who: str, cells: Mapping[str, Spread], how: str) -> str:
    """That nothing was found to be worse; "nowhere" only where every cell has all its answers."""
    gaps = _gaps(cells)
    seeds = "" if all(spread.n > 1 for spread in cells.values() if spread.known) else " (one seed: not judged)"
    return f"{who} is not worse {how} where both have an answer{seeds}{gaps}." if gaps else f"{who} is nowhere worse, {how}{seeds}."


WALKED = (
    ("return", "return of 20 s", 1), ("velocity_error_m_s", "velocity error, m/s", 3), ("drift_x_m", "drift at +x, m", 2),
    ("drift_y_m", "at +y, m", 2), ("drift_m", "of four directions, m", 2), ("falls_straight", "falls of 80 straight", 1), ("falls", "of 100 others", 1),
)  # fmt: skip


def policy_rows(found: Figures, rows: Sequence[str], column: str) -> list[list[str]]:
    """Gap and policy of each row; what was refused is said once."""
    made = []
    for row in rows:
        gap, floor = (found.at(row, column, name) for name in ("gap", "floor"))
        walked = [shown(replace(found.at(row, column, name), refused=0, cut=0), found.seeds, digits=digits) for name, _, digits in WALKED]
        made.append([row, shown(gap, found.seeds, digits=4), shown(Spread(floor.values), found.seeds, digits=4), *walked])
    return made


def families_section(found: Figures) -> tuple[list[str], list[str]]:
    """What families do."""
    lines, said = [], []
    for column in (policies.SHIFT, policies.SPRING):
        rows = policy_rows(found, (policies.ORIGINAL, *policies.FAMILIES), column)
        lines += [f"**{column}**", "", *table([column, "held-out gap", "floor", *(name for _, name, _ in WALKED)], rows), ""]
        said += [family_gaps(found, column), policy_changes(found, tuple(policies.FAMILIES), column)]
    said.append("Published for a spring joint: static parameters fail outright; with a network the drift at +x goes from -2.0 m to -0.18 m (as read second-hand, and with another spring than this one).")  # fmt: skip
    return lines[:-1], said


def family_gaps(found: Figures, column: str) -> str:
    """What each family leaves."""
    parts = []
    for family in policies.FAMILIES:
        gap, floor = found.at(family, column, "gap"), found.at(family, column, "floor")
        refused = f" (refused: {gap.refused})" if gap.refused else ""
        if gap.n and floor.n:
            parts.append(f"{family} leaves {gap.mean / floor.mean:.1f} × its floor{refused}")
        elif gap.refused:
            parts.append(f"{family} is refused")
    return f"On held-out episodes of the {column}, {listed(parts)}." if parts else f"The gaps of the {column}: {NOT_YET.lower()}"


def change(found: Figures, row: str, column: str) -> tuple[str, bool, bool] | None:
    """What a fine-tuned policy does against the original one, in words, and whether it is worse in drift and in return."""
    old, new = (found.at(one, column, "drift_m") for one in (policies.ORIGINAL, row))
    paid, pays = (found.at(one, column, "return") for one in (policies.ORIGINAL, row))
    if not (old.known and new.known and paid.n and pays.n):
        return None
    chance = surety(old, new) if old.n and new.n else "fell"
    words = (
        f"drift {drift(old)} -> {drift(new)} ({chance}), return {plain(paid, digits=1)} -> {plain(pays, digits=1)} ({surety(paid, pays)})"
    )
    return words, drifts_more(new, old), pays.mean < paid.mean


def drift(spread: Spread) -> str:
    """A drift, for a sentence; a policy that falls has none, which is worse than any."""
    if not spread.n:
        return "fell" if spread.fell else NOTHING
    return f"{plain(spread)} m" + (f" and {spread.fell} of {spread.n + spread.fell} seeds fell" if spread.fell else "")


def drifts_more(new: Spread, old: Spread) -> bool:
    """Whether a policy does worse than another; falling counts before metres."""
    return new.fell > old.fell or (new.fell == old.fell and new.mean > old.mean)


def policy_changes(found: Figures, rows: Sequence[str], column: str) -> str:
    """Which fine-tuned policies are better than the original, and which are worse in anything."""
    parts, worse = [], []
    for row in rows:
        changed = change(found, row, column)
        if changed is not None:
            words, drifts, pays_less = changed
            parts.append(f"{row} ({words})")
            if drifts or pays_less:
                worse.append(f"{row} in {listed([what for what, is_so in (('drift', drifts), ('return', pays_less)) if is_so])}")
    if not parts:
        return f"The fine-tuned policies of the {column}: {NOT_YET.lower()}"
    left = _gaps({row: found.at(row, column, "drift_m") for row in rows})
    verdict = f"worse than the original: {listed(worse)}" if worse else f"none {'of these ' if left else ''}is worse than the original"
    return f"Policies on the {column}: {', '.join(parts)}; {verdict}{left}."


def horizon_section(found: Figures) -> tuple[list[str], list[str]]:
    """What costs do to a network."""
    rows = policy_rows(found, (policies.ORIGINAL, *policies.NETWORK_COSTS, policies.OURS), policies.SPRING)
    names = {policies.ORIGINAL: policies.ORIGINAL, policies.OURS: "ours (quantile, families in turn)"}
    rows = [[names.get(row[0], f"CMA-ES, {row[0]}, curves taught to a network"), *row[1:]] for row in rows]
    lines = table([policies.SPRING, "held-out gap", "floor", *(name for _, name, _ in WALKED)], rows)
    changed = change(found, "match-s-1", policies.SPRING)
    if changed is None:
        refused = found.at("match-s-1", policies.SPRING, "gap").refused
        first = "match-s(1) with curves taught to a network gave no simulator that may be trained in: it was refused as one that matches by falling." if refused else f"The claim that match-s(1) with a network makes the policy worse: {NOT_YET.lower()}"  # fmt: skip
    else:
        words, drifts, pays_less = changed
        seen = "in drift and in return" if drifts and pays_less else "in drift only" if drifts else "in return only" if pays_less else "in neither drift nor return"  # fmt: skip
        first = (
            f"match-s(1) makes the policy worse than the original {seen}: {words}. The paper claims that it does so with a network whose weights are "
            "searched; these are curves that a network is taught, so this neither confirms nor refutes the claim itself."
        )
    return lines, [first, policy_changes(found, (*policies.NETWORK_COSTS[1:], policies.OURS), policies.SPRING)]


def data_section(found: Figures) -> tuple[list[str], list[str]]:
    """How much data."""
    before = [
        shown(found.at(data.NO_DATA, "4", name), found.seeds, digits=digits) for name, digits in (("drift_m", 2), ("falls_straight", 1))
    ]
    rows = [["none (original policy)", "", "0", NOTHING, *before, NOTHING, NOTHING]]
    for count, seconds in data.SIZES:
        minutes = int(count) * float(seconds) / 60
        rows.append(
            [
                count, f"{seconds} s", f"{minutes:.1f}", percent(found.at(count, seconds, "error"), found.seeds),
                shown(found.at(count, seconds, "drift_m"), found.seeds), shown(replace(found.at(count, seconds, "falls_straight"), cut=0, refused=0), found.seeds, digits=1),
                plain(found.at(count, seconds, "simulated_s"), digits=0), plain(found.at(count, seconds, "budget_s"), digits=0),
            ]
        )  # fmt: skip
    headings = [
        "rollouts",
        "length",
        "minutes of data",
        "parameter error",
        "drift of four directions, m",
        "falls of 80 straight",
        "simulated s",
        "of a budget of",
    ]
    return table(headings, rows), [data_growth(found), data_drift(found), data_length(found)]


def _lengths(found: Figures, figure: str) -> list[tuple[str, Spread]]:
    there = [(count, found.at(count, "4", figure)) for count, seconds in data.SIZES if seconds == "4"]
    return [(count, spread) for count, spread in there if spread.known]


def data_growth(found: Figures) -> str:
    """How the error falls with data, against the square root that independent rollouts would give."""
    there = _lengths(found, "error")
    if len(there) < 2:
        return f"The error over the amount of data: {NOT_YET.lower()}"
    (few, first), (many, last) = there[0], there[-1]
    times = f"{first.mean / last.mean:.1f} times less" if last.mean < first.mean else "NOT less"
    cut = [count for count, spread in there if spread.cut]
    return (
        f"From {few} to {many} rollouts of 4 s the error goes from {share(first)} to {share(last)}, {times} ({surety(first, last)}); "
        f"independent rollouts would give {math.sqrt(int(many) / int(few)):.1f} times less."
        + (f" Cut before they settled, so that the budget is measured too: searches with {listed(cut)} rollouts." if cut else "")
    )


def data_drift(found: Figures) -> str:
    """The least data at which the policy is within the spread of the best."""
    there, old = _lengths(found, "drift_m"), found.at(data.NO_DATA, "4", "drift_m")
    if not there or not old.known:
        return f"The drift over the amount of data: {NOT_YET.lower()}"
    name, best = min(there, key=lambda one: (one[1].fell, one[1].mean))
    worse = [count for count, spread in there if drifts_more(spread, old)]
    if any(spread.n + spread.fell < 2 for _, spread in there):
        sure = "one seed: not judged how few rollouts are enough"
    else:
        enough = next(count for count, spread in there if spread is best or (spread.fell <= best.fell and not apart(best, spread)))
        sure = f"{enough} rollouts are the fewest that cannot be told from that"
    said = f"The drift of the policy is {drift(old)} before, and {drift(best)} at best ({name} rollouts); {sure}."
    return said + (f" With {listed(worse)} rollouts it does worse than before." if worse else "")


def data_length(found: Figures) -> str:
    """The same minutes of data in shorter or longer rollouts."""
    parts = [f"{count} of {seconds} s {share(spread)}" for count, seconds in (("64", "2"), ("32", "4"), ("16", "8")) if (spread := found.at(count, seconds, "error")).n]  # fmt: skip
    return f"The same 2.1 minutes in rollouts of another length: {', '.join(parts)}." if len(parts) > 1 else f"The length of rollouts: {NOT_YET.lower()}"  # fmt: skip


def failures_section(found: Figures) -> tuple[list[str], list[str]]:
    """Rollouts that fall."""
    rows = [[row, *(percent(found.at(row, each, "error"), found.seeds) for each in failures.SHARES)] for row in (failures.PUBLISHED, failures.UNGATED, failures.GATED)]  # fmt: skip
    used = [percent(found.at(failures.GATED, each, "used_share"), found.seeds) for each in failures.SHARES]
    lines = table(["parameter error", *(f"{each} fall" for each in failures.SHARES)], [*rows, ["rows that our gate leaves", *used]])
    said = [failures_growth(found, row) for row in (failures.PUBLISHED, failures.UNGATED, failures.GATED)]
    worse = [f"{each} ({surety(found.at(failures.GATED, each, 'error'), found.at(failures.UNGATED, each, 'error'))})" for each in failures.SHARES if _worse(found, each)]  # fmt: skip
    there = any(found.at(failures.GATED, each, "error").n and found.at(failures.UNGATED, each, "error").n for each in failures.SHARES)
    if there:
        cells = {f"{row} at {each}": found.at(row, each, "error") for row in (failures.GATED, failures.UNGATED) for each in failures.SHARES}
        how = "than the same search on all rows"
        said.append(f"The gate makes it worse at {listed(worse)} of falls{_gaps(cells)}." if worse else _nowhere("The gate", cells, how))
    return lines, said


def _worse(found: Figures, column: str) -> bool:
    gated, whole = (found.at(row, column, "error") for row in (failures.GATED, failures.UNGATED))
    return bool(gated.n and whole.n and gated.mean > whole.mean)


def failures_growth(found: Figures, row: str) -> str:
    """What the first and the largest share that was measured do."""
    there = [(each, spread) for each in failures.SHARES if (spread := found.at(row, each, "error")).n]
    refused = [f"{each} ({spread.refused})" for each in failures.SHARES if (spread := found.at(row, each, "error")).refused]
    words = f"; refused at {listed(refused)}" if refused else ""
    if len(there) < 2:
        return f"{row.capitalize()}: {NOT_YET.lower()}" if not words else f"{row.capitalize()}{words}."
    (few, first), (many, last) = there[0], there[-1]
    return f"{row.capitalize()}: {share(first)} at {few} of falls, {share(last)} at {many} ({surety(first, last)}){words}."
