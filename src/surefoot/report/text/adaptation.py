"""An adaptation as text."""

from rich.table import Table

from surefoot.adapt import Adaptation
from surefoot.console import Console, cell


def show_adaptation(adaptation: Adaptation, console: Console) -> None:
    """Print its parameters."""
    console.print(adaptation_table(adaptation))


def adaptation_table(adaptation: Adaptation) -> Table:
    """Knobs with what they were, what they are, and how sure that is."""
    title = f"{adaptation.robot}: what the fit changed ({adaptation.family})"
    table = Table(title=cell(title), title_justify="left")
    table.add_column("knob", overflow="fold")
    for heading, width in (("was", 5), ("is", 7), ("90 % interval", 18)):
        table.add_column(heading, justify="right", no_wrap=True, min_width=width)
    table.add_column("flag" if any(knob.flag for knob in adaptation.knobs) else "")
    for knob in adaptation.knobs:
        low, high = knob.interval
        cells = (
            f"{knob.start:.3g}",
            f"{knob.value:.3g}",
            f"{low:.3g} to {high:.3g}",
            knob.flag,
        )  # names carry their units
        table.add_row(cell(knob.name), *map(cell, cells))
    return table
