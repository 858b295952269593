"""A whole loop as text: what each step came to, and how it ended."""

from rich.table import Table

from surefoot.console import Console, cell, say
from surefoot.pipeline.loop_result import LoopResult


def show_loop(result: LoopResult, console: Console) -> None:
    """Print the steps with their times, and the outcome."""
    table = Table(title=cell(f"the loop in {result.folder}"), title_justify="left")
    for heading in ("step", "state", "s"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "s" else "left")
    table.add_column("result")
    for name, entry in result.run["steps"].items():
        table.add_row(name, entry["state"], f"{entry['wall_s']:.0f}", cell(entry["says"]))
    console.print(table)
    say(console, result.says)
