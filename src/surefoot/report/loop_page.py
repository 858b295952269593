"""The whole story of a loop on one page: what was wrong, what was found, what the policy does before and
after, and the verdict.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.adapt.adaptation import Fitted
from surefoot.gap.channels import UNITS
from surefoot.report.charts import ADAPTED as AFTER
from surefoot.report.charts import (
    PANEL,
    ROBOT,
    TARGET,
    WIDE,
    Bar,
    Series,
    bars,
    escape,
    interval_keys,
    line_chart,
    number,
)
from surefoot.report.charts import SIMULATOR as BEFORE
from surefoot.report.fit_figures import BEFORE as WAS
from surefoot.report.fit_figures import by_parameter, interval_rows, parameter_chart, plain_parameter
from surefoot.report.page import Card, Page, State, Tile
from surefoot.report.verdict_page import FIGURES, KEYS, PATHS, around, figure_words, path_charts, places, verdict_facts
from surefoot.verify.compare import Estimate
from surefoot.verify.fit_gap import FitGap
from surefoot.verify.paths import Track
from surefoot.verify.rules import TWIN, WORDS

WORST = 8  # channels that are shown
CAUSES = 4
SIDES = ("before", "after")
TABLE = ("velocity_error_m_s", "turn_error_rad_s", "drift_m", "way_error_m", "cost_of_transport", "action_change")
OUTCOMES: dict[int, tuple[State, str, str]] = {
    0: ("good", "GO", "The new policy may go onto the robot."),
    2: ("bad", "not usable", "The log cannot be used."),
    3: ("bad", "NO-GO", "Keep the old policy on the robot."),
    4: ("plain", "no gap", "Nothing measurable is there to close."),
}


@dataclass(frozen=True, eq=False)
class Found:
    """A fit: its figures as in fit.json, its knobs, and what it added in words."""

    figures: dict[str, Any]
    knobs: tuple[Fitted, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Story:
    """What a loop left; None for steps that it did not come to. Figures are as in the files of each step."""

    title: str
    run: dict[str, Any]  # as in run.json
    pages: dict[str, str]  # of the steps, relative to the report
    doctor: dict[str, Any] | None = None
    gap: dict[str, Any] | None = None
    fit: Found | None = None
    tuned: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    walks: dict[str, Any] | None = None
    video: bytes | None = None  # small enough to travel inside the page
    video_link: str = ""
    policy: str = ""
    log: str = ""


class LoopPage(Page):
    """A page that also shows a video, from inside itself, and leads to files beside it."""

    def video(self, content: bytes, caption: str) -> None:
        """An MP4 inside the page."""
        data = base64.b64encode(content).decode()
        self._parts.append(
            '<figure class="whole"><video controls muted loop playsinline style="width:100%"'
            f' src="data:video/mp4;base64,{data}"></video><figcaption>{escape(caption)}</figcaption></figure>'
        )

    def links(self, links: Mapping[str, str]) -> None:
        """Files beside the page, by their names."""
        said = " · ".join(f'<a href="{escape(place)}">{escape(name)}</a>' for name, place in links.items())
        self._parts.append(f"<p>{said}</p>")

    def render(self) -> str:
        """The file; its own video is the one thing more that a browser may show."""
        return super().render().replace("img-src data:", "img-src data:; media-src data:", 1)


def loop_page(story: Story) -> str:
    """The whole page as HTML."""
    page = LoopPage(f"The loop: {story.title}", _subtitle(story))
    _outcome(page, story)
    _walks(page, story)
    _gap(page, story)
    _fit(page, story)
    _verdict(page, story)
    _steps(page, story)
    page.section("Provenance")
    page.card(Card("plain", "the same again", "This loop was run with", [("Command", f"`{story.run['command']}`")]))
    page.provenance({key: value for key, value in story.run.items() if key != "command"})
    return page.render()


def _subtitle(story: Story) -> str:
    inputs = story.run["inputs"]
    twin = f" · verified on the virtual robot {inputs['twin']['name']}" if inputs.get("twin") else ""
    return f"policy {inputs['policy']['name']}{twin} · surefoot {story.run['versions']['surefoot']}"


def _outcome(page: LoopPage, story: Story) -> None:
    outcome = story.run["outcome"]
    state, word, title = OUTCOMES[outcome["exit_code"]]
    if outcome["exit_code"] == 3 and story.verdict is None:
        title = "The fit came no nearer to the robot."
    facts = [("How it ended", f"{outcome['says']}.")] if story.verdict is None else []
    if story.doctor is not None and story.gap is None:
        told = [one for one in story.doctor["findings"] if one["severity"] == "error"]
        facts += [(one["title"], f"{one['why']}; {one['fix']}.") for one in told]
    if story.verdict is not None:
        against = [(one["simulator"], one["says"]) for one in story.verdict["reasons"]]
        facts += verdict_facts(
            against, story.verdict["gains"], story.verdict["fit"]["says"], story.verdict.get("aside", "")
        )
    page.card(Card(state, word, title, facts))
    tiles = _tiles(story)
    if tiles:
        page.tiles(tiles)
    if story.policy and outcome["exit_code"] == 0:
        page.links({"the new policy": story.policy})


def _tiles(story: Story) -> list[Tile]:
    tiles = []
    if story.fit is not None:
        left = FitGap.of(story.fit.figures)
        beside = f"was {number(left.before, 3)}" + ("" if left.floor is None else f"; floor {number(left.floor, 2)}")
        state: State = "bad" if not left.nearer else "warn" if left.measurable else "good"
        word = {"bad": "no nearer", "warn": "above its floor", "good": "closed"}[state]
        name = "Gap, held-out episodes" if left.held_out else "Gap of the simulator"
        tiles.append(Tile(name, left.after, "", beside, state, word))
    elif story.gap is not None:
        gap = story.gap["gap"]
        tiles.append(
            Tile(
                "Gap of the simulator",
                gap["total"],
                "",
                f"floor {number(gap['floor'], 2)}, chance up to {number(gap['limit'], 2)}",
            )
        )
    for one in (story.verdict or {}).get("simulators", ())[1:]:
        for figure in ("drift_m", "velocity_error_m_s"):
            old, new = (_value(one[side], figure) for side in SIDES)
            name, unit = WORDS[figure]
            change = one["change"][figure]
            state = "good" if _known(change["high"]) < 0 else "bad" if _known(change["low"]) > 0 else "plain"
            word = {"good": "better", "bad": "worse"}.get(state, "no clear change")
            shown, was = (figure_words(value, figure) for value in (new, old))
            tiles.append(Tile(f"{name[:1].upper()}{name[1:]}, {one['name']}", shown, unit, f"was {was}", state, word))
    return tiles


def _walks(page: LoopPage, story: Story) -> None:
    walks = story.walks
    if walks is None:
        return
    page.section("The walk, before and after")
    where = f"{walks['place']}, the same commands for both: there and back along each direction at full speed."
    if story.video is not None:
        page.video(story.video, f"Left before, right after, on {where}")
    elif story.video_link:
        page.links({f"Video, left before and right after, on {walks['place']}": story.video_link})
    else:
        page.text(f"There is no video: {walks['says'].removeprefix('none: ')}.")
    looks = (
        ("ideal", TARGET, walks["commanded_m"]),
        *((side, look, walks[side]["path_m"]) for side, look in zip(SIDES, (BEFORE, AFTER), strict=True)),
    )
    series = [Series(name, [p[0] for p in path], [p[1] for p in path], look) for name, look, path in looks]
    spans = _square([point for _, _, path in looks for point in path])
    falls = [walks[side]["falls"] for side in SIDES]
    fell = f" Falls: {falls[0]} before, {falls[1]} after." if any(falls) else ""

    def draw(width: int) -> str:
        side = 360 if width >= WIDE else 300
        return line_chart(
            series,
            "forward from the start, m",
            "to the left, m",
            x_range=spans[0],
            y_range=spans[1],
            width=min(width, side + 30),
            height=side,
        )

    page.figure(
        draw, f"The same walk from above, on {where} Ideal is where a robot without any error would walk.{fell}"
    )


def _square(points: Sequence[Sequence[float]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ranges of both axes, of the same length, around all points."""
    known = [
        point for point in points if all(isinstance(value, (int, float)) and math.isfinite(value) for value in point)
    ] or [(0.0, 0.0)]
    lows, highs = ([pick(point[k] for point in known) for k in range(2)] for pick in (min, max))
    half = 0.55 * max(0.2, *(high - low for low, high in zip(lows, highs, strict=True)))
    x, y = ((low + high) / 2 for low, high in zip(lows, highs, strict=True))
    return (x - half, x + half), (y - half, y + half)


def _gap(page: LoopPage, story: Story) -> None:
    if story.gap is None:
        return
    gap, diagnosis = story.gap["gap"], story.gap["diagnosis"]
    page.section("What was wrong")
    size = f"{number(gap['total'], 3)} of the robot's own spread, beside a floor of {number(gap['floor'], 2)}"
    if not gap["measurable"]:
        page.text(
            f"The simulator differs from the robot by {size}: no measurable gap, since up to {number(gap['limit'], 2)}"
            " is chance."
        )
    else:
        page.text(
            f"The simulator differs from the robot by {size}."
            + (f" {diagnosis['says'][:1].upper()}{diagnosis['says'][1:]} ({diagnosis['sure']})." if diagnosis else "")
        )
        worst = sorted(gap["channels"], key=lambda one: one["floor"] - one["distance"])[:WORST]
        rows = [Bar(f"{one['where']} {one['kind']}", one["distance"], look=ROBOT) for one in worst]
        page.figure(
            lambda width: bars(rows, "distance, × spread", title="Worst channels", width=width),
            f"The largest of them in its unit: {_in_unit(worst[0])}." if worst else "",
        )
        if diagnosis and diagnosis["causes"]:
            page.table(
                ("cause", "closes", "leaves", ""),
                [
                    (one["name"], f"{one['explains']:.0%}", number(one["cost"], 3), one["evidence"])
                    for one in diagnosis["causes"][:CAUSES]
                ],
                "Causes compete in the simulator, each solved for what would explain the robot.",
            )
    _lead(page, story, "gap", "The gap in full")


def _in_unit(channel: dict[str, Any]) -> str:
    unit = UNITS.get(channel["kind"], "1")
    return (
        f"{channel['where']} {channel['kind']} is off by"
        f" {number(channel['distance'] * channel['spread'], 3)}{'' if unit == '1' else f' {unit}'}"
    )


def _fit(page: LoopPage, story: Story) -> None:
    if story.fit is None:
        return
    page.section("What was found")
    page.text(str(story.fit.figures["verdict"]))
    for line in story.fit.words:
        page.text(line)
    groups = by_parameter(story.fit.knobs)
    charts = [parameter_chart(alike, PANEL, plain_parameter(name), legend=False) for name, alike in groups.items()]
    if charts:
        shown = [row for alike in groups.values() for row in interval_rows(alike, short=True)[0]]
        page.panels(charts, "Each value with its 90 % interval, beside what it was.", interval_keys(shown, WAS))
    _lead(page, story, "fit", "The fit in full")


def _verdict(page: LoopPage, story: Story) -> None:
    if story.verdict is None:
        return
    page.section("What the policy does, before and after")
    _paths(page, story.verdict["paths"])
    every = story.verdict["simulators"]
    page.text(f"{places([one['name'] for one in every])} {FIGURES}")
    rows = [
        (words, *(f"{_arrow(*(str(one[kind][side]) for side in SIDES))} of {one[kind]['episodes']}" for one in every))
        for words, kind in (("falls", "falls"), ("falls when pushed", "falls_pushed"))
    ]
    for figure in TABLE:
        name, unit = WORDS[figure]
        rows.append((f"{name}, {unit}" if unit else name, *(_both(one, figure) for one in every)))
    for name in every[0]["before"]["drift_m"]:
        rows.append(
            (
                f"drift {name}, m",
                *(
                    _arrow(
                        *(
                            figure_words(_known(one[side]["drift_m"][name]["value"]), "drift_m", signed=True)
                            for side in SIDES
                        )
                    )
                    for one in every
                ),
            )
        )
    page.table(
        ("", *(one["name"] for one in every)),
        rows,
        "Before → after, in brackets the change with half of its 90 % interval, over the same episodes for both.",
    )
    _lead(page, story, "verdict", "The verdict in full")


def _paths(page: LoopPage, paths: Mapping[str, Any]) -> None:
    """Of the virtual robot, which is as near to the robot as a simulator can be; without one, in the fitted
    simulator.
    """
    if not paths:
        return
    name = list(paths)[-1]
    before, after = ({direction: Track(**track) for direction, track in paths[name][side].items()} for side in SIDES)
    if before:
        page.panels(path_charts(before, after), f"{_place(name)}. {PATHS}", KEYS)


def _place(name: str) -> str:
    """A simulator of the verdict in words."""
    return f"On the virtual robot {name.removeprefix(TWIN)}" if name.startswith(TWIN) else f"In the {name} simulator"


def _steps(page: LoopPage, story: Story) -> None:
    page.section("The steps")
    rows = [
        (name, entry["says"], f"{entry['wall_s']:.0f} s", entry["command"])
        for name, entry in story.run["steps"].items()
        if entry["state"] == "done"
    ]
    page.table(("step", "result", "time", "the same step alone"), rows)
    files = {f"{name}": place for name, place in story.pages.items()}
    files |= {"the log": story.log} if story.log else {}
    files |= {"the video": story.video_link} if story.video_link else {}
    files |= {"the policy": story.policy} if story.policy else {}
    page.links(files | {"run.json": "run.json"})


def _lead(page: LoopPage, story: Story, step: str, words: str) -> None:
    if step in story.pages:
        page.links({words: story.pages[step]})


def _known(value: float | None) -> float:
    return math.nan if value is None else value


def _value(side: dict[str, Any], figure: str) -> float:
    """A figure of one policy in one simulator."""
    return _known(side["cost_of_transport"] if figure == "cost_of_transport" else side["figures"][figure]["value"])


def _both(one: dict[str, Any], figure: str) -> str:
    """A figure of both policies in one simulator, with its change where that is known episode by episode."""
    said = _arrow(*(figure_words(_value(one[side], figure), figure) for side in SIDES))
    if figure not in one["change"]:
        return said
    value, low, high = (_known(one["change"][figure][key]) for key in ("value", "low", "high"))
    change = around(Estimate(value, low, high, one["change"][figure]["count"]), figure, signed=True)
    return said if math.isnan(value) else f"{said}\N{NO-BREAK SPACE}({change})"


def _arrow(before: str, after: str) -> str:
    return f"{before}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{after}"
