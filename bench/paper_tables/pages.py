"""The sections of docs/results.md but that of parameter recovery, each from the figures of its table. Every sentence is computed: none knows a result."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from paper_tables import biped, data, failures, policies
from paper_tables.spread import Spread, apart, shared, surety
from paper_tables.words import NOT_YET, NOTHING, Figures, gaps, listed, nowhere, percent, plain, share, shown, table
from surefoot.verify.evaluate import RISING_GATE

PUBLISHED_GENERATIONS = 10_000  # of a network's weights
WALKED = (
    ("return", "return of 20 s", 1), ("velocity_error_m_s", "velocity error, m/s", 3), ("drift_x_m", "drift at +x, m", 2),
    ("drift_y_m", "at +y, m", 2), ("drift_m", "sum of four directions, m", 2), ("falls_straight", "falls of 80 straight", 1), ("falls", "of 100 others", 1),
)  # fmt: skip


FALLS = ("falls_straight", "falls")  # counts, mostly 0 in all seeds: their spread says nothing of chance


def policy_rows(found: Figures, rows: Sequence[str], column: str) -> list[list[str]]:
    """Gap and policy of each row; what was refused is said once, and what differs from the original policy beyond chance, in all seeds upright, is bold."""
    made = []
    for row in rows:
        gap, floor = (found.at(row, column, name) for name in ("gap", "floor"))
        walked = []
        for name, _, digits in WALKED:
            text = shown(replace(found.at(row, column, name), refused=0, cut=0), found.seeds, digits=digits)
            old, new = both(found, row, column, name)
            sure = name not in FALLS and not new.fell and (apart(old, new) or apart(new, old))
            walked.append(f"**{text}**" if sure else text)
        made.append([row, shown(gap, found.seeds, digits=4), shown(Spread(floor.values), found.seeds, digits=4), *walked])
    return made


def families_section(found: Figures) -> tuple[list[str], list[str]]:
    """What families do."""
    lines, said = [], []
    for column in (policies.SHIFT, policies.SPRING):
        rows = policy_rows(found, (policies.ORIGINAL, *policies.FAMILIES), column)
        lines += [f"**{column}**", "", *table([column, "held-out gap", "floor", *(name for _, name, _ in WALKED)], rows), ""]
        said += [family_gaps(found, column), policy_changes(found, {family: family for family in policies.FAMILIES}, column)]
    said.append(spring_published(found))
    return lines[:-1], said


def spring_published(found: Figures) -> str:
    """The published figures of a spring joint, and what became of them here."""
    said = (
        "Published for a spring joint: static parameters fail outright; with a network the drift at +x goes from -2.0 m to -0.18 m, and at +y from failing outright to 0.21 m "
        "(as read second-hand, and with another spring than this one)."
    )
    ways = []
    for figure, way in (("drift_x_m", "+x"), ("drift_y_m", "+y")):
        each = [(family, *both(found, family, policies.SPRING, figure)) for family in policies.FAMILIES]
        each = [(family, old, new) for family, old, new in each if old.known and new.known]
        if each:
            ways.append(f"at {way} {', '.join(f'{drift(old)} -> {drift(new)} ({family})' for family, old, new in each)}")
    return f"{said} Here it goes {' and '.join(ways)}." if ways else said


def family_gaps(found: Figures, column: str) -> str:
    """What each family leaves on the same robots, in units of what the robot differs from itself.

    That is told from halves of the log with the help of a simulator, so the one that fits best gives it for all.
    """
    measured = [set(spread.by_seed) for family in policies.FAMILIES if (spread := found.at(family, column, "gap")).n]
    seeds = set.intersection(*measured) if measured else set()
    floors = [found.at(family, column, "robot_floor").by_seed for family in policies.FAMILIES]
    floor = {seed: min(one[seed] for one in floors if seed in one) for seed in seeds if any(seed in one for one in floors)}
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
    return f"On held-out episodes of the {column}, in units of what the robot differs from itself, {listed(parts)}."


@dataclass(frozen=True)
class Change:
    """What a fine-tuned policy does against the original one."""

    words: str
    worse: list[str]  # in what, and how surely


def both(found: Figures, row: str, column: str, figure: str) -> tuple[Spread, Spread]:
    """A figure of the original policy and of another one, over the same robots."""
    return shared(found.at(policies.ORIGINAL, column, figure), found.at(row, column, figure))


def change(found: Figures, row: str, column: str) -> Change | None:
    """None where one of the two is not measured. Drift is that of robots that stay up, so falls are compared too."""
    old, new = both(found, row, column, "drift_m")
    paid, pays = both(found, row, column, "return")
    if not (old.known and new.known and paid.n and pays.n):
        return None
    fell, falls = (sum(one.mean for one in side) for side in zip(*(both(found, row, column, name) for name in FALLS), strict=True))
    words = f"drift {drift(old)} -> {drift(new)}, return {plain(paid, digits=1)} -> {plain(pays, digits=1)}"
    words += f", falls {fell:.1f} -> {falls:.1f} of 180" if falls > fell or fell else ""
    worse = [f"drift ({chance(old, new)})"] * drifts_more(new, old) + [f"return ({surety(paid, pays)})"] * (pays.mean < paid.mean)
    worse += ["falls"] * (falls > fell)
    for name, figure in (("drift across the way", "lateral_m"), ("turning", "turn_error_rad_s")):
        before, after = both(found, row, column, figure)
        worse += [f"{name} ({surety(before, after)})"] * (after.mean > before.mean)
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
    """Which fine-tuned policies are better than the original, and which are worse in anything; `rows` are given the names to call them by."""
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
        else f"none {'of these ' if left else ''}is worse than the original in drift, return, falls or turning"
    )
    return f"Policies on the {column}, drift as the sum of four directions: {', '.join(parts)}; {verdict}{left}."


def horizon_section(found: Figures) -> tuple[list[str], list[str]]:
    """What costs do to a network."""
    names = {policies.ORIGINAL: policies.ORIGINAL, policies.NO_FIT: "no fit, fine-tuned in the nominal simulator"}
    names |= {row: f"CMA-ES, {cost}, weights of a network" for row, cost in policies.WEIGHT_COSTS.items()}
    names |= {cost: f"CMA-ES, {cost}, curves taught to a network" for cost in policies.NETWORK_COSTS}
    names |= {policies.OURS: "ours (quantile, families in turn)"}
    rows = policy_rows(found, tuple(names), policies.SPRING)
    lines = table([policies.SPRING, "held-out gap", "floor", *(name for _, name, _ in WALKED)], [[names[row[0]], *row[1:]] for row in rows])
    rest = {row: name for row, name in policies.HORIZON_ROWS.items() if row not in (policies.ORIGINAL, *CLAIMED)}
    return lines, [*horizon_claim(found), policy_changes(found, rest, policies.SPRING)]


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
            f"worse than the original in {listed(changed.worse)}" if changed.worse else "not worse than the original in anything measured"
        )
        gap = f"the gap goes {plain(before, digits=3)} -> {plain(after, digits=3)}"
        parts.append(f"with {how}, {gap} and the policy is {worse} ({changed.words})")
    said = [f"The paper claims that match-s-1 with a network makes the policy worse than the original. Here, {'; '.join(parts)}."]
    generations = found.at("match-s-1, weights", policies.SPRING, "generations")
    if generations.n:
        said.append(
            f"That is not the published search: {generations.mean:.0f} generations instead of {PUBLISHED_GENERATIONS:,}, one network for each type of joint "
            "instead of each joint, and scales, first spread and limits of ours. It says what the cost does at this budget, and not whether the claim holds for theirs."
        )
    return said


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
        "drift, sum of four directions, m",
        "falls of 80 straight",
        "simulated s",
        "of a budget of",
    ]
    return table(headings, rows), [data_growth(found), data_drift(found), data_length(found)]


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
        f"From {few} to {many} rollouts of 4 s the error goes from {share(first)} to {share(last)}, {times} ({surety(first, last)}); "
        f"independent rollouts would give {math.sqrt(int(many) / int(few)):.1f} times less."
        + (f" Cut before they settled, so that the budget is measured too: searches with {listed(cut)} rollouts." if cut else "")
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
        enough = next(count for count, spread in there if spread is best or (spread.fell <= best.fell and not apart(best, spread)))
        sure = f"{enough} rollouts are the fewest that cannot be told from that"
    said = f"The drift of the policy is {drift(old)} before, and {drift(best)} at best ({name} rollouts); {sure}."
    return said + (f" With {listed(worse)} rollouts it does worse than before." if worse else "")


def data_length(found: Figures) -> str:
    """The same minutes of data in shorter or longer rollouts."""
    same = (("64", "2"), ("32", "4"), ("16", "8"))
    there = _same_robots([(f"{count} of {seconds} s", found.at(count, seconds, "error")) for count, seconds in same])
    parts = [f"{name} {share(spread)}" for name, spread in there]
    return f"The same 2.1 minutes in rollouts of another length: {', '.join(parts)}." if len(parts) > 1 else f"The length of rollouts: {NOT_YET.lower()}"  # fmt: skip


def failures_section(found: Figures) -> tuple[list[str], list[str]]:
    """Rollouts that fall."""
    rows = [[row, *(percent(found.at(row, each, "error"), found.seeds) for each in failures.SHARES)] for row in failures.ROWS]  # fmt: skip
    used = [percent(found.at(failures.GATED, each, "used_share"), found.seeds) for each in failures.SHARES]
    lines = table(
        ["parameter error", *(f"{each} fall" for each in failures.SHARES)], [*rows, ["share of the log that our gate leaves", *used]]
    )
    said = [failures_growth(found, row) for row in failures.ROWS]
    worse = [f"{each} ({surety(found.at(failures.GATED, each, 'error'), found.at(failures.UNGATED, each, 'error'))})" for each in failures.SHARES if _worse(found, each)]  # fmt: skip
    there = any(found.at(failures.GATED, each, "error").n and found.at(failures.UNGATED, each, "error").n for each in failures.SHARES)
    if there:
        cells = {f"{row} at {each}": found.at(row, each, "error") for row in (failures.GATED, failures.UNGATED) for each in failures.SHARES}
        how = "than the same search on all rows"
        said.append(f"The gate makes it worse at {listed(worse)} of falls{gaps(cells)}." if worse else nowhere("The gate", cells, how))
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
    first, last = shared(first, last)
    return f"{row.capitalize()}: {share(first)} at {few} of falls, {share(last)} at {many} ({surety(first, last)}){words}."


UPRIGHT = (
    ("stood", "stood for 10 s, of 100", 1), ("lateral_m", "lateral drift, m", 2), ("drift_m", "off the commanded place, m", 2),
    ("velocity_error_m_s", "velocity error, m/s", 3), ("falls_straight", "falls of 40 straight", 1), ("falls", "of 100 others", 1),
)  # fmt: skip


def biped_section(found: Figures) -> tuple[list[str], list[str]]:
    """Walking on the hind legs, before and after the loop."""
    rows = []
    for row, column in biped.BIPED.places:
        gap, floor = (found.at(row, column, name) for name in ("gap", "floor"))
        walked = [shown(replace(found.at(row, column, name), refused=0, cut=0), found.seeds, digits=digits) for name, _, digits in UPRIGHT]
        rows.append([f"{row}, {column}", *walked, shown(gap, found.seeds, digits=4), shown(Spread(floor.values), found.seeds, digits=4)])
    lines = table(["policy and robot", *(name for _, name, _ in UPRIGHT), "held-out gap", "floor"], rows)
    said = [one for robot in biped.ROLLOUTS for one in (*biped_drift(found, robot), *biped_place(found, robot))]
    return lines, [*said, *biped_gate(found)]


def biped_drift(found: Figures, robot: str) -> list[str]:
    """What the loop does to the drift on one kind of robot; of those that stay up, so falls stand beside it."""
    old, new = both(found, biped.AFTER, robot, "lateral_m")
    if new.refused:
        count = f"{new.refused} seed{'s' if new.refused > 1 else ''}"
        return [f"After the loop, {robot}: refused in {count}, since a policy that falls gives no log to fit."]
    if not (old.known and new.known):
        return [f"The drift on the hind legs, {robot}: {NOT_YET.lower()}"]
    fell, falls = both(found, biped.AFTER, robot, "falls_straight")
    said = (
        f"Lateral drift after 4 s at 0.5 m/s, {robot}: {drift(old)} before the loop, {drift(new)} after it ({chance(old, new)}), "
        f"with {plain(fell, digits=1)} and {plain(falls, digits=1)} falls of 40"
    )
    worse = " It does NOT become less." if drifts_more(new, old) else ""
    return [f"{said}; published 1.2 m and 0.2 m, over a time and at a speed that we do not know.{worse}"]


def biped_place(found: Figures, robot: str) -> list[str]:
    """What else the loop changes: a robot that goes too fast or too slow is as far from its place as one that goes astray."""
    parts = []
    for figure, name, digits, unit in (
        ("drift_m", "distance from the commanded place", 2, " m"), ("velocity_error_m_s", "velocity error", 3, " m/s"), ("falls", "falls under other commands", 1, " of 100"),
    ):  # fmt: skip
        old, new = both(found, biped.AFTER, robot, figure)
        if old.n and new.n:
            parts.append(f"{name} {plain(old, digits=digits)} -> {plain(new, digits=digits)}{unit} ({surety(old, new)})")
    return [f"The loop as a whole, {robot}: {', '.join(parts)}."] if parts else []


def biped_gate(found: Figures) -> list[str]:
    """Whether the policy is good enough to be shipped."""
    stood = found.at(biped.ORIGINAL, biped.NOMINAL, "stood")
    if not stood.n:
        return []
    enough = stood.mean >= RISING_GATE["stood"]
    verdict = (
        "which is enough to ship it"
        if enough
        else f"and {RISING_GATE['stood']} are asked for, so that it is not shipped: the table shows what there is"
    )
    return [f"In its own simulator the policy stands for 10 s in {stood.mean:.0f} of 100 episodes, {verdict}."]
