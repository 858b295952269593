"""The terminal: all that is printed passes through here, and what comes from a file cannot steer it.

A robot's name, a log's notes or a network's metadata may hold escape sequences or rich's own markup. Control
characters are shown as pictures (ESC as ␛), and markup is text.
"""

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.segment import Segment
from rich.text import Text

from surefoot.text import for_terminal, one_line


class Console(RichConsole):
    """rich's console without markup, highlighting and emoji, and with every string made harmless."""

    def __init__(self, *, stderr: bool = False, file: object = None) -> None:
        """In a notebook, rich would show in the cell what is written into a file: only what goes to the user may."""
        super().__init__(
            stderr=stderr,
            file=file,  # type: ignore[arg-type]
            force_jupyter=None if file is None else False,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def on_broken_pipe(self) -> None:
        """The reader is gone, as with '| head': no mistake. rich would exit with 1; `surefoot.cli.main` answers it."""
        self.quiet = True
        raise BrokenPipeError

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """What is written, from segments; those that are rich's own control codes stay as they are.

        The one place that everything passes once. It is rich's own, and not public: the tests would see it go.
        """
        return super()._render_buffer(segment if segment.control else _clean(segment) for segment in buffer)


def _clean(segment: Segment) -> Segment:
    text = segment.text
    return segment if text.isprintable() or text == "\n" else segment._replace(text=for_terminal(text))


def say(console: Console, line: str, style: str = "") -> None:
    """Print one line, never broken or coloured inside: names stay copyable, and none can begin a line of its own."""
    console.print(one_line(line), style=style or None, soft_wrap=True)


def cell(text: object) -> Text:
    """A name or a value from a file, for a table or a title."""
    return Text(one_line(text))
