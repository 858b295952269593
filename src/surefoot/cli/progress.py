"""A bar for a job that goes through stages; nothing off a terminal, where each verb prints what it needs."""

from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from surefoot.console import Console


class StageBar:
    """The stage, how far it is, and the time that is left."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        self._bar = Progress(
            *columns, TimeRemainingColumn(), console=console, transient=True, disable=not console.is_terminal
        )
        self._task = self._bar.add_task("", total=None)
        self._stage = ""

    def __enter__(self) -> "StageBar":
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, stage: str, done: int, total: int | None) -> None:
        """Show where a job stands."""
        if stage != self._stage:
            self._stage = stage
            self._bar.reset(self._task, description=stage, total=total)
        self._bar.update(self._task, completed=done, total=total)
