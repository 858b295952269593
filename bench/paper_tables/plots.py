"""The figures of docs/results.md: the charts of the reports, as files of their own."""

import re
from collections.abc import Callable, Mapping

from recover import CASES
from recover import PUBLISHED as RECOVERED

from paper_tables import biped, data, failures, policies, recovery
from paper_tables.spread import Spread
from paper_tables.words import Figures
from surefoot.report.charts import ADAPTED, FIFTH, FOURTH, ROBOT, SIMULATOR, Bar, Level, Series, bars, line_chart
from surefoot.report.charts.svg import px, rect
from surefoot.report.style import STYLE

SPACE_PX, EDGE_PX = 18, 12
_CHART = re.compile(r'<svg class="chart" viewBox="0 0 (\S+) (\S+)"[^>]* aria-label="([^"]*)">(.*)</svg>', re.S)


def file_of(charts: list[str]) -> str:
    """Charts under each other as one SVG file, with the colours in it: light or dark as the reader's screen is."""
    parts, labels, y, widest = [], [], float(EDGE_PX), 0.0
    for chart in charts:
        found = _CHART.fullmatch(chart)
        assert found is not None
        width, height, label, inner = found.groups()
        parts.append(f'<g class="chart" transform="translate({EDGE_PX} {px(y)})">{inner}</g>')
        labels.append(label)
        y, widest = y + float(height) + SPACE_PX, max(widest, float(width))
    size = widest + 2 * EDGE_PX, y - SPACE_PX + EDGE_PX
    paper = rect(0, 0, *size, more=' fill="var(--bg)"')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {px(size[0])} {px(size[1])}" width="{px(size[0])}"'
        f' height="{px(size[1])}" role="img"'
        f' aria-label="{". ".join(labels)}"><style><![CDATA[\n{STYLE}\n]]></style>{paper}{"".join(parts)}</svg>\n'
    )


def bar(name: str, spread: Spread, look: int, scale: float = 1.0) -> Bar:
    """A mean with one standard deviation on both sides."""
    mean, off = scale * spread.mean, scale * spread.deviation
    return Bar(name, mean, mean - off, mean + off, look)


def series(name: str, x: list[float], spreads: list[Spread], look: int, scale: float = 1.0) -> Series:
    """A line through means, with one standard deviation on both sides."""
    mean, off = [scale * s.mean for s in spreads], [scale * s.deviation for s in spreads]
    low, high = ([m + side * o for m, o in zip(mean, off, strict=True)] for side in (-1, 1))
    return Series(name, x, mean, look, low, high, dots=True)


def recovery_plot(found: Figures) -> list[str]:
    """The error of each method, one chart for each noise."""
    charts = []
    for case in CASES:
        rows = [
            bar(m, found.at(m, case, "error"), SIMULATOR if m in recovery.COSTS else ADAPTED, 100)
            for m in recovery.METHODS
        ]
        charts.append(
            bars(
                [row for row in rows if row.value == row.value],
                "mean error of armature and dry friction, %",
                title=f"Torque noise {case} N·m",
                keys=[("CMA-ES", SIMULATOR), ("ours", ADAPTED)],
                floor=100 * RECOVERED[case],
                floor_label="published, Wasserstein:",
            )
        )
    return charts


def _drifts(found: Figures, rows: Mapping[str, str], column: str, title: str) -> str:
    """`rows` are given the names to call them by."""
    looks = {policies.ORIGINAL: ROBOT, policies.OURS: ADAPTED}
    made = [bar(name, found.at(row, column, "drift_m"), looks.get(row, SIMULATOR)) for row, name in rows.items()]
    return bars(
        [one for one in made if one.value == one.value], "drift after 4 s, sum of four directions, m", title=title
    )


def families_plot(found: Figures) -> list[str]:
    """Drift of the policies, by family."""
    rows = {row: row for row in (policies.ORIGINAL, *policies.FAMILIES)}
    return [
        _drifts(found, rows, column, f"Fine-tuned for the {column}") for column in (policies.SHIFT, policies.SPRING)
    ]


def horizon_plot(found: Figures) -> list[str]:
    """Drift of the policies, by cost."""
    return [_drifts(found, policies.HORIZON_ROWS, policies.SPRING, "A network, found by different costs")]


def data_plot(found: Figures) -> list[str]:
    """Error and drift over minutes of data."""
    counts = [count for count, seconds in data.SIZES if seconds == "4"]
    minutes = [int(count) * 4 / 60 for count in counts]
    error = series("rollouts of 4 s", minutes, [found.at(count, "4", "error") for count in counts], ROBOT, 100)
    drift = series("rollouts of 4 s", minutes, [found.at(count, "4", "drift_m") for count in counts], ROBOT)
    before = Level(found.at(data.NO_DATA, "4", "drift_m").mean, "original policy")
    return [
        line_chart([error], "minutes of data", "parameter error, %", x_range=(0.0, max(minutes))),
        line_chart(
            [drift], "minutes of data", "drift, sum of four directions, m", levels=[before], x_range=(0.0, max(minutes))
        ),
    ]


def biped_plot(found: Figures) -> list[str]:
    """Lateral drift on the hind legs, and how far the robots are from where they were told to be."""
    looks = {biped.ORIGINAL: SIMULATOR, biped.NO_FIT: FOURTH, biped.AFTER: ADAPTED}
    charts = []
    for figure, axis in (
        ("lateral_m", "lateral drift after 4 s, m"),
        ("drift_m", "off the commanded place after 4 s, m"),
    ):
        made = []
        for row, column in biped.BIPED.places:
            spread, look = found.at(row, column, figure), ROBOT if column == biped.NOMINAL else looks[row]
            fell = f", {spread.fell} fell" if spread.fell else ""  # whose drift is in no mean
            made.append(bar(f"{row.partition(',')[0]}, {column}{fell}", spread, look))
        charts.append(bars([one for one in made if one.value == one.value], axis, title="On the hind legs"))
    return charts


def failures_plot(found: Figures) -> list[str]:
    """Error over the share of episodes that fall."""
    shares = [float(each.rstrip(" %")) for each in failures.SHARES]
    looks = {failures.PUBLISHED: SIMULATOR, failures.NARROW: FIFTH, failures.UNGATED: FOURTH, failures.GATED: ADAPTED}
    errors = {row: [found.at(row, each, "error") for each in failures.SHARES] for row in looks}
    lines = [
        series(row, shares, spreads, looks[row], 100)
        for row, spreads in errors.items()
        if any(one.n for one in spreads)
    ]
    return [line_chart(lines, "episodes that fall, %", "parameter error, %")]


PLOTS: dict[str, Callable[[Figures], list[str]]] = {
    "recovery": recovery_plot,
    "families": families_plot,
    "horizon": horizon_plot,
    "data": data_plot,
    "biped": biped_plot,
    "failures": failures_plot,
}
