"""`surefoot log ...`: import what people have, and show what a log holds."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from surefoot.cli.words import way_out
from surefoot.console import Console, cell, say
from surefoot.errors import LogError
from surefoot.files import check_place
from surefoot.logs.robot_log import OPTIONAL, REQUIRED, RobotLog, read_log, write_log
from surefoot.logs.time_unit import trouble_with_time


def import_log(
    files: Annotated[list[Path], tyro.conf.Positional],
    out: Path,
    robot: str = "go2",
    map: Path | None = None,
    time_unit: Literal["s", "ms", "us", "ns"] | None = None,
) -> None:
    """Turn recorded files into one log: tables (CSV, JSON, NPZ, Parquet, HDF5, MATLAB, ULog), MCAP files, ROS bags, LeRobot folders.

    What each column or topic was taken for is printed; where that is wrong or not obvious, a map file says it
    (docs/log-import.md). Files of one folder that are streams of one recording (control.csv, state.csv, or one file
    for each joint) are joined by their time stamps. Each recording becomes at least one episode. Pickled objects are never read.

    Args:
        files: what the robot recorded: files, or folders of them
        out: the Parquet file to write
        robot: a shipped robot or the path of a robot.yaml
        map: a YAML file that says which column or topic is what, with units, signs and joint names
        time_unit: unit of the time column of a table; default: by its name, or by the rate that its numbers give
    """
    from surefoot.logs.importing import MapFile, assemble, read_map, read_recordings
    from surefoot.robot import load_robot

    check_place(out, (".parquet",))
    described = load_robot(robot)
    if not files:
        raise LogError("no file was given; 'surefoot log import FILE... --robot ROBOT --out log.parquet'")
    map_file = read_map(map) if map else MapFile()
    map_file = map_file if time_unit is None else replace(map_file, time_unit=time_unit)
    console = Console()
    bar = (
        TextColumn("reading {task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*bar, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task(", ".join(path.name for path in files[:3]), total=None)
        recordings = read_recordings(
            files,
            described.contract,
            map_file,
            lambda done, total: shown.update(task, completed=done, total=total),
        )
    for guess in dict.fromkeys(guess for recording in recordings for guess in recording.guesses):
        say(console, guess)
    log = assemble(recordings, described, map_file)
    written = write_log(log, out)
    _story(console, log.metadata)
    say(console, _size(log))
    say(console, f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB, sha256 {written[:12]})")


def show(log: Annotated[Path, tyro.conf.Positional]) -> None:
    """Summarize a log: episodes, rate, the range of every channel, where it comes from.

    Args:
        log: a log that 'surefoot record' or 'surefoot log import' wrote
    """
    content = read_log(log)
    console = Console()
    console.print(_channels(content, log), *([_episodes(content)] if content.n_episodes > 1 else []), sep="\n")
    timeless = int((~np.isfinite(content.time_s)).sum())
    if timeless:
        say(console, f"warning: {timeless} of {len(content.time_s)} rows have no time, or one that no clock shows")
    rate_hz = content.stated_hz
    trouble = None if rate_hz is None else trouble_with_time(content, 1 / rate_hz)
    if trouble is not None:
        say(console, f"warning: {trouble[0]}; {trouble[1]}{way_out('time_unit', 'log import')}")
    for key, value in content.metadata.items():
        if key not in ("derived", "assumed", "notes", "source"):
            say(console, f"{key}: {_plain(value)}")
    _source(console, content.metadata.get("source"))
    _story(console, content.metadata)


def _channels(log: RobotLog, path: Path) -> Table:
    """The range of each channel, over all joints and over the joint that moves most."""
    table = _table(
        cell(f"{path.name}: {_rate(log)}"), "channel", "columns", "lowest", "mean", "highest", "not a number"
    )
    for name in (*REQUIRED, *OPTIONAL):
        values = getattr(log, name)
        if values is None:
            continue
        finite = values[np.isfinite(values)]
        cells = (f"{f(finite):+.3f}" for f in (np.min, np.mean, np.max)) if len(finite) else ("", "", "")
        table.add_row(
            name, str(values.shape[1]), *cells, str(values.size - len(finite)) if values.size > len(finite) else ""
        )
    for joint, values in zip(log.joints, log.joint_position_rad.T, strict=True):
        finite = values[np.isfinite(values)]
        if len(finite):
            table.add_row(
                cell(f"  {joint}"), "rad", f"{finite.min():+.3f}", f"{finite.mean():+.3f}", f"{finite.max():+.3f}", ""
            )
    return table


def _episodes(log: RobotLog, most: int = 12) -> Table:
    table = _table(None, "episode", "rows", "seconds", "steps ms", "longest ms")
    rows = log.episodes()
    for span in rows[:most]:
        steps = log.steps_s(span) * 1e3
        cells = (f"{np.median(steps):.2f}", f"{steps.max():.2f}") if len(steps) else ("", "")
        seconds = f"{log.seconds_of(span):.2f}" if np.isfinite(log.time_s[span]).any() else ""
        table.add_row(str(log.episode[span.start]), str(span.stop - span.start), seconds, *cells)
    if len(rows) > most:
        table.caption = f"and {len(rows) - most} more"
        table.caption_justify = "left"
    return table


def _rate(log: RobotLog) -> str:
    steps = log.steps_s()
    steps = steps[steps > 0]
    rate = f"{1 / np.median(steps):.4g} Hz" if len(steps) else "no rate"
    return f"{_size(log)}, {rate}, {len(log.joints)} joints"


def _size(log: RobotLog) -> str:
    return f"{log.n_episodes} episode{'s' if log.n_episodes != 1 else ''}, {log.seconds:.1f} s, {len(log.time_s)} rows"


def _story(console: Console, metadata: dict[str, Any]) -> None:
    """What is not as it was recorded, and what was left out."""
    for key in ("derived", "assumed"):
        entries = metadata.get(key)
        for name, how in entries.items() if isinstance(entries, dict) else ():
            say(console, f"{key}: {name}, {how}")
    notes = metadata.get("notes")
    for note in notes if isinstance(notes, list) else ():
        say(console, f"note: {note}")


def _source(console: Console, source: Any) -> None:
    source = dict(source) if isinstance(source, dict) else {}
    files = source.pop("files", [])
    if source:
        say(console, f"source: {_plain(source)}")
    for file in files if isinstance(files, list) else ():
        say(console, f"file: {_plain(file)}")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(title: Text | None, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
