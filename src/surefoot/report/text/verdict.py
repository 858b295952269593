"""A verdict as text."""

import math

from rich import box
from rich.table import Table

from surefoot.console import Console, cell, say
from surefoot.verify.compare import Compared, Estimate, FallCounts
from surefoot.verify.verdict import Verdict

COLUMNS = ("velocity_error_m_s", "turn_error_rad_s", "drift_m", "way_error_m", "cost_of_transport", "action_change")


def show_verdict(verdict: Verdict, console: Console) -> None:
    """Print both policies side by side in each simulator, and what speaks for and against the new one."""
    console.print(figures_table(verdict), directions_table(verdict), sep="\n")
    for line in _summary(verdict):
        say(console, line)


def figures_table(result: Verdict) -> Table:
    """Figures of both policies in each simulator, and their change."""
    table = Table(
        title="before and after, in each simulator",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("simulator", overflow="fold", min_width=9)
    for heading in ("", "falls", "pushed", "v err", "w err", "drift", "way", "CoT", "Δ act"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for one in (*result.named, *(one for one in (result.pooled, result.quarter) if one is not None)):
        _rows(table, one)
    every = (*result.candidates, *result.corners)
    for side in ("before", "after") if every else ():
        falls = [_most_fallen([getattr(one, kind) for one in every], side) for kind in ("falls", "falls_pushed")]
        found = [[getattr(one, side).value(name) for one in every] for name in COLUMNS]
        values = [max([v for v in values if not math.isnan(v)] or [math.nan]) for values in found]
        worst = (_decimals(value, name) for value, name in zip(values, COLUMNS, strict=True))
        table.add_row("worst single one" if side == "before" else "", side, *falls, *worst)
    table.caption = (
        "errors m/s, rad/s; drift, way: m off the commanded line and way, all directions; CoT: work / (weight × way); Δ"
        " act: rms; ±: 90 % of the change"
    )
    table.caption_justify = "left"
    return table


def _rows(table: Table, one: Compared) -> None:
    for name, side in (("before", one.before), ("after", one.after)):
        falls = [f"{getattr(count, name)}/{count.episodes}" for count in (one.falls, one.falls_pushed)]
        table.add_row(
            cell(one.name) if name == "before" else "",
            name,
            *falls,
            *(_decimals(side.value(figure), figure) for figure in COLUMNS),
        )
    change = [_plus_minus(one.change[figure], figure) if figure in one.change else "" for figure in COLUMNS]
    table.add_row("", "±", "", "", *change, style="dim", end_section=True)


def directions_table(result: Verdict) -> Table:
    """Drift in each direction, to the left positive, with its interval."""
    sides = [
        (one.name, name, side) for one in result.named for name, side in (("before", one.before), ("after", one.after))
    ]
    names = list(sides[0][2].drift_m)
    table = Table(
        title="drift off the commanded line, m",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("simulator", overflow="fold", min_width=9)
    for heading in ("", *names):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for simulator, name, side in sides:
        table.add_row(
            cell(simulator) if name == "before" else "",
            name,
            *(_drift(side.drift_m[direction]) for direction in names),
            end_section=name == "after",
        )
    return table


def _drift(value: Estimate) -> str:
    if math.isnan(value.value):
        return "fell"
    return f"{value.value:+.2f}" + (f" ±{value.half:.2f}" if math.isfinite(value.half) else "")


def _most_fallen(falls: list[FallCounts], side: str) -> str:
    one = max(falls, key=lambda count: getattr(count, side) / count.episodes)
    return f"{getattr(one, side)}/{one.episodes}"


def _decimals(value: float, figure: str) -> str:
    if math.isnan(value):
        return "–" if figure == "cost_of_transport" else "fell"  # which the worst quarter has none of
    return f"{value:.2f}" if figure in ("drift_m", "way_error_m", "cost_of_transport") else f"{value:.3f}"


def _plus_minus(change: Estimate, figure: str) -> str:
    """Half of the interval of a change."""
    return _decimals(change.half, figure) if math.isfinite(change.half) else ""


def _summary(result: Verdict) -> list[str]:
    lines = [f"better in the adapted simulator: {gain}" for gain in result.gains]
    lines += [f"worst of the intervals for {one.what}: {one.simulator}; {one.where}" for one in result.worst]
    if not result.candidates:
        lines.append("no candidates were drawn: nothing says how the policies do where the fit is wrong")
    word = "GO: better beyond its uncertainty, and nothing got clearly worse" if result.go else "NO-GO"
    aside = [result.aside] if result.aside else []
    return [
        *lines,
        word,
        *(f"  {reason.simulator}: {reason.says}" for reason in result.reasons),
        result.about_fit,
        *aside,
    ]
