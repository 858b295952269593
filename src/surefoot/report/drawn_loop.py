"""A loop that draws its pages."""

from pathlib import Path
from typing import Any

from surefoot.gap.case import Case
from surefoot.pipeline.loop_watch import LoopWatch
from surefoot.report.pages import write_page


class DrawnLoop(LoopWatch):
    """Draws the page of every step that has one."""

    def draw(self, step: str, result: Any, case: Case, folder: Path) -> None:
        """Draw the page of a step."""
        write_page(result, case, folder)
