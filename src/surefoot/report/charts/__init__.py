"""Charts as inline SVG: numbers in, one self-contained figure out as a string; no data gives a figure that says so.

Pure functions. They must not know logs, robots or pages; classes name the looks, and
`surefoot.report.style` colours them.
"""

from surefoot.report.charts.frame import Key
from surefoot.report.charts.lines import (
    ADAPTED,
    FIFTH,
    FOURTH,
    ROBOT,
    SIMULATOR,
    TARGET,
    Level,
    Series,
    Shade,
    convergence,
    line_chart,
)
from surefoot.report.charts.matrices import correlation_matrix, heat_map
from surefoot.report.charts.rows import Bar, Interval, Piece, bars, interval_keys, intervals, timeline
from surefoot.report.charts.spreads import Cloud, Sample, distributions, ridges, scatter
from surefoot.report.charts.svg import NARROW, PANEL, WIDE, escape, number

__all__ = [
    "ADAPTED",
    "FIFTH",
    "FOURTH",
    "NARROW",
    "PANEL",
    "ROBOT",
    "SIMULATOR",
    "TARGET",
    "WIDE",
    "Bar",
    "Cloud",
    "Interval",
    "Key",
    "Level",
    "Piece",
    "Sample",
    "Series",
    "Shade",
    "bars",
    "convergence",
    "correlation_matrix",
    "distributions",
    "escape",
    "heat_map",
    "interval_keys",
    "intervals",
    "line_chart",
    "number",
    "ridges",
    "scatter",
    "timeline",
]
