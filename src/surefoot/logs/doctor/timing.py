"""The clock: rate, jitter, gaps, repeated and backward time."""

from dataclasses import dataclass

import numpy as np

from surefoot.logs.doctor.findings import Finding
from surefoot.logs.doctor.signals import spans
from surefoot.logs.robot_log import RobotLog
from surefoot.logs.time_gaps import LOST_ROW_PERIODS
from surefoot.robot import Contract

RATE_TOLERANCE = 0.02
JITTER_SHARE = 0.2  # spread of the steps, as a share of the period, from which differences over one step mislead
GAP_SIGMAS = 6.0
SHORTEST_S = 1e-6  # between rows; no robot is read more often, so that a shorter period is no period
LOST_SHARE = 0.01  # of the rows; pieces between gaps remain whole, so a few lost rows cost little
REPEATED_SHARE = 1e-3  # of the period: two rows this close carry the same time


@dataclass(frozen=True, eq=False)
class Clock:
    """What the time stamps are good for."""

    period_s: float  # median step; 0 where there is none
    breaks: np.ndarray  # (rows,) True at the first row of each piece
    sound: np.ndarray  # (rows,) False where a time stamp is not a number, repeats or goes back


def typical_step(log: RobotLog) -> float:
    """The median of the steps between rows of the same episode, as they stand in the log; 0 where there is none."""
    with np.errstate(invalid="ignore"):  # infinite times
        step = np.diff(log.time_s)[np.diff(log.episode) == 0]
    step = step[np.isfinite(step) & (step > 0)]
    return float(np.median(step)) if len(step) else 0.0


def wrong_unit(trouble: tuple[str, str], period: float, contract: Contract) -> Finding:
    """Time that was written in another unit than seconds; all else was looked at as if it had been corrected."""
    return Finding(
        "time-unit",
        "error",
        trouble[0],
        f"the rows are some {period:,.4g} apart, and the policy runs every {contract.control_dt_s:g} s",
        "every velocity, delay and rollout would be wrong by such a factor; the findings below are those of the log"
        " with its time corrected",
        trouble[1],
    )


def check_clock(log: RobotLog, contract: Contract) -> tuple[Clock, list[Finding]]:
    """Look at the steps between rows of the same episode."""
    n = len(log.time_s)
    finite = np.isfinite(log.time_s)
    time_s = np.where(finite, log.time_s, 0.0)
    first = np.concatenate([[True], log.episode[1:] != log.episode[:-1]])
    step = np.diff(time_s, prepend=0.0)
    inner = ~first & finite & np.concatenate([[False], finite[:-1]])
    findings: list[Finding] = []
    if not finite.all():
        findings.append(_not_a_time(log, finite))
    forward = step[inner & (step > 0)]
    if not len(forward):
        findings.append(
            Finding(
                "no-time",
                "error",
                "time does not advance within any episode",
                f"{n} rows in {log.n_episodes} episodes, none later than the one before it",
                "without time there is no velocity, no delay and no rollout to compare with",
                "record the time of each row in seconds, and rows of one episode under one number",
            )
        )
        return Clock(0.0, np.ones(n, bool), finite), findings
    period = float(np.median(forward))
    if period < SHORTEST_S:
        return Clock(0.0, np.ones(n, bool), finite), [*findings, *_rate(period, contract, log)]
    repeated = inner & (np.abs(step) <= REPEATED_SHARE * period)
    backward = inner & (step < -REPEATED_SHARE * period)
    spread = 1.4826 * float(np.median(np.abs(forward - period)))
    gap = inner & (step > max(LOST_ROW_PERIODS * period, period + GAP_SIGMAS * spread))
    findings += _rate(period, contract, log)
    findings += _jitter(spread, period)
    findings += _gaps(log, gap, step, period)
    findings += _repeated(log, repeated)
    findings += _backward(log, backward, step)
    return Clock(period, first | gap | backward, finite & ~repeated), findings


def _not_a_time(log: RobotLog, finite: np.ndarray) -> Finding:
    return Finding(
        "not-a-number",
        "error",
        f"time is not a number in {(~finite).sum()} rows",
        f"{(~finite).mean():.1%} of the rows",
        "these rows have no place in the log",
        "record the time again, or drop these rows",
        spans=spans(~finite, log),
    )


def _rate(period: float, contract: Contract, log: RobotLog) -> list[Finding]:
    findings = []
    hz, ratio = 1 / period, contract.control_dt_s / period
    said = log.metadata.get("control_hz")
    if abs(ratio - 1) > RATE_TOLERANCE:
        whole = round(ratio)
        multiple = whole > 1 and abs(ratio / whole - 1) <= RATE_TOLERANCE
        findings.append(
            Finding(
                "rate",
                "warning" if multiple else "error",
                f"the log runs at {hz:.4g} Hz, the robot's policy at {contract.control_hz:g} Hz",
                f"median step {period * 1e3:.3f} ms, control period {contract.control_dt_s * 1e3:g} ms",
                "an action is held for one control period: at another rate, delays and velocities come out wrong by the"
                " same factor",
                (
                    f"keep every {whole}th row ({contract.control_hz:g} Hz)"
                    if multiple
                    else (
                        "give the robot.yaml with the rate that the policy ran at, or correct the time stamps (are they"
                        " in seconds?)"
                    )
                ),
            )
        )
    if isinstance(said, (int, float)) and abs(said - contract.control_hz) > RATE_TOLERANCE * contract.control_hz:
        findings.append(
            Finding(
                "rate-said",
                "warning",
                f"the log says that control ran at {said:g} Hz, the robot's contract says {contract.control_hz:g} Hz",
                f"control_hz in the log's metadata: {said:g}",
                "the rollouts would run at another rate than the robot did",
                "give the robot.yaml that the log was recorded with",
            )
        )
    return findings


def _jitter(spread: float, period: float) -> list[Finding]:
    if spread <= JITTER_SHARE * period:
        return []
    return [
        Finding(
            "jitter",
            "warning",
            f"time stamps jitter by {spread * 1e3:.1f} ms, {spread / period:.0%} of the period",
            f"spread of the steps (robust standard deviation) {spread * 1e3:.2f} ms around {period * 1e3:.2f} ms",
            "differences between rows (acceleration, delay) carry this error",
            "stamp rows where the sensors are read, with a monotonic clock, not where the message arrives",
        )
    ]


def _gaps(log: RobotLog, gap: np.ndarray, step: np.ndarray, period: float) -> list[Finding]:
    if not gap.any():
        return []
    lost = int(np.maximum(np.rint(step[gap] / period) - 1, 1).sum())
    share = lost / (lost + len(gap))
    around = gap | np.concatenate([gap[1:], [False]])  # from the row before the gap to the row after it
    return [
        Finding(
            "time-gap",
            "warning" if share > LOST_SHARE else "note",
            f"{gap.sum()} gap{'s' if gap.sum() > 1 else ''} in time, {lost} rows lost ({share:.1%})",
            f"largest gap {step[gap].max() * 1e3:.0f} ms, period {period * 1e3:.1f} ms",
            "rows on both sides of a gap do not follow each other: the pieces between gaps are used on their own",
            (
                "look for lost packets: log on the robot itself, or over a wire"
                if share > LOST_SHARE
                else "nothing, if it stays this rare"
            ),
            spans=spans(around, log),
        )
    ]


def _repeated(log: RobotLog, repeated: np.ndarray) -> list[Finding]:
    if not repeated.any():
        return []
    return [
        Finding(
            "time-repeated",
            "warning",
            f"{repeated.sum()} rows repeat the time of the row before",
            f"{repeated.mean():.1%} of the rows; they are left out",
            "a row that was written twice weighs twice in every distribution",
            "drop the second of two rows with the same time when importing",
            spans=spans(repeated | np.concatenate([repeated[1:], [False]]), log),
        )
    ]


def _backward(log: RobotLog, backward: np.ndarray, step: np.ndarray) -> list[Finding]:
    if not backward.any():
        return []
    return [
        Finding(
            "time-backward",
            "error",
            f"time goes back {backward.sum()} time{'s' if backward.sum() > 1 else ''} within an episode",
            f"by {-step[backward].min():.3f} s at most",
            "rows are out of order, or two recordings share an episode number: what follows what is unknown",
            "sort the rows by time, or give each recording its own episode",
            spans=spans(backward | np.concatenate([backward[1:], [False]]), log),
        )
    ]
