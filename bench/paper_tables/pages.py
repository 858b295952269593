"""What docs/results.md says about families, horizons and data. Every sentence is computed: none knows a result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paper_tables import data, policies
from paper_tables.spread import Spread, apart, shared, surety
from paper_tables.words import (
    NOT_YET,
    NOTHING,
    Figures,
    by,
    gaps,
    listed,
    percent,
    plain,
    share,
    shown,
    table,
    trainings,
)

PUBLISHED_GENERATIONS = 10_000  # of a network's weights
WALKED = (
    ("return", "return of 20 s", 1),
    ("velocity_error_m_s", "velocity error, m/s", 3),
    ("drift_x_m", "drift at +x, m", 2),
    ("drift_y_m", "at +y, m", 2),
    ("drift_m", "sum of four directions, m", 2),
    ("falls_straight", "falls of 80 straight", 1),
    ("falls", "of 100 others", 1),
)


FALLS = ("falls_straight", "falls")  # counts, mostly 0 in all seeds: their spread says nothing of chance


def policy_rows(found: Figures, rows: Sequence[str], column: str) -> list[list[str]]:
    """Gap and policy of each row; what was refused is said once, and what differs from the original policy beyond
    chance, in all seeds upright, is bold.
    """
    made = []
    for row in rows:
        gap, floor = (found.at(row, column, name) for name in ("gap", "floor"))
        walked = []
        for name, _, digits in WALKED:
            text = shown(replace(found.at(row, column, name), refused=0, cut=0), found.seeds, digits=digits)
            old, new = both(found, row, column, name)
            sure = name not in FALLS and not new.fell and (apart(old, new) or apart(new, old))
            walked.append(f"**{text}**" if sure else text)
        made.append(
            [row, shown(gap, found.seeds, digits=4), shown(Spread(floor.values), found.seeds, digits=4), *walked]
        )
    return made


def families_section(found: Figures) -> tuple[list[str], list[str]]:
    """What families do."""
    lines, said = [], []
    for column in (policies.SHIFT, policies.SPRING):
        rows = policy_rows(found, (policies.ORIGINAL, *policies.FAMILIES), column)
        lines += [
            f"**{column}**",
            "",
            *table([column, "held-out gap", "floor", *(name for _, name, _ in WALKED)], rows),
            "",
        ]
        said += [
            family_gaps(found, column),
            policy_changes(found, {family: family for family in policies.FAMILIES}, column),
        ]
    return lines[:-1], [*said, spring_published(found), *without_choice(found)]


def spring_published(found: Figures) -> str:
    """The published figures of a spring joint, and what became of them here."""
    said = (
        "Published for a spring joint: static parameters fail outright; with a network the drift at +x goes from -2.0 m"
        " to -0.18 m, and at +y from failing outright to 0.21 m (as read second-hand, and with another spring than this"
        " one)."
    )
    ways = []
    for figure, way in (("drift_x_m", "+x"), ("drift_y_m", "+y")):
        each = [(family, *both(found, family, policies.SPRING, figure)) for family in policies.FAMILIES]
        each = [(family, old, new) for family, old, new in each if old.known and new.known]
        if each:
            ways.append(
                f"at {way} {', '.join(f'{drift(old)} -> {drift(new)} ({family})' for family, old, new in each)}"
            )
    return f"{said} Here it goes {' and '.join(ways)}.{static_fails(found)}" if ways else said


def static_fails(found: Figures) -> str:
    """Whether static parameters fail outright on the spring joint, as published."""
    gap, was = found.at("static", policies.SPRING, "gap"), found.at("static", policies.SPRING, "gap_before")
    fell, falls = (
        sum(one.mean for one in side)
        for side in zip(*(both(found, "static", policies.SPRING, name) for name in FALLS), strict=True)
    )
    if not gap.n:
        return ""
    if falls > fell + 90:
        return (
            f" That static parameters fail outright holds here: {falls:.0f} of 180 fall with the policy that comes of"
            " them."
        )
    return (
        f" That static parameters fail outright does not hold here: they close {100 * (1 - gap.mean / was.mean):.0f} %"
        f" of the gap by standing for what is missing, and {falls:.0f} of 180 fall with the policy that comes of them."
        " A spring is linear in position: terms of a torque or of an action that are linear too hold it exactly, and"
        " the published network had to learn it."
    )


def family_gaps(found: Figures, column: str) -> str:
    """What each family leaves on the same robots, in units of what the robot differs from itself.

    That is told from halves of the log with the help of a simulator, so the one that fits best gives it for all.
    """
    measured = [set(spread.by_seed) for family in policies.FAMILIES if (spread := found.at(family, column, "gap")).n]
    seeds = set.intersection(*measured) if measured else set()
    gaps_of = {family: found.at(family, column, "gap").by_seed for family in policies.FAMILIES}
    floors_of = {family: found.at(family, column, "robot_floor").by_seed for family in policies.FAMILIES}
    best = {seed: min((f for f in gaps_of if seed in gaps_of[f]), key=lambda f: gaps_of[f][seed]) for seed in seeds}
    floor = {seed: floors_of[family][seed] for seed, family in best.items() if seed in floors_of[family]}
    parts = []
    for family in policies.FAMILIES:
        gap = found.at(family, column, "gap")
        refused = f" (refused: {gap.refused})" if gap.refused else ""
        times = [value / floor[seed] for seed, value in gap.by_seed.items() if seed in seeds and seed in floor]
        if times:
            parts.append(f"{family} leaves {sum(times) / len(times):.1f} ×{refused}")
        elif gap.refused:
            parts.append(f"{family} is refused")
    if not parts:
        return f"The gaps of the {column}: {NOT_YET.lower()}"
    robots = f"{len(floor)} robot{'' if len(floor) == 1 else 's'}"
    return (
        f"On held-out episodes of the {column}, in units of what the robot differs from itself ({robots}),"
        f" {listed(parts)}."
    )


def without_choice(found: Figures) -> list[str]:
    """In how many cells training was kept, and which are so old that they do not say."""
    cells = [one for one in found.kept if "return" in one.figures and one.row not in (policies.ORIGINAL, data.NO_DATA)]
    old = sorted({f"{one.row} ({one.column}, seed {one.seed})" for one in cells if "training_kept" not in one.figures})
    said = trainings(cells)
    if old:
        said += (
            f"{'; not' if said else 'Not'} known, and in the oldest a training could not be dropped: {', '.join(old)}"
        )
    return [f"{said}."] if said else []


@dataclass(frozen=True)
class Change:
    """What a fine-tuned policy does against the original one."""

    words: str
    worse: list[str]  # in what, and how surely


def both(found: Figures, row: str, column: str, figure: str) -> tuple[Spread, Spread]:
    """A figure of the original policy and of another one, over the same robots."""
    return shared(found.at(policies.ORIGINAL, column, figure), found.at(row, column, figure))


ERRORS = (  # beside drift, return and falls: what a policy may do worse in, its name, digits and unit
    ("velocity_error_m_s", "velocity error", 3, " m/s"),
    ("lateral_m", "drift across the way", 2, " m"),
    ("turn_error_rad_s", "turning error", 3, " rad/s"),
)
ALL_ERRORS = "drift, return, falls, velocity error, drift across the way or turning error"


def change(found: Figures, row: str, column: str) -> Change | None:
    """None where one of the two is not measured. Drift is that of robots that stay up, so falls are compared too."""
    old, new = both(found, row, column, "drift_m")
    paid, pays = both(found, row, column, "return")
    if not (old.known and new.known and paid.n and pays.n):
        return None
    fell, falls = (
        sum(one.mean for one in side) for side in zip(*(both(found, row, column, name) for name in FALLS), strict=True)
    )
    words = f"drift {drift(old)} -> {drift(new)}, return {plain(paid, digits=1)} -> {plain(pays, digits=1)}"
    words += f", falls {fell:.1f} -> {falls:.1f} of 180" if falls > fell or fell else ""
    worse = [f"drift ({chance(old, new)})"] * drifts_more(new, old) + [f"return ({surety(paid, pays)})"] * (
        pays.mean < paid.mean
    )
    worse += [f"falls ({fell:.1f} -> {falls:.1f} of 180)"] * (falls > fell)
    for figure, name, digits, unit in ERRORS:
        before, after = both(found, row, column, figure)
        if after.mean > before.mean:
            worse.append(
                f"{name} ({plain(before, digits=digits)} -> {plain(after, digits=digits)}{unit},"
                f" {surety(before, after)})"
            )
    return Change(words, worse)


def chance(old: Spread, new: Spread) -> str:
    """Whether a drift is another one, in words; who fell has none."""
    return surety(old, new) if old.n and new.n else "fell"


def drift(spread: Spread) -> str:
    """A drift, for a sentence; a policy that falls has none, which is worse than any."""
    if not spread.n:
        return "fell" if spread.fell else NOTHING
    return f"{plain(spread)} m" + (f" and {spread.fell} of {spread.n + spread.fell} seeds fell" if spread.fell else "")


def drifts_more(new: Spread, old: Spread) -> bool:
    """Whether a policy does worse than another; falling counts before metres."""
    return new.fell > old.fell or (new.fell == old.fell and new.mean > old.mean)


def policy_changes(found: Figures, rows: Mapping[str, str], column: str) -> str:
    """Which fine-tuned policies are better than the original, and which are worse in anything; `rows` are
    given the names to call them by.
    """
    parts, worse = [], []
    for row, name in rows.items():
        changed = change(found, row, column)
        if changed is not None:
            parts.append(f"{name} ({changed.words})")
            if changed.worse:
                worse.append(f"{name} in {listed(changed.worse)}")
    if not parts:
        return f"The fine-tuned policies of the {column}: {NOT_YET.lower()}"
    left = gaps({name: found.at(row, column, "drift_m") for row, name in rows.items()})
    verdict = (
        f"worse than the original: {listed(worse)}"
        if worse
        else f"none {'of these ' if left else ''}is worse than the original in {ALL_ERRORS}"
    )
    return f"Policies on the {column}, drift as the sum of four directions: {', '.join(parts)}; {verdict}{left}."


def horizon_section(found: Figures) -> tuple[list[str], list[str]]:
    """What costs do to a network."""
    names = {policies.ORIGINAL: policies.ORIGINAL, policies.NO_FIT: "no fit, fine-tuned in the nominal simulator"}
    names |= {row: f"CMA-ES, {cost}, weights of a network" for row, cost in policies.WEIGHT_COSTS.items()}
    names |= {cost: f"CMA-ES, {cost}, curves taught to a network" for cost in policies.NETWORK_COSTS}
    names |= {policies.OURS: "ours (quantile, families in turn)"}
    rows = policy_rows(found, tuple(names), policies.SPRING)
    lines = table(
        [policies.SPRING, "held-out gap", "floor", *(name for _, name, _ in WALKED)],
        [[names[row[0]], *row[1:]] for row in rows],
    )
    rest = {row: name for row, name in policies.HORIZON_ROWS.items() if row not in (policies.ORIGINAL, *CLAIMED)}
    ours = (
        "Ours differs from the other rows in search, cost and model at once: only the rows of CMA-ES among each other"
        " tell what a cost does."
    )
    return lines, [*horizon_claim(found), policy_changes(found, rest, policies.SPRING), ours, *without_choice(found)]


CLAIMED = {"match-s-1, weights": "its weights searched", "match-s-1": "curves searched that it is then taught"}


def horizon_claim(found: Figures) -> list[str]:
    """What became of the claim that match-s(1) with a network makes the policy worse."""
    parts = []
    for row, how in CLAIMED.items():
        changed = change(found, row, policies.SPRING)
        if changed is None:
            parts.append(f"with {how}: {NOT_YET.lower().rstrip('.')}")
            continue
        before, after = (found.at(row, policies.SPRING, name) for name in ("gap_before", "gap"))
        worse = (
            f"worse than the original in {listed(changed.worse)}"
            if changed.worse
            else f"not worse than the original in {ALL_ERRORS}"
        )
        gap = f"the gap goes {plain(before, digits=3)} -> {plain(after, digits=3)}"
        parts.append(f"with {how}, {gap} and the policy is {worse} ({changed.words})")
    said = [
        f"The paper claims that match-s-1 with a network makes the policy worse than the original. {claim_holds(found)}"
        f" With more of what was measured: {'; '.join(parts)}."
    ]
    generations = found.at("match-s-1, weights", policies.SPRING, "generations")
    if generations.n:
        said.append(
            f"That is not the published search: {generations.mean:.0f} generations instead of"
            f" {PUBLISHED_GENERATIONS:,}, one network for each type of joint instead of each joint, and scales, first"
            " spread and limits of ours. It says what the cost does at this budget, and not whether the claim holds"
            " for theirs."
        )
    return said


def claim_holds(found: Figures) -> str:
    """By return and drift, the two that sum up a policy, with the weights searched as in the paper."""
    row = next(iter(CLAIMED))
    (paid, pays), (old, new) = (both(found, row, policies.SPRING, figure) for figure in ("return", "drift_m"))
    if not (pays.n and new.n):
        return "Whether that holds here is not measured yet."
    lower, further = apart(pays, paid), apart(old, new)
    higher, nearer = apart(paid, pays), apart(new, old)
    verdict = (
        "holds" if lower or further else "does not hold" if higher or nearer else "is neither confirmed nor refuted"
    )
    if (lower or further) and (higher or nearer):
        verdict = "holds in one figure and not in the other"
    return (
        f"By return ({by(paid, pays, digits=1)}, where less is worse) and drift ({by(old, new, unit=' m')}, where more"
        f" is worse) that {verdict} here."
    )


def data_section(found: Figures) -> tuple[list[str], list[str]]:
    """How much data."""
    before = [
        shown(found.at(data.NO_DATA, "4", name), found.seeds, digits=digits)
        for name, digits in (("drift_m", 2), ("falls_straight", 1))
    ]
    rows = [["none (original policy)", "", "0", NOTHING, *before, NOTHING, NOTHING]]
    for count, seconds in data.SIZES:
        minutes = int(count) * float(seconds) / 60
        rows.append(
            [
                count,
                f"{seconds} s",
                f"{minutes:.1f}",
                percent(found.at(count, seconds, "error"), found.seeds),
                shown(found.at(count, seconds, "drift_m"), found.seeds),
                shown(replace(found.at(count, seconds, "falls_straight"), cut=0, refused=0), found.seeds, digits=1),
                plain(found.at(count, seconds, "simulated_s"), digits=0),
                plain(found.at(count, seconds, "budget_s"), digits=0),
            ]
        )
    headings = [
        "rollouts",
        "length",
        "minutes of data",
        "parameter error",
        "drift, sum of four directions, m",
        "falls of 80 straight",
        "simulated s",
        "of a budget of",
    ]
    return table(headings, rows), [data_growth(found), data_drift(found), data_length(found), *without_choice(found)]


def _same_robots(there: Sequence[tuple[str, Spread]]) -> list[tuple[str, Spread]]:
    """Those that were measured, on the robots that all of them have; as they are where there are none."""
    known = [(name, spread) for name, spread in there if spread.known]
    seeds = tuple(sorted(set.intersection(*(set(spread.by_seed) for _, spread in known)))) if known else ()
    return [(name, spread.among(seeds)) for name, spread in known] if seeds else known


def _lengths(found: Figures, figure: str, *beside: str) -> list[tuple[str, Spread]]:
    """The figure of each number of rollouts of 4 s, and of what is asked for beside them."""
    counts = (*beside, *(count for count, seconds in data.SIZES if seconds == "4"))
    return _same_robots([(count, found.at(count, "4", figure)) for count in counts])


def data_growth(found: Figures) -> str:
    """How the error falls with data, against the square root that independent rollouts would give."""
    there = _lengths(found, "error")
    if len(there) < 2:
        return f"The error over the amount of data: {NOT_YET.lower()}"
    (few, first), (many, last) = there[0], there[-1]
    times = f"{first.mean / last.mean:.1f} times less" if last.mean < first.mean else "NOT less"
    cut = [count for count, spread in there if spread.cut]
    return (
        f"From {few} to {many} rollouts of 4 s the error goes from {share(first)} to {share(last)}, {times}"
        f" ({surety(first, last)}); independent rollouts would give {math.sqrt(int(many) / int(few)):.1f} times less."
        + (
            f" Cut before they settled, so that the budget is measured too: searches with {listed(cut)} rollouts."
            if cut
            else ""
        )
    )


def data_drift(found: Figures) -> str:
    """The least data at which the policy is within the spread of the best."""
    there = _lengths(found, "drift_m", data.NO_DATA)
    old = dict(there).get(data.NO_DATA)
    there = [(count, spread) for count, spread in there if count != data.NO_DATA]
    if not there or old is None:
        return f"The drift over the amount of data: {NOT_YET.lower()}"
    name, best = min(there, key=lambda one: (one[1].fell, one[1].mean))
    worse = [count for count, spread in there if drifts_more(spread, old)]
    if any(spread.n + spread.fell < 2 for _, spread in there):
        sure = "one seed: not judged how few rollouts are enough"
    else:
        enough = next(
            count for count, spread in there if spread is best or (spread.fell <= best.fell and not apart(best, spread))
        )
        sure = f"{enough} rollouts are the fewest that cannot be told from that"
    said = f"The drift of the policy is {drift(old)} before, and {drift(best)} at best ({name} rollouts); {sure}."
    return said + (f" With {listed(worse)} rollouts it does worse than before." if worse else "")


def data_length(found: Figures) -> str:
    """The same minutes of data in shorter or longer rollouts."""
    same = (("64", "2"), ("32", "4"), ("16", "8"))
    there = _same_robots([(f"{count} of {seconds} s", found.at(count, seconds, "error")) for count, seconds in same])
    parts = [f"{name} {share(spread)}" for name, spread in there]
    return (
        f"The same 2.1 minutes in rollouts of another length: {', '.join(parts)}."
        if len(parts) > 1
        else f"The length of rollouts: {NOT_YET.lower()}"
    )
