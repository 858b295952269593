"""legged_gym and unitree_rl_gym: the configuration of a task as YAML or JSON, and the YAML of a deployment script.

Neither says how the observation is laid out: the code of the task or of the script does. What those codes usually do is
proposed, and marked as a guess.
"""

from typing import Any

from surefoot.robot.importing.description import Action, Description, Joints, Patterns, Value
from surefoot.robot.importing.parts import Part, rate_hz
from surefoot.robot.importing.terms import with_numbers
from surefoot.robot.importing.unitree_rl_lab import velocity_ranges

KIND_TASK = "a configuration of legged_gym"
KIND_DEPLOY = "a deployment configuration of unitree_rl_gym"
GAIT_PERIOD_S = 0.8  # of the phase that unitree_rl_gym's scripts append; it is written in their code
HEIGHT_POINTS = 187  # legged_gym's default grid, 17 × 11


def is_legged_gym(content: dict[str, Any]) -> bool:
    """Whether a file's content is a task's configuration."""
    parts = {"init_state", "control", "normalization"}
    return parts <= set(content) and all(isinstance(content[key], dict) for key in parts)


def is_unitree_rl_gym(content: dict[str, Any]) -> bool:
    """Whether a file's content is a deployment script's configuration."""
    return {"kps", "kds", "default_angles", "num_actions", "num_obs"} <= set(content)


def read_legged_gym(content: dict[str, Any], source: str) -> Description:
    """What a task's configuration says; joints take the gains whose name is part of theirs."""
    file = Part(content, source)
    control, scales = file.at("control"), file.at("normalization").maybe("obs_scales")
    pose = file.at("init_state").at("default_joint_angles")
    step = file.at("sim").maybe("dt") if file.has("sim") else None
    hz = None
    if step is not None and control.has("decimation"):
        hz = Value(rate_hz(step, control.at("decimation").whole(1, 10_000)), f"{step.where} and control.decimation")
    kind = control.maybe("control_type")
    actions = Action({"V": "velocity", "T": "torque"}.get(kind.text() if kind else "P", "position"))
    scale = control.at("action_scale").number(0.0, 1e3, above=True)
    env = file.maybe("env")
    n, size = (env.maybe("num_actions"), env.maybe("num_observations")) if env else (None, None)
    clip = file.at("normalization").maybe("clip_actions")
    clip_obs = file.at("normalization").maybe("clip_observations")
    commands = file.maybe("commands")
    ranges = commands.maybe("ranges") if commands else None
    return Description(
        kind=KIND_TASK,
        source=source,
        actions=control.at("action_scale").value((Action(actions.kind, None, scale, None),)),
        action_count=n.value(n.whole(1, 1000)) if n else None,
        pose_rad=pose.value({name: entry.number() for name, entry in pose.items()}),
        kp_nm_per_rad=_parts_of_names(control.at("stiffness")),
        kd_nms_per_rad=_parts_of_names(control.at("damping")),
        action_clip=clip.value(clip.number(0.0, 1e6, above=True)) if clip else None,
        observation_clip=clip_obs.value(clip_obs.number(0.0, 1e9, above=True)) if clip_obs else None,
        control_hz=hz,
        command_range=ranges.value(velocity_ranges(ranges)) if ranges else None,
        groups=_task_layout(scales, size, n) if scales else None,
    )


def read_unitree_rl_gym(content: dict[str, Any], source: str) -> Description:
    """What a deployment configuration says; lists are in the order of the model's joints, or of numbered motors."""
    file = Part(content, source)
    count = file.at("num_actions").whole(1, 1000)
    size = file.at("num_obs").whole(1, 100_000)
    motors = file.maybe("leg_joint2motor_idx") or file.maybe("joint2motor_idx")
    keys = motors.indices(count) if motors else list(range(count))
    held = _held(file)

    def listed(key: str, more: str) -> Value:
        part = file.at(key)
        values = dict(zip(keys, part.numbers(count), strict=True))
        extra = file.maybe(more) if held else None
        values |= dict(zip(held, extra.numbers(len(held)), strict=True)) if extra else {}
        return part.value(values, f"and {more}" if extra else "")

    control = physics = None
    if file.has("simulation_dt"):
        step = file.at("simulation_dt")
        physics = step.value(rate_hz(step))
        decimation = file.at("control_decimation").whole(1, 10_000)
        control = Value(rate_hz(step, decimation), f"{source}: simulation_dt and control_decimation")
    elif file.has("control_dt"):
        control = file.at("control_dt").value(rate_hz(file.at("control_dt")))
    scale = file.at("action_scale")
    return Description(
        kind=KIND_DEPLOY,
        source=source,
        joints=Value(
            tuple(keys),
            motors.where if motors else f"{source}: num_actions",
            "" if motors else "the first joints of the model",
            guess=motors is None,
        ),
        actions=scale.value((Action("position", Joints(keys=tuple(keys)), scale.number(0.0, 1e3, above=True), None),)),
        action_count=file.at("num_actions").value(count),
        pose_rad=listed("default_angles", "arm_waist_target"),
        kp_nm_per_rad=listed("kps", "arm_waist_kps"),
        kd_nms_per_rad=listed("kds", "arm_waist_kds"),
        control_hz=control,
        physics_hz=physics,
        command_range=_command_range(file),
        groups=_script_layout(file, count, size),
    )


def _held(file: Part) -> list[int]:
    part = file.maybe("arm_waist_joint2motor_idx")
    return part.indices() if part else []


def _parts_of_names(part: Part) -> Value:
    """Gains by part of a joint's name: "hip" holds for all joints with "hip" in theirs."""
    entries = tuple(((f".*{_escaped(key)}.*",), entry.number(0.0, 1e6)) for key, entry in part.items())
    return part.value(Patterns(entries))


def _escaped(text: str) -> str:
    return "".join(f"\\{c}" if not c.isalnum() and c != "_" else c for c in text)


def _command_range(file: Part) -> Value | None:
    part = file.maybe("max_cmd")
    if part is None:
        return None
    limits = [abs(v) for v in part.numbers(3)]
    names = ("vx_m_s", "vy_m_s", "wz_rad_s")
    return part.value({name: [-limit, limit] for name, limit in zip(names, limits, strict=True)})


def _number(part: Part | None, key: str, default: float) -> float:
    return part.at(key).number() if part is not None and part.has(key) else default


def _script_layout(file: Part, count: int, size: int) -> Value | None:
    """What the scripts build: rotation, gravity, command, joints, last action, and a phase where there is room for it."""
    terms = [
        with_numbers({"name": "gyro"}, _number(file, "ang_vel_scale", 1.0)),
        {"name": "gravity"},
        with_numbers({"name": "command"}, file.at("cmd_scale").numbers(3) if file.has("cmd_scale") else None),
        with_numbers({"name": "joint_position"}, _number(file, "dof_pos_scale", 1.0)),
        with_numbers({"name": "joint_velocity"}, _number(file, "dof_vel_scale", 1.0)),
        {"name": "last_action"},
    ]
    rest = size - (9 + 3 * count)
    if rest == 2:
        phase = {"name": "gait_phase", "frequency_hz": 1.0 / GAIT_PERIOD_S, "offsets": [0.0], "form": "sin_cos"}
        terms.append(phase)
    elif rest != 0:
        return None
    why = "the layout of unitree_rl_gym's deployment scripts, which has as many entries as num_obs; scales are from the file"
    terms = [{**term, "source": why} for term in terms]
    return Value({"policy": terms}, f"{file.source}: num_obs and scales", why, guess=True)


def _task_layout(scales: Part, size: Part | None, count: Part | None) -> Value | None:
    """What legged_gym's own tasks build, with or without velocity and heights, by the number of observations."""
    if size is None or count is None:
        return None
    n, total = count.whole(1, 1000), size.whole(1, 100_000)
    turn, linear = _number(scales, "ang_vel", 1.0), _number(scales, "lin_vel", 1.0)
    terms = [
        with_numbers({"name": "gyro"}, turn),
        {"name": "gravity"},
        with_numbers({"name": "command"}, [linear, linear, turn]),
        with_numbers({"name": "joint_position"}, _number(scales, "dof_pos", 1.0)),
        with_numbers({"name": "joint_velocity"}, _number(scales, "dof_vel", 1.0)),
        {"name": "last_action"},
    ]
    velocity = with_numbers({"name": "base_velocity"}, linear)
    heights = with_numbers({"name": "height_scan", "size": HEIGHT_POINTS}, _number(scales, "height_measurements", 1.0))
    layouts = {
        9 + 3 * n: terms,
        12 + 3 * n: [velocity, *terms],
        12 + 3 * n + HEIGHT_POINTS: [velocity, *terms, heights],
    }
    if total not in layouts:
        return None
    why = "the layout of legged_gym's own tasks with as many entries as num_observations; scales are from the file"
    return Value(
        {"policy": [{**term, "source": why} for term in layouts[total]]},
        f"{scales.where}, num_observations",
        why,
        guess=True,
    )
