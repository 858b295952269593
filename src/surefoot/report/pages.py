"""The page of a result, whichever it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import check_place, path_of, write_text
from surefoot.gap.case import Case
from surefoot.logs.doctor import LogReport
from surefoot.logs.time_unit import in_seconds
from surefoot.pipeline.artefacts import DOCTOR_PAGE, FIT_PAGE, GAP_PAGE, VERDICT_PAGE
from surefoot.pipeline.finetune import FineTuned
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.report.doctor_page import doctor_page
from surefoot.report.fit_page import fit_page
from surefoot.report.gap_page import gap_page
from surefoot.report.page import Page
from surefoot.report.text import text_of
from surefoot.report.verdict_page import verdict_page
from surefoot.verify.verdict import Verdict

PAGES: dict[type, str] = {
    LogReport: DOCTOR_PAGE,
    GapResult: GAP_PAGE,
    PhysicsFit: FIT_PAGE,
    Verdict: VERDICT_PAGE,
}


TITLES: dict[type, str] = {
    LogReport: "the doctor's report",
    GapResult: "the gap",
    PhysicsFit: "the fit",
    FineTuned: "the fine-tuned policy",
    Verdict: "the verdict",
}


def page_of(result: Any, case: Case, follow: str = "", inside: Page | None = None) -> str:
    """A self-contained HTML page, or with `inside` a chapter of that page; `follow` is the command that follows."""
    name = "the log" if case.log.path is None else case.log.path.stem
    if isinstance(result, LogReport):
        log = in_seconds(case.log, case.robot.contract.control_dt_s)  # as the doctor looked at it
        file = name if case.log.path is None else case.log.path.name
        return doctor_page(result, log, case.robot, f"{file} on {case.robot.name}", inside)
    if isinstance(result, GapResult) and result.measured is not None:
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
            inside,
        )
    if isinstance(result, PhysicsFit) and result.detail is not None:
        return fit_page(result.detail, case.robot, result.adaptation.provenance, f"The fit of {name}", inside)
    if isinstance(result, Verdict):
        return verdict_page(result, inside)
    return _plain_page(result, inside)


def write_page(result: Any, case: Case, folder: Path, follow: str = "") -> None:
    """Write the page of a result into the folder of its step, by its usual name."""
    write_text(folder / PAGES[type(result)], page_of(result, case, follow))


def write_report(results: Sequence[Any], path: str | Path) -> Path:
    """Write several results as one self-contained page, in their order; the path.

    A gap or a fit that was read from its file has no samples any more, and is written as text.
    """
    place = path_of(path)
    check_place(place, (".html", ".htm"))
    names = [TITLES[type(result)] for result in results if type(result) in TITLES]
    if len(names) < len(results) or not results:
        raise SurefootError(f"a report is made of the results of steps ({', '.join(TITLES.values())}), at least one")
    page = Page("Surefoot report", ", ".join(names))
    case = next((result.case for result in results if getattr(result, "case", None) is not None), None)
    for result in results:
        if case is not None:
            page_of(result, case, inside=page)
        elif isinstance(result, Verdict):
            verdict_page(result, page)
        else:
            _plain_page(result, page)
    write_text(place, page.render())
    return place


def _plain_page(result: Any, inside: Page | None) -> str:
    """As a terminal shows it."""
    page = Page.begin(TITLES[type(result)].capitalize(), "as the command line prints it", inside)
    page.plain(text_of(result))
    return page.render()
