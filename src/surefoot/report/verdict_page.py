"""A verdict to look at: GO or NO-GO with its reasons, both policies side by side in each simulator, and
their paths from above.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from surefoot.report.charts import ADAPTED as AFTER
from surefoot.report.charts import PANEL, Key, Level, Series, line_chart
from surefoot.report.charts import SIMULATOR as BEFORE
from surefoot.report.charts.svg import numbers
from surefoot.report.page import Card, Page, State, Tile
from surefoot.verify.compare import QUALITY, Compared, Estimate, FallCounts
from surefoot.verify.paths import Track
from surefoot.verify.rules import ADAPTED, TWIN, WORDS, WORSE, Reason, better, number_words
from surefoot.verify.verdict import Verdict

HEIGHT = 190  # px of a path
LEAST_REACH_M = 0.05  # to each side: all directions share one scale, and a walk that is straight looks so
KEYS = (Key("before", BEFORE), Key("after", AFTER))
PATHS = (
    "Straight walks at full speed, each direction from its start on: on the line at 0 nothing drifts. Lines are means"
    " over the episodes, bands hold all of them."
)
FIGURES = (
    "Drift is how far off its line a robot is after walking straight ahead, to the left positive; the way is how far it"
    " came along the line. The totals add up, over all directions, how far both are off what was commanded. Cost of"
    " transport is work / (weight × way); action change and joint acceleration, root mean squares from tick to tick,"
    " say how rough the motion is."
)
WORST_FOR = {"before": "the old policy", "after": "the new policy", "the change": "the change from old to new"}
DIRECTIONS = {"+x": "+x, forward", "-x": "−x, backward", "+y": "+y, left", "-y": "−y, right"}
SHOWN = (*QUALITY, "power_w", "cost_of_transport", "action_change", "joint_acceleration_rad_s2")


def verdict_page(result: Verdict, inside: Page | None = None) -> str:
    """The page of a verdict; with `inside` it becomes a chapter of that page."""
    facts = result.provenance
    robot, before, after = (facts.get(key, {}).get("name", key) for key in ("robot", "before", "after"))
    title = f"Verdict: {after} against {before} on {robot}"
    page = Page.begin(title, f"{robot}, the same episodes for both policies", inside)
    state: State = "good" if result.go else "bad"
    says = "It may go onto the robot." if result.go else "Keep the old policy on the robot."
    page.section("May it go onto the robot?")
    page.card(
        Card(
            state,
            result.word,
            says,
            verdict_facts(result),
        )
    )
    adapted = next(one for one in result.named if one.name == ADAPTED)
    page.tiles([_tile(adapted, figure) for figure in QUALITY] + [_falls_tile(result)])
    _paths(page, result)
    page.section("Before and after, in each simulator")
    page.text(f"{places([one.name for one in result.named])} ± is half of a 90 % interval over the episodes.")
    page.text(FIGURES)
    for one in result.named:
        page.subsection(one.name[:1].upper() + one.name[1:])
        page.table(("figure", "before", "after", "change", "unit"), _rows(one))
    _intervals(page, result)
    page.section("Provenance")
    command = facts.get("command")
    if isinstance(command, str) and command:
        page.card(Card("plain", "the same again", "This verdict was reached with", [("Command", f"`{command}`")]))
    page.provenance(facts)
    return page.render()


def verdict_facts(verdict: Verdict) -> list[tuple[str, str]]:
    """What stands in the card of a verdict: reasons by simulator, gains, what the fit left, and what does not count.

    Intervals are left out here: the page has them, and a policy that is worse in all has many reasons.
    """
    against: dict[str, list[Reason]] = {}
    for reason in verdict.reasons:
        against.setdefault(reason.simulator, []).append(reason)
    facts = [
        ("Against it", f"{simulator[:1].upper()}{simulator[1:]}: {_merged(reasons)}.")
        for simulator, reasons in against.items()
    ]
    if verdict.gains:
        facts.append(("Better", f"In the adapted simulator: {'; '.join(verdict.gains)}."))
    about_fit, aside = verdict.about_fit, verdict.aside
    facts.append(("The fit", f"{about_fit[:1].upper()}{about_fit[1:]}."))
    return [*facts, ("Set aside", f"{aside[:1].upper()}{aside[1:]}.")] if aside else facts


def _merged(reasons: Sequence[Reason]) -> str:
    """Reasons of one simulator in a row, with "clearly worse" said once."""
    worse = [reason.short for reason in reasons if reason.rule == WORSE]
    others = [reason.headline for reason in reasons if reason.rule != WORSE]
    return "; ".join([*others, *([f"clearly worse in {', '.join(worse)}"] if worse else [])])


def places(names: Sequence[str]) -> str:
    """What the named simulators are."""
    said = (
        "Nominal is the simulator as the robot's files describe it; adapted is the same with the numbers that the fit"
        " found."
    )
    return (
        f"{said} The twin is a virtual robot, which stands in for the real one."
        if any(name.startswith(TWIN) for name in names)
        else said
    )


def _tile(one: Compared, figure: str) -> Tile:
    name, unit = WORDS[figure]
    gained = better(one, figure)
    state: State = "good" if gained else "bad" if one.change[figure].low > 0 else "plain"
    word = "better" if gained else "worse" if state == "bad" else "no clear change"
    beside = (
        f"was {figure_words(one.before.value(figure), figure)}; change"
        f" {around(one.change[figure], figure, signed=True)}"
    )
    return Tile(
        f"{name[:1].upper() + name[1:]}, adapted",
        figure_words(one.after.value(figure), figure),
        unit,
        beside,
        state,
        word,
    )


def _falls_tile(result: Verdict) -> Tile:
    every = (*result.named, *result.candidates, *result.corners)
    total = FallCounts.together([falls for one in every for falls in (one.falls, one.falls_pushed)])
    state: State = (
        "bad" if any(reason.rule in ("more falls", "falls too often") for reason in result.reasons) else "plain"
    )
    return Tile(
        "Falls, everywhere",
        f"{total.after}",
        "",
        f"was {total.before}, of {total.episodes} episodes",
        state,
        "too many" if state == "bad" else "",
    )


def _rows(one: Compared) -> list[tuple[str, str, str, str, str]]:
    rows = [
        (
            name,
            f"{falls.before} of {falls.episodes}",
            f"{falls.after} of {falls.episodes}",
            f"{falls.after - falls.before:+d}" if falls.after != falls.before else "0",
            "episodes",
        )
        for name, falls in (("falls", one.falls), ("falls when pushed", one.falls_pushed))
    ]
    for figure in SHOWN:
        sides = [
            (
                figure_words(side.value(figure), figure)
                if figure not in side.figures
                else around(side.figures[figure], figure)
            )
            for side in (one.before, one.after)
        ]
        change = around(one.change[figure], figure, signed=True) if figure in one.change else ""
        rows.append((WORDS[figure][0], sides[0], sides[1], change, WORDS[figure][1]))
    for name in one.before.drift_m:
        drift, way = (
            [around(getattr(side, kind)[name], "drift_m", kind == "drift_m") for side in (one.before, one.after)]
            for kind in ("drift_m", "way_m")
        )
        rows += [(f"drift {name}", drift[0], drift[1], "", "m"), (f"way {name}", way[0], way[1], "", "m")]
    return rows


def figure_words(value: float, figure: str, signed: bool = False) -> str:
    """A figure with the same decimals wherever it stands, so that columns compare at a glance."""
    if math.isnan(value):
        return "fell"
    said = number_words(abs(value), figure)
    return f"{'−' if value < 0 else '+' if signed else ''}{said}" if float(said) else said


def around(value: Estimate, figure: str, signed: bool = False) -> str:
    """A figure with half of its interval, in a cell that does not break."""
    said = figure_words(value.value, figure, signed)
    return said + (
        f"\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{number_words(value.half, figure)}" if math.isfinite(value.half) else ""
    )


def _paths(page: Page, result: Verdict) -> None:
    page.section("Paths from above")
    for name, (before, after) in result.paths.items():
        if not before:
            page.text("No straight walk is in this robot's command range.")
            return
        page.subsection(name[:1].upper() + name[1:])
        page.panels(path_charts(before, after), PATHS, KEYS)


def path_charts(before: Mapping[str, Track], after: Mapping[str, Track]) -> list[str]:
    """Straight walks from above, a chart for each direction, all to one scale."""
    across = numbers(
        [edge for tracks in (before, after) for track in tracks.values() for edge in (*track.low_m, *track.high_m)]
    )
    reach_m = max(LEAST_REACH_M, 1.05 * float(np.abs(across[np.isfinite(across)]).max(initial=0.0)))
    return [
        line_chart(
            [
                Series("", one[name].ahead_m, one[name].left_m, look, one[name].low_m, one[name].high_m)
                for one, look in ((before, BEFORE), (after, AFTER))
            ],
            "along the command, m",
            "drift to the left, m",
            title=DIRECTIONS.get(name, name),
            levels=[Level(0.0, "")],
            y_range=(-reach_m, reach_m),
            width=PANEL,
            height=HEIGHT,
        )
        for name in before
    ]


def _intervals(page: Page, result: Verdict) -> None:
    page.section("Where the fit may be wrong")
    every = (*result.candidates, *result.corners)
    if not every:
        page.text(
            "No candidates were drawn inside the intervals of the fit, so nothing says how the policies do where it is"
            " wrong."
        )
        return
    page.text(
        "A fit leaves each of its numbers an interval, and the robot may be anywhere in it. So both policies also"
        f" walked on {len(result.candidates)} candidates, robots drawn inside the 90 % intervals"
        + (
            f", and on {len(result.corners)} at corners, with the numbers that matter most at their bad ends."
            if result.corners
            else "."
        )
    )
    if result.pooled is not None:
        page.table(
            ("figure", "before", "after", "change", "unit"), _rows(result.pooled), "The mean over the candidates."
        )
    if result.quarter is not None:
        page.subsection("The worst quarter of the candidates")
        page.table(
            ("figure", "before", "after", "change", "unit"),
            [row for row in _rows(result.quarter) if row[0] != WORDS["cost_of_transport"][0]],
            "For each figure, the quarter of the candidates in which it changes worst: chosen by one half of the"
            " episodes and measured in the other, so that chance does not choose.",
        )
    if result.worst:
        page.table(
            ("worst for", "robot", "score", "mean score", "marked by"),
            [
                (WORST_FOR.get(one.what, one.what), one.simulator, f"{one.score:.2f}", f"{one.typical:.2f}", one.where)
                for one in result.worst
            ],
            "The score is 0 for a perfect walk: errors as shares of full speed and of the way, and the share of"
            " episodes that fell. What marks a robot is a hint where to look, not a cause.",
        )
    page.table(
        ("robot", "falls", *(f"{WORDS[figure][0]}, {WORDS[figure][1]}" for figure in QUALITY)),
        [
            (
                one.name,
                _arrow(
                    *(str(getattr(one.falls, side) + getattr(one.falls_pushed, side)) for side in ("before", "after"))
                ),
                *(
                    _arrow(*(figure_words(getattr(one, side).value(figure), figure) for side in ("before", "after")))
                    for figure in QUALITY
                ),
            )
            for one in every
        ],
        "Before → after.",
    )


def _arrow(before: str, after: str) -> str:
    return f"{before}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{after}"
