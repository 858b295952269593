"""The screen of a loop: a table that stays on a terminal, lines elsewhere, and nothing of what the verbs
print in it.
"""

import contextlib
import io
import sys

import pytest
from rich.console import Console
from rich.progress import track

from surefoot.cli.loop_screen import LoopScreen, kept, time_words


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    for name, value in (("TERM", "xterm"), ("COLUMNS", "100"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    return Terminal()


class TestTerminal:
    def test_every_step_has_its_line_and_verbs_print_elsewhere(self, terminal, tmp_path):
        with contextlib.redirect_stdout(terminal), LoopScreen(["gap", "fit", "verdict"]) as screen:
            screen.begin("gap")
            with kept(tmp_path / "gap" / "log.txt", lambda line: screen.tell("gap", line)):
                Console().print("[bold]a table of the verb")
                print("and a warning", file=sys.stderr)
            screen.end("gap", "done", "0.192, 16 × its floor", 41.0)
            screen.begin("fit")
            screen.tell("fit", "searching: iteration 3")
            screen._live.refresh()
            shown = terminal.getvalue()
            screen.end("fit", "failed", "nothing fits", 130.0)
        assert (tmp_path / "gap" / "log.txt").read_text() == "a table of the verb\nand a warning\n"
        assert "✓ gap" in shown
        assert "41 s" in shown
        assert "0.192, 16 × its floor" in shown
        assert "▸ fit" in shown
        assert "searching: iteration 3" in shown
        assert "· verdict" in shown
        assert "waiting" in shown
        last = terminal.getvalue()[len(shown) :]
        assert "✗ fit" in last
        assert "2.2 min" in last
        assert "and a warning" not in last


class TestKept:
    def test_no_control_sequences_even_where_colour_is_forced(self, tmp_path, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        lines = []
        with kept(tmp_path / "log.txt", lines.append):
            console = Console()
            console.print("[bold red]hot[/] and cold")
            for _ in track(range(2), console=console):
                pass
        text = (tmp_path / "log.txt").read_text()
        assert "\x1b" not in text
        assert "hot and cold" in text
        assert lines[0] == "hot and cold"

    def test_streams_come_back_after_a_mistake(self, tmp_path):
        def mistake() -> None:
            with kept(tmp_path / "log.txt", lambda line: None):
                print("half a line", end="")
                raise ValueError("broken")

        before = sys.stdout, sys.stderr
        with pytest.raises(ValueError, match="broken"):
            mistake()
        assert (sys.stdout, sys.stderr) == before
        assert (tmp_path / "log.txt").read_text() == "half a line"


class TestLines:
    def test_without_a_terminal_a_running_step_speaks_now_and_then(self, capsys, monkeypatch):
        clock = [0.0]
        monkeypatch.setattr("surefoot.cli.loop_screen.time.monotonic", lambda: clock[0])
        with LoopScreen(["fit"]) as screen:
            screen.begin("fit")
            for second in range(0, 100, 10):
                clock[0] = float(second)
                screen.tell("fit", f"iteration {second}")
            screen.end("fit", "done", "closed", 100.0)
        assert capsys.readouterr().out.splitlines() == [
            "fit: running",
            "fit: 40 s, iteration 40",
            "fit: 80 s, iteration 80",
            "fit: closed (1.7 min)",
        ]

    @pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (99.4, "99 s"), (99.6, "1.7 min"), (600, "10.0 min")])
    def test_time(self, seconds, words):
        assert time_words(seconds) == words
