"""A log to look at: what it holds, how the joints moved, which commands were driven, and its clock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from surefoot import __version__
from surefoot.errors import LogError, shown
from surefoot.logs.robot_log import OPTIONAL, REQUIRED, RobotLog
from surefoot.logs.time_unit import trouble_with_time
from surefoot.report.charts import (
    FOURTH,
    PANEL,
    ROBOT,
    SIMULATOR,
    TARGET,
    Cloud,
    Key,
    Sample,
    Series,
    distributions,
    line_chart,
    number,
    ridges,
    scatter,
)
from surefoot.report.page import Card, Page, Tile
from surefoot.report.traces import (
    POSITION_KEYS,
    broken,
    intervals_s,
    joint_targets,
    liveliest,
    position_panel,
    usual_interval_s,
)

if TYPE_CHECKING:
    from surefoot.robot import Robot

AXES = ("forward, m/s", "left, m/s", "turn, rad/s")
THREE = (ROBOT, SIMULATOR, FOURTH)  # looks of the three axes of one quantity
UNITS = {
    "command": "m/s, rad/s",
    "joint_position_rad": "rad",
    "joint_velocity_rad_s": "rad/s",
    "action": "1",
    "gyro_rad_s": "rad/s",
    "gravity": "1",
    "quaternion": "1",
    "torque_nm": "N·m",
    "motor_temperature_c": "°C",
    "battery_v": "V",
    "foot_contact": "as recorded",
}


def log_page(log: RobotLog, robot: Robot | None, title: str, episodes: Sequence[int] | None = None) -> str:
    """The page of a log; with a robot, actions are shown as joint targets and limits are drawn.

    `episodes` are the numbers of those whose traces are shown, a few seconds of each; the longest one without it.
    """
    if not len(log.time_s):
        raise LogError("the log has no rows; there is nothing to show")
    if robot is not None and not set(robot.contract.joints) & set(log.joints):
        raise LogError(
            f"the log's joints ({shown(', '.join(log.joints))}) are none of {robot.name}'s"
            f" ({shown(', '.join(robot.contract.joints))}); give the robot that wrote the log"
        )
    by_number = {int(log.episode[rows.start]): rows for rows in log.episodes()}
    if episodes is None:
        episodes = [max(by_number, key=lambda number: by_number[number].stop - by_number[number].start)]
    for number_ in episodes:
        if number_ not in by_number:
            raise LogError(f"the log has no episode {number_}; it has {shown(sorted(by_number))}")
    page = Page(title, _subtitle(log))
    trouble = trouble_on_page(log, robot)
    if trouble is not None:
        page.section("What is wrong with the time")
        page.card(Card("bad", "wrong unit", trouble[0], [("Fix", trouble[1])]))
    page.tiles(summary_tiles(log, robot))
    targets = None if robot is None else joint_targets(log, robot)
    for number_ in episodes:
        _traces(page, log, robot, targets, number_, by_number[number_])
    _distributions(page, log, robot)
    _commands(page, log, robot)
    if log.torque_nm is not None:
        _torque(page, log, robot)
    _clock(page, log)
    _columns(page, log)
    facts: dict[str, object] = {"report": f"surefoot {__version__}", "joints": list(log.joints), **log.metadata}
    if robot is not None:
        facts["shown with robot"] = {"name": robot.name, "hash": robot.hash}
    page.provenance(facts, "Metadata and provenance")
    return page.render()


def trouble_on_page(log: RobotLog, robot: Robot | None) -> tuple[str, str] | None:
    """What is wrong with the unit of the time and how to correct it; by the robot's rate, or by the one that the log
    states.
    """
    rate_hz = log.stated_hz if robot is None else robot.contract.control_hz
    return None if rate_hz is None else trouble_with_time(log, 1 / rate_hz)


def summary_tiles(log: RobotLog, robot: Robot | None) -> list[Tile]:
    """How much there is, at which rate, and whether every number is one."""
    steps = intervals_s(log)
    step_s = usual_interval_s(log)
    lengths = [rows.stop - rows.start for rows in log.episodes()]
    hz = 1 / step_s if step_s > 0 else float("nan")
    stated = log.metadata.get("control_hz", robot.contract.control_hz if robot else None)
    missing = sum(
        int((~np.isfinite(values)).sum()) for name in REQUIRED + OPTIONAL if (values := getattr(log, name)) is not None
    )
    jitter_ms = 1e3 * float(np.std(steps)) if len(steps) else float("nan")
    tiles = [
        Tile("Recorded", log.seconds, "s", f"{len(log.time_s)} rows"),
        Tile(
            "Episodes",
            str(log.n_episodes),
            "",
            f"{min(lengths)} to {max(lengths)} rows each" if min(lengths) < max(lengths) else f"{lengths[0]} rows each",
        ),
        Tile("Joints", str(len(log.joints)), "", f"recorded beside them: {_beside(log)}"),
        Tile(
            "Rate",
            hz,
            "Hz",
            f"stated {number(stated)} Hz" if isinstance(stated, (int, float)) else "median of the time stamps",
        ),
        Tile(
            "Interval spread",
            jitter_ms,
            "ms",
            f"longest {number(1e3 * steps.max())} ms" if len(steps) else "no intervals",
        ),
        Tile(
            "Missing values",
            str(missing),
            "",
            "NaN or infinite",
            "bad" if missing else "good",
            "look at the table below" if missing else "complete",
        ),
    ]
    fallen = log.metadata.get("fallen_episodes")
    if isinstance(fallen, int):
        tiles.append(
            Tile(
                "Falls",
                str(fallen),
                "",
                f"of {log.n_episodes} episodes, as the recorder counted",
                "warn" if fallen else "good",
                "cut before use" if fallen else "none",
            )
        )
    return tiles


def _traces(
    page: Page, log: RobotLog, robot: Robot | None, targets: np.ndarray | None, number_: int, rows: slice
) -> None:
    part = liveliest(log, rows)
    start, end = log.time_s[part.start], log.time_s[part.stop - 1]
    page.section(f"Episode {number_}")
    time_s, *axes = broken(log, rows, *log.command[:, :3].T)
    command = [Series(axis, time_s, values, look) for axis, values, look in zip(AXES, axes, THREE, strict=True)]
    page.figure(
        lambda width: line_chart(command, "time, s", "command", width=width, height=120),
        "Commanded velocity over the whole episode.",
    )
    said = "the seconds in which the joints move most" if part != rows else "the whole episode"
    page.subsection("Joint positions" if targets is None else "Joint positions and their targets")
    panels = [position_panel(log, part, i, robot, targets) for i in range(len(log.joints))]
    page.panels(
        panels, f"From {number(start)} to {number(end)} s: {said}.", POSITION_KEYS[: 1 if targets is None else 2]
    )
    page.subsection("Joint velocities")
    page.panels([_panel(log, part, log.joint_velocity_rad_s[:, i], name, "rad/s") for i, name in enumerate(log.joints)])
    if targets is None:
        page.subsection("Actions")
        page.panels(
            [_panel(log, part, log.action[:, i], name, "action") for i, name in enumerate(log.joints)],
            "As the policy gave them, before the action scale.",
        )
    others = [
        _axes(log, part, values, name)
        for values, name in ((log.gyro_rad_s, "gyro, rad/s"), (log.gravity, "gravity direction"))
        if values is not None
    ]
    others += [_panel(log, rows, log.battery_v[:, 0], "battery", "V")] if log.battery_v is not None else []
    if log.motor_temperature_c is not None:
        others.append(_panel(log, rows, log.motor_temperature_c.max(axis=1), "hottest motor", "°C"))
    if others:
        page.subsection("Base")
        page.panels(others)


def _panel(log: RobotLog, rows: slice, values: np.ndarray, name: str, unit: str) -> str:
    time_s, column = broken(log, rows, values)
    return line_chart([Series("", time_s, column, ROBOT)], "time, s", unit, title=name, width=PANEL, height=84)


def _axes(log: RobotLog, rows: slice, values: np.ndarray, name: str) -> str:
    time_s, *columns = broken(log, rows, *values.T)
    series = [Series(axis, time_s, column, look) for axis, column, look in zip("xyz", columns, THREE, strict=True)]
    return line_chart(series, "time, s", name, width=PANEL, height=110)


def _distributions(page: Page, log: RobotLog, robot: Robot | None) -> None:
    page.section("How each joint's values are spread")
    pose = None
    if robot is not None:
        known = dict(zip(robot.contract.joints, robot.contract.pose_rad, strict=True))
        pose = [known.get(name, float("nan")) for name in log.joints]
    for values, label, marks in (
        (log.joint_position_rad, "joint position, rad", pose),
        (log.joint_velocity_rad_s, "joint velocity, rad/s", None),
        (log.action, "action", None),
    ):
        rows = [(name, [Sample("", values[:, i], ROBOT)]) for i, name in enumerate(log.joints)]
        page.figure(partial(_ridges, rows, label, marks))
    page.text(
        "All episodes together; each row is as tall as its own peak, and the outermost 0.1 % on each side are left out."
    )


def _ridges(rows: list[tuple[str, list[Sample]]], label: str, marks: list[float] | None, width: int) -> str:
    return ridges(rows, label, marks=marks, mark_label="default pose", width=width)


def _commands(page: Page, log: RobotLog, robot: Robot | None) -> None:
    page.section("Commands that were driven")
    panels = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        polygon = None
        if robot is not None:
            (a, b), (c, d) = robot.contract.command_range[i], robot.contract.command_range[j]
            polygon = [(a, c), (b, c), (b, d), (a, d)]
        cloud = Cloud("", log.command[:, i], log.command[:, j], ROBOT)
        panels.append(
            scatter([cloud], AXES[i], AXES[j], polygon=polygon, polygon_label="", dot_px=3, width=PANEL, height=190)
        )
    keys = [Key("command", ROBOT, "dot"), *([Key("the robot's range", TARGET)] if robot else [])]
    page.panels(panels, "Each dot is a command that was held for some time; darker ones were held longer.", keys)


def _torque(page: Page, log: RobotLog, robot: Robot | None) -> None:
    page.section("Torque against speed")
    assert log.torque_nm is not None
    panels = []
    for i, name in enumerate(log.joints):
        polygon = None
        if robot is not None and name in robot.contract.joints:
            j = robot.contract.joints.index(name)
            speed, torque = robot.contract.velocity_limit_rad_s[j], robot.contract.torque_limit_nm[j]
            polygon = [(-speed, -torque), (speed, -torque), (speed, torque), (-speed, torque)]
        cloud = Cloud("", log.joint_velocity_rad_s[:, i], log.torque_nm[:, i], ROBOT)
        panels.append(
            scatter(
                [cloud],
                "rad/s",
                "N·m",
                title=name,
                polygon=polygon,
                polygon_label="",
                dot_px=1.2,
                width=PANEL,
                height=130,
            )
        )
    page.panels(
        panels,
        "As the motors estimate it.",
        [Key("measured", ROBOT, "dot"), *([Key("limits", TARGET)] if robot else [])],
    )


def _clock(page: Page, log: RobotLog) -> None:
    page.section("The clock")
    steps_ms = 1e3 * intervals_s(log)
    rows = np.arange(len(steps_ms))
    page.panels(
        [
            distributions([Sample("", steps_ms, ROBOT)], "interval, ms", title="Time between rows"),
            line_chart(
                [Series("", rows, steps_ms, ROBOT)],
                "row",
                "interval, ms",
                title="In the order of the log",
                width=PANEL,
                height=110,
            ),
        ]
    )


def _columns(page: Page, log: RobotLog) -> None:
    page.section("What was recorded")
    table: list[tuple[str | float, ...]] = []
    for name in REQUIRED + OPTIONAL:
        values = getattr(log, name)
        if values is None:
            continue
        finite = values[np.isfinite(values)]
        ends = np.quantile(finite, [0, 0.5, 1]) if len(finite) else [float("nan")] * 3
        table.append((name, UNITS[name], float(values.shape[1]), *map(float, ends), float(values.size - len(finite))))
    page.table(("column", "unit", "width", "least", "median", "largest", "missing"), table)


def _subtitle(log: RobotLog) -> str:
    meta = log.metadata
    source = meta.get("source")
    kind = source.get("twin") or source.get("kind") if isinstance(source, dict) else source
    facts = (("robot", meta.get("robot")), ("policy", meta.get("policy")), ("source", kind))
    return " · ".join(f"{name} {value}" for name, value in facts if isinstance(value, str) and value)


def _beside(log: RobotLog) -> str:
    names = {
        "gyro_rad_s": "gyro",
        "torque_nm": "torque",
        "motor_temperature_c": "temperature",
        "battery_v": "battery",
        "foot_contact": "contact",
    }
    there = [names.get(name, name) for name in OPTIONAL if getattr(log, name) is not None]
    return ", ".join(there) or "nothing"
