"""From a log to what the simulator must repeat: pieces of unbroken time with their commands, and the robot's samples.

A piece is a run of usable rows at the control rate, long ones cut into parts. Every piece starts the simulator anew, so
the first `settle_s` of each is dropped on both sides: the simulator has to find into the gait, and so may the robot. A
robot that rises to a posture is compared from the starts of its episodes only, since the simulator starts level.

Episodes that start from a stance are all in the same phase of the gait, so where a piece begins and ends cuts all of
them alike, and a recording that starts late by a tenth of a second is cut elsewhere: that alone would be a gap. Ticks
near both ends are therefore left out at random, the nearer the more, alike for robot and simulator.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surefoot.errors import GapError, shown
from surefoot.gap.channels import BASE, Channel, Kind, columns
from surefoot.logs import RobotLog
from surefoot.logs.robot_log import REQUIRED
from surefoot.logs.time_gaps import LOST_ROW_PERIODS, SHORT_PERIODS
from surefoot.logs.time_unit import trouble_with_time
from surefoot.robot import Contract, Robot
from surefoot.streams import Stream

SETTLE_S = 0.5
LONGEST_S = 8.0  # of a piece; longer ones are cut into parts, so that one long walk can be compared with itself too
WALKING_SETTLE_S = 1.0  # of a part that starts in the middle of a walk
SHORTEST_S = 0.5  # of what remains of a piece
EDGE_S = 0.4  # about a step: over this time at both ends, ticks come to count
FEWEST_PIECES = 2  # a floor needs the robot against itself
LEAST_S = 5.0  # of compared time in all
LONGEST_SETTLE_S = 60.0
GOOD_LOG = "record more (64 episodes of 4 s make a good log), or see in the doctor's report what was cut"


@dataclass(frozen=True, eq=False)
class Schedule:
    """n pieces of at most t ticks; shorter ones are padded, and `counted` leaves the padding and the settling out."""

    command: np.ndarray  # (n, t, 3), or wider with further commands
    start_rad: np.ndarray  # (n, n_joints)
    counted: np.ndarray  # (n, t)
    rows: tuple[slice, ...]  # of the log, one for each piece
    episode: np.ndarray  # (n,) of the log
    dt_s: float
    # (n, t, n_joints) recorded actions, played again on a robot that hangs; None: a policy walks
    replay: np.ndarray | None = None

    @property
    def n(self) -> int:
        """Number of pieces."""
        return len(self.rows)

    @property
    def seconds(self) -> float:
        """Simulated time that one run of the schedule takes."""
        return self.command.shape[0] * self.command.shape[1] * self.dt_s

    def pick(self, pieces: np.ndarray) -> "Schedule":
        """Some of the pieces."""
        return Schedule(
            self.command[pieces],
            self.start_rad[pieces],
            self.counted[pieces],
            tuple(self.rows[i] for i in pieces),
            self.episode[pieces],
            self.dt_s,
            None if self.replay is None else self.replay[pieces],
        )


def schedule_of(
    log: RobotLog, robot: Robot, usable: np.ndarray | None = None, settle_s: float = SETTLE_S, *, replay: bool = False
) -> Schedule:
    """Cut a log into pieces; refuses what cannot be compared, with the way out.

    With `replay` the recorded actions are played again instead of running a policy: for legs in the air on a stand,
    where there is no loop to close, and no command.
    """
    contract = robot.contract
    usable = np.ones(len(log.time_s), dtype=bool) if usable is None else usable
    if not 0 <= settle_s <= LONGEST_SETTLE_S:
        raise GapError(f"settle_s is {settle_s:g}; it must be a time from 0 to {LONGEST_SETTLE_S:g} s")
    _refuse(log, contract, usable, replay)
    posture = log.metadata.get("posture")
    if isinstance(posture, str) and posture != robot.posture.name and not replay:
        raise GapError(
            f"the log is of a robot in the posture {shown(posture)}, and not {robot.posture.name!r}; give its policy",
            argument="policy",
        )
    dt_s = contract.control_dt_s
    settle = round(settle_s * contract.control_hz)
    shortest = settle + max(round(SHORTEST_S * contract.control_hz), 2)
    whole = [rows for rows in _pieces(log, usable, dt_s) if rows.stop - rows.start >= shortest]
    pieces = [part for rows in whole for part in _parts(rows, round(LONGEST_S * contract.control_hz))]
    if not robot.posture.level and not replay:
        pieces = _from_the_start(pieces, log, robot)
    settling = [
        (
            settle
            if any(rows.start == part.start for rows in whole)
            else max(settle, round(WALKING_SETTLE_S * contract.control_hz))
        )
        for part in pieces
    ]
    compared_s = sum(rows.stop - rows.start - start for rows, start in zip(pieces, settling, strict=True)) * dt_s
    if len(pieces) < FEWEST_PIECES:
        raise GapError(
            f"{'only one episode' if pieces else 'no episode'} of the log has {settle_s + SHORTEST_S:g} s of unbroken,"
            f" usable walking; the robot is also compared with itself, which takes at least {FEWEST_PIECES}:"
            f" {GOOD_LOG}",
            verb="doctor",
        )
    if compared_s < LEAST_S:
        raise GapError(
            f"{compared_s:.1f} s of the log can be compared, after settling; at least {LEAST_S:g} s are needed:"
            f" {GOOD_LOG}",
            verb="doctor",
        )
    longest = max(rows.stop - rows.start for rows in pieces)
    command = np.zeros((len(pieces), longest, log.command.shape[1]))
    counted = np.zeros((len(pieces), longest), dtype=bool)
    played = np.zeros((len(pieces), longest, contract.n_joints)) if replay else None
    for i, rows in enumerate(pieces):
        size = rows.stop - rows.start
        command[i, :size] = log.command[rows]
        command[i, size:] = log.command[rows.stop - 1]
        counted[i, settling[i] : size] = (
            True if replay else _soft_edges(size - settling[i], round(EDGE_S * contract.control_hz), i)
        )
        if played is not None:
            played[i, :size] = log.action[rows]
            played[i, size:] = log.action[rows.stop - 1]
    start = np.clip(log.joint_position_rad[[rows.start for rows in pieces]], *np.array(contract.position_limit_rad).T)
    return Schedule(
        command, start.astype(float), counted, tuple(pieces), log.episode[[rows.start for rows in pieces]], dt_s, played
    )


def robot_samples(log: RobotLog, schedule: Schedule, contract: Contract, kinds: tuple[Kind, ...]) -> list[np.ndarray]:
    """The robot's samples of each piece, (ticks counted, n_channels)."""
    samples = []
    for i, rows in enumerate(schedule.rows):
        gyro, gravity = (None if part is None else part[rows] for part in (log.gyro_rad_s, log.gravity))
        piece = columns(
            contract,
            kinds,
            log.joint_position_rad[rows],
            log.joint_velocity_rad_s[rows],
            log.action[rows],
            gyro,
            gravity,
        )
        samples.append(piece[schedule.counted[i, : len(piece)]])
    return samples


def kinds_in(log: RobotLog, wanted: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """The wanted kinds of channels that this log can give."""
    there = {"gyro": log.gyro_rad_s is not None, "gravity": log.gravity is not None}
    return tuple(kind for kind in wanted if kind not in BASE or there[kind])


def spread_of(samples: np.ndarray, channels: tuple[Channel, ...]) -> np.ndarray:
    """The robot's own spread in each channel, (n_channels,): the unit of distances.

    A channel that does not move (a locked joint) takes a hundredth of the largest spread of its kind, so that nothing
    is divided by zero and its noise does not count as a gap.
    """
    spread = samples.std(axis=0, dtype=float)
    for kind in {channel.kind for channel in channels}:
        of_kind = np.array([channel.kind == kind for channel in channels])
        spread[of_kind] = np.maximum(spread[of_kind], max(0.01 * float(spread[of_kind].max()), 1e-9))
    return spread


def finite_rows(log: RobotLog) -> np.ndarray:
    """Rows (rows,) in which every required column holds numbers."""
    finite = np.isfinite(log.time_s)
    for name in REQUIRED:
        finite &= np.isfinite(getattr(log, name)).all(axis=1)
    return finite


def _refuse(log: RobotLog, contract: Contract, usable: np.ndarray, replay: bool) -> None:
    if set(log.joints) != set(contract.joints):
        robot = log.metadata.get("robot")
        raise GapError(
            f"the log is of another robot{f' ({robot})' if isinstance(robot, str) else ''} than {contract.robot}: its"
            f" joints are {_few(log.joints)}, and not {_few(contract.joints)}; give the robot that wrote it, or"
            " name the joints in the map file when you import it",
            argument="robot",
        )
    if log.joints != contract.joints:
        raise GapError(
            f"the log's joints ({_few(log.joints)}) stand in another order than the robot's"
            f" ({_few(contract.joints)}); import it again for this robot",
            argument="robot",
            verb="log import",
        )
    assumed = log.metadata.get("assumed")
    if not replay and isinstance(assumed, dict) and "command" in assumed and not np.any(log.command):
        raise GapError(
            "the log has no velocity commands, so the policy cannot be run as it was on the robot; record them, or give"
            " them in the map file when you import it (legs in the air, with no policy at all, are fitted with the"
            " policy 'replay')",
            argument="map",
            verb="log import",
        )
    if not np.isfinite(log.action).any() or not np.any(log.action):
        raise GapError(
            "the log has no actions (all are zero); a gap is measured in the loop, and needs what the policy said:"
            " record them"
        )
    measured = log.steps_s()
    if not len(measured):
        raise GapError(
            "no two rows of the log that follow each other have a time; record it again with the time of each row"
        )
    for name in ("time_s", *REQUIRED):
        if not np.isfinite(getattr(log, name)[usable]).all():
            raise GapError(f"{name} holds values that are not finite; the doctor's report says where", verb="doctor")
    trouble = trouble_with_time(log, contract.control_dt_s)
    if trouble is not None:
        raise GapError(f"its {trouble[0]}; {trouble[1]}", argument="time_unit", verb="log import")
    if not 0.8 < float(np.median(measured)) / contract.control_dt_s < 1.25:
        raise GapError(
            f"the log has a row every {1e3 * float(np.median(measured)):.3g} ms and the robot's policy acts every"
            f" {1e3 * contract.control_dt_s:.3g} ms; import it again with this robot, which puts it on the control rate"
        )


def _soft_edges(ticks: int, ramp: int, piece: int) -> np.ndarray:
    """Which of the ticks count, (ticks,): fewer towards both ends."""
    from_end = np.minimum(np.arange(ticks), np.arange(ticks)[::-1]) + 0.5
    return np.random.default_rng([piece, Stream.SOFT_EDGES]).random(ticks) < from_end / max(min(ramp, ticks // 4), 1)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def _from_the_start(pieces: list[slice], log: RobotLog, robot: Robot) -> list[slice]:
    """The pieces that begin with their episode: the simulator starts level, and a robot that has risen
    already does not.
    """
    kept = [rows for rows in pieces if rows.start == 0 or log.episode[rows.start - 1] != log.episode[rows.start]]
    if pieces and not kept:
        raise GapError(
            "no episode of the log can be used from its own start, where the robot rises to the posture"
            f" {robot.posture.name!r}: the simulator starts level, and cannot begin in the middle of a walk;"
            " record each episode from before the robot rises, or see in the doctor's report what was cut",
            verb="doctor",
        )
    return kept


def _parts(rows: slice, longest: int) -> list[slice]:
    """A piece in equal parts that are short enough."""
    edges = np.linspace(rows.start, rows.stop, -(-(rows.stop - rows.start) // longest) + 1).round().astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def _pieces(log: RobotLog, usable: np.ndarray, dt_s: float) -> list[slice]:
    """Runs of usable rows of one episode without a gap in time."""
    step = np.diff(log.time_s)
    broken = (np.diff(log.episode) != 0) | (step > LOST_ROW_PERIODS * dt_s) | (step < SHORT_PERIODS * dt_s)
    starts = np.flatnonzero(np.concatenate([[True], broken | (usable[1:] != usable[:-1])]))
    stops = [*starts[1:], len(usable)]
    return [slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True) if usable[a]]
