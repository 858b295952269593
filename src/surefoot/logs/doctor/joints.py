"""Joints against each other: positions and velocities that disagree, swapped and mirrored joints, flipped signs.

Faults are put right as they are found, so that one fault is said once; `Fault`s on the same joints from several checks
are merged into one finding that names all channels.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surefoot.logs.doctor.findings import Finding, TimeSpan, listed
from surefoot.logs.doctor.legs import Legs, Standing
from surefoot.logs.doctor.signals import Signals, integral
from surefoot.logs.doctor.units import SMALLEST_TURN_RAD, agreement, agreement_at

AGREE = 0.85  # correlation of velocity and derivative of position over one control period; sound sensors reach 0.97
SWAP_GAIN = 0.1  # in squared correlation, summed over the two joints
LONGEST_LAG = 5  # control periods
SMALLEST_LAG = 0.75
SLOPES = (0.6, 1.4)  # a stiff servo has nearly settled when the next tick reads its velocity, which then reads low
STRETCHES = (1, 2, 5)  # control periods over which velocity and position are compared in size
POSTURES = 1200  # of the log that are looked at for feet that slip
SLIP_GAIN = -0.12  # of the mean log slip: a change of the joints must make standing feet slip 11 % less
SLIP_SIGMAS = -5.0
GLANCE_GAIN = -0.03  # at a quarter of the postures: what gains less there is not looked at closely
CHANNELS = ("position", "velocity", "action")


@dataclass(frozen=True)
class Fault:
    """One wrong mapping of joints in some channels."""

    kind: str  # "swap", "flip", "mirror", "sides", "signs"
    joints: tuple[int, ...]
    channels: frozenset[str]
    evidence: str
    spans: tuple[TimeSpan, ...] = ()

    def apply(self, values: np.ndarray, signals: Signals) -> np.ndarray:
        """Put a channel (n, n_joints) right."""
        index, sign = mapping(self.kind, self.joints, signals)
        return values[:, index] * sign


def mapping(kind: str, joints: tuple[int, ...], signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """Column and sign that each joint takes its values from, to undo a fault."""
    n = signals.contract.n_joints
    index, sign = np.arange(n), np.ones(n)
    mirror = signals.robot.mirror
    if kind == "swap":
        index[list(joints)] = joints[::-1]
    elif kind == "flip":
        sign[list(joints)] = -1
    elif mirror is not None:
        index = np.array(mirror.index) if kind in ("mirror", "sides") else index
        sign = np.array(mirror.sign) if kind in ("mirror", "signs") else sign
    return index, sign


def repaired(signals: Signals, fault: Fault) -> Signals:
    """The signals with a fault put right."""
    changes: dict[str, Any] = {name: fault.apply(getattr(signals, name), signals) for name in fault.channels}
    if "velocity" in changes:
        changes["turned"] = integral(changes["velocity"], signals.piece, signals.period_s)
    return dataclasses.replace(signals, **changes)


def standing_of(signals: Signals, legs: Legs) -> Standing | None:
    """Some postures of the log with what the IMU said, if it did and if the robot has two feet."""
    if signals.gyro is None or signals.down is None or len(signals.robot.feet) < 2 or len(signals.row) < 100:
        return None
    rows = np.unique(np.linspace(0, len(signals.row) - 1, POSTURES).astype(int))
    return Standing(legs, signals.position[rows], signals.velocity[rows], signals.gyro[rows], signals.down[rows])


def check_crossed(signals: Signals, legs: Legs, dead: set[int]) -> tuple[Signals, list[Fault]]:
    """Joints whose positions and velocities fit crosswise; correlations show it in any unit."""
    faults: list[Fault] = []
    lively = _lively(signals, dead)
    if lively is not None:
        _, r = agreement(signals)
        for i, j in _swapped(r, lively):
            evidence = f"velocity of each follows the other's position (correlations {r[i, j]:+.2f}, {r[j, i]:+.2f})"
            faults.append(_which("swap", (i, j), signals, legs, evidence))
            signals = repaired(signals, faults[-1])
    return signals, faults


def _lively(signals: Signals, dead: set[int]) -> np.ndarray | None:
    """Joints that move enough to be compared, (n_joints,); None where there are too few rows to tell."""
    rows = signals.windows(0, 1)
    if len(rows) < 50:
        return None
    lively = np.sqrt(((signals.position[rows + 1] - signals.position[rows]) ** 2).mean(0)) > SMALLEST_TURN_RAD
    lively[list(dead)] = False
    return lively


def check_velocity(
    signals: Signals, legs: Legs, dead: set[int], rough: set[int], derived: bool
) -> tuple[Signals, list[Fault], list[Finding]]:
    """Position against velocity, joint by joint: flipped, late, or of another size."""
    names = signals.contract.joints
    findings: list[Finding] = []
    faults: list[Fault] = []
    rows, lively = signals.windows(0, 1), _lively(signals, dead)
    if lively is None:
        return signals, faults, findings
    _, r = agreement(signals)
    partly = _some_episodes(signals, rows, np.diag(r), lively)
    for i in np.flatnonzero(lively & (np.diag(r) < -0.7)).tolist():
        evidence = f"correlation of velocity and derivative of position {r[i, i]:+.2f}"
        faults.append(_which("flip", (i,), signals, legs, evidence))
        signals = repaired(signals, faults[-1])
    _, r = agreement(signals)
    lag, best = _lags(signals)
    late = lively & (np.abs(lag) >= SMALLEST_LAG) & (best > 0.7) & (best > np.diag(r) + 0.02)
    if late.any():
        findings.append(_late(names, late, lag, signals.period_s, derived))
        signals = _on_time(signals, np.where(late, np.rint(lag), 0).astype(int))
        _, r = agreement(signals)
    for i in np.flatnonzero(lively & ~late & (np.diag(r) < AGREE)).tolist():
        findings.append(_disagree(names[i], float(r[i, i]), partly.get(i, ())))
    size = _size(signals)
    wrong = lively & (np.diag(r) >= AGREE) & ((size < SLOPES[0]) | (size > SLOPES[1]))
    wrong[list(rough)] = False
    if wrong.any():
        findings.append(_other_size(names, wrong, size))
    return signals, faults, findings


def _swapped(r: np.ndarray, lively: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of joints whose positions and velocities fit crosswise, clearly better than each its own; the
    clearest first.
    """
    own = np.diag(r) ** 2
    gain = r**2 + r.T**2 - own[:, None] - own[None, :]
    fits = (np.minimum(np.abs(r), np.abs(r.T)) > AGREE) & (gain > SWAP_GAIN) & np.outer(lively, lively)
    found: list[tuple[int, int]] = []
    taken: set[int] = set()
    for flat in np.argsort(-gain, axis=None):
        i, j = divmod(int(flat), len(gain))
        if i < j and fits[i, j] and not {i, j} & taken:
            found.append((i, j))
            taken |= {i, j}
    return found


def _which(kind: str, joints: tuple[int, ...], signals: Signals, legs: Legs, evidence: str) -> Fault:
    """Whether position or velocity is at fault: the one without which standing feet slip less, or which
    leaves the joint's range.
    """
    options = [Fault(kind, joints, frozenset({channel}), evidence) for channel in ("position", "velocity")]
    standing = standing_of(signals, legs)
    if standing is not None:
        position = standing.slip(position=options[0].apply(standing.position, signals), joints=None).mean()
        velocity = standing.slip(velocity=options[1].apply(standing.velocity, signals), joints=None).mean()
        return options[0] if position < velocity else options[1]
    low, high = np.array(signals.contract.position_limit_rad).T
    pose = np.array(signals.contract.pose_rad)

    def misfit(position: np.ndarray) -> float:
        outside = ((position < low) | (position > high))[:, list(joints)].mean()
        return float(outside + 0.1 * np.abs(position.mean(0) - pose)[list(joints)].mean())

    return options[0] if misfit(options[0].apply(signals.position, signals)) < misfit(signals.position) else options[1]


def _some_episodes(
    signals: Signals, rows: np.ndarray, r: np.ndarray, lively: np.ndarray
) -> dict[int, tuple[TimeSpan, ...]]:
    """For joints that disagree over the whole log but not in every episode: the episodes in which they do."""
    change, turned = np.diff(signals.position, axis=0)[rows], np.diff(signals.turned, axis=0)[rows]
    episode = signals.episode[rows]
    starts = np.flatnonzero(np.diff(episode, prepend=episode[0] - 1))
    xy, xx, yy = (np.add.reduceat(product, starts, axis=0) for product in (change * turned, change**2, turned**2))
    each = xy / np.sqrt(np.maximum(xx * yy, 1e-60))
    found = {}
    for i in np.flatnonzero(lively & (r < AGREE)):
        bad = each[:, i] < 0.7
        if 0 < bad.sum() < len(bad):
            ends = [*starts[1:], len(rows)]
            found[int(i)] = tuple(
                TimeSpan(
                    int(episode[starts[e]]),
                    float(signals.time_s[rows[starts[e]]]),
                    float(signals.time_s[rows[ends[e] - 1]]),
                )
                for e in np.flatnonzero(bad)
            )
    return found


def _lags(signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """By how many control periods the velocity is later than the position, and the correlation there,
    (n_joints,) each.
    """
    lags = np.arange(-LONGEST_LAG, LONGEST_LAG + 1)
    r = np.array([agreement_at(signals, int(lag)) for lag in lags])
    best = r.argmax(axis=0)
    column = np.arange(r.shape[1])
    inner = np.clip(best, 1, len(lags) - 2)
    left, middle, right = r[inner - 1, column], r[inner, column], r[inner + 1, column]
    bend = np.maximum(2 * middle - left - right, 1e-9)
    return lags[inner] + np.clip(0.5 * (right - left) / bend, -1, 1), r[best, column]


def _size(signals: Signals) -> np.ndarray:
    """Velocity over derivative of position, (n_joints,): of several stretches of time the one that is nearest to 1.

    A joint that trembles at a quarter of the control rate or faster does more than its velocity at the ticks tells;
    over longer stretches that drops out, and a wrong unit or gear does not.
    """
    sizes = []
    for periods in STRETCHES:
        rows = signals.windows(0, periods)
        if len(rows) >= 50:
            change, turned = (values[rows + periods] - values[rows] for values in (signals.position, signals.turned))
            sizes.append(np.sqrt(np.maximum((turned**2).mean(0), 1e-30) / np.maximum((change**2).mean(0), 1e-30)))
    found = np.array(sizes)
    return found[np.abs(np.log(found)).argmin(axis=0), np.arange(found.shape[1])]


def _on_time(signals: Signals, lag: np.ndarray) -> Signals:
    """Velocities moved by so many rows, (n_joints,), within each piece."""
    starts = np.flatnonzero(np.diff(signals.piece, prepend=signals.piece[0] - 1))
    lengths = np.diff([*starts, len(signals.piece)])
    first = np.repeat(starts, lengths)[:, None]
    last = np.repeat(starts + lengths - 1, lengths)[:, None]
    rows = np.clip(np.arange(len(signals.piece))[:, None] + lag, first, last)
    velocity = np.take_along_axis(signals.velocity, rows, axis=0)
    return dataclasses.replace(signals, velocity=velocity, turned=integral(velocity, signals.piece, signals.period_s))


def _late(names: tuple[str, ...], late: np.ndarray, lag: np.ndarray, period_s: float, derived: bool) -> Finding:
    joints = tuple(names[i] for i in np.flatnonzero(late))
    worst = float(lag[late][np.abs(lag[late]).argmax()])
    word = "behind" if worst > 0 else "ahead of"
    return Finding(
        "velocity-lag",
        "note" if derived else "warning",
        f"velocity of {listed(joints)} is {abs(worst) * period_s * 1e3:.0f} ms {word} position",
        f"they fit best when the velocity is shifted by {worst:+.1f} control periods",
        "rows pair a position with the velocity of another moment",
        "record both from the same message, and filter both or neither",
        joints=joints,
        channel="velocity",
    )


def _disagree(name: str, r: float, where: tuple[TimeSpan, ...]) -> Finding:
    part = f" in {len(where)} episodes" if where else ""
    return Finding(
        "position-velocity",
        "error",
        f"position and velocity of {name} do not belong together{part}",
        f"correlation of velocity and derivative of position {r:+.2f}; sound sensors reach 0.97",
        "at least one of the two is not what the joint did",
        f"check both columns of {name} in the mapping",
        joints=(name,),
        spans=where,
        channel="velocity",  # it is looked at beside the derivative of position
    )


def _other_size(names: tuple[str, ...], wrong: np.ndarray, size: np.ndarray) -> Finding:
    joints = tuple(names[i] for i in np.flatnonzero(wrong))
    worst = float(size[wrong][np.abs(np.log(size[wrong])).argmax()])
    return Finding(
        "velocity-scale",
        "error" if not 0.5 < worst < 2 else "warning",
        f"velocity of {listed(joints)} is {worst:.2f} times the derivative of position",
        f"{wrong.sum()} joints lie outside {SLOPES[0]:g} to {SLOPES[1]:g}",
        "a gear ratio or a unit is applied to one of the two only",
        "apply the gear ratio to both, or correct the unit when importing",
        joints=joints,
        channel="velocity",
    )


def check_mapping(signals: Signals, legs: Legs, dead: set[int]) -> tuple[Signals, list[Fault]]:
    """Swapped, mirrored and flipped joints in position and velocity alike, from feet that stand on the ground."""
    faults: list[Fault] = []
    both = frozenset({"position", "velocity"})
    usable = sorted(set().union(*(chain.joints for chain in legs.chains)) - dead)
    options = [Fault("flip", (i,), both, "") for i in usable]
    options += [Fault("swap", (i, j), both, "") for i in usable for j in usable if i < j]
    if signals.robot.mirror is not None:
        everything = tuple(range(signals.contract.n_joints))
        options = [Fault(kind, everything, both, "") for kind in ("mirror", "sides", "signs")] + options
    while len(faults) < signals.contract.n_joints and (standing := standing_of(signals, legs)) is not None:
        glance, now = standing.every(4), standing.slip()
        at_a_glance = glance.slip().mean()
        block = (
            np.arange(len(now)) * 20 // len(now)
        )  # neighbours in time are alike: 20 blocks give the error of the mean
        best, gain = None, SLIP_GAIN
        for option in options:
            if _slip(glance, option, signals).mean() > at_a_glance + GLANCE_GAIN:
                continue
            better = _slip(standing, option, signals) - now
            if better.mean() < gain:
                means = np.bincount(block, better) / np.bincount(block)
                if means.mean() < SLIP_SIGMAS * means.std() / np.sqrt(len(means)):
                    best, gain = option, float(better.mean())
        if best is None:
            break
        as_logged, after = np.exp(now.mean()), np.exp(now.mean() + gain)
        evidence = (
            f"standing feet slip against each other at {as_logged:.2f} m/s as logged and at {after:.2f} m/s with this"
            " put right"
        )
        faults.append(dataclasses.replace(best, evidence=evidence))
        signals = repaired(signals, faults[-1])
    return signals, faults


def _slip(standing: Standing, option: Fault, signals: Signals) -> np.ndarray:
    """How feet that stand would slip with a fault put right."""
    return standing.slip(
        option.apply(standing.position, signals), option.apply(standing.velocity, signals), set(option.joints)
    )


def check_range(signals: Signals, legs: Legs, dead: set[int]) -> tuple[Signals, list[Fault], list[Finding]]:
    """Positions beyond the robot's own limits; without an IMU also the flipped signs among them."""
    faults, findings = [], []
    low, high = np.array(signals.contract.position_limit_rad).T
    if len(signals.row):
        outside = ((signals.position < low - 0.1) | (signals.position > high + 0.1)).mean(0)
        mirrored = ((-signals.position < low - 0.1) | (-signals.position > high + 0.1)).mean(0)
        if standing_of(signals, legs) is None:
            for i in np.flatnonzero((outside > 0.5) & (mirrored < 0.1)):
                evidence = (
                    f"{outside[i]:.0%} of the positions lie outside the joint's range, {mirrored[i]:.0%} with the sign"
                    " turned"
                )
                faults.append(Fault("flip", (int(i),), frozenset({"position", "velocity"}), evidence))
                signals = repaired(signals, faults[-1])
                outside[i] = mirrored[i]
        for i in np.flatnonzero(outside > 0.02):
            if int(i) in dead:
                continue
            name = signals.contract.joints[i]
            findings.append(
                Finding(
                    "beyond-limits",
                    "warning",
                    f"position of {name} leaves its range in {outside[i]:.0%} of the rows",
                    f"{signals.position[:, i].min():+.2f} to {signals.position[:, i].max():+.2f} rad; the model allows"
                    f" {low[i]:+.2f} to {high[i]:+.2f}",
                    "the zero of this joint, its sign or its name differs from the model's",
                    f"check the zero position of {name} on the robot against the model's",
                    joints=(name,),
                )
            )
    return signals, faults, findings


def mapping_findings(faults: Iterable[Fault], signals: Signals) -> list[Finding]:
    """One finding for each set of joints, with all channels in which it holds."""
    merged: dict[tuple[str, tuple[int, ...]], Fault] = {}
    for fault in faults:
        key = (fault.kind, fault.joints)
        before = merged.get(key)
        merged[key] = (
            fault
            if before is None
            else Fault(
                *key,
                before.channels | fault.channels,
                "; ".join(dict.fromkeys((before.evidence, fault.evidence))),
                before.spans + fault.spans,
            )
        )
    return [_finding(fault, signals.contract.joints) for fault in merged.values()]


def _finding(fault: Fault, names: tuple[str, ...]) -> Finding:
    joints = tuple(names[i] for i in fault.joints)
    where = " and ".join(channel for channel in CHANNELS if channel in fault.channels)
    code, title, fix = {
        "swap": (
            "swapped-joints",
            f"{' and '.join(joints)} are swapped in {where}",
            f"exchange {' and '.join(joints)} in the mapping of {where}",
        ),
        "flip": (
            "flipped-sign",
            f"{where} of {listed(joints)} has the wrong sign",
            f"turn the sign of {listed(joints)} in the mapping of {where}",
        ),
        "mirror": (
            "mirrored-sides",
            f"left and right are mirrored in {where}",
            (
                f"exchange the left and right joints in the mapping of {where}, with the signs that the symmetry in"
                " robot.yaml says"
            ),
        ),
        "sides": (
            "mirrored-sides",
            f"left and right joints are exchanged in {where}",
            f"exchange the left and right joints in the mapping of {where} (Unitree's motor order is FR FL RR RL)",
        ),
        "signs": (
            "flipped-sign",
            f"{where} of all joints that turn in the mirror has the wrong sign",
            f"turn the sign of the joints under symmetry: flip in robot.yaml, in the mapping of {where}",
        ),
    }[fault.kind]
    return Finding(
        code,
        "error",
        title,
        fault.evidence,
        "the simulator would be fitted to a robot that is put together in another way",
        fix,
        joints=joints,
        spans=fault.spans,
    )
