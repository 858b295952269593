"""What each step of a loop came to, in one sentence, and whether the loop ends there."""

import math
from dataclasses import dataclass

from surefoot.logs import RobotLog
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.artefacts import NO_GAP, NO_GO, UNUSABLE
from surefoot.pipeline.finetune import FineTuned
from surefoot.pipeline.fit import PhysicsFit
from surefoot.pipeline.gap import GapResult
from surefoot.pipeline.walks import Walks
from surefoot.verify.evaluate import Evaluation
from surefoot.verify.verdict import Verdict

LONGER_MIN = 0.25  # an iteration of training ends a little after its time
TOO_SHORT = "too-short"  # the doctor's code for a log that is enough for a gap and not for a fit


@dataclass(frozen=True)
class Outcome:
    """What a step came to; `ends` is the exit code with which the loop is over."""

    says: str
    ends: int | None = None


def about_log(log: RobotLog, source: str) -> Outcome:
    """Of a log that was recorded or joined."""
    return Outcome(f"{log.n_episodes} episodes, {log.seconds:.0f} s from {source}")


def about_report(report: LogReport) -> Outcome:
    """Of what the doctor says."""
    amount = f"{report.usable_s / 60:.1f} of {report.needed_s / 60:.1f} minutes that a fit needs"
    findings = [finding for finding in report.findings if finding.severity != "note"]
    if report.exit_code == UNUSABLE:
        worst = next(finding for finding in findings if finding.severity == "error")
        return Outcome(f"not usable: {worst.title}; {worst.fix}", UNUSABLE)
    if not findings:
        return Outcome(f"usable, {amount}")
    more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
    enough = "" if findings[0].code == TOO_SHORT else f", {amount}"  # that finding gives the amount itself
    return Outcome(f"usable with care{enough}: {findings[0].title}{more}")


def about_gap(result: GapResult) -> Outcome:
    """Of a gap and its causes."""
    gap, diagnosis = result.gap, result.diagnosis
    times = f", {gap.total / gap.total_floor:.0f} × its floor" if gap.total_floor else ""
    size = f"{gap.total:.3f}{times}"
    if not gap.measurable:
        return Outcome(f"no measurable gap: {size}; up to {gap.total_limit:.3f} is chance", NO_GAP)
    if diagnosis is None or not diagnosis.causes:
        return Outcome(size)
    if diagnosis.sure == "unsure":
        return Outcome(f"{size}; nothing that was tried explains most of it")
    cause = diagnosis.causes[0]
    return Outcome(f"{size}; looks like {cause.name} (closes {cause.explains:.0%})")


def about_fit(fit: PhysicsFit) -> Outcome:
    """Of a fit."""
    held = "" if fit.held_after is None else f"; held out {fit.held_after.total:.3f}"
    floor = f"floor {fit.after.total_floor:.3f}"
    count = len(fit.adaptation.knobs)
    says = f"gap {fit.before.total:.3f} → {fit.after.total:.3f} ({floor}{held}), {count} parameters"
    if not fit.gap_left.nearer:
        return Outcome(f"{says}: no nearer to the robot; keep simulator and policy as they are", NO_GO)
    return Outcome(says)


def about_tuned(tuned: FineTuned, asked_min: float) -> Outcome:
    """Of a fine-tuned policy; `asked_min` is how long it was to be trained."""
    longer = _longer(tuned, asked_min)
    if tuned.before is None or tuned.after is None:
        return Outcome(f"trained, and not measured{longer}")
    drifts = _arrow([side.drift_m for side in (tuned.before, tuned.after)], 2)
    errors = _arrow([side.walk.velocity_error_m_s for side in (tuned.before, tuned.after)], 3)
    kept = ""
    if tuned.choice and tuned.choice.get("reason"):
        share = tuned.choice.get("share")
        part = f"{100 * share:.0f} % of the way to what was trained" if share else "trimmed only"
        kept = f"; {part}, training made it worse"
    falls = _falls(tuned.before, tuned.after)
    return Outcome(f"drift {drifts} m, velocity error {errors} m/s{falls} in the fitted simulator{kept}{longer}")


def about_verdict(verdict: Verdict) -> Outcome:
    """Of a verdict."""
    if verdict.go:
        left = f"; but {verdict.about_fit}" if verdict.fit is not None and verdict.fit.measurable else ""
        return Outcome(f"GO: {verdict.gains[0]}{left}")
    first = verdict.reasons[0]
    more = f", and {len(verdict.reasons) - 1} more" if len(verdict.reasons) > 1 else ""
    return Outcome(f"NO-GO, {first.simulator}: {first.headline}{more}", NO_GO)


def about_walks(walks: Walks) -> Outcome:
    """Of both policies walking the same way."""
    falls = walks.before.falls, walks.after.falls
    return Outcome(f"{walks.says}; falls {falls[0]} → {falls[1]}" if any(falls) else walks.says)


def _falls(before: Evaluation, after: Evaluation) -> str:
    """Falls before and after, without pushes and with, where there are any."""
    counts = {
        "falls": (before.falls[0], after.falls[0], after.falls[1]),
        "falls when pushed": (before.pushed.falls, after.pushed.falls, after.pushed.episodes),
    }
    return "".join(
        f", {name} {old} → {new} of {episodes}" for name, (old, new, episodes) in counts.items() if old or new
    )


def _longer(tuned: FineTuned, asked_min: float) -> str:
    """That an earlier run trained for longer than is asked for now; training cannot be taken back."""
    trained_min = (tuned.trained_s or 0.0) / 60
    if trained_min <= asked_min + LONGER_MIN:
        return ""
    folder = tuned.path.parent
    kept = f"trained for {trained_min:.1f} minutes before, and kept though only {asked_min:g} are asked for"
    return f"; {kept} (to train anew, remove {folder})"


def _arrow(values: list[float], digits: int) -> str:
    """Before and after."""
    return " → ".join("(fell)" if math.isnan(value) else f"{value:.{digits}f}" for value in values)
