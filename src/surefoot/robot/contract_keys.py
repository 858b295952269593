"""From the keys of a robot.yaml to the contract: names resolved, every number checked."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from surefoot.errors import RobotError, nearest, shown
from surefoot.files import check_input, file_hash, is_number
from surefoot.robot.contract import ACTION_KINDS, LARGEST, POSITION, Contract
from surefoot.robot.estimates import ESTIMATED, ODOMETRY, ONNX, parse_estimators
from surefoot.robot.read_contract import with_layout
from surefoot.robot.values import match, per_name

COMMANDS = {"vx_m_s": (-1.0, 1.0), "vy_m_s": (-0.5, 0.5), "wz_rad_s": (-1.0, 1.0)}
DEFAULT_ACTION_CLIP = 100.0
# Keys of a robot.yaml that carry another name than the field of the contract.
RENAMED = {
    "observation_frames": "frames",
    "observation_clip": "observation_clip",
    "observation_normalizer": "normalizer",
}
CONTRACT_KEYS = (
    "observation",
    "inputs",
    "output",
    "state",
    "driven",
    "action_kind",
    "action_offset",
    "action_clip",
    "target_clip",
    "command_range",
    "command_default",
    "estimators",
    *RENAMED,
)


def contract_of(
    content: dict[str, Any], joints: tuple[str, ...], n_feet: int, model: mujoco.MjModel, path: Path
) -> Contract:
    """The contract that the keys of a robot.yaml give, with the limits of the model's joints."""
    if "observation" not in content and "inputs" not in content:
        raise RobotError(f"{path}: the key 'observation' is missing; a policy with several inputs has 'inputs' instead")
    if "observation" in content and "inputs" in content:
        raise RobotError(
            f"{path}: 'observation' and 'inputs' exclude each other; keep 'inputs' for a policy with several"
        )
    kinds = _words(content.get("action_kind", POSITION), joints, ACTION_KINDS, f"{path}: action_kind")
    own_gain = dict(zip(joints, kinds, strict=True))

    def values(key: str, minimum: float | None) -> tuple[float, ...]:
        resolved = per_name(content[key], joints, f"{path}: {key}", RobotError)
        for joint, number in zip(joints, resolved, strict=True):
            may_be_0 = key == "kd_nms_per_rad" or (key == "kp_nm_per_rad" and own_gain[joint] != POSITION)
            if minimum is not None and (number < minimum or (minimum == 0 and not may_be_0 and number == 0)):
                raise RobotError(
                    f"{path}: {key} of {joint} is {number:g}; it must be {'at least 0' if may_be_0 else 'above 0'}"
                )
            if number > LARGEST.get(key, np.inf):
                raise RobotError(f"{path}: {key} of {joint} is {number:g}; it must be at most {LARGEST[key]:g}")
        return resolved

    limits = tuple(_range(model, joint, path) for joint in joints)
    pose = values("pose_rad", None)
    for joint, angle, (low, high) in zip(joints, pose, limits, strict=True):
        if not low <= angle <= high:
            raise RobotError(
                f"{path}: pose_rad of {joint} is {angle:g}, outside the model's range {low:g} to {high:g}; wrong sign,"
                " or degrees instead of radians?"
            )
    clip, action_limit = _action_clip(content.get("action_clip", DEFAULT_ACTION_CLIP), joints, path)
    velocities, more = _commands(content.get("command_range", {}), content.get("command_default", {}), path)
    contract = Contract(
        robot=content["name"],
        joints=joints,
        pose_rad=pose,
        kp_nm_per_rad=values("kp_nm_per_rad", 0),
        kd_nms_per_rad=values("kd_nms_per_rad", 0),
        torque_limit_nm=values("torque_limit_nm", 0),
        velocity_limit_rad_s=values("velocity_limit_rad_s", 0),
        position_limit_rad=limits,
        action_scale_rad=values("action_scale_rad", 0),
        action_clip=clip,
        observation=(),
        control_hz=positive(content["control_hz"], "control_hz", path, LARGEST["control_hz"]),
        command_range=velocities,
    )
    same = ("observation", "inputs", "driven", "output", "state")
    layout: dict[str, Any] = {key: content[key] for key in same if key in content}
    layout |= {ours: content[key] for key, ours in RENAMED.items() if key in content}
    layout |= {
        "action_kind": kinds,
        "action_offset": per_name(content.get("action_offset", 0.0), joints, f"{path}: action_offset", RobotError),
        "action_limit": action_limit,
        "target_limit": _pairs(content.get("target_clip"), joints, f"{path}: target_clip"),
        "more_commands": more,
        "estimators": _estimators(content.get("estimators"), path),
    }
    contract = with_layout(contract, layout, str(path), RobotError, n_feet)
    _refuse_without_estimator(contract, path)
    return contract


def _refuse_without_estimator(contract: Contract, path: Path) -> None:
    for term in ESTIMATED:
        if contract.observes(term) and contract.estimator(term) is None:
            raise RobotError(
                f"{path}: the observation holds {term}, which no robot measures; say who estimates it, such as"
                f" 'estimators: {{{term}: {{kind: truth, noise_m_s: 0.05, lag_s: 0.02}}}}' (the simulator's own value),"
                f" or 'kind: {ODOMETRY}' (from legs and IMU)"
            )


def _estimators(value: Any, path: Path) -> list[dict[str, Any]]:
    """Estimators with the hash of the file that one of them reads."""
    estimators = []
    for estimator in parse_estimators(value, f"{path}: estimators", RobotError):
        content = estimator.to_dict()
        if estimator.kind == ONNX:
            file = path.parent / estimator.file
            check_input(file, RobotError, "the ONNX file of an estimator")
            content["sha256"] = file_hash(file)
        estimators.append(content)
    return estimators


def _words(value: Any, names: tuple[str, ...], allowed: tuple[str, ...], what: str) -> tuple[str, ...]:
    """One of the allowed words for each name: the same for all, a list, or name patterns."""
    if isinstance(value, dict):
        resolved: dict[str, Any] = dict.fromkeys(names, allowed[0])
        for pattern, word in value.items():
            resolved |= dict.fromkeys(match(str(pattern), names, what, RobotError), word)
        value = list(resolved.values())
    words = [value] * len(names) if isinstance(value, str) else value
    if not isinstance(words, list) or len(words) != len(names) or any(word not in allowed for word in words):
        raise RobotError(
            f"{what} is {shown(value)}; it must be {', '.join(allowed)}, for all joints or by name patterns"
        )
    return tuple(words)


def _pairs(value: Any, names: tuple[str, ...], what: str) -> tuple[tuple[float, float], ...]:
    """[lowest, highest] for each name: the same for all, or by name patterns; what is left out has no limit."""
    if value is None:
        return ()
    mapping = value if isinstance(value, dict) else {"*": value}
    resolved = dict.fromkeys(names, (-LARGEST["action_clip"], LARGEST["action_clip"]))
    for pattern, given in mapping.items():
        pair = [-abs(given), abs(given)] if is_number(given) else given
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_number, pair)) or pair[0] > pair[1]:
            raise RobotError(f"{what} of {shown(pattern)} is {shown(given)}; it must be [lowest, highest]")
        resolved |= dict.fromkeys(match(str(pattern), names, what, RobotError), (float(pair[0]), float(pair[1])))
    return tuple(resolved.values())


def _action_clip(value: Any, joints: tuple[str, ...], path: Path) -> tuple[float, tuple[tuple[float, float], ...]]:
    """One number for all joints, or a range for each of them."""
    if not isinstance(value, (dict, list)):
        return positive(value, "action_clip", path, LARGEST["action_clip"]), ()
    limits = _pairs(value, joints, f"{path}: action_clip")
    largest = max(abs(number) for pair in limits for number in pair)
    return positive(largest, "action_clip", path, LARGEST["action_clip"]), limits


def _range(model: mujoco.MjModel, joint: str, path: Path) -> tuple[float, float]:
    low, high = (float(v) for v in model.joint(joint).range)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RobotError(f"{path}: the model's range of {joint} is {low:g} to {high:g}; limits must be finite numbers")
    if max(abs(low), abs(high)) > LARGEST["position_limit_rad"]:
        raise RobotError(
            f"{path}: the model's range of {joint} is {low:g} to {high:g}; it must be within"
            f" ±{LARGEST['position_limit_rad']:g}"
        )
    if not model.jnt_limited[model.joint(joint).id]:
        if low >= high and (low, high) != (0.0, 0.0):  # MuJoCo takes such a range for no limit, in silence
            raise RobotError(
                f"{path}: the model's range of {joint} is {low:g} to {high:g}; the lower limit must come first and be"
                " below the upper"
            )
        return (-np.pi * 2, np.pi * 2)
    return (low, high)


def _commands(
    ranges: Any, defaults: Any, path: Path
) -> tuple[tuple[tuple[float, float], tuple[float, float], tuple[float, float]], list[dict[str, Any]]]:
    """The ranges of the three velocities, and the further commands."""
    if not isinstance(ranges, dict) or not isinstance(defaults, dict):
        raise RobotError(
            f"{path}: command_range must give {', '.join(COMMANDS)}, each as [lowest, highest], and command_default a"
            " number for each further command"
        )
    resolved: dict[str, tuple[float, float]] = dict(COMMANDS)
    for key, limits in ranges.items():
        name = str(key)
        if name not in COMMANDS and name not in defaults:
            raise RobotError(
                f"{path}: unknown key {shown(key)} in command_range{nearest(name, COMMANDS)}; a further command needs"
                " its value in command_default"
            )
        if (
            not isinstance(limits, list)
            or len(limits) != 2
            or not all(is_number(v) for v in limits)
            or limits[0] > limits[1]
        ):
            raise RobotError(f"{path}: {name} of command_range is {shown(limits)}; it must be [lowest, highest]")
        if max(map(abs, limits)) > LARGEST["command_range"]:
            raise RobotError(
                f"{path}: {name} of command_range is {shown(limits)}; it must be within ±{LARGEST['command_range']:g}"
            )
        resolved[name] = (float(limits[0]), float(limits[1]))
    for name in defaults:
        if name in COMMANDS or name not in resolved:
            raise RobotError(
                f"{path}: command_default names {shown(name)}, which is no further command of command_range"
            )
    more = [
        {"name": name, "range": list(limits), "default": defaults[name]}
        for name, limits in resolved.items()
        if name not in COMMANDS
    ]
    return (resolved["vx_m_s"], resolved["vy_m_s"], resolved["wz_rad_s"]), more


def positive(value: Any, key: str, path: Path, most: float = float("inf")) -> float:
    """A number above 0."""
    if not is_number(value) or not 0 < value <= most:
        raise RobotError(
            f"{path}: {key} is {shown(value)}; it must be a number above"
            f" 0{'' if most == float('inf') else f', up to {most:g}'}"
        )
    return float(value)
