"""Falls and near-falls, to be cut; idle parts that say nothing."""

import numpy as np

from surefoot.logs.doctor.findings import Finding, TimeSpan
from surefoot.logs.doctor.signals import Signals, runs, spans
from surefoot.logs.robot_log import RobotLog

FALLEN_TILT = np.deg2rad(60)
NEAR_TILT = np.deg2rad(35)
LEVEL_TILT = np.deg2rad(20)  # a fall begins where the base was last this level
TUMBLING_RAD_S = 6.0  # no gait rolls or pitches the base this fast
MARGIN_S = 0.5
LARGE_SHARE = 0.5  # of the episodes: then the log shows a robot that cannot do the task, not one that stumbles
IDLE_MOVE_RAD = 0.03  # of every joint and every target, over the window
IDLE_WINDOW_S = 0.5
IDLE_S = 1.0
IDLE_SHARE = 0.5

Cuts = list[tuple[TimeSpan, str]]


def check_falls(log: RobotLog, signals: Signals) -> tuple[np.ndarray, Cuts, list[Finding]]:
    """Rows of the log to cut, (rows,), and why."""
    n = len(log.time_s)
    cut = np.zeros(n, bool)
    if not len(signals.row):
        return cut, [], []
    fallen, near, source = _down(signals)
    margin = max(1, round(MARGIN_S / signals.period_s)) if signals.period_s > 0 else 1
    first = np.concatenate([[True], signals.episode[1:] != signals.episode[:-1]])
    begin = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
    end = np.concatenate([np.flatnonzero(first)[1:], [len(first)]])[np.cumsum(first) - 1]
    falls, stumbles = np.zeros(len(first), bool), np.zeros(len(first), bool)
    episodes = set()
    for a, _ in runs(fallen, signals.episode):
        if falls[a]:
            continue
        level = np.flatnonzero(~near["leaning"][begin[a] : a])
        start = max(begin[a], (begin[a] + level[-1] if len(level) else begin[a]) - margin)
        falls[start : end[a]] = True  # what an operator does with a fallen robot is no data either
        episodes.add(int(signals.episode[a]))
    for a, b in runs(near["near"] & ~falls, signals.episode):
        stumbles[max(begin[a], a - margin) : min(end[a], b + margin + 1)] = True
    stumbles &= ~falls
    findings, cuts = [], []
    for mask, code in ((falls, "fall"), (stumbles, "near-fall")):
        if not mask.any():
            continue
        rows = np.zeros(n, bool)
        rows[signals.row[mask]] = True
        cut |= rows
        where = spans(rows, log)
        cuts += [(span, code) for span in where]
        findings.append(
            _fall(len(episodes), log, rows, where, source) if code == "fall" else _near_fall(rows, where, source)
        )
    return cut, cuts, findings


def _down(signals: Signals) -> tuple[np.ndarray, dict[str, np.ndarray], str]:
    """Where the robot lies, where it nearly does, and what says so."""
    n = len(signals.row)
    spin = np.zeros(n) if signals.gyro is None else np.hypot(signals.gyro[:, 0], signals.gyro[:, 1])
    low, high = np.array(signals.contract.position_limit_rad).T
    ends = ((signals.position < low - 0.02) | (signals.position > high + 0.02)).mean(
        axis=1
    )  # a robot that lies on its legs
    if signals.down is not None:
        tilt = np.arccos(np.clip(-signals.robot.posture.turned(signals.down)[:, 2], -1, 1))
        tilt[_rising(tilt, signals)] = 0.0
        near = (tilt > NEAR_TILT) | ((spin > TUMBLING_RAD_S) & (tilt > LEVEL_TILT))
        return tilt > FALLEN_TILT, {"near": near, "leaning": tilt > LEVEL_TILT}, "tilt of the base"
    tumbling = spin > TUMBLING_RAD_S
    lying = (ends >= 0.25) & tumbling
    return lying, {"near": tumbling, "leaning": tumbling}, "gyro and joint limits, since no orientation was recorded"


def _rising(tilt: np.ndarray, signals: Signals) -> np.ndarray:
    """Rows of a robot that is on its way to a posture which it has to rise to, (n,): as long as it may,
    from each start.
    """
    posture, rising = signals.robot.posture, np.zeros(len(tilt), bool)
    if posture.rise_s:
        for episode in np.unique(signals.episode):
            rows = np.flatnonzero(signals.episode == episode)
            within = rows[signals.time_s[rows] - signals.time_s[rows[0]] <= posture.rise_s]
            there = np.flatnonzero(tilt[within] < LEVEL_TILT)
            rising[within[: there[0]] if len(there) else within] = True
    return rising


def _fall(count: int, log: RobotLog, rows: np.ndarray, where: tuple[TimeSpan, ...], source: str) -> Finding:
    share = count / max(log.n_episodes, 1)
    many = share > LARGE_SHARE
    return Finding(
        "fall",
        "warning" if many else "note",
        f"the robot fell in {count} of {log.n_episodes} episodes; the falls are cut",
        f"from the {source}: {rows.sum()} rows ({rows.mean():.1%}) cut, from {MARGIN_S:g} s before the base left level"
        " to the end of the episode",
        "fitted to falls, a simulator learns to fall in the same way without any physical meaning",
        (
            "record slower commands, or a policy that stays up: so many falls hide what the robot does when it walks"
            if many
            else "nothing: enough remains"
        ),
        spans=where,
    )


def _near_fall(rows: np.ndarray, where: tuple[TimeSpan, ...], source: str) -> Finding:
    return Finding(
        "near-fall",
        "note",
        f"the robot nearly fell {len(where)} time{'s' if len(where) > 1 else ''}; these parts are cut",
        f"from the {source}: tilt beyond {np.rad2deg(NEAR_TILT):.0f}° or a base that turns faster than"
        f" {TUMBLING_RAD_S:g} rad/s; {rows.sum()} rows",
        "in a recovery, chance decides what happens next",
        "nothing: enough remains" if rows.mean() < 0.1 else "record gentler commands",
        spans=where,
    )


def check_idle(log: RobotLog, signals: Signals) -> tuple[np.ndarray, Cuts, list[Finding]]:
    """Rows of the log in which neither joints nor targets move, (rows,); the first second of each stop stays."""
    cut = np.zeros(len(log.time_s), bool)
    n = len(signals.row)
    window = max(2, round(IDLE_WINDOW_S / signals.period_s)) if signals.period_s > 0 else 2
    if n <= window:
        return cut, [], []
    still = (_moved(signals.position, window) < IDLE_MOVE_RAD) & (_moved(signals.target, window) < IDLE_MOVE_RAD)
    still &= signals.piece[: n - window + 1] == signals.piece[window - 1 :]
    idle = np.zeros(n, bool)
    for offset in range(window):
        idle[offset : n - window + 1 + offset] |= still
    keep = round(IDLE_S / signals.period_s)
    share = float(idle.mean())
    for a, b in runs(idle, signals.episode):
        if b - a + 1 > keep:
            cut[signals.row[a + keep : b + 1]] = True
    if not cut.any():
        return cut, [], []
    where = spans(cut, log)
    finding = Finding(
        "idle",
        "warning" if share > IDLE_SHARE else "note",
        f"the robot stands still in {share:.0%} of the log",
        f"{cut.sum()} rows beyond the first {IDLE_S:g} s of each stop are cut: no joint and no target moves by"
        f" {IDLE_MOVE_RAD:g} rad",
        "a robot at rest says nothing about inertia, friction or delay, and long stops drown the rest in every"
        " distribution",
        "record more walking" if share > IDLE_SHARE else "nothing: a little standing is welcome",
        spans=where,
    )
    return cut, [(span, "idle") for span in where], [finding]


def _moved(values: np.ndarray, window: int) -> np.ndarray:
    """How far the joint that moves most gets within each window, (n - window + 1,); high and low by doubling."""
    high, low, width = values, values, 1
    while width < window:
        shift = min(width, window - width)
        high, low = np.maximum(high[:-shift], high[shift:]), np.minimum(low[:-shift], low[shift:])
        width += shift
    return (high - low).max(axis=1)
