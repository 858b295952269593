"""The screen of a loop: a line for each step, and what the steps print kept out of it, in a log.txt of each."""

import contextlib
import io
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from rich.live import Live
from rich.table import Table
from rich.text import Text

from surefoot.cli.fit_screen import FitScreen
from surefoot.cli.gap import gap_warnings, next_command
from surefoot.cli.live import OnScreen
from surefoot.cli.loop_lines import LoopLines
from surefoot.console import Console, say
from surefoot.files import open_log
from surefoot.fit.run import FitProgress
from surefoot.gap.case import Case
from surefoot.pipeline.gap import GapResult
from surefoot.pipeline.walks import Walks
from surefoot.report.drawn_loop import DrawnLoop
from surefoot.report.pages import write_page
from surefoot.report.text import show_result

if TYPE_CHECKING:
    from surefoot.cli.train import TrainingScreen
    from surefoot.learn.loop import TrainingProgress

State = Literal["waiting", "running", "done", "stopped", "failed"]
MARKS: dict[State, tuple[str, str]] = {
    "waiting": ("·", "dim"),
    "running": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "stopped": ("■", "yellow"),
    "failed": ("✗", "red"),
}
LINE_EVERY_S = 30.0  # between two lines of a running step, where there is no screen
LOG_TEXT = "log.txt"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class LoopScreen(OnScreen, DrawnLoop):
    """On a terminal a table that stays; elsewhere a line when a step begins, now and then while it runs,
    and when it ends.
    """

    def __init__(self, steps: list[str], lines: LoopLines | None = None):
        # Bound to the stream of now: while a step runs, `sys.stdout` is the file that it prints into.
        self._console = Console(file=sys.stdout)
        self._steps: dict[str, tuple[State, str, float]] = dict.fromkeys(steps, ("waiting", "", 0.0))
        self._began = self._printed = time.monotonic()
        self._lines = lines
        self._fit_screen: FitScreen | None = None
        self._training_screen: TrainingScreen | None = None
        self._stage: tuple[str, str] = ("", "")
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._table,
                refresh_per_second=4,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def begin(self, step: str) -> None:
        """A step runs from now on."""
        self._began = self._printed = time.monotonic()
        self._steps[step] = ("running", "", 0.0)
        if self._live is None:
            self.print(f"{step}: running")

    def tell(self, step: str, line: str) -> None:
        """The last line that the running step printed."""
        self._steps[step] = ("running", line, 0.0)
        if self._live is None and time.monotonic() - self._printed > LINE_EVERY_S:
            self._printed = time.monotonic()
            self.print(f"{step}: {time_words(self._printed - self._began)}, {line}")

    def end(self, step: str, state: str, says: str, wall_s: float, skipped: bool = False) -> None:
        """A step is over."""
        self._steps[step] = (state, f"{says} (done before)" if skipped else says, wall_s)  # type: ignore[assignment]
        if self._live is None and state != "failed":  # what failed is said once, by whoever catches it
            self.print(f"{step}: {says} ({'done before' if skipped else time_words(wall_s)})")

    @contextlib.contextmanager
    def output(self, step: str, folder: Path) -> Iterator[None]:
        """Let all that a step prints go into its log.txt."""
        with kept(folder / LOG_TEXT, lambda line: self.tell(step, line)):
            try:
                yield
            finally:
                if self._training_screen is not None:
                    self._training_screen.__exit__(None, None, None)
                self._fit_screen = self._training_screen = None

    def say(self, step: str, sentence: str) -> None:
        """A step has something to say."""
        say(Console(), sentence)

    def stage(self, step: str, stage: str, done: int, total: int | None) -> None:
        """How far a step is: each stage as a line, and its share on the screen."""
        if (step, stage) != self._stage:
            self._stage = (step, stage)
            say(Console(), stage)
        elif total:
            self.tell(step, f"{stage}, {100 * done / total:.0f} %")

    def fitting(self, family: str, progress: FitProgress) -> None:
        """How far a fit is."""
        if self._fit_screen is None:
            self._fit_screen = FitScreen(Console())
        self._fit_screen.show_family(family, progress)

    def training(self, folder: Path, progress: "TrainingProgress") -> None:
        """An iteration of the fine-tuning."""
        if self._training_screen is None:
            from surefoot.cli.train import TrainingScreen

            self._training_screen = TrainingScreen(Console(), folder)
        self._training_screen.show(progress)

    def draw(self, step: str, result: Any, case: Case, folder: Path) -> None:
        """Draw the page of a step."""
        follow = ""
        if isinstance(result, GapResult) and result.diagnosis is not None and self._lines is not None:
            follow = next_command(result.diagnosis, case, self._lines.robot, folder)
        write_page(result, case, folder, follow)

    def show(self, step: str, result: Any, case: Case | None) -> None:
        """Print a result into the step's log.txt."""
        console = Console()
        if not isinstance(result, Walks):
            show_result(result, console)
        if isinstance(result, GapResult) and case is not None and case.log.path is not None and self._lines is not None:
            for line in gap_warnings(result, case, case.log.path, self._lines.robot):
                say(console, f"warning: {line}")

    def command(self, step: str, log: Path, settings: Any) -> str:
        """A line that does the same step alone."""
        return "" if self._lines is None else self._lines.step(step, log, settings)

    def print(self, line: str) -> None:
        """Print a line, above the table where there is one."""
        say(self._console, line)

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(justify="right", no_wrap=True, min_width=7)
        table.add_column(overflow="fold")
        for name, (state, says, wall_s) in self._steps.items():
            mark, style = MARKS[state]
            passed = time.monotonic() - self._began if state == "running" else wall_s
            clock = "waiting" if state == "waiting" else time_words(passed)
            shown = Text(says, style="dim", no_wrap=True, overflow="ellipsis") if state == "running" else Text(says)
            table.add_row(Text(f"{mark} {name}", style=style), Text(clock, style="dim"), shown)
        return table


def time_words(seconds: float) -> str:
    """Short: 41 s, 4.4 min."""
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.1f} min"


class _Kept(io.TextIOBase):
    """A stream that ends in a file, without control sequences, and tells of each whole line."""

    def __init__(self, file: TextIO, tell: Callable[[str], None]):
        self._file, self._tell, self._line = file, tell, ""

    def writable(self) -> bool:
        """It takes text."""
        return True

    def write(self, text: str) -> int:
        """Into the file at once, since a run may be killed."""
        plain = _CONTROL.sub("", text)
        self._file.write(plain)
        self._file.flush()
        *lines, self._line = (self._line + plain).split("\n")
        for line in lines:
            if line.strip():
                self._tell(line.strip())
        return len(text)


@contextlib.contextmanager
def kept(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Let all that is printed go into a file.

    Consoles look up `sys.stdout` and `sys.stderr` when they print, and find no terminal here.
    """
    with open_log(path) as file:
        stream = _Kept(file, tell)
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            yield
