"""What the doctor says of a log, as text."""

from rich.padding import Padding
from rich.text import Text

from surefoot.console import Console
from surefoot.logs.doctor import Finding, LogReport
from surefoot.logs.doctor.findings import TimeSpan, listed

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
VERDICTS = ("usable", "usable with care", "not usable")
MOST_SPANS = 3


def show_report(report: LogReport, console: Console) -> None:
    """Print the findings, worst first, and one line that sums up."""
    for finding in report.findings:
        _show(finding, console)
    if report.proposal:
        console.print(Text(f"next: {report.proposal}"))
    delay = report.delay
    late = (
        ""
        if delay is None
        else f"; actions act after {delay.seconds * 1e3:.0f} ms ({delay.low_s * 1e3:.0f} to {delay.high_s * 1e3:.0f})"
    )
    verdict = VERDICTS[report.exit_code]
    console.print(
        Text(
            f"{verdict}: {report.usable_s / 60:.1f} of {report.needed_s / 60:.1f} minutes that a fit needs{late}",
            style="bold",
        )
    )


def _show(finding: Finding, console: Console) -> None:
    title = Text.assemble(
        (finding.severity, STYLES[finding.severity]), " ", (finding.title, "bold"), f"  [{finding.code}]"
    )
    lines = [finding.evidence, *([f"at {_where(finding.spans)}"] if finding.spans else [])]
    console.print(title)
    body = Text("\n").join([*map(Text, lines), Text(f"why: {finding.why}"), Text(f"fix: {finding.fix}")])
    console.print(Padding(body, (0, 0, 0, 4)))


def _where(spans: tuple[TimeSpan, ...]) -> str:
    return listed([f"episode {s.episode} {s.start_s:.2f}–{s.end_s:.2f} s" for s in spans], MOST_SPANS)
