"""What docs/results.md says about walking on the hind legs. Every sentence is computed: none knows a result."""

from dataclasses import replace

from paper_tables import biped
from paper_tables.pages import both, chance, drift, drifts_more
from paper_tables.spread import Spread, shared, surety
from paper_tables.words import NOT_YET, Figures, by, plain, shown, table, trainings
from surefoot.verify.evaluate import RISING_GATE

UPRIGHT = (
    ("stood", "stood for 10 s, of 100", 1),
    ("lateral_m", "lateral drift, m", 2),
    ("drift_m", "off the commanded place, m", 2),
    ("velocity_error_m_s", "velocity error, m/s", 3),
    ("falls_straight", "falls of 40 straight", 1),
    ("falls", "of 100 others", 1),
)
WHOLE = (  # beside lateral drift
    ("drift_m", "distance from the commanded place", 2, " m"),
    ("velocity_error_m_s", "velocity error", 3, " m/s"),
    ("falls", "falls under other commands", 1, " of 100"),
)
ROBOTS = tuple(biped.ROLLOUTS)


def biped_section(found: Figures) -> tuple[list[str], list[str]]:
    """Walking on the hind legs, before and after the loop."""
    rows = []
    for row, column in biped.BIPED.places:
        gap, floor = (found.at(row, column, name) for name in ("gap", "floor"))
        walked = [
            shown(replace(found.at(row, column, name), refused=0, cut=0), found.seeds, digits=digits)
            for name, _, digits in UPRIGHT
        ]
        rows.append(
            [
                f"{row}, {column}",
                *walked,
                shown(gap, found.seeds, digits=4),
                shown(Spread(floor.values), found.seeds, digits=4),
            ]
        )
    lines = table(["policy and robot", *(name for _, name, _ in UPRIGHT), "held-out gap", "floor"], rows)
    said = [
        one
        for robot in ROBOTS
        for one in (*biped_drift(found, robot), *biped_place(found, robot), *biped_without(found, robot))
    ]
    return lines, [*said, *biped_kept(found), *biped_gate(found)]


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
        f"Lateral drift after 4 s at 0.5 m/s, {robot}: {drift(old)} before the loop, {drift(new)} after it"
        f" ({chance(old, new)}), with {plain(fell, digits=1)} and {plain(falls, digits=1)} falls of 40"
    )
    worse = " It does NOT become less." if drifts_more(new, old) else ""
    return [f"{said}; published 1.2 m and 0.2 m, over a time and at a speed that we do not know.{worse}"]


def biped_place(found: Figures, robot: str) -> list[str]:
    """What else the loop changes: a robot that goes too fast or too slow is as far from its place as one
    that goes astray.
    """
    parts = []
    for figure, name, digits, unit in WHOLE:
        old, new = both(found, biped.AFTER, robot, figure)
        if old.n and new.n:
            parts.append(
                f"{name} {plain(old, digits=digits)} -> {plain(new, digits=digits)}{unit} ({surety(old, new)})"
            )
    return [f"The loop as a whole, {robot}: {', '.join(parts)}."] if parts else []


def biped_without(found: Figures, robot: str) -> list[str]:
    """What of it the fit does: the same training without one."""
    parts = []
    for figure, name, digits, unit in (("lateral_m", "lateral drift", 2, " m"), *WHOLE):
        without, after = shared(*(found.at(row, robot, figure) for row in (biped.NO_FIT, biped.AFTER)))
        if without.n and after.n:
            more, fell = by(without, after, digits=digits), found.at(biped.NO_FIT, robot, figure).fell
            down = f" (on {fell} more nothing stayed up to measure)" if fell else ""
            parts.append(
                f"{name} {plain(without, digits=digits)} without the fit{down}, {plain(after, digits=digits)}{unit}"
                f" with it ({more})"
            )
    return [f"Trained equally long, {robot}: {'; '.join(parts)}."] if parts else []


def biped_kept(found: Figures) -> list[str]:
    """In how many cells what was trained is what was written."""
    said = trainings([one for one in found.kept if one.row == biped.AFTER])
    return [f"Of the fits, {said}; where nothing was kept, the trim is left."] if said else []


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
