"""The page of a result, whichever it is."""

from typing import Any

from surefoot.gap.case import Case
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.report.fit_page import fit_page
from surefoot.report.gap_page import gap_page


def page_of(result: Any, case: Case, title: str, follow: str = "") -> str:
    """A self-contained HTML page; `follow` is the command that follows from it."""
    if isinstance(result, GapResult):
        assert result.measured is not None, "a gap that was read from its file has no samples to draw"
        return gap_page(
            result.measured,
            result.diagnosis,
            result.report,
            case.log,
            case.robot,
            result.provenance,
            title,
            result.scores,
            result.cost,
            follow,
        )
    if isinstance(result, PhysicsFit):
        assert result.detail is not None, "a fit that was read from its file has no samples to draw"
        return fit_page(result.detail, case.robot, result.adaptation.provenance, title)
    raise TypeError(f"there is no page for a {type(result).__name__}")
