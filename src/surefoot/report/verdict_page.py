"""A verdict to look at: GO or NO-GO with its reasons, both policies side by side in each simulator, and their paths from above."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from surefoot.report.charts import ADAPTED as AFTER
from surefoot.report.charts import PANEL, Key, Level, Series, line_chart, number
from surefoot.report.charts import SIMULATOR as BEFORE
from surefoot.report.page import Card, Page, State, Tile
from surefoot.robot import Robot
from surefoot.verify.compare import QUALITY, Compared, Estimate, Falls
from surefoot.verify.rules import ADAPTED, WORDS, better
from surefoot.verify.trial import Trial
from surefoot.verify.verdict import Verdict

HEIGHT = 190  # px of a path
LEAST_REACH_M = 0.05  # to each side: all directions share one scale, and a walk that is straight looks so
KEYS = (Key("before", BEFORE), Key("after", AFTER))
SHOWN = (*QUALITY, "power_w", "cost_of_transport", "action_change", "joint_acceleration_rad_s2")


def verdict_page(result: Verdict, robot: Robot, facts: Mapping[str, Any], title: str) -> str:
    """The whole page as HTML."""
    page = Page(f"Verdict: {title}", f"{robot.name}, the same episodes for both policies")
    state: State = "good" if result.go else "bad"
    says = "It may go onto the robot." if result.go else "Keep the old policy on the robot."
    page.section("May it go onto the robot?")
    page.card(
        Card(
            state, result.word, says,
            [
                *(("Against it", f"{reason.simulator}: {reason.says}.") for reason in result.reasons),
                *(("Better", f"{gain}, in the adapted simulator.") for gain in result.gains),
                *(("Worst of the intervals", f"For {one.what}, {one.simulator}: {one.where}.") for one in result.worst),
            ],
        )
    )  # fmt: skip
    adapted = next(one for one in result.named if one.name == ADAPTED)
    page.tiles([_tile(adapted, figure) for figure in QUALITY] + [_falls_tile(result)])
    page.section("Before and after, in each simulator")
    for one in result.named:
        page.subsection(one.name[:1].upper() + one.name[1:])
        page.table(("figure", "before", "after", "change", "unit"), _rows(one))
    _paths(page, result)
    _intervals(page, result)
    page.section("Provenance")
    command = facts.get("command")
    if isinstance(command, str) and command:
        page.card(Card("plain", "the same again", "This verdict was reached with", [("Command", f"`{command}`")]))
    page.provenance(facts)
    return page.render()


def _tile(one: Compared, figure: str) -> Tile:
    name, unit = WORDS[figure]
    gained = better(one, figure)
    state: State = "good" if gained else "bad" if one.change[figure].low > 0 else "plain"
    word = "better" if gained else "worse" if state == "bad" else "no clear change"
    beside = f"was {number(one.before.value(figure), 3)}; change {_around(one.change[figure])}"
    return Tile(f"{name[:1].upper() + name[1:]}, adapted", number(one.after.value(figure), 3), unit, beside, state, word)


def _falls_tile(result: Verdict) -> Tile:
    every = (*result.named, *result.candidates, *result.corners)
    total = Falls.together([falls for one in every for falls in (one.falls, one.falls_pushed)])
    state: State = "bad" if any(reason.rule in ("more falls", "falls too often") for reason in result.reasons) else "plain"
    return Tile("Falls, everywhere", f"{total.after}", "", f"was {total.before}, of {total.episodes} episodes", state, "too many" if state == "bad" else "")  # fmt: skip


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
            number(side.value(figure), 3) if figure not in side.figures else _around(side.figures[figure])
            for side in (one.before, one.after)
        ]
        change = _around(one.change[figure], "+") if figure in one.change else ""
        rows.append((WORDS[figure][0], sides[0], sides[1], change, WORDS[figure][1]))
    for name in one.before.drift_m:
        rows.append((f"drift {name}", *(_around(side.drift_m[name], "+") for side in (one.before, one.after)), "", "m"))  # type: ignore[arg-type]
        rows.append((f"way {name}", *(_around(side.way_m[name]) for side in (one.before, one.after)), "", "m"))  # type: ignore[arg-type]
    return rows


def _around(value: Estimate, sign: str = "") -> str:
    """A value with half of its interval, in a cell that does not break."""
    if math.isnan(value.value):
        return "fell"
    said = f"+{number(value.value, 3)}" if sign and value.value > 0 else number(value.value, 3)
    return said + (f"\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{number(value.half, 2)}" if math.isfinite(value.half) else "")


def _paths(page: Page, result: Verdict) -> None:
    page.section("Paths from above")
    for name, (before, after) in result.paths.items():
        if not before.directions:
            page.text("No straight walk is in this robot's command range.")
            return
        page.subsection(name[:1].upper() + name[1:])
        across = np.abs(np.concatenate([trial.path_m[..., 1].ravel() for trial in (before, after)]))
        reach_m = max(LEAST_REACH_M, 1.05 * float(across[np.isfinite(across)].max()))
        page.panels(
            [_path_chart(before, after, k, reach_m) for k in range(len(before.directions))],
            "Each direction from the start on, straight along 0 when nothing drifts: the mean over the episodes, with the span of all of them.",
            KEYS,
        )


def _path_chart(before: Trial, after: Trial, k: int, reach_m: float) -> str:
    series = []
    for trial, look in ((before, BEFORE), (after, AFTER)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # points at which every episode lies on the floor stay NaN
            ahead = np.nanmean(trial.path_m[k, :, :, 0], axis=0)
            across = trial.path_m[k, :, :, 1]
            series.append(Series("", ahead, np.nanmean(across, axis=0), look, np.nanmin(across, axis=0), np.nanmax(across, axis=0)))
    return line_chart(
        series,
        "along the command, m",
        "to the left, m",
        title=before.directions[k],
        levels=[Level(0.0, "")],
        y_range=(-reach_m, reach_m),
        width=PANEL,
        height=HEIGHT,
    )


def _intervals(page: Page, result: Verdict) -> None:
    page.section("Where the fit may be wrong")
    every = (*result.candidates, *result.corners)
    if not every:
        page.text("No candidates were drawn inside the intervals of the fit, so nothing says how the policies do where it is wrong.")
        return
    page.text(
        f"{len(result.candidates)} robots drawn inside the 90 % intervals of the fit"
        + (f", and {len(result.corners)} with the knobs that matter most at their bad ends." if result.corners else ".")
    )
    if result.pooled is not None:
        page.table(("figure", "before", "after", "change", "unit"), _rows(result.pooled), "The mean over them.")
    if result.worst:
        page.table(
            ("worst for", "robot", "score", "mean score", "marked by"),
            [(one.what, one.simulator, one.score, one.typical, one.where) for one in result.worst],
            "The score is 0 for a perfect walk: errors as shares of full speed and of the way, and the share of episodes that fell.",
        )
    page.table(
        ("robot", "falls", *(f"{WORDS[figure][0]}, {WORDS[figure][1]}" for figure in QUALITY)),
        [
            (
                one.name, _arrow(*(str(getattr(one.falls, side) + getattr(one.falls_pushed, side)) for side in ("before", "after"))),
                *(_arrow(*(number(getattr(one, side).value(figure), 3) for side in ("before", "after"))) for figure in QUALITY),
            )
            for one in every
        ],
        "Before → after.",
    )  # fmt: skip


def _arrow(before: str, after: str) -> str:
    return f"{before}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{after}"
