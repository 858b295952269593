"""A fit to look at: whether the gap closed and stays closed on episodes that the fit never saw, and how
sure each number is.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from surefoot.adapt.adaptation import FLAGS, Fitted, Flag
from surefoot.fit.judgement import episodes_of, judge_fit
from surefoot.fit.result import FitResult
from surefoot.gap import Gap
from surefoot.report.added_figures import KEYS, adds_of, panels
from surefoot.report.charts import PANEL, interval_keys, number
from surefoot.report.fit_figures import (
    BEFORE,
    MARKS,
    by_parameter,
    convergence_chart,
    correlation_chart,
    gap_maps,
    interval_rows,
    label_of,
    most_correlated,
    parameter_chart,
    path_panels,
    plain_name,
    plain_parameter,
    strongest_pairs,
)
from surefoot.report.gap_figures import CHANGE_KEYS, changed_distributions
from surefoot.report.page import Card, Page, State, Tile
from surefoot.report.torque_words import torque_words
from surefoot.robot import Robot
from surefoot.sim.parameters import PARAMETERS

WORST = 6  # channels that are shown
PAIRS = 6  # of parameters that are told in words
TRADING = 0.7  # correlation from which two parameters are called hard to part


def fit_page(result: FitResult, robot: Robot, facts: Mapping[str, Any], title: str, inside: Page | None = None) -> str:
    """The page of a finished fit; `facts` is its provenance, with the command under "command". With `inside` it becomes
    a chapter of that page.
    """
    gap = result.after.gap
    page = Page.begin(
        title,
        f"robot {robot.name} · {result.adaptation.family} · {_parameters(len(result.adaptation.knobs))} by"
        f" {result.search} search · {episodes_of(result.after)} episodes, {number(gap.seconds)} s after settling",
        inside,
    )
    _head(page, result)
    _families(page, result, robot)
    _parameter_section(page, result.adaptation.knobs)
    page.section("Where it was worst")
    page.panels(
        changed_distributions(result.before, result.after, result.before.gap.worst[:WORST]),
        "The channels that were furthest from the robot before the fit, with their distance before and after, × spread."
        " All counted time of the fitted episodes, and of all simulated runs.",
        CHANGE_KEYS,
    )
    page.section("Where the gap was, and where it is")
    within = [int((one.gap.distance <= one.gap.limit).sum()) for one in (result.before, result.after)]
    page.figure(
        partial(gap_maps, result.before.gap, gap),
        "Distance between robot and simulator by joint and channel, in the same colours. Within what the simulator's"
        f" own scatter explains, and hatched: {within[0]} of {len(gap.channels)} channels before, {within[1]} after.",
    )
    _correlations(page, result)
    _search(page, result, robot)
    _effort(page, result, facts)
    return page.render()


def _families(page: Page, result: FitResult, robot: Robot) -> None:
    """Which families of changes were tried, and what a missing torque looks like."""
    words = torque_words(result.adaptation.knobs, robot, result.knots, adds_of(result.adaptation))
    if len(result.tried) < 2 and not words and result.adaptation.family == "static":
        return
    page.section("What kind of change")
    if len(result.tried) > 1:
        rows: list[tuple[str | float, ...]] = [
            (
                one.family,
                float(one.parameters),
                one.gap,
                one.floor,
                one.limit,
                float(one.evaluations),
                one.wall_s / 60,
                "chosen" if one.chosen else "",
            )
            for one in result.tried
        ]
        of = (
            "held-out episodes, which no fit saw"
            if result.tried[0].held_out
            else "the fitted episodes, since none were held back"
        )
        caption = f"Gap on {of}. The simplest family within the floor's uncertainty of the best is chosen."
        page.table(
            ("family", "parameters", "gap", "floor", "measurable above", "evaluations", "minutes of search", ""),
            rows,
            caption,
        )
    for sentence in words:
        page.text(sentence)
    drawn = panels(result, robot)
    if drawn:
        what = "Torque that" if adds_of(result.adaptation) == "torque" else "Shift of the target that"
        caption = (
            f"{what} the fit added to the joints where it is largest, over position (at rest) and over velocity (in the"
            " default pose), without friction. The band holds 9 of 10 (of a network: with the linear terms as they"
            " are); hatched: the robot was not there, and nothing is claimed."
        )
        page.panels(drawn, caption, KEYS if result.adaptation.network is not None else KEYS[:1])


def _head(page: Page, result: FitResult) -> None:
    page.section("What came of it")
    found = judge_fit(result)
    remarks = "\n".join(result.remarks)
    page.card(
        Card(
            found.state,
            found.word,
            found.says,
            [("What follows", found.advice), ("The search", result.stopped), ("Remarks", remarks)],
        )
    )
    before, after = result.before.gap, result.after.gap
    tiles = [_gap_tile("Gap", before, after)]
    if result.held_after is not None and result.held_before is not None:
        tiles.append(_gap_tile("Held-out gap", result.held_before.gap, result.held_after.gap))
    knobs = result.adaptation.knobs
    flags = [
        f"{sum(knob.flag == flag for knob in knobs)} {flag}"
        for flag in FLAGS
        if flag and any(knob.flag == flag for knob in knobs)
    ]
    clear = sum(not knob.flag for knob in knobs)
    state: tuple[State, str] = ("warn", "see the marks") if flags else ("good", "none is marked")
    tiles += [
        Tile(
            "Parameters found", f"{clear} of {len(knobs)}", "", ", ".join(flags), *(state if knobs else ("plain", ""))
        ),
        Tile(
            "Channels above their limit",
            f"{int((after.distance > after.limit).sum())} of {len(after.channels)}",
            "",
            f"were {int((before.distance > before.limit).sum())}",
        ),
    ]
    if before.fallen or after.fallen:
        told: tuple[State, str] = ("warn", "falls count as a gap") if after.fallen > 0.1 else ("good", "it walks")
        tiles.append(
            Tile(
                "Falls in the simulator", f"{100 * after.fallen:.0f} %", "", f"were {100 * before.fallen:.0f} %", *told
            )
        )
    page.tiles(tiles)
    sides = [("fitted", result.before, result.after), ("held out", result.held_before, result.held_after)]
    rows: list[tuple[str | float, ...]] = [
        (
            name,
            float(episodes_of(a)),
            a.gap.seconds,
            b.gap.total,
            a.gap.total,
            _range(a.gap.interval),
            a.gap.total_floor,
            a.gap.total_limit,
            a.gap.robot_floor,
        )
        for name, b, a in sides
        if b is not None and a is not None
    ]
    page.table(
        (
            "episodes",
            "number",
            "seconds",
            "gap before",
            "after",
            "90 %",
            "floor",
            "measurable above",
            "robot to itself",
        ),
        rows,
    )
    page.text(
        "Mean distance of the channels; 1 is the robot's own spread in each. The floor is the simulator to itself,"
        " which grows as episodes become fewer."
    )


def _gap_tile(name: str, before: Gap, after: Gap) -> Tile:
    beside = (
        f"was {number(before.total)}; floor {number(after.total_floor)}, measurable above {number(after.total_limit)}"
    )
    told: tuple[State, str] = ("warn", "a measurable gap") if after.measurable else ("good", "no measurable gap")
    return Tile(name, after.total, "× spread", beside, *told)


def _parameter_section(page: Page, knobs: tuple[Fitted, ...]) -> None:
    page.section("Parameters")
    if not knobs:
        page.text("None was free.")
        return
    page.text(
        "Each with the interval that holds its true value in 9 of 10 such logs, if the simulator has all physics that"
        " matter. An arrow: the interval goes on beyond what is drawn or was searched."
    )
    marked: dict[tuple[Flag, str, str], list[str]] = {}
    for knob in knobs:
        if knob.flag:
            marked.setdefault((knob.flag, knob.parameter, knob.note), []).append(label_of(knob))
    if marked:
        page.table(
            ("mark", "parameter", "of", "why, and what would help"),
            [
                (_unbroken(MARKS[flag]), plain_parameter(name), ", ".join(filter(None, where)) or "–", note)
                for (flag, name, note), where in marked.items()
            ],
        )
    groups = by_parameter(knobs)
    for name, alike in groups.items():
        if len(alike) == 1:
            continue
        page.subsection(_opening(plain_parameter(name)))
        meaning = PARAMETERS[name].meaning if name in PARAMETERS else ""
        page.figure(partial(parameter_chart, alike), f"{name}: {meaning}" if meaning else name)
        page.table(("of", *_headings(alike[0].unit)), [(label_of(knob), *_values(knob)) for knob in alike])
    alone = [alike[0] for alike in groups.values() if len(alike) == 1]
    if alone:
        page.subsection("One value each")
        panels = [parameter_chart([knob], PANEL, plain_name(knob), legend=False) for knob in alone]
        page.panels(panels, keys=interval_keys([interval_rows([knob], short=True)[0][0] for knob in alone], BEFORE))
        page.table(("parameter", *_headings(""), "unit"), [(knob.name, *_values(knob), _unit(knob)) for knob in alone])


def _headings(unit: str) -> tuple[str, ...]:
    with_unit = "" if unit in ("", "1") else f", {unit}"
    return (f"was{with_unit}", f"is{with_unit}", "90 % interval", "searched", "mark")


def _values(knob: Fitted) -> tuple[str | float, ...]:
    return knob.start, knob.value, _range(knob.interval), _range(knob.bounds), _unbroken(MARKS[knob.flag])


def _range(ends: tuple[float, float]) -> str:
    return _unbroken(f"{number(ends[0])} to {number(ends[1])}")


def _unbroken(text: str) -> str:
    """For a cell of a table, which would else break at every space."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _unit(knob: Fitted) -> str:
    return "" if knob.unit == "1" else knob.unit


def _correlations(page: Page, result: FitResult) -> None:
    page.section("What trades against what")
    pairs = strongest_pairs(result)
    if not pairs:
        page.text("Fewer than two parameters have an effect, so nothing can trade.")
        return
    knobs = result.adaptation.knobs
    strong = [pair for pair in pairs if abs(pair[0]) >= TRADING]
    lines = [
        f"{_opening(plain_name(knobs[i]))} and {plain_name(knobs[j])} trade against each other: {number(value, 2)}. "
        + ("Raised together" if value > 0 else "One raised and the other lowered")
        + ", they leave the gap almost as it is."
        for value, i, j in strong[:PAIRS]
    ]
    if lines:
        more = f"\n{len(strong) - len(lines)} more pairs above {TRADING:g}." if len(strong) > len(lines) else ""
        page.text("\n".join(lines) + more)
        page.text(
            "Another excitation would part them: faster or slower commands, turns, another floor or another load."
        )
    else:
        value, i, j = pairs[0]
        page.text(
            f"No two are hard to tell apart; the closest are {plain_name(knobs[i])} and {plain_name(knobs[j])}, at"
            f" {number(value, 2)}."
        )
    shown, with_effect = most_correlated(result), sum(knob.flag != "no effect" for knob in knobs)
    some = (
        f" The {len(shown)} of {with_effect} parameters with the strongest partners."
        if len(shown) < with_effect
        else ""
    )
    page.figure(partial(correlation_chart, result), f"Correlations of the errors of the estimates.{some}")


def _search(page: Page, result: FitResult, robot: Robot) -> None:
    page.section("How the search went")
    page.figure(
        partial(convergence_chart, result),
        "The gap of each iteration, under noise that is new each time, beside the floor of the fitted simulator.",
    )
    panels, keys = path_panels(result, robot)
    if panels:
        page.panels(
            panels,
            "The way of each parameter to its value at 0, in halves of its 90 % interval: lines that are still outside"
            " ±1 at the end had not settled.",
            keys,
        )


def _effort(page: Page, result: FitResult, facts: Mapping[str, Any]) -> None:
    page.section("Effort and provenance")
    if result.steps:
        last = result.steps[-1]
        rate = f"{number(last.simulated_s / last.wall_s, 2)} times real time" if last.wall_s > 0 else ""
        page.tiles(
            [
                Tile(
                    "Evaluations",
                    f"{last.evaluations}",
                    "",
                    f"candidate simulators in {len(result.steps)} iteration{'s' if len(result.steps) != 1 else ''}",
                ),
                Tile("Simulated walking", *_time(last.simulated_s), rate),
                Tile("Wall clock", *_time(last.wall_s)),
            ]
        )
    command = facts.get("command")
    if isinstance(command, str) and command:
        page.card(Card("plain", "the same again", "This fit was made with", [("Command", f"`{command}`")]))
    page.provenance(facts)


def _time(seconds: float) -> tuple[str, str]:
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return number(seconds / size, 2 if seconds < 100 * size else 3), unit
    return number(seconds, 2), "s"


def _opening(text: str) -> str:
    """As a sentence begins; `capitalize` would write names of joints small."""
    return text[:1].upper() + text[1:]


def _parameters(count: int) -> str:
    return f"{count} parameter{'s' if count != 1 else ''}"
