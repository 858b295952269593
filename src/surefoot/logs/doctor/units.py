"""Units and axes: degrees, revolutions per minute, gravity in m/s² or pointing up. What is found is also
put right for later checks.
"""

import dataclasses
import math

import numpy as np

from surefoot.logs.doctor.findings import Finding, listed
from surefoot.logs.doctor.signals import Signals, integral

DEGREE = 180 / math.pi
RPM = 60 / (2 * math.pi)
# Velocity over the derivative of position, and what the two are then recorded in.
RATIOS = {
    DEGREE: ("velocity", "degrees per second", DEGREE),
    RPM: ("velocity", "revolutions per minute", RPM),
    1 / DEGREE: ("position", "degrees", DEGREE),
    RPM / DEGREE: ("position", "degrees", DEGREE),  # with the velocity in revolutions per minute
}
CLOSE = 0.2  # relative: noise and springs change a ratio by less, and no two units are closer
CORRELATED = 0.7
TOO_FAR = 1.5  # times the joint's range, plus half a radian: no calibration error reaches there
SURELY_NOT_RAD = 4 * math.pi
SMALLEST_TURN_RAD = 1e-3  # over one control period, root mean square: below, noise decides


def agreement(signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """Slope and correlation, (n_joints, n_joints) each, of the integral of velocity j (column) on the
    change of position i (row).

    Both over one control period.
    """
    rows = signals.windows(0, 1)
    change, turned = _changes(signals, rows, 0)
    xx, yy = np.maximum((change**2).sum(0), 1e-30), np.maximum((turned**2).sum(0), 1e-30)
    cross = change.T @ turned
    return cross / xx[:, None], cross / np.sqrt(np.outer(xx, yy))


def agreement_at(signals: Signals, lag: int) -> np.ndarray:
    """Correlation of each joint's velocity with the derivative of its position `lag` periods earlier, (n_joints,)."""
    rows = signals.windows(max(-lag, 0), 1 + max(lag, 0))
    change, turned = _changes(signals, rows, lag)
    return (change * turned).sum(0) / np.sqrt(np.maximum((change**2).sum(0) * (turned**2).sum(0), 1e-60))


def _changes(signals: Signals, rows: np.ndarray, lag: int) -> tuple[np.ndarray, np.ndarray]:
    return (
        signals.position[rows + 1] - signals.position[rows],
        signals.turned[rows + lag + 1] - signals.turned[rows + lag],
    )


def check_units(signals: Signals) -> tuple[Signals, list[Finding]]:
    """Each joint's units from the ratio of its velocity to the derivative of its position, and from its range."""
    joints = signals.contract.joints
    if len(signals.windows(0, 1)) < 20:
        return signals, []
    slope, correlation = (np.diag(m) for m in agreement(signals))
    position, velocity = np.ones(len(joints)), np.ones(len(joints))
    findings = []
    for ratio, (channel, unit, factor) in RATIOS.items():
        hit = (
            (np.abs(slope) > ratio * (1 - CLOSE))
            & (np.abs(slope) < ratio / (1 - CLOSE))
            & (np.abs(correlation) > CORRELATED)
        )
        if not hit.any():
            continue
        (velocity if channel == "velocity" else position)[hit] = factor
        if ratio == RPM / DEGREE:
            velocity[hit] = RPM
            findings.append(_unit("velocity", "revolutions per minute", RPM, signals, hit, slope))
        findings.append(_unit(channel, unit, factor, signals, hit, slope))
    limits = np.array(signals.contract.position_limit_rad)
    reach = np.quantile(np.abs(signals.position), 0.95, axis=0)
    far = (position == 1) & (reach > TOO_FAR * np.abs(limits).max(axis=1) + 0.5)
    far &= (far.mean() >= 0.5) | (reach > SURELY_NOT_RAD)  # one joint that is a little too far is something else
    degrees = far & (reach / DEGREE <= np.abs(limits).max(axis=1) + 0.3)
    if degrees.any():
        position[degrees] = DEGREE
        findings.append(_unit("position", "degrees", DEGREE, signals, degrees, None))
        both = degrees & (np.abs(np.abs(slope) - 1) < CLOSE) & (velocity == 1)
        velocity[both] = DEGREE
        if both.any():
            findings.append(_unit("velocity", "degrees per second", DEGREE, signals, both, slope / DEGREE))
    changed = signals.velocity / velocity
    signals = dataclasses.replace(
        signals,
        position=signals.position / position,
        velocity=changed,
        turned=integral(changed, signals.piece, signals.period_s),
    )
    return signals, findings


def _unit(
    channel: str, unit: str, factor: float, signals: Signals, hit: np.ndarray, slope: np.ndarray | None
) -> Finding:
    joints = tuple(name for name, h in zip(signals.contract.joints, hit, strict=True) if h)
    values = signals.position if channel == "position" else signals.velocity
    ratio = (
        "" if slope is None else f"; velocity is {np.median(np.abs(slope[hit])):.3g} times the derivative of position"
    )
    right = "rad" if channel == "position" else "rad/s"
    return Finding(
        "unit",
        "error",
        f"{channel} of {'all joints' if hit.all() else listed(joints)} is in {unit}, not in {right}",
        f"{channel} reaches {np.abs(values[:, hit]).max():.4g}{ratio}",
        f"every number is {factor:.3g} times too large",
        f"divide {channel} by {factor:.4g} when importing (in the mapping file: its unit)",
        joints=joints,
        channel=channel,
    )


def check_gravity(down: np.ndarray, raw: np.ndarray | None) -> tuple[np.ndarray, list[Finding]]:
    """Gravity as unit vectors that point down for an upright robot, (rows, 3); `raw` as it was recorded."""
    findings: list[Finding] = []
    if not len(down):
        return down, findings
    if raw is not None and len(raw) and not 0.5 < (size := float(np.median(np.linalg.norm(raw, axis=1)))) < 2:
        findings.append(
            Finding(
                "unit",
                "error",
                f"gravity is no unit vector: its length is {size:.3g}",
                f"median length {size:.4g}",
                "a policy that observes gravity expects length 1",
                f"divide gravity by {size:.4g} when importing",
            )
        )
    upright = float(np.median(down[:, 2]))
    if upright > 0.5:
        findings.append(
            Finding(
                "gravity-up",
                "error",
                "gravity points up",
                f"its z is {upright:+.2f} in the base frame for most of the log",
                "(0, 0, -1) is upright here; an accelerometer at rest reads the opposite",
                "turn the sign of gravity when importing",
            )
        )
        down = -down
    return down, findings


def check_gyro(signals: Signals) -> tuple[Signals, list[Finding]]:
    """The gyro against the turning of gravity: dg/dt = -w x g."""
    if signals.gyro is None or signals.down is None:
        return signals, []
    rows = signals.windows(0, 1)
    if len(rows) < 100:
        return signals, []
    middle = 0.5 * (signals.down[rows + 1] + signals.down[rows])
    said = -np.cross(0.5 * (signals.gyro[rows + 1] + signals.gyro[rows]), middle) * signals.period_s
    seen = signals.down[rows + 1] - signals.down[rows]
    size, power = float((said * seen).sum()), float((said**2).sum())
    if power < 1e-12 or (seen**2).sum() < 1e-12:
        return signals, []
    slope, correlation = size / power, size / math.sqrt(power * float((seen**2).sum()))
    if correlation < -0.5:
        finding = Finding(
            "gyro-sign",
            "error",
            "the gyro turns against gravity",
            f"correlation of the two {correlation:+.2f}",
            "the gyro's axes, or gravity's, have the wrong sign or order",
            "check the mounting of the IMU against imu in robot.yaml",
        )
        return dataclasses.replace(signals, gyro=-signals.gyro), [finding]
    if abs(correlation) > 0.5 and abs(slope * DEGREE - 1) < 0.4:
        finding = Finding(
            "unit",
            "error",
            "the gyro is in degrees per second, not in rad/s",
            f"it is {1 / slope:.3g} times the turning of gravity",
            f"every number is {DEGREE:.3g} times too large",
            f"divide the gyro by {DEGREE:.4g} when importing",
        )
        return dataclasses.replace(signals, gyro=signals.gyro / DEGREE), [finding]
    return signals, []
