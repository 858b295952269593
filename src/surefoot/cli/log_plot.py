"""`surefoot log plot`."""

from pathlib import Path
from typing import Annotated

import tyro

from surefoot.cli.plain import say_plain
from surefoot.cli.words import way_out
from surefoot.files import check_place, write_text
from surefoot.logs.robot_log import read_log
from surefoot.report.log_page import log_page, trouble_on_page


def plot(
    log: Annotated[Path, tyro.conf.Positional],
    out: Path,
    robot: str | None = None,
    episode: tuple[int, ...] = (),
    title: str | None = None,
) -> None:
    """Write a page to look at a log: traces, distributions, commands, the clock and what was recorded.

    The page is one HTML file that fetches nothing and runs nothing: it can be mailed, archived and printed.

    Args:
        log: the Parquet file
        out: the HTML file to write
        robot: a shipped robot or the path of a robot.yaml; shows actions as joint targets, and draws limits
        episode: numbers of the episodes whose traces are shown; without it, the longest one
        title: of the page; without it, the name of the log
    """
    check_place(out, (".html", ".htm"))
    described = None
    if robot is not None:
        from surefoot.robot import load_robot

        described = load_robot(robot)
    content = read_log(log)
    page = log_page(content, described, title or log.name, episode or None)
    write_text(out, page)
    trouble = trouble_on_page(content, described)
    if trouble is not None:
        say_plain(f"warning: {trouble[0]}; {trouble[1]}{way_out('time_unit', 'log import')}")
    say_plain(f"wrote {out} ({len(page.encode()) / 1e6:.2f} MB)")
