"""The screen of a loop: a line for each step, and what the verbs print kept out of it, in a file of each step."""

import contextlib
import io
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TextIO

from rich.live import Live
from rich.table import Table
from rich.text import Text

from surefoot.cli.console import Console, say
from surefoot.cli.live import OnScreen
from surefoot.files import open_log

State = Literal["waiting", "running", "done", "stopped", "failed"]
MARKS: dict[State, tuple[str, str]] = {
    "waiting": ("·", "dim"),
    "running": ("▸", "bold cyan"),
    "done": ("✓", "green"),
    "stopped": ("■", "yellow"),
    "failed": ("✗", "red"),
}
LINE_EVERY_S = 30.0  # between two lines of a running step, where there is no screen
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class LoopScreen(OnScreen):
    """On a terminal a table that stays; elsewhere a line when a step begins, now and then while it runs,
    and when it ends.
    """

    def __init__(self, steps: list[str]):
        # Bound to the stream of now: while a verb runs, `sys.stdout` is the file that it prints into.
        self._console = Console(file=sys.stdout)
        self._steps: dict[str, tuple[State, str, float]] = dict.fromkeys(steps, ("waiting", "", 0.0))
        self._began = self._printed = time.monotonic()
        self._live: Live | None = None
        if self._console.is_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._table,
                refresh_per_second=4,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def begin(self, name: str) -> None:
        """A step runs from now on."""
        self._began = self._printed = time.monotonic()
        self._steps[name] = ("running", "", 0.0)
        if self._live is None:
            self.say(f"{name}: running")

    def tell(self, name: str, line: str) -> None:
        """The last line that the running step printed."""
        self._steps[name] = ("running", line, 0.0)
        if self._live is None and time.monotonic() - self._printed > LINE_EVERY_S:
            self._printed = time.monotonic()
            self.say(f"{name}: {time_words(self._printed - self._began)}, {line}")

    def end(self, name: str, state: State, says: str, wall_s: float, skipped: bool = False) -> None:
        """A step is over."""
        self._steps[name] = (state, f"{says} (done before)" if skipped else says, wall_s)
        if self._live is None and state != "failed":  # what failed is said once, by whoever catches it
            self.say(f"{name}: {says} ({'done before' if skipped else time_words(wall_s)})")

    def say(self, line: str) -> None:
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

    Verbs print through consoles that look up `sys.stdout` and `sys.stderr` when they print, and find no terminal here.
    """
    with open_log(path) as file:
        stream = _Kept(file, tell)
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            yield
