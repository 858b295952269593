"""Pieces of a log for a figure: which seconds to show, joint targets by name, gaps that break the line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from surefoot.logs.robot_log import RobotLog
from surefoot.logs.time_gaps import PAUSE_PERIODS
from surefoot.report.charts import PANEL, ROBOT, TARGET, Key, Level, Series, Shade, line_chart
from surefoot.robot.targets import targets

if TYPE_CHECKING:
    from surefoot.robot import Robot

EXCERPT_S = 6.0  # steps of a gait can still be told apart
FEWEST = 300  # rows of an excerpt whose clock does not say how long they last, or is in another unit than seconds


def joint_targets(log: RobotLog, robot: Robot) -> np.ndarray:
    """Where each row's action sends the joints, (rows, n_joints) rad in the log's order; NaN for joints the
    robot does not have.
    """
    contract = robot.contract
    shared = [joint for joint in log.joints if joint in contract.joints]
    ours, theirs = ([names.index(joint) for joint in shared] for names in (contract.joints, log.joints))
    action = np.zeros((len(log.action), contract.n_joints))
    action[:, ours] = log.action[:, theirs]
    in_log = np.full(log.action.shape, np.nan)
    in_log[:, theirs] = targets(contract, action)[:, ours]
    return in_log


def episode_rows(log: RobotLog) -> dict[int, slice]:
    """The rows of each episode by its number in the log."""
    return {int(log.episode[rows.start]): rows for rows in log.episodes()}


def usual_interval_s(log: RobotLog) -> float:
    """The median time between rows; NaN where there are none, or none that go forward."""
    steps = intervals_s(log)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else float("nan")


def intervals_s(log: RobotLog) -> np.ndarray:
    """Times between neighbouring rows of the same episode."""
    return log.steps_s()


def liveliest(log: RobotLog, rows: slice, seconds: float = EXCERPT_S) -> slice:
    """The part of an episode, `seconds` long, in which the joints move most; the whole one where it is shorter."""
    step_s = usual_interval_s(log)
    most = int(seconds / step_s) if np.isfinite(step_s) and step_s > 0 else FEWEST
    most = most if most > 1 else FEWEST
    if rows.stop - rows.start <= most:
        return rows
    moved = np.nansum(
        np.abs(np.nan_to_num(log.joint_velocity_rad_s[rows].astype(np.float64), posinf=0, neginf=0)), axis=1
    )
    total = np.concatenate([[0.0], np.cumsum(moved)])
    start = rows.start + int(np.argmax(total[most:] - total[:-most]))
    return slice(start, start + most)


def around(log: RobotLog, rows: slice, start_s: float, end_s: float) -> slice:
    """The rows of an episode from a little before to a little after a span; a long span is cut to its beginning."""
    margin = max(0.5, 0.25 * min(end_s - start_s, EXCERPT_S))
    end_s = min(end_s, start_s + EXCERPT_S)
    with np.errstate(invalid="ignore"):
        inside = np.flatnonzero((log.time_s[rows] >= start_s - margin) & (log.time_s[rows] <= end_s + margin))
    if not len(inside):
        return rows
    return slice(rows.start + int(inside[0]), rows.start + int(inside[-1]) + 1)


def broken(log: RobotLog, rows: slice, *columns: np.ndarray) -> tuple[np.ndarray, ...]:
    """Time and columns of some rows, with a NaN put into every long gap, so that no line is drawn across it."""
    time_s = log.time_s[rows].astype(np.float64)
    step_s = usual_interval_s(log)
    with np.errstate(invalid="ignore"):
        gaps = np.flatnonzero(np.diff(time_s) > PAUSE_PERIODS * step_s) + 1  # none where the step is not known
    return np.insert(time_s, gaps, np.nan), *(
        np.insert(column[rows].astype(np.float64), gaps, np.nan) for column in columns
    )


def position_panel(
    log: RobotLog,
    rows: slice,
    joint: int,
    robot: Robot | None,
    targets: np.ndarray | None,
    *,
    shades: Sequence[Shade] = (),
    labelled: bool = False,
    width: int = PANEL,
    height: int = 96,
) -> str:
    """Position of one joint over time, its target where a robot is known, and its limits where it comes near them."""
    lines = []
    if targets is not None:
        time_s, target = broken(log, rows, targets[:, joint])
        lines.append(Series("target" if labelled else "", time_s, target, TARGET))
    time_s, position = broken(log, rows, log.joint_position_rad[:, joint])
    lines.append(Series("position" if labelled else "", time_s, position, ROBOT))
    name = log.joints[joint]
    levels = []
    if robot is not None and name in robot.contract.joints:
        low, high = robot.contract.position_limit_rad[robot.contract.joints.index(name)]
        levels = [Level(low, "limit", kept=False), Level(high, "limit", kept=False)]
    return line_chart(lines, "time, s", "rad", title=name, shades=shades, levels=levels, width=width, height=height)


def velocity_panel(
    log: RobotLog,
    rows: slice,
    joint: int,
    *,
    shades: Sequence[Shade] = (),
    labelled: bool = False,
    width: int = PANEL,
    height: int = 96,
) -> str:
    """Velocity of one joint over time, and what its position says about it."""
    time_s, position, velocity = broken(log, rows, log.joint_position_rad[:, joint], log.joint_velocity_rad_s[:, joint])
    with np.errstate(all="ignore"):
        derived = np.diff(position, prepend=np.nan) / np.diff(time_s, prepend=np.nan)
    lines = [
        Series("from positions" if labelled else "", time_s, derived, TARGET),
        Series("velocity" if labelled else "", time_s, velocity, ROBOT),
    ]
    return line_chart(lines, "time, s", "rad/s", title=log.joints[joint], shades=shades, width=width, height=height)


POSITION_KEYS = (Key("position", ROBOT), Key("target", TARGET))
VELOCITY_KEYS = (Key("velocity", ROBOT), Key("from positions", TARGET))
