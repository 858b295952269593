"""holosoma: the metadata of its ONNX files, and the YAML of its runner.

Its observation manager sorts terms by name, whatever order a configuration lists them in, and keeps the history of each
term oldest first. The metadata of older files holds names, gains and command ranges alone; newer ones carry the whole
configuration of the run.
"""

from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.files import parse_limited
from surefoot.robot.importing.description import Action, Description, Patterns, Value
from surefoot.robot.importing.parts import Part
from surefoot.robot.importing.terms import with_numbers
from surefoot.robot.importing.unitree_rl_lab import velocity_ranges

KIND = "an ONNX file of holosoma"
KIND_RUNNER = "a configuration of holosoma's runner"
STANDING = 0.01  # m/s and rad/s: a slower command is standing, with both feet in the middle of their cycle
GAIT_PERIOD_S = 1.0  # of its presets
SCALES = {"base_lin_vel": 2.0, "base_ang_vel": 0.25, "dof_vel": 0.05}  # of its presets; 1 for the rest
WALKING = (
    *("base_ang_vel", "projected_gravity", "command_lin_vel", "command_ang_vel"),
    *("dof_pos", "dof_vel", "actions", "sin_phase", "cos_phase"),
)
ACTION_SCALE = 0.25  # of its presets, as the rate
CONTROL_HZ = 50.0
# Of its preset for the Unitree G1 with 29 joints; the rest is 0.
G1_POSE = (
    *((("left_shoulder_roll_joint",), 0.2), (("right_shoulder_roll_joint",), -0.2), ((".*_hip_pitch_joint",), -0.312)),
    *(((".*_knee_joint",), 0.669), ((".*_ankle_pitch_joint",), -0.363)),
    *(((".*_shoulder_pitch_joint",), 0.2), ((".*_elbow_joint",), 0.6)),
)
GETTING_UP = ("base_ang_vel", "projected_gravity", "dof_pos", "dof_vel", "actions")


def read_holosoma(metadata: dict[str, str], source: str, inputs: dict[str, int | None]) -> Description:
    """What the metadata of an ONNX file says; `inputs` are the sizes of the network's inputs."""
    content = {}
    for key in ("dof_names", "kp", "kd", "command_ranges", "action_scale", "experiment_config"):
        if key in metadata:
            try:
                content[key] = parse_limited(metadata[key], f"{source}: {key}", RobotError, "metadata")
            except ValueError:
                raise RobotError(f"{source}: the metadata {key} is {shown(metadata[key])}; it must be JSON") from None
    file = Part(content, source)
    names = file.at("dof_names").names()
    gains: dict[str, Value | None] = {}
    for key in ("kp", "kd"):
        part = file.maybe(key)
        gains[key] = part.value(dict(zip(names, part.numbers(len(names)), strict=True))) if part else None
    ranges = file.maybe("command_ranges")
    whole = file.maybe("experiment_config")
    parts = _experiment(whole) if whole and isinstance(whole.content, dict) else {}
    scale = file.maybe("action_scale")
    if scale is not None:
        values = scale.numbers(len(names)) if isinstance(scale.content, list) else [scale.number()] * len(names)
        parts["actions"] = scale.value((Action(scale=dict(zip(names, values, strict=True))),))
    parts = _guessed(names, next(iter(inputs.values()), None)) | parts
    return Description(
        kind=KIND,
        source=source,
        joints=file.at("dof_names").value(tuple(names)),
        kp_nm_per_rad=gains["kp"],
        kd_nms_per_rad=gains["kd"],
        command_range=ranges.value(velocity_ranges(ranges)) if ranges else None,
        **parts,
    )


def is_holosoma_runner(content: dict[str, Any]) -> bool:
    """Whether a file's content is a configuration of its runner."""
    observation = content.get("observation")
    return {"robot", "task"} <= set(content) and isinstance(observation, dict) and "obs_dict" in observation


def read_holosoma_runner(content: dict[str, Any], source: str) -> Description:
    """What a configuration of its runner says."""
    file = Part(content, source)
    robot, observation, task = file.at("robot"), file.at("observation"), file.at("task")
    names = robot.at("dof_names").names()
    pose = robot.at("default_dof_angles")
    group, listed = next(iter(observation.at("obs_dict").items()), (None, None))
    if listed is None:
        raise RobotError(f"{observation.where}.obs_dict lists no terms")
    period = task.maybe("gait_period")
    lengths = observation.maybe("history_length_dict")
    history = lengths.at(str(group)).whole(1, 1000) if lengths and lengths.has(str(group)) else 1
    scales = {key: part.number() for key, part in observation.at("obs_scales").items()}
    seconds = period.number(1e-3, 100.0) if period else GAIT_PERIOD_S
    terms = _terms(listed.names(), scales, seconds, history, listed.where)
    rate = task.at("rl_rate")
    by_effort = task.maybe("action_scales_by_effort_limit_over_p_gain")
    own = by_effort is not None and by_effort.flag()
    scale_part = robot.at("default_per_joint_action_scale") if own else task.at("policy_action_scale")
    scale: Any = dict(zip(names, scale_part.numbers(len(names)), strict=True)) if own else scale_part.number(0.0, 1e3)
    gains: dict[str, Any] = {}
    for field, key in (("kp_nm_per_rad", "motor_kp"), ("kd_nms_per_rad", "motor_kd")):
        if part := robot.maybe(key):
            gains[field] = part.value(dict(zip(names, part.numbers(len(names)), strict=True)))
    return Description(
        kind=KIND_RUNNER,
        source=source,
        joints=robot.at("dof_names").value(tuple(names)),
        actions=scale_part.value((Action(scale=scale),)),
        pose_rad=pose.value(dict(zip(names, pose.numbers(len(names)), strict=True))),
        control_hz=rate.value(rate.number(1.0, 1e4)),
        groups=listed.value({"policy": terms}, "in the order of names, as holosoma sorts them"),
        **gains,
    )


def _experiment(whole: Part) -> dict[str, Any]:
    """Pose, action scale and observation of the run's configuration."""
    parts: dict[str, Any] = {}
    robot = whole.maybe("robot")
    start = robot.maybe("init_state") if robot else None
    if start is not None and start.has("default_joint_angles"):
        pose = start.at("default_joint_angles")
        parts["pose_rad"] = pose.value({name: part.number() for name, part in pose.items()})
    control = robot.maybe("control") if robot else None
    by_effort = control.maybe("action_scales_by_effort_limit_over_p_gain") if control else None
    if control is not None and control.has("action_scale") and not (by_effort and by_effort.content):
        parts["actions"] = control.at("action_scale").value(
            (Action(scale=control.at("action_scale").number(0.0, 1e3)),)
        )
    groups = whole.maybe("observation") and whole.at("observation").maybe("groups")
    if groups is not None and groups.has("actor_obs"):
        group = groups.at("actor_obs")
        history = group.at("history_length").whole(1, 1000) if group.has("history_length") else 1
        scales = {}
        for name, part in group.at("terms").items():
            scales[name] = part.at("scale").number() if part.has("scale") else 1.0
        terms = _terms(list(scales), scales, GAIT_PERIOD_S, history, group.where)
        parts["groups"] = group.value({"policy": terms}, "in the order of names, as holosoma sorts them")
    return parts


def _terms(
    names: list[str], scales: dict[str, float], period_s: float, history: int, source: str
) -> list[dict[str, Any]]:
    clock = {
        "name": "gait_phase",
        "frequency_hz": 1.0 / period_s,
        "offsets": [0.0, 0.5],
        "standing": {"below": STANDING, "phase": 0.5},
    }
    known: dict[str, dict[str, Any]] = {
        "actions": {"name": "last_action"},
        "base_ang_vel": {"name": "gyro"},
        "base_lin_vel": {"name": "base_velocity"},
        "command_ang_vel": {"name": "command", "entries": ["wz_rad_s"]},
        "command_lin_vel": {"name": "command", "entries": ["vx_m_s", "vy_m_s"]},
        "cos_phase": clock | {"form": "cos"},
        "dof_pos": {"name": "joint_position"},
        "dof_vel": {"name": "joint_velocity"},
        "projected_gravity": {"name": "gravity"},
        "sin_phase": clock | {"form": "sin"},
    }
    return [
        with_numbers(dict(known.get(name, {"unknown": name})), scales.get(name), None, history) | {"source": source}
        for name in sorted(names)
    ]


def _guessed(names: list[str], size: int | None) -> dict[str, Any]:
    """What holosoma's presets have, where the network's input has as many entries as one of them."""
    layouts = {3 * len(names) + 13: WALKING, 3 * len(names) + 6: GETTING_UP}
    if size not in layouts:
        return {}
    why = (
        f"{size} inputs are holosoma's preset for {'walking' if layouts[size] is WALKING else 'getting up'}, its terms sorted"
        " by name; the file does not say"
    )
    found = {
        "groups": Value({"policy": _terms(list(layouts[size]), SCALES, GAIT_PERIOD_S, 1, why)}, why, why, guess=True),
        "actions": _preset((Action(scale=ACTION_SCALE),)),
        "control_hz": _preset(CONTROL_HZ),
    }
    if len(names) == 29 and {"left_wrist_yaw_joint", "waist_yaw_joint", "left_knee_joint"} <= set(names):
        found["pose_rad"] = _preset(Patterns(G1_POSE, rest=0.0), " for the Unitree G1")
    return found


def _preset(value: Any, whose: str = "") -> Value:
    why = f"holosoma's preset{whose}; the file does not say"
    return Value(value, why, why, guess=True)
