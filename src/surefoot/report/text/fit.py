"""A fit as text."""

from rich.table import Table

from surefoot.console import Console, say
from surefoot.pipeline.fit import PhysicsFit
from surefoot.report.added_figures import adds_of
from surefoot.report.text.adaptation import adaptation_table
from surefoot.report.torque_words import torque_words


def show_fit(fit: PhysicsFit, console: Console) -> None:
    """Print what a fit changed, how sure each number is, and how near the simulator came to the robot."""
    added = (
        () if fit.robot is None else torque_words(fit.adaptation.knobs, fit.robot, fit.knots, adds_of(fit.adaptation))
    )
    for line in (*_summary(console, fit), *added):
        say(console, line)


def _summary(console: Console, result: PhysicsFit) -> list[str]:
    """The table of parameters, and the lines to print below it."""
    console.print(adaptation_table(result.adaptation))
    judged = result.judgement
    if len(result.tried) > 1:
        console.print(_families(result))
    lines = [f"{judged.word}: {judged.says}", judged.advice] + [f"warning: {remark}" for remark in result.remarks]
    if result.steps:
        last = result.steps[-1]
        lines.append(
            f"{result.stopped}: {last.evaluations} evaluations, {last.simulated_s:,.0f} simulated s,"
            f" {last.wall_s / 60:.1f} min"
        )
    return [line for line in lines if line]


def _families(result: PhysicsFit) -> Table:
    """What each family left, and what it took."""
    table = Table(title="families, simplest first", title_justify="left")
    table.add_column("family", no_wrap=True)
    for heading in ("numbers", "gap", "floor", "evaluations", "minutes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in result.tried:
        table.add_row(
            one.family,
            str(one.parameters),
            f"{one.gap:.4f}",
            f"{one.floor:.4f}",
            str(one.evaluations),
            f"{one.wall_s / 60:.1f}",
            "chosen" if one.chosen else "",
        )
    table.caption = (
        "gap on held-out episodes" if result.tried[0].held_out else "gap on the fitted episodes: none were held back"
    )
    return table
