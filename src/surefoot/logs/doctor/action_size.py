"""The size of actions: a scale or an offset that differs from the contract's."""

import numpy as np

from surefoot.logs.doctor.findings import Finding, listed
from surefoot.logs.doctor.joints import mapping
from surefoot.logs.doctor.legs import Legs
from surefoot.logs.doctor.servo import FEWEST_ROWS, weight_offset
from surefoot.logs.doctor.signals import Signals

OFFSET_RAD = 0.12  # of one joint, beyond half of what its share of the weight explains
LARGE_OFFSET_RAD = 0.4
ASYMMETRY_RAD = 0.1  # between a joint and its mirror image; a careless calibration is off by 0.05
# Share of the target's motion that the joint makes, over work of the servo per work of its damping. 0.24 to 0.64 for
# stiff and soft, strong and weak, free and sliding robots of two kinds; the square of a wrong scale multiplies it.
SIZE_RANGE = (0.19, 0.8)
SIZE_CENTRE = 0.37
PARTNER_RATIO = 1.7
BEYOND_CLIP_SHARE = 1e-3
LEAST_CARRIED = 0.3  # of the weight, by the servos: below it the robot hangs


def check_size(signals: Signals, legs: Legs, delay_rows: int, dead: set[int]) -> list[Finding]:
    """Actions that are really joint targets, a wrong scale, an offset: the first would look like the others too."""
    rows = signals.windows(delay_rows, 1)
    if len(rows) < FEWEST_ROWS:
        return []
    findings = _beyond_clip(signals)
    joint_targets = _joint_targets(signals)
    if joint_targets:
        return findings + joint_targets
    scales = _scale(signals, rows, delay_rows, dead)
    explained = {signals.contract.joints.index(joint) for finding in scales for joint in finding.joints}
    return findings + scales + _offsets(signals, legs, rows, dead | explained)  # a wrong scale moves the mean as well


def _beyond_clip(signals: Signals) -> list[Finding]:
    """Actions that the contract would not have let through."""
    clip = signals.contract.action_clip
    beyond = np.abs(signals.action) > 1.001 * clip
    share = float(beyond.any(axis=1).mean())
    if share <= BEYOND_CLIP_SHARE:
        return []
    joints = tuple(signals.contract.joints[i] for i in np.flatnonzero(beyond.any(axis=0)))
    return [
        Finding(
            "action-beyond-clip",
            "warning",
            f"actions of {listed(joints)} exceed the contract's action_clip of {clip:g}",
            f"in {share:.1%} of the rows, up to {np.abs(signals.action).max():.3g}",
            "the rollouts clip what the robot did not, or the log holds actions in another unit",
            "check action_clip in robot.yaml against the code that ran the policy",
            joints=joints,
        )
    ]


def _joint_targets(signals: Signals) -> list[Finding]:
    """Actions that lie at the positions themselves, not around zero."""
    pose = np.array(signals.contract.pose_rad)
    far = np.abs(pose) > 0.5
    if not far.any():
        return []
    mean, position = signals.action.mean(0)[far], signals.position.mean(0)[far]
    as_logged = np.abs(signals.target.mean(0)[far] - position).mean()
    as_target = np.abs(mean - position).mean()
    if as_target > 0.35 or as_target > 0.5 * as_logged:
        return []
    return [
        Finding(
            "action-is-target",
            "error",
            "actions look like joint targets in rad, not like the policy's output",
            f"mean action is {as_target:.2f} rad from mean position; through the contract the targets would be"
            f" {as_logged:.2f} rad away",
            "target = pose + scale × action: the scale and the pose would be applied twice",
            "convert when importing: action = (target - pose) / scale (in the mapping file: say that it is a target)",
            joints=signals.contract.joints,
        )
    ]


def _way_out(signals: Signals, wrong: np.ndarray, expected: np.ndarray) -> str:
    """Whether turning the sign of an action, or exchanging two, would put the targets right as well.

    The actions of a joint that only carries weight, as a hip on a straight walk, do not show by its motion.
    """
    contract = signals.contract
    pose, scale = np.array(contract.pose_rad), np.array(contract.action_scale_rad)
    action, position = signals.action.mean(0), signals.position.mean(0)
    room = 0.5 * (OFFSET_RAD + 0.5 * np.abs(expected))
    far = np.flatnonzero(wrong).tolist()
    for kind, joints in [("flip", (i,)) for i in far] + [("swap", (i, j)) for i in far for j in far if i < j]:
        index, sign = mapping(kind, joints, signals)
        after = np.abs(pose + scale * action[index] * sign - position - expected)[list(joints)]
        if (after < room[list(joints)]).all():
            names = " and ".join(contract.joints[i] for i in joints)
            return (
                f"; {'turning the sign of' if kind == 'flip' else 'exchanging'} the action of {names} would put it"
                " right too"
            )
    return ""


def _offsets(signals: Signals, legs: Legs, rows: np.ndarray, dead: set[int]) -> list[Finding]:
    contract, mirror = signals.contract, signals.robot.mirror
    expected = weight_offset(signals, legs)
    offset = (signals.target[rows] - signals.position[rows]).mean(0)
    findings: list[Finding] = []
    carried = float(offset @ expected) / max(float(expected @ expected), 1e-12)
    if carried < LEAST_CARRIED and np.abs(offset).mean() < OFFSET_RAD / 2 < np.abs(expected).max():
        findings.append(_hangs(carried))
        expected = np.zeros_like(expected)
    beyond = offset - expected
    wrong = np.abs(beyond) > OFFSET_RAD + 0.5 * np.abs(expected)
    image = ""
    if mirror is not None:
        index, sign = np.array(mirror.index), np.array(mirror.sign)
        partner = sign * offset[index]
        further = np.abs(beyond) >= np.abs(beyond[index])  # of two that differ, the one that its weight explains less
        alone = np.isin(index, list(dead)) | (index == np.arange(len(index)))
        wrong |= (np.abs(offset - partner) > ASYMMETRY_RAD) & further & ~alone
    wrong[list(dead)] = False
    if not wrong.any():
        return findings
    joints = tuple(contract.joints[i] for i in np.flatnonzero(wrong))
    worst = int(np.abs(np.where(wrong, beyond, 0)).argmax())
    if mirror is not None:
        image = f", its mirror image has {partner[worst]:+.2f}"
    return [
        *findings,
        Finding(
            "action-offset",
            "warning" if np.abs(beyond[wrong]).max() < LARGE_OFFSET_RAD else "error",
            f"targets of {listed(joints)} are off by about {beyond[worst]:+.2f} rad",
            f"mean of target - position of {contract.joints[worst]} is {offset[worst]:+.2f} rad; the robot's weight"
            f" explains {expected[worst]:+.2f}{image}",
            "the pose that actions are added to differs from the contract's, or the joint's zero does",
            f"compare pose_rad of {contract.joints[worst]} with the robot's own default pose (an action of"
            f" {beyond[worst] / contract.action_scale_rad[worst]:+.2f} is too"
            f" much){_way_out(signals, wrong, expected)}",
            joints=joints,
        ),
    ]


def _hangs(carried: float) -> Finding:
    return Finding(
        "hanging",
        "note",
        "the legs do not carry the robot: it seems to hang, or to lie",
        f"target - position is {max(carried, 0):.0%} of what the robot's weight takes",
        "joints in the air say nothing about the ground",
        "fine for fitting motors alone; record walking for the rest",
    )


def _scale(signals: Signals, rows: np.ndarray, delay_rows: int, dead: set[int]) -> list[Finding]:
    contract, mirror = signals.contract, signals.robot.mirror
    kp, kd = np.array(contract.kp_nm_per_rad), np.array(contract.kd_nms_per_rad)
    target = signals.target[rows - delay_rows] - np.array(contract.pose_rad)
    change = (signals.position[rows + 1] - signals.position[rows]) / signals.period_s
    middle = 0.5 * (signals.position[rows] + signals.position[rows + 1]) - np.array(contract.pose_rad)
    work = (kp * (target - middle) * change).mean(0)
    lost = (kd * 0.5 * (signals.velocity[rows] ** 2 + signals.velocity[rows + 1] ** 2)).mean(0)
    live = np.ones(contract.n_joints, bool)
    live[list(dead)] = False
    moved = signals.position[rows].std(0) / np.maximum(target.std(0), 1e-9)
    live &= target.std(0) > 1e-3
    if live.sum() < 2 or lost[live].sum() < 1e-6:
        return []
    ratio = work[live].sum() / lost[live].sum()
    size = float(np.median(moved[live]) / max(ratio, 0.05))
    if not SIZE_RANGE[0] < size < SIZE_RANGE[1]:
        factor = float(np.sqrt(size / SIZE_CENTRE))
        return [
            Finding(
                "action-scale",
                "warning" if 0.4 < factor < 2.5 else "error",
                f"actions seem to move the joints about {factor:.1f} times as far as the contract's action_scale_rad"
                " says",
                f"joints move {np.median(moved[live]):.2f} times as much as their targets, and servos do {ratio:.2f}"
                " times the work of their damping",
                "work below 1 times the damping's is impossible; far above 2 with hardly any motion, the targets are"
                " too large",
                f"check action_scale_rad ({listed([f'{s:g}' for s in dict.fromkeys(contract.action_scale_rad)])}) and"
                " the gains against the code that ran the policy",
                joints=contract.joints,
            )
        ]
    if mirror is None:
        return []
    index = np.array(mirror.index)
    against = moved / np.maximum(moved[index], 1e-9)
    strange = np.abs(np.log(np.maximum(moved, 1e-9) / np.maximum(work / np.maximum(lost, 1e-9), 0.05) / SIZE_CENTRE))
    further = strange >= strange[index]
    odd = (
        live
        & live[index]
        & (index != np.arange(len(index)))
        & further
        & ((against > PARTNER_RATIO) | (against < 1 / PARTNER_RATIO))
    )
    return [
        Finding(
            "action-scale",
            "warning",
            f"{contract.joints[i]} moves {against[i]:.1f} times as far for its actions as its mirror image",
            f"position over target: {moved[i]:.2f} against {moved[index[i]]:.2f} of {contract.joints[index[i]]}",
            "one of the two has another scale, gain or load than the contract says",
            f"check action_scale_rad and gains of {contract.joints[i]} against the code that ran the policy",
            joints=(contract.joints[i],),
        )
        for i in np.flatnonzero(odd)
    ]
