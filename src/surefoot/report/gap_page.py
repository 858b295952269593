"""A gap to look at: how far beside its floor, in which joints, what it looks like, what kind it is, and what to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from surefoot.gap import Gap, Measured, Score
from surefoot.gap.channels import MEANINGS, UNITS
from surefoot.logs.robot_log import RobotLog
from surefoot.report.charts import ADAPTED, ROBOT, SIMULATOR, TARGET, Bar, Key, bars, heat_map, number
from surefoot.report.doctor_page import delay_chart
from surefoot.report.gap_figures import (
    SIDE_KEYS,
    joint_ridges,
    torque_panels,
    trace_panels,
    typical_piece,
    worst_distributions,
)
from surefoot.report.page import Card, Page, State, Tile
from surefoot.robot import Robot

if TYPE_CHECKING:
    from surefoot.fit.diagnose import Cause, Diagnosis
    from surefoot.logs.doctor.findings import LogReport

WORST = 6  # channels that are shown first
CAUSES = 3  # that get a card of their own
KINDS = {"numbers": "the numbers are wrong", "physics": "physics is missing", "world": "the world is another"}
SURE: dict[str, State] = {"sure": "good", "likely": "warn", "unsure": "plain"}
ASSUMES = {
    "wasserstein": "each channel by itself; no alignment in time",
    "quantiles": "as wasserstein, with large differences counted more (W2)",
    "match-o": "the same start at the same time; else it measures the drift of phase",
    "mmd": "how joints go together at one tick",
    "sliced": "how joints go together, blurred over all channels",
    "lagged": "rhythm and smoothness within each channel",
}


def gap_page(
    measured: Measured,
    diagnosis: Diagnosis | None,
    checked: LogReport | None,
    log: RobotLog,
    robot: Robot,
    provenance: Mapping[str, Any],
    title: str,
    scores: Sequence[Score] = (),
    cost: str = "wasserstein",
    follow: str = "",
    inside: Page | None = None,
) -> str:
    """The page of a measured gap; `checked` is what the doctor said of the log, `cost` the one that decides, `follow`
    the command that follows. With `inside` it becomes a chapter of that page.
    """
    gap = measured.gap
    chosen = next((score for score in scores if score.name == cost and cost != "wasserstein"), None)
    there = gap.measurable if chosen is None else chosen.measurable
    page = Page.begin(
        title,
        f"robot {robot.name} · {gap.pieces} pieces, {number(gap.seconds)} s after settling · {len(measured.runs)}"
        " simulated runs",
        inside,
    )
    page.tiles(_tiles(gap, chosen, there, checked))
    page.figure(
        partial(_headline, gap),
        "Mean distance of the channels; 1 is the robot's own spread in each. The simulator to itself: other starts,"
        " other noise. The robot to itself: halves of its episodes, corrected for their other commands and smaller"
        " number.",
    )
    _diagnosis(page, diagnosis, there, follow)
    _where(page, gap)
    page.section("Where they differ most")
    page.panels(
        worst_distributions(measured, gap.worst[:WORST]),
        "All counted time of all episodes, and of all simulated runs. The distance is what it takes to move one shape"
        " onto the other.",
        SIDE_KEYS,
    )
    _traces(page, measured, log, robot)
    _torque(page, measured, robot)
    page.section("How every joint's values are spread")
    for kind in dict.fromkeys(channel.kind for channel in gap.channels):
        unit = UNITS[kind]
        page.figure(partial(joint_ridges, measured, kind, MEANINGS[kind] + ("" if unit == "1" else f", {unit}")))
    _costs(page, scores)
    if checked is not None:
        _doctor(page, checked, log, robot)
    page.provenance(provenance)
    return page.render()


def _tiles(gap: Gap, chosen: Score | None, there: bool, checked: LogReport | None) -> list[Tile]:
    low, high = gap.interval
    verdict = ("bad", "a measurable gap") if there else ("good", "no measurable gap")
    state: State = "bad" if there else "good"
    tiles = [
        Tile(
            "Gap",
            gap.total,
            "× spread",
            f"90 %: {number(low)} to {number(high)}",
            *(verdict if chosen is None else ("plain", "")),  # type: ignore[arg-type]
        )
    ]
    if chosen is not None:
        tiles.append(
            Tile(
                f"Gap by {chosen.name}",
                chosen.value,
                "",
                f"floor {number(chosen.floor)}, limit {number(chosen.limit)}",
                state,
                verdict[1],
            )
        )
    tiles += [
        Tile("Floor", gap.total_floor, "", f"simulator to itself; robot to itself {number(gap.robot_floor)}"),
        Tile(
            "Measurable above",
            gap.total_limit,
            "",
            f"the gap is {number(gap.total / gap.total_floor, 2)} times its floor" if gap.total_floor else "",
        ),
        Tile(
            "Channels above their limit",
            f"{int((gap.distance > gap.limit).sum())} of {len(gap.channels)}",
            "",
            f"worst: {gap.channels[gap.worst[0]].name}",
        ),
        Tile(
            "Falls in the simulator",
            f"{100 * gap.fallen:.0f} %",
            "",
            "of the simulated episodes",
            "warn" if gap.fallen > 0.1 else "good",
            "falls count as a gap" if gap.fallen > 0.1 else "it walks",
        ),
    ]
    if checked is not None and checked.delay is not None:
        d = checked.delay
        tiles.append(
            Tile(
                "Action to motion",
                1e3 * d.seconds,
                "ms",
                f"95 %: {number(1e3 * d.low_s)} to {number(1e3 * d.high_s)} ms",
            )
        )
    return tiles


def _headline(gap: Gap, width: int) -> str:
    rows = [
        Bar("robot to simulator", gap.total, *gap.interval, look=SIMULATOR),
        Bar("robot to itself", gap.robot_floor, look=ROBOT),
        Bar("simulator to itself", gap.total_floor, look=TARGET),
    ]
    return bars(rows, "× spread", floor=gap.total_limit, floor_label="measurable above", width=width, row_px=26)


def _diagnosis(page: Page, diagnosis: Diagnosis | None, there: bool, follow: str) -> None:
    page.section("What kind of gap it is")
    if diagnosis is None:
        page.text(
            "No cause was looked for."
            if there
            else "No cause was looked for: the simulator differs from the robot no more than from itself."
        )
        return
    closed = partial(_explained, diagnosis.causes) if diagnosis.causes else None
    effort = (
        f"{diagnosis.evaluations} candidate simulators, {number(diagnosis.simulated_s / 60)} minutes of simulated"
        " walking"
        if diagnosis.evaluations
        else ""
    )
    facts = [
        ("Where", diagnosis.where),
        ("What to do", diagnosis.advice),
        ("Next", f"`{follow}`" if follow.startswith("surefoot") else follow),
        ("Looked at", effort),
    ]
    caption = "Share of the gap above its floor that is closed when this alone is fitted." if closed else ""
    state = SURE.get(diagnosis.sure, "plain")
    page.card(
        Card(
            state if diagnosis.causes else "good", diagnosis.sure, diagnosis.says, facts, figure=closed, caption=caption
        )
    )
    for cause in diagnosis.causes[:CAUSES]:
        page.card(_cause(cause))


def _explained(causes: Sequence[Cause], width: int) -> str:
    rows = [Bar(cause.name, 100 * cause.explains, look=ADAPTED if i == 0 else TARGET) for i, cause in enumerate(causes)]
    return bars(rows, "% closed", above=width < 500, width=width)


def _cause(cause: Cause) -> Card:
    values = "\n".join(
        f"{name}: {number(nominal)} → {number(found)}{'' if unit == '1' else f' {unit}'}"
        for name, nominal, found, unit in cause.values
        if number(nominal) != number(found)
    )
    closes = f"{100 * cause.explains:.0f} % of the gap; {number(cause.cost)} × spread remain"
    facts = [("Closes", closes), ("Evidence", cause.evidence), ("Simulator", values)]
    return Card("plain", KINDS.get(cause.kind, cause.kind), cause.name, facts, cause.key)


def _where(page: Page, gap: Gap) -> None:
    page.section("Where it is")
    places, kinds, distance, limit = gap.matrix()
    within = int((gap.distance <= gap.limit).sum())
    page.figure(
        lambda width: heat_map(
            distance, places, kinds, "distance, × spread", floor=limit, floor_label="within its limit", width=width
        ),
        f"Distance between robot and simulator by joint and channel. {within or 'None'} of {len(gap.channels)} lie"
        " within what the simulator's own scatter explains" + (", and are hatched." if within else "."),
    )
    rows: list[tuple[str | float, ...]] = []
    for i in gap.worst[:WORST]:
        channel = gap.channels[i]
        unit = UNITS[channel.kind]
        size = f"{number(gap.distance[i] * gap.spread[i])}{'' if unit == '1' else f' {unit}'}"
        rows.append((channel.name, float(gap.distance[i]), float(gap.floor[i]), float(gap.limit[i]), size))
    page.table(("worst channels", "distance", "floor", "limit", "in its own unit"), rows)


def _traces(page: Page, measured: Measured, log: RobotLog, robot: Robot) -> None:
    piece = typical_piece(measured)
    schedule = measured.simulator.schedule
    page.section("One episode in time")
    positions = [i for i, channel in enumerate(measured.gap.channels) if channel.kind == "position"]
    others = [i for i in measured.gap.worst[:WORST] if measured.gap.channels[i].kind != "position"]
    page.panels(
        trace_panels(measured, log, piece, [*positions, *others]),
        f"Episode {int(schedule.episode[piece])}, the one with the median distance, after settling. Both walk under the"
        " same commands from other starts, so their steps need not coincide: size, shape and rhythm are what to"
        " compare.",
        SIDE_KEYS,
    )


def _torque(page: Page, measured: Measured, robot: Robot) -> None:
    page.section("Torque against speed")
    panels = torque_panels(measured, robot)
    keys = (Key("robot", ROBOT, "dot"), Key("simulator", SIMULATOR, "cross"), Key("limits of the contract", TARGET))
    page.panels(
        panels,
        "Estimated from the gains: kp (target − position) − kd velocity, with the target that was in force. Above and"
        " below the box is torque that was asked for and that the motor cannot give. Of the simulator the outermost"
        " points and a few others are drawn.",
        keys,
    )


def _costs(page: Page, scores: Sequence[Score]) -> None:
    if not scores:
        return
    page.section("By other distances")
    rows = [
        (score.name, score.value, score.floor, score.limit, "above its limit" if score.measurable else "within")
        for score in scores
    ]
    caption = "Each beside its own floor, the simulator to itself; the numbers of different costs do not compare."
    page.table(("cost", "gap", "floor", "limit", ""), rows, caption)
    page.table(("cost", "what it looks at"), [(score.name, ASSUMES.get(score.name, "")) for score in scores])


def _doctor(page: Page, checked: LogReport, log: RobotLog, robot: Robot) -> None:
    page.section("What the doctor says of the log")
    total: dict[str, list[float]] = defaultdict(list)
    for span, reason in checked.cuts:
        total[reason].append(span.end_s - span.start_s)
    rows = len(checked.usable)
    page.text(
        f"{int(checked.usable.sum())} of {rows} rows, {number(checked.usable_s)} s, are"
        f" usable{'; nothing was cut.' if not total else '.'}"
    )
    if total:
        cut = [(reason, float(len(parts)), float(sum(parts))) for reason, parts in total.items()]
        page.table(("cut because", "parts", "seconds"), sorted(cut, key=lambda row: row[2], reverse=True))
    if checked.findings:
        page.table(("severity", "finding"), [(finding.severity, finding.title) for finding in checked.findings])
    if checked.delay is None:
        page.text("The delay between action and motion could not be estimated from this log.")
        return
    page.figure(partial(delay_chart, checked.delay, robot, title="From action to motion"))
