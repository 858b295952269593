"""Figures of a fit: parameters with their intervals, the gap before and after, what trades against what,
the way of the search.
"""

import re
from collections.abc import Sequence

import numpy as np

from surefoot.adapt.adaptation import Fitted, Flag
from surefoot.fit.result import FitResult
from surefoot.gap import Gap
from surefoot.report.charts import (
    ADAPTED,
    FIFTH,
    FOURTH,
    PANEL,
    ROBOT,
    SIMULATOR,
    Interval,
    Key,
    Level,
    Series,
    correlation_matrix,
    heat_map,
    intervals,
    line_chart,
)
from surefoot.report.charts import convergence as falling
from surefoot.report.charts.svg import limits, numbers
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types

MARKS: dict[Flag, str] = {
    "": "",
    "at its bound": "▲ at its bound",
    "not identifiable": "? not identifiable",
    "no effect": "○ no effect",
}
SHORT: dict[Flag, str] = {
    **MARKS,
    "at its bound": "▲ at bound",
    "not identifiable": "? not seen",
}  # where a figure is narrow
MOST_CORRELATED = 24  # knobs in the matrix: more are not legible
SIDE_BY_SIDE = 4  # kinds of channels up to which two heat maps fit into one row
LOOKS = (ROBOT, SIMULATOR, ADAPTED, FOURTH, FIFTH)
BEFORE = "before the fit"
# as names of parameters end
_UNIT = re.compile(r"_(kgm2|nms?(_per_rad)?|rad(_per_rad|_s_per_sqrt_s|_s)?|c(_per_nm2)?|per_c|per_kw|kg|s|m)$")


def plain_name(knob: Fitted) -> str:
    """A knob in words: "dry friction of FL_hip_joint" for dry_friction_nm[FL_hip_joint]."""
    what, where = plain_parameter(knob.parameter), label_of(knob)
    return f"{what} of {where}" if where else what


def plain_parameter(name: str) -> str:
    """A parameter's name in words, without its unit."""
    return _UNIT.sub("", name).replace("_", " ")


def label_of(knob: Fitted) -> str:
    """What a knob's joints are called together; empty where it is one value for the whole robot."""
    return knob.name.partition("[")[2].removesuffix("]")


def by_parameter(knobs: Sequence[Fitted]) -> dict[str, list[Fitted]]:
    """Knobs of one parameter together, in their order."""
    groups: dict[str, list[Fitted]] = {}
    for knob in knobs:
        groups.setdefault(knob.parameter, []).append(knob)
    return groups


def interval_rows(knobs: Sequence[Fitted], short: bool) -> tuple[list[Interval], tuple[float, float] | None]:
    """Knobs of one unit as rows of a chart, and its axis: chosen by what was found, since bounds may lie
    decades apart.
    """
    marks = SHORT if short else MARKS
    told = [knob for knob in knobs if knob.flag in ("", "at its bound")] or knobs
    ends = [float(np.clip(end, *knob.bounds)) for knob in told for end in knob.interval]
    view = limits(numbers([*ends, *(value for knob in knobs for value in (knob.start, knob.value))]), pad=0.08)
    in_view = view is not None and any(view[0] < bound < view[1] for knob in knobs for bound in knob.bounds)
    rows = [
        Interval(
            label_of(knob),
            knob.value,
            *knob.interval,
            prior=knob.bounds if in_view else None,
            reference=knob.start,
            identifiable=knob.flag in ("", "at its bound"),
            flag=marks[knob.flag],
        )
        for knob in knobs
    ]
    return rows, view


def parameter_chart(knobs: Sequence[Fitted], width: int, title: str = "", legend: bool = True) -> str:
    """Was, is and interval of the knobs of one parameter; bounds where any comes into view."""
    rows, view = interval_rows(knobs, short=width < 600)
    unit = "" if knobs[0].unit == "1" else knobs[0].unit
    return intervals(rows, unit, title=title, reference_label=BEFORE, x_range=view, legend=legend, width=width)


def gap_maps(before: Gap, after: Gap, width: int) -> str:
    """Distances by joint and kind, before and after, in the same colours; side by side where there is room."""
    highest = float(np.nanmax(np.concatenate([before.distance, after.distance, [1e-12]])))
    beside = width >= 600 and len(before.matrix()[1]) <= SIDE_BY_SIDE
    each = (width - 24) // 2 if beside else width
    maps = []
    for name, gap in (("Before", before), ("After", after)):
        places, kinds, distance, limit = gap.matrix()
        maps.append(
            heat_map(
                distance,
                places,
                kinds,
                "distance, × spread",
                title=name,
                floor=limit,
                floor_label="within its limit",
                highest=highest,
                width=each,
            )
        )
    columns = ";grid-template-columns:auto 1fr" if beside else ""
    return f'<div style="display:grid;gap:24px{columns}">{"".join(maps)}</div>'


def correlated(result: FitResult) -> tuple[list[int], np.ndarray]:
    """Knobs whose errors have correlations at all, and the matrix of all."""
    matrix = np.asarray(result.correlation, dtype=np.float64)
    return [i for i, knob in enumerate(result.adaptation.knobs) if knob.flag != "no effect"], matrix


def strongest_pairs(result: FitResult) -> list[tuple[float, int, int]]:
    """Correlations of two different knobs with their places, the strongest first."""
    chosen, matrix = correlated(result)
    pairs = [
        (float(matrix[i, j]), j, i)
        for place, i in enumerate(chosen)
        for j in chosen[:place]
        if np.isfinite(matrix[i, j])
    ]
    return sorted(pairs, key=lambda pair: -abs(pair[0]))


def most_correlated(result: FitResult) -> list[int]:
    """The knobs that a legible matrix has room for: those with the strongest partners, in their order."""
    partners: dict[int, None] = {}
    for _, i, j in strongest_pairs(result):
        partners |= {i: None, j: None}
    return sorted(list(partners)[:MOST_CORRELATED])


def correlation_chart(result: FitResult, width: int) -> str:
    """The matrix of the knobs with the strongest partners."""
    shown = most_correlated(result)
    names = [
        " ".join(filter(None, (plain_parameter(knob.parameter), label_of(knob)))) for knob in result.adaptation.knobs
    ]
    return correlation_matrix(correlated(result)[1][np.ix_(shown, shown)], [names[i] for i in shown], width=width)


def convergence_chart(result: FitResult, width: int) -> str:
    """The gap against evaluations, from before the fit on, with the floor."""
    steps = result.steps
    x, y = [float(step.evaluations) for step in steps], [step.cost for step in steps]
    if result.cost != "wasserstein":
        return falling(x, y, None, "evaluations", f"{result.cost}, logarithmic", width=width)
    if steps and steps[0].evaluations > 0:
        x, y = [0.0, *x], [result.before.gap.total, *y]
    return falling(x, y, result.after.gap.total_floor, "evaluations", "gap, × spread, logarithmic", width=width)


def path_panels(result: FitResult, robot: Robot) -> tuple[list[str], tuple[Key, ...]]:
    """How the knobs came to their values, a panel for each parameter; in halves of each knob's interval,
    away from where it ended.
    """
    steps, knobs = result.steps, result.adaptation.knobs
    looks, keys = _looks(robot)
    groups = by_parameter(knobs)
    place = {knob.name: i for i, knob in enumerate(knobs)}
    x = [0.0, *(float(step.evaluations) for step in steps)]
    panels = []
    for name, alike in groups.items():
        lines = []
        for knob in alike:
            half = (knob.interval[1] - knob.interval[0]) / 2
            if knob.flag == "no effect" or not half > 0 or not np.isfinite(half):
                continue
            path = np.array([knob.start, *(step.values[place[knob.name]] for step in steps)])
            lines.append(
                Series(
                    "",
                    x,
                    (path - knob.value) / half,
                    looks.get(knob.where[0], ROBOT) if knob.where and label_of(knob) else ROBOT,
                )
            )
        if lines:
            levels = (Level(1.0, "90 %"), Level(-1.0, ""))
            panels.append(
                line_chart(
                    lines, "evaluations", "", title=plain_parameter(name), levels=levels, width=PANEL, height=120
                )
            )
    return panels, keys if any(label_of(knob) for knob in knobs) else ()


def _looks(robot: Robot) -> tuple[dict[str, int], tuple[Key, ...]]:
    """A look for each part of a leg, where there are few enough to tell apart."""
    types = joint_types(robot)
    if len(types) > len(LOOKS):
        return {}, ()
    named = dict(zip(types, LOOKS, strict=False))
    joints = {robot.contract.joints[k]: named[name] for name, places in types.items() for k in places}
    return joints, tuple(Key(name, look) for name, look in named.items())
