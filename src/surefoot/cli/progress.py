"""The progress of a job that goes through stages: a bar where there is a terminal, a line now and then where there is none."""

import time
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from surefoot.console import Console, say

LINE_EVERY_S = 5.0  # off a terminal; a job that is done sooner prints none


class StageBar:
    """The stage, how far it is, and the time that is left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self._bar = Progress(
            *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task("", total=None)
        self._stage = ""
        self._began_s = self._told_s = self._printed_s = time.monotonic()

    def __enter__(self) -> "StageBar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, stage: str, done: int, total: int | None, unit: str = "") -> None:
        """Show where a job stands."""
        if stage != self._stage:
            self._stage, self._began_s = stage, self._told_s  # it began when the stage before it was last heard of
            self._bar.reset(self._task, description=stage, total=total)
        self._bar.update(self._task, completed=done, total=total)
        now_s = self._told_s = time.monotonic()
        lines = not self._console.is_terminal and not self._console.is_jupyter  # a cell would keep all of them
        if lines and now_s - self._printed_s > LINE_EVERY_S:
            self._printed_s = now_s
            say(self._console, _line(stage, done, total, unit, now_s - self._began_s))


def _line(stage: str, done: int, total: int | None, unit: str, taken_s: float) -> str:
    if not total:
        return stage
    left = f", about {taken_s / done * (total - done):.0f} s left" if 0 < done < total and taken_s > 0 else ""
    return f"{stage}: {done:,} of {total:,}{f' {unit}' if unit else ''}{left}"
