"""Would the given policy have produced these actions from these observations?"""

from pathlib import Path
from typing import Any

import numpy as np

from surefoot.logs.doctor.findings import Finding, listed
from surefoot.logs.doctor.signals import Signals
from surefoot.policy.agents import clipped, expanded
from surefoot.policy.observation import Observer
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Sensors

LAGS = (0, -1, 1)  # action of the same row, of the row before, of the row after
MOST_ROWS = 5000
SAME = 0.05  # error over spread: what rounding and filters leave
SIMILAR = 0.3  # beyond this it is another policy or another contract

# Terms that a few rows of a log do not tell: clocks since a reset, and what only some robots measure.
NOT_IN_ROWS = frozenset(
    {"base_velocity", "foot_contact", "gait_phase", "height_scan", "motion_reference", "quaternion", "roll_pitch_yaw"}
)


def check_policy(
    signals: Signals, policy: OnnxPolicy, metadata: dict[str, Any], imu_rotation: np.ndarray
) -> list[Finding]:
    """Run the policy on the logged channels and compare; `signals` as they were logged, before anything was
    put right.
    """
    differences = policy.contract.differences(signals.contract)
    if differences:
        return [
            Finding(
                "policy-contract",
                "error",
                f"the policy {Path(policy.name).name} was made for another robot than this {signals.contract.robot}",
                f"the policy's value against the robot's: {'; '.join(differences)}",
                "the same action means another motion",
                "give the robot.yaml that the policy was trained with, or the policy that the robot ran",
            )
        ]
    findings = _hash(policy, metadata)
    missing = _missing(signals, policy, metadata)
    if missing:
        return [
            *findings,
            Finding(
                "policy-unchecked",
                "note",
                f"the policy cannot be checked: the log lacks {' and '.join(missing)}",
                f"it observes {', '.join(term.name for term in policy.contract.terms)}",
                "nothing shows that this policy made these actions",
                f"record {' and '.join(missing)} as well",
            ),
        ]
    results = {lag: error for lag in LAGS if (error := _error(signals, policy, lag, imu_rotation)) is not None}
    if not results:
        return findings
    totals = {lag: float(np.sqrt((error**2).mean())) for lag, error in results.items()}
    best = min(totals, key=lambda lag: (totals[lag] > SAME, totals[lag], abs(lag)))
    error, total = results[best], totals[best]
    shown = ", ".join(f"{lag:+d}: {value:.2g}" for lag, value in sorted(totals.items()))
    evidence = f"error of its actions over their spread {total:.2g} (rows shifted by {shown})"
    if total <= SAME:
        if best == 0:
            return findings
        return [
            *findings,
            Finding(
                "policy-shift",
                "warning",
                f"actions are logged one row {'early' if best < 0 else 'late'}",
                evidence,
                "a row then pairs an action with what the robot felt at another tick, as if there were a delay more or"
                " less",
                f"shift the actions by {best:+d} row{'' if abs(best) == 1 else 's'} against the sensors when importing",
            ),
        ]
    worst = np.argsort(-error)
    joints = tuple(signals.contract.joints[i] for i in worst if error[i] > SAME)
    other = total > SIMILAR
    return [
        *findings,
        Finding(
            "policy-actions",
            "error" if other else "warning",
            f"the policy {Path(policy.name).name} would {'not' if other else 'hardly'} have produced these actions",
            f"{evidence}; worst {listed(joints)}",
            "rollouts of this policy are compared with what another one did",
            "give the policy that ran on the robot; if it is this one, then the observation (order, scales, frames,"
            " units) differs from the contract's",
            joints=joints,
        ),
    ]


def _hash(policy: OnnxPolicy, metadata: dict[str, Any]) -> list[Finding]:
    said = metadata.get("policy_hash")
    if not isinstance(said, str) or said == policy.hash:
        return []
    return [
        Finding(
            "policy-hash",
            "warning",
            f"the log was recorded with another policy file than {Path(policy.name).name}",
            f"the log says {metadata.get('policy', 'a policy')} with the hash {said[:12]}, the file has"
            f" {policy.hash[:12]}",
            "rollouts of this policy are compared with what another one did",
            "give the very file that ran on the robot",
        )
    ]


def _missing(signals: Signals, policy: OnnxPolicy, metadata: dict[str, Any]) -> list[str]:
    terms = {term.name for term in policy.contract.terms}
    assumed = metadata.get("assumed")
    missing = []
    if "gyro" in terms and signals.gyro is None:
        missing.append("the gyro")
    if "gravity" in terms and signals.down is None:
        missing.append("gravity or orientation")
    if "command" in terms and isinstance(assumed, (dict, list)) and "command" in assumed and not signals.command.any():
        missing.append("the command")
    missing += [f"the {name.replace('_', ' ')}" for name in sorted(terms & NOT_IN_ROWS)]
    return [*missing, "the recurrent state"] if policy.recurrent else missing


def _error(signals: Signals, policy: OnnxPolicy, lag: int, imu_rotation: np.ndarray) -> np.ndarray | None:
    """Error over spread of each joint's action, when row k's readings led to the action of row k + lag, (n_joints,)."""
    frames = max(given.depth for given in policy.contract.network_inputs)
    rows = signals.windows(frames + 1, 2)
    if len(rows) < 20:
        return None
    rows = rows[:: max(1, len(rows) // MOST_ROWS)]
    observer = Observer(policy.contract, len(rows))
    blank = np.zeros((len(rows), 3))
    for age in range(frames - 1, -1, -1):
        at = rows - age
        sensors = Sensors(
            signals.time_s[at],
            signals.position[at],
            signals.velocity[at],
            blank if signals.gyro is None else signals.gyro[at] @ imu_rotation,
            blank if signals.down is None else signals.down[at] @ imu_rotation,
        )
        observations = observer.observe_all(sensors, signals.command[at], signals.action[at + lag - 1])
    output, _ = policy.advance(observations, policy.initial_state(len(rows)))
    action = clipped(expanded(output, policy.contract), policy.contract)
    logged = signals.action[rows + lag]
    spread = np.maximum(logged.std(axis=0), 1e-3)
    error = np.sqrt(((action - logged) ** 2).mean(axis=0)) / spread
    return np.nan_to_num(error, nan=1e3, posinf=1e3)
