"""The doctor: a log and the robot it should be of, in; findings with evidence, reason and fix, and the
usable rows, out.

It must not know simulators: all that it holds against a log are the robot's contract, its kinematics and its policy.
"""

import dataclasses

import numpy as np

from surefoot.errors import LogError, nearest, shown
from surefoot.logs.doctor import coverage as commands
from surefoot.logs.doctor.action_size import check_size
from surefoot.logs.doctor.channels import Ailing, check_channels, check_numbers
from surefoot.logs.doctor.falls import check_falls, check_idle
from surefoot.logs.doctor.findings import ORDER, Delay, Finding, LogReport, Severity, TimeSpan, listed, merged
from surefoot.logs.doctor.joints import (
    Fault,
    check_crossed,
    check_mapping,
    check_range,
    check_velocity,
    mapping_findings,
    repaired,
)
from surefoot.logs.doctor.legs import Legs
from surefoot.logs.doctor.policy import check_policy
from surefoot.logs.doctor.servo import (
    check_actions,
    check_delay,
    check_excitation,
    check_torque,
    estimate_delay,
    fit_targets,
    follow,
    respond,
)
from surefoot.logs.doctor.signals import Signals, make_signals, spans
from surefoot.logs.doctor.timing import Clock, check_clock, typical_step, wrong_unit
from surefoot.logs.doctor.units import check_gravity, check_gyro, check_units
from surefoot.logs.robot_log import RobotLog
from surefoot.logs.time_unit import in_seconds, trouble_with_time
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot

__all__ = ["Delay", "Finding", "LogReport", "Severity", "TimeSpan", "check_log"]

NEEDED_S = 240.0  # 64 episodes of 4 s, less a little
GAIN_TOLERANCE = 0.02  # of a gain: single precision and rounding are less
FOLLOW_FROM_RATE = ("velocity-scale", "action-scale")  # a wrong clock shows in these too


def check_log(log: RobotLog, robot: Robot, policy: OnnxPolicy | None = None, needed_s: float = NEEDED_S) -> LogReport:
    """Look for everything that would spoil a fit; `needed_s` is how much usable time it should have."""
    if not len(log.time_s):
        raise LogError("the log has no rows; record it again")
    trouble = trouble_with_time(log, robot.contract.control_dt_s)
    median = typical_step(log)
    log = in_seconds(log, robot.contract.control_dt_s)
    clock, findings = check_clock(log, robot.contract)
    findings += [] if trouble is None else [wrong_unit(trouble, median, robot.contract)]
    numbers, found = check_numbers(log)
    findings += found
    sound = numbers & clock.sound
    ailing, found = check_channels(log, sound, clock.period_s)
    findings += found
    sound &= ~ailing.frozen
    order, found = _joint_order(log, robot)
    findings += found + _provenance(log, robot) + _gains(log, robot)
    findings = _posture(log, robot) + findings  # first, since much of the rest follows from it
    left_out = (
        ("not a number", ~numbers),
        ("repeated or missing time", ~clock.sound),
        ("frozen channel", ailing.frozen),
    )
    cuts = [(span, why) for why, mask in left_out for span in spans(mask, log)]
    delay = None
    if order is not None and sound.any() and clock.period_s > 0:
        cut, more, delay, found = _look(log, robot, policy, clock, sound, order, ailing)
        off = any(finding.code == "rate" and finding.severity == "error" for finding in findings)
        findings += [finding for finding in found if not (off and finding.code in FOLLOW_FROM_RATE)]
        cuts += more
        sound &= ~cut
    usable_s = float(sound.sum() * clock.period_s)
    grid = commands.command_grid(log.command[:, :3], sound, robot.contract)
    missing, found = commands.check_coverage(log, robot.contract, grid, usable_s)
    findings += found + commands.check_amount(usable_s, needed_s)
    findings = merged(findings)
    findings.sort(key=lambda finding: ORDER[finding.severity])
    return LogReport(
        findings=tuple(findings),
        usable=sound,
        cuts=tuple(cuts),
        delay=delay,
        usable_s=usable_s,
        needed_s=needed_s,
        coverage=grid,
        proposal=commands.propose(missing, usable_s, needed_s),
    )


def _look(
    log: RobotLog,
    robot: Robot,
    policy: OnnxPolicy | None,
    clock: Clock,
    sound: np.ndarray,
    order: list[int],
    ailing: Ailing,
) -> tuple[np.ndarray, list[tuple[TimeSpan, str]], Delay | None, list[Finding]]:
    """All checks that need joints in order and a clock: rows to cut, why, the delay and what was found."""
    legs = Legs(robot)
    dead, rough = (
        {i for i, name in enumerate(robot.contract.joints) if name in ill} for ill in (ailing.dead, ailing.rough)
    )
    whole = make_signals(log, robot, legs.imu_rotation, order, sound, clock.breaks, clock.period_s)
    findings: list[Finding] = []
    as_logged = whole
    if whole.down is not None:
        down, found = check_gravity(whole.down, None if log.gravity is None else log.gravity[whole.row])
        findings += found
        whole = dataclasses.replace(whole, down=down)
    fallen, cuts, found = check_falls(log, whole)
    findings += found
    idle, more, found = check_idle(log, whole)
    findings += found
    cut = fallen | idle
    walking = whole.take(np.flatnonzero(~cut[whole.row])).at_control_rate()
    walking, crossed = check_crossed(walking, legs, dead)
    walking, found = check_units(walking)
    findings += found
    walking, found = check_gyro(walking)
    findings += found
    walking, faults, found = _joints(walking, legs, dead, rough, log)
    faults = crossed + faults
    findings += found
    walking, also = follow(walking, faults, legs)
    faults += also
    dull = check_excitation(walking)
    findings += dull
    delay = None if dull else estimate_delay(respond(walking))
    findings += check_delay(delay, walking.period_s)
    fit = None if dull else fit_targets(walking, delay)
    if fit is not None:
        actions = check_actions(walking, fit, dead)
        faults += actions
        for fault in actions:
            walking = repaired(walking, fault)
    findings += mapping_findings(faults, walking)
    findings += check_size(walking, legs, 0 if delay is None else int(delay.seconds / walking.period_s), dead)
    findings += check_torque(walking, None if log.torque_nm is None else log.torque_nm[walking.row][:, order])
    if policy is not None:
        still = as_logged.take(np.flatnonzero(~fallen[as_logged.row])).at_control_rate()
        findings += check_policy(still, policy, log.metadata, legs.imu_rotation)
    return cut, cuts + more, delay, findings


def _joints(
    walking: Signals, legs: Legs, dead: set[int], rough: set[int], log: RobotLog
) -> tuple[Signals, list[Fault], list[Finding]]:
    """Position and velocity against each other, against the ground and against the joints' ranges."""
    derived = commands.derived(log.metadata, "velocity")
    walking, faults, findings = check_velocity(walking, legs, dead, rough, derived is not None)
    walking, more = check_mapping(walking, legs, dead)
    walking, others, found = check_range(walking, legs, dead)
    if derived is not None:
        findings.append(
            Finding(
                "derived-velocity",
                "note",
                "joint velocities were not recorded: they were derived from the positions",
                f"the importer says: {derived}",
                "a filter smooths them, and they say nothing that the positions do not",
                "record velocities as the motors report them, if they do",
            )
        )
    return walking, faults + more + others, findings + found


def _joint_order(log: RobotLog, robot: Robot) -> tuple[list[int] | None, list[Finding]]:
    """Column in the log of each joint of the contract; None where one is missing."""
    names = robot.contract.joints
    unknown = [name for name in log.joints if name not in names]
    missing = [name for name in names if name not in log.joints]
    if missing:
        hint = nearest(unknown[0], missing) if unknown else ""
        return None, [
            Finding(
                "joint-names",
                "error",
                f"the log does not hold {listed(missing)} of {robot.name}",
                f"the log's joints are {listed(log.joints, 12)}"
                + (f"; {unknown[0]!r} is not the robot's{hint}" if unknown else ""),
                "without names nobody knows which column is which joint",
                "name the joints as robot.yaml does when importing, or give the right robot",
                joints=tuple(missing),
            )
        ]
    order = [log.joints.index(name) for name in names]
    if log.joints == names:
        return order, []
    finding = Finding(
        "joint-order",
        "warning",
        "the log's joints stand in another order than the policy's"
        + (f", with {listed(unknown)} besides" if unknown else ""),
        f"the log: {listed(log.joints, 12)}",
        "the names tell them apart, but code that trusts the order would mix them up",
        "import the log again for this robot: it then stands in the policy's order",
        joints=tuple(name for name, own in zip(names, log.joints, strict=False) if name != own),
    )
    return order, [finding]


def _provenance(log: RobotLog, robot: Robot) -> list[Finding]:
    """Whether the log was recorded under this contract."""
    said = log.metadata.get("contract_hash")
    if not isinstance(said, str) or said == robot.contract_hash:
        return []
    return [
        Finding(
            "other-contract",
            "warning",
            f"the log was recorded under another contract than this {robot.name}'s",
            f"the log says {log.metadata.get('robot', 'a robot')} with the contract {said[:12]}, robot.yaml gives"
            f" {robot.contract_hash[:12]}",
            "gains, scales, pose or rates changed since: the same action means another motion",
            "give the robot.yaml that the log was recorded with",
        )
    ]


def _gains(log: RobotLog, robot: Robot) -> list[Finding]:
    """Whether the motors were sent the gains that the contract gives."""
    recorded, contract = log.metadata.get("recorded_gains"), robot.contract
    if not isinstance(recorded, dict):
        return []
    differences = []
    for name, own in (("kp", contract.kp_nm_per_rad), ("kd", contract.kd_nms_per_rad)):
        sent = recorded.get(name)
        if not isinstance(sent, list) or len(sent) != contract.n_joints:
            continue
        for joint, theirs, ours in zip(contract.joints, sent, own, strict=True):
            known = isinstance(theirs, int | float) and not isinstance(theirs, bool)
            if known and abs(theirs - ours) > GAIN_TOLERANCE * abs(ours) + 1e-9:
                differences.append(f"{joint} {name} {theirs:.4g}, not {ours:.4g}")
    if not differences:
        return []
    more = f", and {len(differences) - 4} more" if len(differences) > 4 else ""
    return [
        Finding(
            "other-gains",
            "warning",
            "the motors were sent other gains than robot.yaml gives",
            ", ".join(differences[:4]) + more,
            "the simulator takes the gains of robot.yaml: the same action would make another torque",
            "write the gains that were sent into robot.yaml, or give the robot.yaml that the log was recorded with",
        )
    ]


def _posture(log: RobotLog, robot: Robot) -> list[Finding]:
    """Whether the robot held itself as it is meant to be looked at."""
    said = log.metadata.get("posture")
    if not isinstance(said, str) or said == robot.posture.name:
        return []
    return [
        Finding(
            "posture",
            "error",
            f"the log is of a robot in the posture {shown(said)}; give its policy",
            f"it is looked at as {robot.posture.name!r}",
            "what is up, ahead and fallen is another direction in another posture",
            "give the policy that the robot ran: its file says how it stands",
        )
    ]
