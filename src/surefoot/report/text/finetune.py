"""A fine-tuned policy as text."""

import math

from rich.table import Table

from surefoot.console import Console, cell, say
from surefoot.pipeline.finetune import FineTuned
from surefoot.verify.evaluate import Evaluation


def show_tuned(tuned: FineTuned, console: Console, title: str = "in the adapted simulator") -> None:
    """Print how the policy walks in the fitted simulator, before and after."""
    say(console, f"wrote {tuned.path}")
    if tuned.before is not None and tuned.after is not None:
        console.print(comparison(tuned.before, tuned.after, title))
        failures = tuned.after.failures()
        say(console, "passes the gate" if not failures else "does not pass the gate: " + "; ".join(failures))


def comparison(before: Evaluation, after: Evaluation, title: str) -> Table:
    """The figures of two evaluations side by side, with counts."""
    table = Table(title=cell(title), title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("before", "after"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = [_figures(one) for one in (before, after)]
    for name in rows[0]:
        table.add_row(name, *(row[name] for row in rows))
    table.caption = "drift and heading: mean of the absolute values, 4 s straight ahead in each direction"
    table.caption_justify = "left"
    return table


def _figures(evaluation: Evaluation) -> dict[str, str]:
    walk, pushed, straight = evaluation.walk, evaluation.pushed, list(evaluation.directions.values())
    ahead = [direction for direction in straight if any(direction.command[:2])]
    return {
        "falls": f"{walk.falls}/{walk.episodes}",
        "falls, pushed": f"{pushed.falls}/{pushed.episodes}",
        "falls, straight": f"{sum(s.falls for s in straight)}/{sum(s.episodes for s in straight)}",
        "velocity error, m/s": _number(walk.velocity_error_m_s, 3),
        "yaw-rate error, rad/s": _number(walk.turn_error_rad_s, 3),
        "drift, m": _number(evaluation.drift_m, 2),
        "heading off, rad": _number(_mean([s.heading_abs_rad for s in ahead]), 2),
        "cost of transport": _number(walk.cost_of_transport, 2),
    }


def _mean(values: list[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if math.isfinite(value) else "-"
