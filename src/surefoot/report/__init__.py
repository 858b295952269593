"""Reports: a log, a diagnosis or a result in, one self-contained HTML file out; nothing in it is fetched or run.

Charts are SVG written here. This package reads results and draws them; it must not compute them.
"""

from surefoot.report.doctor_page import doctor_page
from surefoot.report.log_page import log_page
from surefoot.report.page import Card, Page, Tile

__all__ = ["Card", "Page", "Tile", "doctor_page", "log_page"]
