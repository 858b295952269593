"""A gap as text."""

from rich.table import Table

from surefoot.console import Console, cell, say
from surefoot.gap import Gap
from surefoot.gap.channels import UNITS
from surefoot.pipeline.gap import GapResult

WORST = 6  # channels that are printed


def show_gap(result: GapResult, console: Console, title: str = "") -> None:
    """Print a gap beside its floor, its worst channels, and what may be the cause."""
    facts = result.provenance
    title = title or f"{facts['log']['file'] or 'a log'} against {facts['robot']['name']}"
    _table(console, result, f"{title} driven by {facts['policy']['name']}")
    diagnosis = result.diagnosis
    if diagnosis is not None:
        say(console, f"{diagnosis.says} ({diagnosis.sure})" if diagnosis.causes else diagnosis.says)
        if diagnosis.advice:
            say(console, diagnosis.advice)


def _table(console: Console, result: GapResult, title: str) -> None:
    gap, chosen = result.gap, result.score
    head = Table(title=cell(title), title_justify="left", show_header=False)
    head.add_column(no_wrap=True)
    head.add_column(justify="right", no_wrap=True)
    head.add_column()
    if chosen.name == "wasserstein":
        low, high = gap.interval
        head.add_row("gap", f"{gap.total:.4f}", f"90 % between {low:.4f} and {high:.4f}; 1 is the robot's own spread")
        head.add_row("floor", f"{gap.total_floor:.4f}", f"simulator to itself; robot to itself {gap.robot_floor:.4f}")
        head.add_row("limit", f"{gap.total_limit:.4f}", "a gap below cannot be told from none")
    else:
        head.add_row(chosen.name, f"{chosen.value:.4f}", f"wasserstein {gap.total:.4f}")
        head.add_row("floor", f"{chosen.floor:.4f}", "simulator to itself")
        head.add_row("limit", f"{chosen.limit:.4f}", "below, it cannot be told from none")
    head.add_row(
        "compared",
        f"{gap.seconds:.0f} s",
        f"in {gap.pieces} pieces, {result.provenance['runs']} times; {gap.fallen:.0%} fell in the simulator",
    )
    console.print(head)
    if chosen.measurable:
        console.print(_worst(gap))


def _worst(gap: Gap) -> Table:
    table = Table()
    table.add_column("worst channels", no_wrap=True)
    for heading in ("gap", "limit", "in its unit"):
        table.add_column(heading, justify="right", no_wrap=True)
    for i in gap.worst[:WORST]:
        channel = gap.channels[i]
        unit = UNITS[channel.kind]
        size = f"{gap.distance[i] * gap.spread[i]:.3g}{'' if unit == '1' else f' {unit}'}"
        table.add_row(cell(channel.name), f"{gap.distance[i]:.3f}", f"{gap.limit[i]:.3f}", size)
    return table
