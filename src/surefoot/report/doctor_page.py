"""A report to look at: the verdict, findings worst first with what shows them, what was cut, what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from surefoot import __version__
from surefoot.logs.robot_log import RobotLog
from surefoot.report.charts import (
    PANEL,
    ROBOT,
    Interval,
    Key,
    Level,
    Piece,
    Series,
    Shade,
    heat_map,
    intervals,
    line_chart,
    number,
    timeline,
)
from surefoot.report.page import Card, Drawing, Page, State, Tile
from surefoot.report.traces import (
    POSITION_KEYS,
    VELOCITY_KEYS,
    around,
    broken,
    episode_rows,
    joint_targets,
    liveliest,
    position_panel,
    velocity_panel,
)
from surefoot.robot import Robot

if TYPE_CHECKING:
    from surefoot.logs.doctor.findings import Delay, Finding, LogReport, TimeSpan

STATES: dict[str, State] = {"error": "bad", "warning": "warn", "note": "plain"}
VERDICTS: dict[int, tuple[str, State, str]] = {
    0: ("usable", "good", "nothing above a note"),
    1: ("usable with care", "warn", "read the warnings"),
    2: ("not usable", "bad", "fix the errors first"),
}
MOST_PANELS = 6  # joints that one finding shows
MOST_SPANS = 8  # places that one finding names
CLOCK_WORDS = {"time", "gap", "jitter", "dropout", "rate", "clock"}  # of codes; what they mark is shown on the clock


def doctor_page(report: LogReport, log: RobotLog, robot: Robot, title: str, inside: Page | None = None) -> str:
    """The page of a report of a log; with `inside` it becomes a chapter of that page."""
    page = Page.begin(title, f"robot {robot.name} · {len(log.time_s)} rows in {log.n_episodes} episodes", inside)
    page.tiles(_tiles(report))
    if report.proposal:
        page.text(f"Next recording: {report.proposal}")
    page.section("Findings")
    if not report.findings:
        page.text("Nothing was found.")
    targets = joint_targets(log, robot)
    for finding in report.findings:
        page.card(_card(finding, log, robot, targets))
    _cuts(page, report, log)
    _coverage(page, report, robot)
    _delay(page, report, robot)
    facts = {
        "report": f"surefoot {__version__}",
        "robot": {"name": robot.name, "hash": robot.hash},
        "log": log.metadata,
    }
    page.provenance(facts)
    return page.render()


def _tiles(report: LogReport) -> list[Tile]:
    word, state, verdict = VERDICTS[report.exit_code]
    count = {severity: sum(f.severity == severity for f in report.findings) for severity in STATES}
    enough = report.usable_s >= report.needed_s
    tiles = [
        Tile("This log is", word, state=state, verdict=verdict),
        Tile(
            "Findings",
            str(len(report.findings)),
            "",
            ", ".join(f"{n} {severity}{'s' * (n != 1)}" for severity, n in count.items()),
        ),
        Tile(
            "Usable",
            report.usable_s,
            "s",
            f"a fit needs about {number(report.needed_s)} s",
            "good" if enough else "warn",
            "enough" if enough else "record more",
        ),
    ]
    if report.delay is not None:
        d = report.delay
        tiles.append(
            Tile(
                "Action to motion",
                1e3 * d.seconds,
                "ms",
                f"95 %: {number(1e3 * d.low_s)} to {number(1e3 * d.high_s)} ms",
            )
        )
    return tiles


def _card(finding: Finding, log: RobotLog, robot: Robot, targets: np.ndarray) -> Card:
    rows_of = episode_rows(log)
    spans = [span for span in finding.spans if span.episode in rows_of]
    facts = [("Evidence", finding.evidence), ("Why", finding.why), ("Fix", finding.fix), ("Where", _where(spans))]
    joints = [log.joints.index(name) for name in finding.joints if name in log.joints][:MOST_PANELS]
    figure: Drawing | None = None
    panels: list[str] = []
    keys: tuple[Key, ...] = ()
    caption = ""
    if joints or spans:
        rows, shades, caption = _place(log, rows_of, spans, finding.code)
        left_out = len(finding.joints) - len(joints)
        caption += f" {left_out} more joints are not drawn." if joints and left_out else ""
        draw, keys = _joint_drawing(finding, log, rows, robot, targets, shades)
        if len(joints) == 1:
            figure = _alone(draw, joints[0])
        elif joints:
            panels = [draw(joint=joint) for joint in joints]
        else:
            figure = partial(_signal, log, rows, shades, finding.code)
    return Card(
        STATES[finding.severity], finding.severity, finding.title, facts, finding.code, figure, caption, panels, keys
    )


def _joint_drawing(
    finding: Finding, log: RobotLog, rows: slice, robot: Robot, targets: np.ndarray, shades: Sequence[Shade]
) -> tuple[Callable[..., str], tuple[Key, ...]]:
    """What draws a joint for this finding, its velocity where the finding is about that, and the legend of
    the drawing.
    """
    if finding.channel == "velocity":
        return partial(velocity_panel, log, rows, shades=shades), VELOCITY_KEYS
    return partial(position_panel, log, rows, robot=robot, targets=targets, shades=shades), POSITION_KEYS


def _alone(draw: Callable[..., str], joint: int) -> Drawing:
    """One joint over the whole width, with its own legend."""
    return lambda width: draw(joint=joint, labelled=True, width=width, height=140)


def _place(
    log: RobotLog, rows_of: dict[int, slice], spans: Sequence[TimeSpan], code: str
) -> tuple[slice, list[Shade], str]:
    """The rows that show a finding, the marked parts in them, and a sentence about both."""
    if not spans:
        episode = max(rows_of, key=lambda number: rows_of[number].stop - rows_of[number].start)
        return liveliest(log, rows_of[episode], 3.0), [], f"Episode {episode}, where the joints move most."
    first = spans[0]
    rows = around(log, rows_of[first.episode], first.start_s, first.end_s)
    shades = [Shade(s.start_s, s.end_s, code if s is first else "") for s in spans if s.episode == first.episode]
    more = f" One of {len(spans)} places." if len(spans) > 1 else ""
    return rows, shades, f"Episode {first.episode}; the finding is marked.{more}"


def _signal(log: RobotLog, rows: slice, shades: Sequence[Shade], code: str, width: int) -> str:
    """What shows a finding that is about no joint: the clock, the base's attitude, or how much the joints move."""
    if CLOCK_WORDS & set(code.split("-")):
        time_s = log.time_s[rows]
        steps_ms = 1e3 * np.diff(time_s, prepend=np.nan)
        return line_chart(
            [Series("", time_s, steps_ms, ROBOT)],
            "time, s",
            "time since the row before, ms",
            shades=shades,
            width=width,
            height=110,
        )
    if "fall" in code and log.gravity is not None:
        time_s, upright = broken(log, rows, log.gravity[:, 2])
        levels = [Level(-1.0, "upright"), Level(0.0, "on its side")]
        return line_chart(
            [Series("", time_s, upright, ROBOT)],
            "time, s",
            "gravity along the base's z axis",
            shades=shades,
            levels=levels,
            width=width,
            height=110,
        )
    time_s, speed = broken(log, rows, np.abs(log.joint_velocity_rad_s).mean(axis=1))
    return line_chart(
        [Series("", time_s, speed, ROBOT)],
        "time, s",
        "mean speed of all joints, rad/s",
        shades=shades,
        width=width,
        height=110,
    )


def _where(spans: Sequence[TimeSpan]) -> str:
    places = [f"episode {s.episode}, {_seconds(s.start_s)} to {_seconds(s.end_s)} s" for s in spans[:MOST_SPANS]]
    more = f"; and {len(spans) - MOST_SPANS} more" if len(spans) > MOST_SPANS else ""
    return "; ".join(places) + more


def _seconds(value: float) -> str:
    """Time stamps are looked up in the log, so that three digits would not do for long ones."""
    return f"{value:.2f}"


def _cuts(page: Page, report: LogReport, log: RobotLog) -> None:
    page.section("What is used and what is cut")
    rows_of = episode_rows(log)
    cut_of: dict[int, list[Piece]] = defaultdict(list)
    total: dict[str, list[float]] = defaultdict(list)
    for span, reason in report.cuts:
        cut_of[span.episode].append(Piece(span.start_s, span.end_s, reason))
        total[reason].append(span.end_s - span.start_s)
    rows = []
    for episode, part in rows_of.items():
        usable = np.asarray(report.usable[part], dtype=bool)
        left_out = [
            Piece(a, b, "left out")
            for a, b in _runs(log.time_s[part], ~usable)
            if not _inside((a + b) / 2, cut_of[episode])
        ]
        rows.append(
            (
                f"episode {episode}",
                [Piece(a, b) for a, b in _runs(log.time_s[part], usable)] + left_out + cut_of[episode],
            )
        )
    page.figure(
        lambda width: timeline(rows, "time, s", width=width),
        "Every episode on its own time stamps. A fit uses the filled parts only.",
    )
    if total:
        table: list[tuple[str | float, ...]] = [
            (reason, float(len(parts)), float(sum(parts))) for reason, parts in total.items()
        ]
        page.table(("reason", "parts", "seconds"), sorted(table, key=lambda row: -float(row[2])))


def _runs(time_s: np.ndarray, chosen: np.ndarray) -> list[tuple[float, float]]:
    """From when to when the chosen rows follow each other; a run lasts until the row that ends it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], chosen, [False]]).astype(np.int8)))
    return [
        (float(time_s[a]), float(time_s[min(b, len(time_s) - 1)])) for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]


def _inside(time_s: float, pieces: Sequence[Piece]) -> bool:
    return any(piece.start <= time_s <= piece.end for piece in pieces)


def _coverage(page: Page, report: LogReport, robot: Robot) -> None:
    page.section("Which commands the usable seconds cover")
    share = 100 * np.asarray(report.coverage, dtype=np.float64)
    if share.ndim != 3 or not share.size:
        page.text("No commands are known.")
        return
    names = [_cells(*limits, count) for limits, count in zip(robot.contract.command_range, share.shape, strict=True)]
    highest = float(np.nanmax(share)) if np.isfinite(share).any() else 1.0
    panels = [
        heat_map(
            share[:, :, k].T[::-1],
            names[1][::-1],
            names[0],
            "",
            title=f"turn about {names[2][k]} rad/s",
            floor=0.0,
            floor_label="never",
            highest=highest,
            width=PANEL,
        )
        for k in range(share.shape[2])
    ]
    missing = int((share <= 0).sum())
    page.panels(
        panels,
        "Share of the usable seconds in each cell, in %; columns are forward velocity, rows velocity to the left, each"
        f" by the middle of its cell, m/s. {missing} of {share.size} cells were never driven.",
    )


def _cells(low: float, high: float, count: int) -> list[str]:
    """The cells of one command axis, named by their middles."""
    edges = np.linspace(low, high, count + 1)
    return [number(0.0 if abs(middle) < 1e-9 * (high - low) else middle, 2) for middle in (edges[:-1] + edges[1:]) / 2]


def _delay(page: Page, report: LogReport, robot: Robot) -> None:
    page.section("Delay between action and motion")
    if report.delay is None:
        page.text("It could not be estimated from this log.")
        return
    page.figure(partial(delay_chart, report.delay, robot))


def delay_chart(delay: Delay, robot: Robot, width: int, title: str = "") -> str:
    """The delay with its interval, beside one control period."""
    row = Interval(
        "delay", 1e3 * delay.seconds, 1e3 * delay.low_s, 1e3 * delay.high_s, reference=1e3 * robot.contract.control_dt_s
    )
    return intervals(
        [row], "ms", title=title, reference_label="one control period", from_zero=True, width=min(width, 560), row_px=34
    )
