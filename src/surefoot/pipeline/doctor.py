"""The step `doctor`: what is wrong with the log of a case, and which of its rows can be used."""

from collections.abc import Callable
from pathlib import Path

from surefoot.files import check_folder, write_json
from surefoot.gap.case import Case
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.artefacts import DOCTOR, DOCTOR_PAGE


def claim_doctor(out: Path) -> None:
    """Ask for the folder and the files that `run_doctor` will write there, before any work."""
    check_folder(out, (DOCTOR, DOCTOR_PAGE))


def run_doctor(
    case: Case, *, out: Path | None = None, draw: Callable[[LogReport, Path], None] | None = None
) -> LogReport:
    """Check a log. With `out` the report goes into that folder, and `draw` is called with it."""
    report = case.report
    if out is not None:
        write_json(out / DOCTOR, report.to_dict())
        if draw is not None:
            draw(report, out)
    return report
