"""The progress of a fit: one screen where there is one, a line now and then where there is not."""

import math
import time
from collections.abc import Callable
from dataclasses import replace

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from surefoot.cli.live import OnScreen
from surefoot.console import Console, cell, say
from surefoot.fit.run import FitProgress

LINE_EVERY_S = 10.0


class FitScreen(OnScreen):
    """Progress on one screen where there is one, as a line now and then where there is not."""

    def __init__(self, console: Console):
        self._console = console
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._printed, self._stage = 0.0, ""

    def named(self, family: str) -> Callable[[FitProgress], None]:
        """Show the progress of one family of several."""
        return lambda progress: self.show(replace(progress, stage=f"{family}: {progress.stage}"))

    def show_family(self, family: str, progress: FitProgress) -> None:
        """Show where the fit of a family stands; no family is being fitted yet where its name is empty."""
        self.show(replace(progress, stage=f"{family}: {progress.stage}") if family else progress)

    def show(self, progress: FitProgress) -> None:
        """Show where a fit stands."""
        if self._live is not None:
            self._live.update(_screen(progress))
        elif progress.stage != self._stage or time.monotonic() - self._printed > LINE_EVERY_S:
            self._printed, self._stage = time.monotonic(), progress.stage
            say(self._console, _line(progress))


def _line(progress: FitProgress) -> str:
    if not progress.evaluations:
        return progress.stage
    return (
        f"{progress.stage}: iteration {progress.iteration}, gap"
        f" {progress.gap:.4f}{_floor(progress, ' (floor about ', ')')}, {progress.evaluations} evaluations,"
        f" {progress.simulated_s:,.0f} simulated s, {progress.wall_s / 60:.1f} min, {_left(progress)}"
    )


def _floor(progress: FitProgress, before: str, after: str = "") -> str:
    return "" if math.isnan(progress.floor) else f"{before}{progress.floor:.4f}{after}"


def _left(progress: FitProgress) -> str:
    return (
        f"about {max(progress.remaining_s, 0.0) / 60:.1f} min left"
        if progress.remaining_s == progress.remaining_s
        else "time left not known yet"
    )


def _screen(progress: FitProgress) -> Group:
    head = Table.grid(padding=(0, 2))
    head.add_row(Text("stage", style="bold"), progress.stage)
    if progress.evaluations:
        head.add_row(
            Text("gap", style="bold"),
            f"{progress.gap:.4f}, from {progress.start_gap:.4f}{_floor(progress, '; chance alone would leave about ')}",
        )
        head.add_row(
            Text("effort", style="bold"),
            f"iteration {progress.iteration}, {progress.evaluations} evaluations, {progress.simulated_s:,.0f}"
            " simulated s",
        )
        head.add_row(Text("time", style="bold"), f"{progress.wall_s / 60:.1f} min, {_left(progress)}")
    moved = Table(box=None, padding=(0, 2))
    for heading in ("moved most", "was", "is", ""):
        moved.add_column(heading, justify="left" if heading in ("moved most", "") else "right", no_wrap=True)
    for name, start, value, unit in progress.moved:
        moved.add_row(cell(name), f"{start:.4g}", f"{value:.4g}", unit)
    return Group(head, moved) if progress.moved else Group(head)
