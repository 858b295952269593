"""How well a policy walks, as text."""

from dataclasses import replace

from rich.table import Table

from surefoot.console import Console, cell
from surefoot.verify.evaluate import Evaluation


def show_evaluation(result: Evaluation, console: Console, title: str = "") -> None:
    """Print the figures, and whether they pass the gate."""
    facts = result.provenance
    usual = f"{facts['policy']} on {facts['twin'] or facts['robot']}" if facts else "a policy"
    console.print(*tables(result, title or usual), sep="\n")
    failures = result.failures()
    console.print("passes the gate" if not failures else "does not pass the gate: " + "; ".join(failures))


def tables(result: Evaluation, title: str) -> list[Table]:
    """The figures as they are printed."""
    if result.stand is not None:
        stand, standing = result.stand, _table("told to stand", "rose in time", "after", "stood 10 s", title=title)
        standing.add_row(
            "", f"{stand.rose}/{stand.episodes}", f"{stand.rise_s:.1f} s", f"{stand.stood}/{stand.episodes}"
        )
        return [standing, *tables(replace(result, stand=None), "walking upright")]
    walking = _table("commands", "falls", "v error", "w error", "transport", "Δ action", title=title)
    for name, walk in (("random", result.walk), ("random, pushed", result.pushed)):
        walking.add_row(
            name,
            f"{walk.falls}/{walk.episodes}",
            f"{walk.velocity_error_m_s:.3f}",
            f"{walk.turn_error_rad_s:.3f}",
            f"{walk.cost_of_transport:.2f}",
            f"{walk.action_change:.3f}",
        )
    straight = _table("4 s at", "falls", "way", "drift", "|drift|", "heading", "v error", "w error")
    for name, s in result.directions.items():
        turning = not (s.command[0] or s.command[1])
        straight.add_row(
            f"{name} {abs(s.command[2]):g}" if turning else f"{name} {max(map(abs, s.command[:2])):g}",
            f"{s.falls}/{s.episodes}",
            "" if turning else f"{s.way_m:.2f}",
            f"{s.lateral_m:+.2f}",
            f"{s.lateral_abs_m:.2f}",
            f"{s.heading_rad:+.2f}",
            f"{s.velocity_error_m_s:.3f}",
            f"{s.turn_error_rad_s:.3f}",
        )
    straight.caption = (
        "speeds and errors m/s, rad/s; way and drift m; heading off the commanded one rad; transport: work / (weight ×"
        " way)"
    )
    straight.caption_justify = "left"
    return [walking, straight]


def _table(first: str, *others: str, title: str | None = None) -> Table:
    table = Table(title=None if title is None else cell(title), title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
