"""A log made ready for the checks: float64, in the robot's joint order, cut into pieces without holes.

The checks compute on `Signals` and never on the log itself, so that NaN, repeated time stamps or a channel in degrees
are said once, by the check that finds them, and do not set off all others.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np

from surefoot.logs.doctor.findings import TimeSpan
from surefoot.logs.robot_log import RobotLog
from surefoot.robot import Contract, Robot
from surefoot.robot.targets import targets

LARGEST = 1e6  # no channel of a robot reads beyond this in any unit


@dataclass(frozen=True, eq=False)
class Signals:
    """Rows of a log. A piece is a run of rows that follow each other without a hole."""

    robot: Robot
    row: np.ndarray  # (n,) place in the log
    episode: np.ndarray  # (n,)
    piece: np.ndarray  # (n,) rising; rows of one piece follow each other by `period_s`
    time_s: np.ndarray  # (n,)
    period_s: float
    position: np.ndarray  # (n, n_joints)
    velocity: np.ndarray
    turned: np.ndarray  # (n, n_joints) integral of the velocity over the piece, rad
    action: np.ndarray
    command: np.ndarray  # (n, 3)
    gyro: np.ndarray | None  # (n, 3) in the base frame
    down: np.ndarray | None  # (n, 3) unit vector of gravity in the base frame

    @property
    def contract(self) -> Contract:
        """The robot's contract."""
        return self.robot.contract

    @property
    def target(self) -> np.ndarray:
        """Joint targets that the actions stand for, (n, n_joints) rad."""
        return targets(self.contract, self.action)

    def windows(self, before: int, after: int) -> np.ndarray:
        """Rows that have so many rows before and after them in the same piece."""
        rows = np.arange(
            min(before, len(self.piece)), len(self.piece) - after
        )  # a broken clock may ask for any number of rows
        return rows[self.piece[rows - before] == self.piece[rows + after]]

    def take(self, rows: np.ndarray, period_s: float | None = None) -> "Signals":
        """Only these rows, in order; pieces break where rows are left out, unless a new period says that it
        is on purpose.
        """
        changed = {
            field.name: value[rows]
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        if period_s is None and len(rows):
            breaks = (np.diff(changed["piece"]) != 0) | (np.diff(rows) != 1)
            changed["piece"] = np.concatenate([[0], np.cumsum(breaks)])
        return dataclasses.replace(self, period_s=period_s or self.period_s, **changed)

    def at_control_rate(self) -> "Signals":
        """Every n-th row of each piece, about one for each control period: a faster log adds noise, not motion."""
        ratio = self.contract.control_dt_s / self.period_s if self.period_s > 0 else 1.0
        stride = max(1, round(min(ratio, len(self.row))))  # a broken clock may give any ratio
        if stride == 1 or not len(self.row):
            return self
        starts = np.flatnonzero(np.diff(self.piece, prepend=self.piece[0] - 1))
        age = np.arange(len(self.row)) - np.repeat(starts, np.diff([*starts, len(self.row)]))
        return self.take(np.flatnonzero(age % stride == 0), self.period_s * stride)


def make_signals(
    log: RobotLog,
    robot: Robot,
    rotation: np.ndarray,
    order: list[int],
    sound: np.ndarray,
    breaks: np.ndarray,
    period_s: float,
) -> Signals:
    """The sound rows of a log; a piece ends where `breaks` says so, (rows,) True at the first row of each piece.

    `order` holds, for each joint of the contract, its column in the log; `rotation` (3, 3) is that of the
    IMU in the base.
    """
    rows = np.flatnonzero(sound)
    piece = np.cumsum(breaks | ~sound | np.concatenate([[True], ~sound[:-1]]))[rows]
    position, velocity, action = (
        clean(values)[rows][:, order] for values in (log.joint_position_rad, log.joint_velocity_rad_s, log.action)
    )
    down, gyro = base_frame(log, rotation)
    return Signals(
        robot=robot,
        row=rows,
        episode=log.episode[rows],
        piece=piece,
        time_s=log.time_s[rows],
        period_s=period_s,
        position=position,
        velocity=velocity,
        turned=integral(velocity, piece, period_s),
        action=action,
        command=clean(log.command)[rows],
        gyro=None if gyro is None else gyro[rows],
        down=None if down is None else down[rows],
    )


def integral(velocity: np.ndarray, piece: np.ndarray, period_s: float) -> np.ndarray:
    """Trapezoids over each piece, (n, width); pieces run on from each other, so only differences within one
    mean anything.
    """
    steps = np.zeros(velocity.shape)
    if len(velocity):
        steps[1:] = np.where((np.diff(piece) == 0)[:, None], 0.5 * period_s * (velocity[1:] + velocity[:-1]), 0.0)
    return np.cumsum(steps, axis=0)


def clean(values: np.ndarray) -> np.ndarray:
    """As float64, with zeros for what is not a number; the rows are known to be unsound by then."""
    values = np.asarray(values, np.float64)
    return np.where(np.abs(np.nan_to_num(values, nan=np.inf)) <= LARGEST, values, 0.0)


def sound_rows(values: np.ndarray) -> np.ndarray:
    """Whether each row holds numbers that a sensor can give, (rows,)."""
    with np.errstate(invalid="ignore"):
        return (np.abs(values) <= LARGEST).reshape(len(values), -1).all(axis=1)


def base_frame(log: RobotLog, rotation: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Direction of gravity and angular velocity in the base frame, (rows, 3) each, or None where they were
    not recorded.

    `rotation` (3, 3) is that of the IMU in the base.
    """
    if log.gravity is not None:
        down = clean(log.gravity) @ rotation.T
    elif log.quaternion is not None:
        w, x, y, z = clean(log.quaternion).T
        down = np.stack(
            [2 * (w * y - x * z), -2 * (y * z + w * x), 2 * (x * x + y * y) - w * w - x * x - y * y - z * z], axis=1
        )
    else:
        down = None
    if down is not None:
        length = np.linalg.norm(down, axis=1, keepdims=True)
        down = np.where(length > 1e-6, down / np.maximum(length, 1e-6), [0.0, 0.0, -1.0])
    return down, None if log.gyro_rad_s is None else clean(log.gyro_rad_s) @ rotation.T


def runs(mask: np.ndarray, episode: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of each run of True that stays in one episode."""
    if not len(mask):
        return []
    apart = np.concatenate([[True], episode[1:] != episode[:-1]])
    begins = mask & (apart | ~np.concatenate([[False], mask[:-1]]))
    ends = mask & (np.concatenate([apart[1:], [True]]) | ~np.concatenate([mask[1:], [False]]))
    return list(zip(np.flatnonzero(begins).tolist(), np.flatnonzero(ends).tolist(), strict=True))


def spans(mask: np.ndarray, log: RobotLog, most: int = 50) -> tuple[TimeSpan, ...]:
    """Runs of True over the log's rows as spans, the longest ones where there are many."""
    found = runs(mask, log.episode)
    longest = sorted(sorted(found, key=lambda run: run[0] - run[1])[:most])
    return tuple(TimeSpan(int(log.episode[a]), _finite(log.time_s[a]), _finite(log.time_s[b])) for a, b in longest)


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0
