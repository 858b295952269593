"""What a loop tells its caller while it runs."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.fit.run import FitProgress
from surefoot.gap.case import Case

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress


class LoopWatch:
    """What a loop tells its caller, who overrides what matters to it; here nothing happens."""

    def begin(self, step: str) -> None:
        """A step begins."""

    def end(self, step: str, state: str, says: str, wall_s: float, skipped: bool = False) -> None:
        """A step is over: done, stopped (the loop ends there) or failed; `skipped`: it was done before."""

    def output(self, step: str, folder: Path) -> AbstractContextManager[None]:
        """Around the work of a step, for what it prints."""
        return nullcontext()

    def say(self, step: str, sentence: str) -> None:
        """A step has something to say."""

    def stage(self, step: str, stage: str, done: int, total: int | None) -> None:
        """How far a step is."""

    def fitting(self, family: str, progress: FitProgress) -> None:
        """How far a fit is."""

    def training(self, folder: Path, progress: "TrainingProgress") -> None:
        """An iteration of the fine-tuning."""

    def draw(self, step: str, result: Any, case: Case, folder: Path) -> None:
        """Draw the page of a step."""

    def show(self, step: str, result: Any, case: Case | None) -> None:
        """A step ran and has this result; there is no case yet while a log is recorded or joined."""

    def command(self, step: str, log: Path, settings: Any) -> str:
        """A line that does the same step alone; empty where there is none."""
        return ""
