"""Single channels: not a number, constant, clipped, coarse, and units that no robot moves in."""

from dataclasses import dataclass

import numpy as np

from surefoot.logs.doctor.findings import Finding, listed
from surefoot.logs.doctor.signals import LARGEST, clean, sound_rows, spans
from surefoot.logs.robot_log import OPTIONAL, REQUIRED, RobotLog

JOINT_CHANNELS = {
    "joint_position_rad": "position",
    "joint_velocity_rad_s": "velocity",
    "action": "action",
    "torque_nm": "torque",
}
BASE_CHANNELS = {"gyro_rad_s": "gyro", "gravity": "gravity"}
FROZEN_S = 0.25  # a joint that moves does not keep one value to the last digit for this long
MOVED_RAD = 0.05  # twice what a position may wander while its velocity reads zero
CLIPPED_SHARE = 0.01  # of the rows at one extreme value
CLIPPED_RUNS = 5  # separate visits to it
LONGEST_VISIT_S = 1.0  # on average; a robot that stands still stays longer
# step over spread: an error of step / sqrt(12) is then 2 % of the spread, as much as a robot differs from itself
COARSE_SHARE = 0.07
FEW_ROWS = 20


@dataclass(frozen=True, eq=False)
class Ailing:
    """Channels that further checks must not rely on."""

    dead: set[str]  # joints of which a channel never changes
    rough: set[str]  # joints of which a channel is clipped or coarse
    frozen: np.ndarray  # (rows,) in which a channel stands still though the robot moves


def check_numbers(log: RobotLog) -> tuple[np.ndarray, list[Finding]]:
    """Rows whose channels are all numbers, (rows,), and what is not."""
    sound, findings = np.ones(len(log.time_s), bool), []
    for name in (*REQUIRED, *OPTIONAL):
        values = getattr(log, name)
        if values is None or not len(values):
            continue
        fine = sound_rows(values)
        if fine.all():
            continue
        sound &= fine
        with np.errstate(invalid="ignore"):
            columns = np.flatnonzero(~(np.abs(values) <= LARGEST).all(axis=0))
        joints = (
            tuple(log.joints[c] for c in columns)
            if values.shape[1] == len(log.joints) and name not in ("foot_contact",)
            else ()
        )
        findings.append(
            Finding(
                "not-a-number",
                "error",
                f"{name} holds {(~fine).sum()} rows that are no numbers" + (f" ({listed(joints)})" if joints else ""),
                f"{(~fine).mean():.1%} of the rows are NaN, infinite or beyond {LARGEST:g}; they are left out",
                "a lost reading must not enter a distribution as a number",
                "drop these rows when importing: the log is then split there",
                joints=joints,
                spans=spans(~fine, log),
                channel=(JOINT_CHANNELS | BASE_CHANNELS).get(name, name),
            )
        )
    return sound, findings


def check_channels(log: RobotLog, sound: np.ndarray, period_s: float) -> tuple[Ailing, list[Finding]]:
    """What is constant, frozen, clipped or coarse."""
    dead: set[str] = set()
    rough: set[str] = set()
    frozen = np.zeros(len(sound), bool)
    findings: list[Finding] = []
    rows = np.flatnonzero(sound)
    if len(rows) < FEW_ROWS:
        return Ailing(dead, rough, frozen), findings
    position = clean(log.joint_position_rad)
    turned = np.cumsum(clean(log.joint_velocity_rad_s), axis=0) * period_s
    witness = {"joint_position_rad": turned, "joint_velocity_rad_s": position}  # what shows that the joint did move
    least = {"joint_position_rad": MOVED_RAD / 2, "joint_velocity_rad_s": MOVED_RAD}
    width = max(2, round(FROZEN_S / period_s)) if period_s > 0 else FEW_ROWS
    for name, word in (*JOINT_CHANNELS.items(), *BASE_CHANNELS.items()):
        raw = getattr(log, name)
        if raw is None:
            continue
        values = clean(raw)
        labels = log.joints if name in JOINT_CHANNELS else ("x", "y", "z")
        constant = np.ptp(values[rows], axis=0) == 0
        findings += _constant(name, word, labels, constant)
        if name in REQUIRED:
            dead |= {labels[c] for c in np.flatnonzero(constant)}
        coarse = _coarse(name, word, labels, values[rows], constant)
        findings += coarse
        rough |= {joint for finding in coarse for joint in finding.joints}
        if name in witness:
            for c in np.flatnonzero(~constant):
                if labels[c] in rough:  # repeats values as a matter of course
                    continue
                stuck = _stuck(values[:, c], log.episode, witness[name][:, c], position, width, least[name]) & sound
                if stuck.any():
                    findings.append(_frozen(name, word, labels[c], stuck, log))
                    frozen |= stuck
        for c in np.flatnonzero(~constant):
            clipped = _clipped(name, word, labels[c], values[:, c], sound & ~frozen, log, period_s)
            findings += clipped
            rough |= {joint for finding in clipped for joint in finding.joints}
    return Ailing(dead, rough, frozen), findings


def _constant(name: str, word: str, labels: tuple[str, ...], constant: np.ndarray) -> list[Finding]:
    if not constant.any():
        return []
    joints = tuple(labels[c] for c in np.flatnonzero(constant))
    every = constant.all()
    fix = (
        "record while the robot walks"
        if every
        else f"check the sensor or the mapping of {listed(joints)}, and record again"
    )
    return [
        Finding(
            "constant-channel",
            "error" if name in JOINT_CHANNELS and name != "torque_nm" else "warning",
            f"{word} of {'all joints' if every and name in JOINT_CHANNELS else listed(joints)} never changes",
            f"{len(joints)} of {len(labels)} columns of {name} hold one single value",
            "a dead sensor or an empty column says nothing about the robot, and a fit would believe it",
            fix,
            joints=joints if name in JOINT_CHANNELS else (),
            channel=word,
        )
    ]


def _stuck(
    values: np.ndarray, episode: np.ndarray, witness: np.ndarray, position: np.ndarray, width: int, least_rad: float
) -> np.ndarray:
    """Rows of long runs of one value, while the joint's other channel or, if that stands too, most joints move.

    A joint at rest repeats its reading as well: motors report a velocity of exactly zero below some speed.
    """
    same = np.concatenate([[False], (values[1:] == values[:-1]) & (episode[1:] == episode[:-1])])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    found = np.zeros(len(values), bool)
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        first = start - 1  # the run began one row before the first equal one
        if stop - first < width:
            continue
        own = np.ptp(witness[first:stop])
        others = np.median(np.ptp(position[first:stop], axis=0))
        if own > least_rad or (own == 0 and values[first] != 0 and others > MOVED_RAD):
            found[first:stop] = True
    return found


def _frozen(name: str, word: str, joint: str, stuck: np.ndarray, log: RobotLog) -> Finding:
    return Finding(
        "frozen-channel",
        "error" if stuck.mean() > 0.2 else "warning",
        f"{word} of {joint} stands still while the robot moves",
        f"{stuck.sum()} rows ({stuck.mean():.1%}) repeat one value of {name} to the last digit",
        "an encoder or its bus dropped out; these rows are left out",
        "check the cable of this joint; record again if it happens often",
        joints=(joint,),
        spans=spans(stuck, log),
        channel=word,
    )


def _clipped(
    name: str, word: str, label: str, values: np.ndarray, sound: np.ndarray, log: RobotLog, period_s: float
) -> list[Finding]:
    """Many short visits to one extreme value; standing still at it is something else."""
    found: list[Finding] = []
    kept = values[sound]
    if len(kept) < FEW_ROWS:
        return found
    for end, extreme in (("highest", kept.max()), ("lowest", kept.min())):
        at = sound & (values == extreme)
        inner = at & np.concatenate([[False], at[:-1]])  # a second row at the same value: a smooth peak touches it once
        visits = int((inner & ~np.concatenate([[False], inner[:-1]])).sum())
        others = (
            np.unique(kept, return_counts=True)[1]
            if at.mean() >= CLIPPED_SHARE and visits >= CLIPPED_RUNS
            else np.ones(1)
        )
        stay_s = at.sum() * period_s / max(visits, 1)
        if (
            at.mean() < CLIPPED_SHARE
            or visits < CLIPPED_RUNS
            or at.sum() < 5 * np.median(others)
            or stay_s > LONGEST_VISIT_S
        ):
            continue
        joint = (label,) if name in JOINT_CHANNELS else ()
        found.append(
            Finding(
                "clipped-channel",
                "warning",
                f"{word} of {label} is clipped at {extreme:.4g}",
                f"{at.mean():.1%} of the rows hold exactly the {end} value, in {visits} visits",
                "what lies beyond is missing from the distribution, and a fit would take the wall for physics",
                (
                    "widen the range of this sensor or message"
                    if name != "action"
                    else "check action_clip in robot.yaml against the policy's own clip"
                ),
                joints=joint,
                spans=spans(at, log),
                channel=word,
            )
        )
    return found


def _coarse(name: str, word: str, labels: tuple[str, ...], values: np.ndarray, constant: np.ndarray) -> list[Finding]:
    coarse = {}
    for c in np.flatnonzero(~constant):
        column = values[:20_000, c]
        levels = np.unique(column)
        if len(levels) > len(column) / 4 or len(levels) < 4:
            continue
        step, spread = float(np.diff(levels).min()), float(column.std())
        multiples = np.diff(levels) / step
        grid = np.abs(multiples - np.rint(multiples)).mean() < 0.05  # set points are few as well, but not on a grid
        if grid and step > COARSE_SHARE * spread:
            coarse[labels[c]] = (step, step / spread)
    if not coarse:
        return []
    joints = tuple(coarse)
    step, share = max(coarse.values(), key=lambda pair: pair[1])
    return [
        Finding(
            "coarse-channel",
            "warning",
            f"{word} of {listed(joints)} comes in steps of {step:.3g}",
            f"the step is {share:.0%} of the channel's own spread (standard deviation), in {len(joints)} of"
            f" {len(labels)} columns",
            "rounding of this size changes a distribution as much as the physics that is looked for",
            "record with more digits: as 32-bit floats, not as rounded text or small integers",
            joints=joints if name in JOINT_CHANNELS else (),
            channel=word,
        )
    ]
