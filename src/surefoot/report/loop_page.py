"""The whole story of a loop on one page: what was wrong, what was found, what the policy does before and
after, and the verdict.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from surefoot.gap import Gap
from surefoot.gap.channels import UNITS
from surefoot.pipeline.artefacts import (
    DOCTOR_PAGE,
    FIT_PAGE,
    GAP_PAGE,
    GO,
    LOG,
    NO_GAP,
    NO_GO,
    POLICY,
    RUN,
    UNUSABLE,
    VERDICT_PAGE,
    VIDEO,
)
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.pipeline.loop_result import LoopResult
from surefoot.pipeline.walks import Walks
from surefoot.report.added_figures import adds_of
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
from surefoot.report.torque_words import torque_words
from surefoot.report.verdict_page import FIGURES, KEYS, PATHS, around, figure_words, path_charts, places, verdict_facts
from surefoot.verify.compare import Compared, FallCounts
from surefoot.verify.paths import Track
from surefoot.verify.rules import TWIN, WORDS
from surefoot.verify.verdict import Verdict

WORST = 8  # channels that are shown
CAUSES = 4
MOST_EMBEDDED_BYTES = 4_000_000  # of a video inside the page
TABLE = ("velocity_error_m_s", "turn_error_rad_s", "drift_m", "way_error_m", "cost_of_transport", "action_change")
OUTCOMES: dict[int, tuple[State, str, str]] = {
    GO: ("good", "GO", "The new policy may go onto the robot."),
    UNUSABLE: ("bad", "not usable", "The log cannot be used."),
    NO_GO: ("bad", "NO-GO", "Keep the old policy on the robot."),
    NO_GAP: ("plain", "no gap", "Nothing measurable is there to close."),
}
# Places of files beside the page
PAGES = {
    "doctor": f"doctor/{DOCTOR_PAGE}",
    "gap": f"gap/{GAP_PAGE}",
    "fit": f"fit/{FIT_PAGE}",
    "verdict": f"verdict/{VERDICT_PAGE}",
}
TUNED, FILM = f"finetune/{POLICY}", f"video/{VIDEO}"


class LoopPage(Page):
    """A page that also shows a video, from inside itself, and leads to files beside it."""

    content_policy = f"{Page.content_policy}; media-src data:"

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


def loop_page(result: LoopResult) -> str:
    """The whole page as HTML."""
    run = result.run
    page = LoopPage(f"The loop: {_title(result)}", _subtitle(result))
    _outcome(page, result)
    if result.walks is not None:
        _walks(page, result, result.walks)
    if result.gap is not None:
        _gap(page, result, result.gap)
    if result.fit is not None:
        _fit(page, result, result.fit)
    if result.verdict is not None:
        _verdict(page, result, result.verdict)
    _steps(page, result)
    page.section("Provenance")
    if run["command"]:
        page.card(Card("plain", "the same again", "This loop was run with", [("Command", f"`{run['command']}`")]))
    page.provenance({key: value for key, value in run.items() if key != "command"})
    return page.render()


def _title(result: LoopResult) -> str:
    inputs = result.run["inputs"]
    logs = ", ".join(Path(log["file"]).stem for log in inputs["logs"])
    return f"{result.robot.name}: {logs or 'a recording of ' + inputs['twin']['name']}"


def _subtitle(result: LoopResult) -> str:
    inputs = result.run["inputs"]
    twin = f" · verified on the virtual robot {inputs['twin']['name']}" if inputs.get("twin") else ""
    return f"policy {inputs['policy']['name']}{twin} · surefoot {result.run['versions']['surefoot']}"


def _outcome(page: LoopPage, result: LoopResult) -> None:
    state, word, title = OUTCOMES[result.exit_code]
    if result.exit_code == NO_GO and result.verdict is None:
        title = "The fit came no nearer to the robot."
    facts = [("How it ended", f"{result.says}.")] if result.verdict is None else []
    if result.report is not None and result.gap is None:
        errors = [finding for finding in result.report.findings if finding.severity == "error"]
        facts += [(finding.title, f"{finding.why}; {finding.fix}.") for finding in errors]
    if result.verdict is not None:
        facts += verdict_facts(result.verdict)
    page.card(Card(state, word, title, facts))
    tiles = _tiles(result)
    if tiles:
        page.tiles(tiles)
    if result.tuned is not None and result.exit_code == GO:
        page.links({"the new policy": TUNED})


def _tiles(result: LoopResult) -> list[Tile]:
    tiles = []
    if result.fit is not None:
        left = result.fit.gap_left
        beside = f"was {number(left.before, 3)}" + ("" if left.floor is None else f"; floor {number(left.floor, 2)}")
        state: State = "bad" if not left.nearer else "warn" if left.measurable else "good"
        word = {"bad": "no nearer", "warn": "above its floor", "good": "closed"}[state]
        name = "Gap, held-out episodes" if left.held_out else "Gap of the simulator"
        tiles.append(Tile(name, left.after, "", beside, state, word))
    elif result.gap is not None:
        gap = result.gap.gap
        floor = f"floor {number(gap.total_floor, 2)}, chance up to {number(gap.total_limit, 2)}"
        tiles.append(Tile("Gap of the simulator", gap.total, "", floor))
    for compared in () if result.verdict is None else result.verdict.named[1:]:
        for figure in ("drift_m", "velocity_error_m_s"):
            name, unit = WORDS[figure]
            change = compared.change[figure]
            state = "good" if change.high < 0 else "bad" if change.low > 0 else "plain"
            word = {"good": "better", "bad": "worse"}.get(state, "no clear change")
            was, shown = (figure_words(side.value(figure), figure) for side in (compared.before, compared.after))
            title = f"{name[:1].upper()}{name[1:]}, {compared.name}"
            tiles.append(Tile(title, shown, unit, f"was {was}", state, word))
    return tiles


def _walks(page: LoopPage, result: LoopResult, walks: Walks) -> None:
    page.section("The walk, before and after")
    where = f"{walks.place}, the same commands for both: there and back along each direction at full speed."
    video = result.video
    if video is None:
        page.text(f"There is no video: {walks.says.removeprefix('none: ')}.")
    elif video.stat().st_size <= MOST_EMBEDDED_BYTES:
        page.video(video.read_bytes(), f"Left before, right after, on {where}")
    else:
        page.links({f"Video, left before and right after, on {walks.place}": FILM})
    looks = (
        ("ideal", TARGET, walks.commanded_m),
        ("before", BEFORE, walks.before.path_m),
        ("after", AFTER, walks.after.path_m),
    )
    series = [Series(name, [p[0] for p in path], [p[1] for p in path], look) for name, look, path in looks]
    spans = _square([point for _, _, path in looks for point in path])
    falls = walks.before.falls, walks.after.falls
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


def _gap(page: LoopPage, result: LoopResult, measured: GapResult) -> None:
    gap, diagnosis = measured.gap, measured.diagnosis
    page.section("What was wrong")
    size = f"{number(gap.total, 3)} of the robot's own spread, beside a floor of {number(gap.total_floor, 2)}"
    if not gap.measurable:
        page.text(
            f"The simulator differs from the robot by {size}: no measurable gap, since up to"
            f" {number(gap.total_limit, 2)} is chance."
        )
    else:
        cause = "" if diagnosis is None else f" {diagnosis.says[:1].upper()}{diagnosis.says[1:]} ({diagnosis.sure})."
        page.text(f"The simulator differs from the robot by {size}.{cause}")
        worst = [int(i) for i in np.argsort(gap.floor - gap.distance, kind="stable")[:WORST]]
        rows = [Bar(gap.channels[i].name, gap.distance[i], look=ROBOT) for i in worst]
        page.figure(
            lambda width: bars(rows, "distance, × spread", title="Worst channels", width=width),
            f"The largest of them in its unit: {_in_unit(gap, worst[0])}." if worst else "",
        )
        if diagnosis is not None and diagnosis.causes:
            page.table(
                ("cause", "closes", "leaves", ""),
                [
                    (cause.name, f"{cause.explains:.0%}", number(cause.cost, 3), cause.evidence)
                    for cause in diagnosis.causes[:CAUSES]
                ],
                "Causes compete in the simulator, each solved for what would explain the robot.",
            )
    _lead(page, result, "gap", "The gap in full")


def _in_unit(gap: Gap, channel: int) -> str:
    about = gap.channels[channel]
    unit = UNITS.get(about.kind, "1")
    size = number(gap.distance[channel] * gap.spread[channel], 3)
    return f"{about.name} is off by {size}{'' if unit == '1' else f' {unit}'}"


def _fit(page: LoopPage, result: LoopResult, fit: PhysicsFit) -> None:
    page.section("What was found")
    page.text(fit.judgement.says)
    knobs = fit.adaptation.knobs
    for line in torque_words(knobs, result.robot, fit.knots, adds_of(fit.adaptation)):
        page.text(line)
    groups = by_parameter(knobs)
    charts = [parameter_chart(alike, PANEL, plain_parameter(name), legend=False) for name, alike in groups.items()]
    if charts:
        shown = [row for alike in groups.values() for row in interval_rows(alike, short=True)[0]]
        page.panels(charts, "Each value with its 90 % interval, beside what it was.", interval_keys(shown, WAS))
    _lead(page, result, "fit", "The fit in full")


def _verdict(page: LoopPage, result: LoopResult, verdict: Verdict) -> None:
    page.section("What the policy does, before and after")
    _paths(page, verdict.paths)
    named = verdict.named
    page.text(f"{places([compared.name for compared in named])} {FIGURES}")
    rows = [
        ("falls", *(_falls(compared.falls) for compared in named)),
        ("falls when pushed", *(_falls(compared.falls_pushed) for compared in named)),
    ]
    for figure in TABLE:
        name, unit = WORDS[figure]
        rows.append((f"{name}, {unit}" if unit else name, *(_both(compared, figure) for compared in named)))
    for direction in named[0].before.drift_m:
        rows.append((f"drift {direction}, m", *(_drift(compared, direction) for compared in named)))
    page.table(
        ("", *(compared.name for compared in named)),
        rows,
        "Before → after, in brackets the change with half of its 90 % interval, over the same episodes for both.",
    )
    _lead(page, result, "verdict", "The verdict in full")


def _falls(falls: FallCounts) -> str:
    return f"{_arrow(str(falls.before), str(falls.after))} of {falls.episodes}"


def _drift(compared: Compared, direction: str) -> str:
    sides = (compared.before.drift_m[direction].value, compared.after.drift_m[direction].value)
    return _arrow(*(figure_words(value, "drift_m", signed=True) for value in sides))


def _paths(page: LoopPage, paths: Mapping[str, tuple[dict[str, Track], dict[str, Track]]]) -> None:
    """Of the virtual robot, which is as near to the robot as a simulator can be; without one, in the fitted
    simulator.
    """
    if not paths:
        return
    name = list(paths)[-1]
    before, after = paths[name]
    if before:
        page.panels(path_charts(before, after), f"{_place(name)}. {PATHS}", KEYS)


def _place(name: str) -> str:
    """A simulator of the verdict in words."""
    return f"On the virtual robot {name.removeprefix(TWIN)}" if name.startswith(TWIN) else f"In the {name} simulator"


def _steps(page: LoopPage, result: LoopResult) -> None:
    page.section("The steps")
    rows = [
        (name, entry["says"], f"{entry['wall_s']:.0f} s", entry["command"])
        for name, entry in result.run["steps"].items()
        if entry["state"] == "done"
    ]
    page.table(("step", "result", "time", "the same step alone"), rows)
    files = {name: place for name, place in PAGES.items() if name in result.done}
    made = next((name for name in ("record", "join") if name in result.done), None)
    files |= {} if made is None else {"the log": f"{made}/{LOG}"}
    files |= {"the video": FILM} if result.video is not None else {}
    files |= {"the policy": TUNED} if result.tuned is not None else {}
    page.links(files | {RUN: RUN})


def _lead(page: LoopPage, result: LoopResult, step: str, words: str) -> None:
    if step in result.done:
        page.links({words: PAGES[step]})


def _both(compared: Compared, figure: str) -> str:
    """A figure of both policies in one simulator, with its change where that is known episode by episode."""
    both = _arrow(*(figure_words(side.value(figure), figure) for side in (compared.before, compared.after)))
    change = compared.change.get(figure)
    if change is None or math.isnan(change.value):
        return both
    return f"{both}\N{NO-BREAK SPACE}({around(change, figure, signed=True)})"


def _arrow(before: str, after: str) -> str:
    return f"{before}\N{NO-BREAK SPACE}→\N{NO-BREAK SPACE}{after}"
