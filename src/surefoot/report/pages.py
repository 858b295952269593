"""The page of a result, whichever it is."""

from pathlib import Path
from typing import Any

from surefoot.files import write_text
from surefoot.gap.case import Case
from surefoot.logs.doctor import LogReport
from surefoot.logs.time_unit import in_seconds
from surefoot.pipeline.artefacts import DOCTOR_PAGE, FIT_PAGE, GAP_PAGE, VERDICT_PAGE
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.report.doctor_page import doctor_page
from surefoot.report.fit_page import fit_page
from surefoot.report.gap_page import gap_page
from surefoot.report.verdict_page import verdict_page
from surefoot.verify.verdict import Verdict

PAGES: dict[type, str] = {
    LogReport: DOCTOR_PAGE,
    GapResult: GAP_PAGE,
    PhysicsFit: FIT_PAGE,
    Verdict: VERDICT_PAGE,
}


def page_of(result: Any, case: Case, follow: str = "") -> str:
    """A self-contained HTML page; `follow` is the command that follows from it."""
    name = "the log" if case.log.path is None else case.log.path.stem
    if isinstance(result, LogReport):
        log = in_seconds(case.log, case.robot.contract.control_dt_s)  # as the doctor looked at it
        file = name if case.log.path is None else case.log.path.name
        return doctor_page(result, log, case.robot, f"{file} on {case.robot.name}")
    if isinstance(result, GapResult):
        assert result.measured is not None, "a gap that was read from its file has no samples to draw"
        return gap_page(
            result.measured,
            result.diagnosis,
            result.report,
            case.log,
            case.robot,
            result.provenance,
            f"The gap of {name}",
            result.scores,
            result.cost,
            follow,
        )
    if isinstance(result, PhysicsFit):
        assert result.detail is not None, "a fit that was read from its file has no samples to draw"
        return fit_page(result.detail, case.robot, result.adaptation.provenance, f"The fit of {name}")
    if isinstance(result, Verdict):
        return verdict_page(result)
    raise TypeError(f"there is no page for a {type(result).__name__}")


def write_page(result: Any, case: Case, folder: Path, follow: str = "") -> None:
    """Write the page of a result into the folder of its step, by its usual name."""
    write_text(folder / PAGES[type(result)], page_of(result, case, follow))
