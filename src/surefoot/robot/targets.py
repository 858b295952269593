"""From a policy's actions to what the motors are asked for: one formula for the simulator, the doctor and the gap."""

import numpy as np

from surefoot.robot.contract import POSITION, VELOCITY, Contract


def clip_actions(contract: Contract, action: np.ndarray) -> np.ndarray:
    """Actions (..., n_joints) within `action_clip` and the joints' own limits."""
    action = np.clip(action, -contract.action_clip, contract.action_clip)
    if contract.action_limit:
        low, high = np.array(contract.action_limit).T
        action = np.clip(action, low, high)
    return action


def zero_targets(contract: Contract) -> np.ndarray:
    """What an action of 0 asks for, (n_joints,): the default pose of a position target, else nothing."""
    target = np.array(contract.pose_rad)
    if contract.action_kind:
        target = np.where(is_kind(contract, POSITION), target, 0.0)
    return target + np.array(contract.action_offset) if contract.action_offset else target


def targets(contract: Contract, action: np.ndarray) -> np.ndarray:
    """Targets (..., n_joints) in the unit of each joint's kind, for actions that may still have to be clipped."""
    target = zero_targets(contract) + np.array(contract.action_scale_rad) * clip_actions(contract, action)
    if contract.target_limit:
        low, high = np.array(contract.target_limit).T
        target = np.clip(target, low, high)
    return target


def is_kind(contract: Contract, kind: str) -> np.ndarray:
    """Which joints take actions of this kind, (n_joints,)."""
    if not contract.action_kind:
        return np.full(contract.n_joints, kind == POSITION)
    return np.array([own == kind for own in contract.action_kind])


def tracking_error(contract: Contract, target: np.ndarray, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Target minus what it is the target of, (..., n_joints); 0 where that is a torque."""
    if not contract.action_kind:
        return target - position
    error = np.where(is_kind(contract, POSITION), target - position, 0.0)
    return np.where(is_kind(contract, VELOCITY), target - velocity, error)
