"""Results as text: what a verb prints, and what `print` shows of a result in Python."""

import html
import io
from typing import Any

from surefoot.adapt import Adaptation
from surefoot.console import Console
from surefoot.logs import RobotLog
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.finetune import FineTuned
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.pipeline.loop_result import LoopResult
from surefoot.report.text.adaptation import show_adaptation
from surefoot.report.text.doctor import show_report
from surefoot.report.text.evaluation import show_evaluation
from surefoot.report.text.finetune import show_tuned
from surefoot.report.text.fit import show_fit
from surefoot.report.text.gap import show_gap
from surefoot.report.text.log import show_log
from surefoot.report.text.loop import show_loop
from surefoot.report.text.verdict import show_verdict
from surefoot.verify.evaluate import Evaluation
from surefoot.verify.verdict import Verdict

__all__ = ["html_of", "show_result", "text_of"]

WIDTH = 100  # of a text that goes to no terminal


def show_result(result: Any, console: Console) -> None:
    """Print a result, whichever it is."""
    shows = {
        RobotLog: show_log,
        LogReport: show_report,
        GapResult: show_gap,
        PhysicsFit: show_fit,
        Adaptation: show_adaptation,
        Evaluation: show_evaluation,
        FineTuned: show_tuned,
        Verdict: show_verdict,
        LoopResult: show_loop,
    }
    show: Any = shows.get(type(result))
    if show is None:
        raise TypeError(f"there is no text for a {type(result).__name__}")
    show(result, console)


def text_of(result: Any) -> str:
    """What `show_result` prints."""
    text = io.StringIO()
    console = Console(file=text)
    console.width = WIDTH
    show_result(result, console)
    return text.getvalue().rstrip("\n")


def html_of(result: Any) -> str:
    """The same for a notebook."""
    return f'<pre style="line-height:1.25;white-space:pre;overflow-x:auto">{html.escape(text_of(result))}</pre>'
