"""Reports: a log, a diagnosis or a result in, one self-contained HTML file out; nothing in it is fetched or run.

Charts are SVG written here. This package reads results and draws them; it must not compute them.
"""

from surefoot.report.page import Card, Page, Tile

__all__ = ["Card", "Page", "Tile"]
