"""`surefoot verdict`."""

import math
from pathlib import Path
from typing import Annotated

import tyro
from rich import box
from rich.table import Table

from surefoot.adapt import ADAPTATION, read_adaptation
from surefoot.cli.console import Console, cell, say
from surefoot.cli.progress import StageBar
from surefoot.cli.words import command_line
from surefoot.files import file_hash, write_text
from surefoot.pipeline.artefacts import GO, NO_GO, VERDICT, VERDICT_PAGE
from surefoot.pipeline.verdict import VerdictOptions, claim_verdict, judged_policies, run_verdict
from surefoot.report.verdict_page import verdict_page
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin
from surefoot.verify.compare import Compared, Estimate, FallCounts
from surefoot.verify.fit_gap import read_fit_gap
from surefoot.verify.verdict import Verdict

COLUMNS = ("velocity_error_m_s", "turn_error_rad_s", "drift_m", "way_error_m", "cost_of_transport", "action_change")


def judge_policy(
    *,
    before: str,
    after: str,
    adaptation: Path,
    twin: str | None = None,
    robot: str = "go2",
    out: Path = Path("verdict"),
    options: Annotated[VerdictOptions, tyro.conf.arg(name="")] = VerdictOptions(),  # noqa: B008
) -> int:
    """Tell whether a fine-tuned policy really does better than the old one, and may go onto the robot: GO or NO-GO.

    Both walk the same episodes in the nominal simulator, in the fitted one, on a virtual robot where one is given, and
    on candidates drawn inside the 90 % intervals of the fit: random commands, the same with pushes, and straight ahead
    in each direction. GO needs tracking or drift in the fitted simulator to be better by more than its uncertainty, no
    more falls, nothing clearly worse and no burst of energy or shaking anywhere, also not in a quarter of the
    candidates, and a fit that came nearer to the robot at all, as the fit.json beside the adaptation says
    (docs/verdict.md). Writes verdict.json and verdict.html. Exit code 0 for GO, 3 for NO-GO, 2 for what cannot be
    judged.

    Args:
        before: the old policy: path of an ONNX file, the name of one that ships with the robot, or trot
        after: the fine-tuned policy, in the same way
        adaptation: the folder that 'surefoot fit' wrote, or its adaptation.json
        twin: also walk on a virtual robot, by name or path
        robot: a shipped robot or the path of a robot.yaml
        out: the folder to write into
    """
    claim_verdict(out)
    described = load_robot(robot)
    place = adaptation.expanduser()
    fitted = read_adaptation(place, described)
    hidden = None if twin is None else load_twin(twin)
    old, new = judged_policies(before, after, described, options.seed)
    file = place / ADAPTATION if place.is_dir() else place
    named = {"before": before, "after": after, "adaptation": adaptation, "robot": robot, "twin": twin, "out": out}
    facts = {
        "command": command_line("verdict", (), **named, **options.facts),
        "adaptation": {"file": file.name, "sha256": file_hash(file)},
    }

    def draw(verdict: Verdict, folder: Path) -> None:
        title = f"{new.label} against {old.label} on {old.robot.name}"
        write_text(folder / VERDICT_PAGE, verdict_page(verdict, old.robot, verdict.provenance, title))

    console = Console()
    with StageBar(console) as bar:
        result = run_verdict(
            old,
            new,
            fitted,
            options,
            twin=hidden,
            fit_gap=read_fit_gap(place, fitted),
            out=out,
            facts=facts,
            draw=draw,
            progress=bar.show,
        )
    console.print(figures_table(result), directions_table(result), sep="\n")
    for line in _summary(result):
        say(console, line)
    say(console, f"wrote {out / VERDICT}, {out / VERDICT_PAGE}")
    return GO if result.go else NO_GO


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
