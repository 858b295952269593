"""`config.yaml` and `base.yaml` of rl_sar: one policy, and the robot that it shares with others.

Each file has one key, the robot ("go2") or the robot and the policy ("go2/himloco"). Lists are in the order of the policy;
`joint_mapping` gives the place of each joint in the robot's own order, which base.yaml names.
"""

from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.parts import Part, rate_hz, same
from surefoot.robot.importing.terms import with_numbers

KIND = "a config.yaml or base.yaml of rl_sar"
TERMS: dict[str, dict[str, Any]] = {
    "lin_vel": {"name": "base_velocity"},
    "ang_vel": {"name": "gyro"},
    "ang_vel_body": {"name": "gyro"},
    "gravity_vec": {"name": "gravity"},
    "commands": {"name": "command"},
    "dof_pos": {"name": "joint_position"},
    "dof_vel": {"name": "joint_velocity"},
    "actions": {"name": "last_action"},
}
SCALES = {"lin_vel": "lin_vel_scale", "ang_vel": "ang_vel_scale", "ang_vel_body": "ang_vel_scale"} | {
    "commands": "commands_scale",
    "dof_pos": "dof_pos_scale",
    "dof_vel": "dof_vel_scale",
    "gravity_vec": "gravity_vec_scale",
}
MARKS = {"num_of_dofs", "rl_kp", "fixed_kp", "default_dof_pos", "joint_mapping", "num_observations", "model_name"}


def is_rl_sar(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    inner = next(iter(content.values())) if len(content) == 1 else None
    return isinstance(inner, dict) and len(MARKS & set(inner)) >= 3


def read_rl_sar(content: dict[str, Any], source: str) -> Description:
    """What a config.yaml or base.yaml says."""
    name = next(iter(content))
    file = Part(content[name], source)
    count = file.at("num_of_dofs").whole(1, 1000)
    mapping = _mapping(file, count)
    names = file.maybe("joint_names")

    def listed(key: str) -> Value | None:
        part = file.maybe(key)
        return None if part is None else part.value(dict(zip(mapping, part.numbers(count), strict=True)))

    wheels = [mapping[i] for i in _wheels(file, count)]
    control = None
    if file.has("dt") and file.has("decimation"):
        hz = rate_hz(file.at("dt"), file.at("decimation").whole(1, 10_000))
        control = Value(hz, f"{source}: dt and decimation")
    observations = _observations(file, wheels, mapping) if file.has("observations") else {}
    policy = file.has("rl_kp")  # base.yaml has fixed gains for standing up alone
    return Description(
        kind=KIND,
        source=source,
        joints=Value(tuple(mapping), f"{source}: joint_mapping") if policy else None,
        motors=names.value(tuple(names.names(count))) if names else None,
        actions=_actions(file, mapping, wheels),
        action_count=Value(count, f"{source}: num_of_dofs") if policy else None,
        pose_rad=listed("default_dof_pos"),
        kp_nm_per_rad=listed("rl_kp"),
        kd_nms_per_rad=listed("rl_kd"),
        torque_limit_nm=listed("torque_limits"),
        action_clip=_clip(file, mapping),
        control_hz=control,
        observation_clip=_clip_obs(file),
        **observations,
    )


def _mapping(file: Part, count: int) -> list[int]:
    for key in ("joint_mapping", "command_mapping"):  # older versions have two, inverse to each other
        if file.has(key):
            mapping = file.at(key).indices(count)
            if max(mapping) >= count:
                raise RobotError(f"{file.at(key).where} holds {max(mapping)}, and there are {count} joints")
            return mapping
    return list(range(count))


def _wheels(file: Part, count: int) -> list[int]:
    part = file.maybe("wheel_indices")
    places = part.indices() if part else []
    if any(place >= count for place in places):
        raise RobotError(f"{file.where}: wheel_indices holds {max(places)}, and there are {count} joints")
    return places


def _actions(file: Part, mapping: list[int], wheels: list[int]) -> Value | None:
    part = file.maybe("action_scale")
    if part is None:
        return None
    values = part.numbers(len(mapping)) if isinstance(part.content, list) else [part.number()] * len(mapping)
    scale = dict(zip(mapping, values, strict=True))
    actions: list[Action] = []
    for key in mapping:  # wheels and legs may take turns; each run of one kind is a block
        kind = "velocity" if key in wheels else "position"
        if actions and actions[-1].kind == kind and actions[-1].joints is not None:
            last = actions.pop()
            keys = (*(last.joints.keys if last.joints else ()), key)
        else:
            keys = (key,)
        actions.append(Action(kind, Joints(keys=keys), scale, 0.0 if kind == "velocity" else None))
    return part.value(tuple(actions), part.value(values).remark)


def _clip(file: Part, mapping: list[int]) -> Value | None:
    """Limits of actions, before the scale: one number where all are the same on both sides."""
    if not file.has("clip_actions_lower") or not file.has("clip_actions_upper"):
        return None
    lower, upper = (file.at(f"clip_actions_{side}").numbers(len(mapping)) for side in ("lower", "upper"))
    source = f"{file.source}: clip_actions_lower and clip_actions_upper"
    pairs = list(zip(lower, upper, strict=True))
    if any(low >= high for low, high in pairs):
        raise RobotError(f"{source}: a lower limit is not below its upper")
    if isinstance(same(pairs), tuple) and pairs[0][0] == -pairs[0][1]:
        return Value(pairs[0][1], source)
    return Value(dict(zip(mapping, pairs, strict=True)), source)


def _clip_obs(file: Part) -> Value | None:
    part = file.maybe("clip_obs")
    return part.value(part.number(0.0, 1e9, above=True)) if part else None


def _observations(file: Part, wheels: list[int], mapping: list[int]) -> dict[str, Any]:
    part = file.at("observations")
    terms = []
    for name in part.names():
        term = dict(TERMS.get(name, {"unknown": name}))
        scale_part = file.maybe(SCALES[name]) if name in SCALES else None
        scale = scale_part.scale() if scale_part else None
        if name == "dof_pos" and wheels:  # the runner gives a wheel's angle as 0
            one = scale if isinstance(scale, float) else 1.0
            scale = [0.0 if key in wheels else one for key in mapping]
        source = part.where if scale_part is None else f"{part.where}, {SCALES[name]}"
        terms.append(with_numbers(term, scale) | {"source": source})
    if not terms:
        raise RobotError(f"{part.where} lists no terms")
    return _with_history(file, terms, part)


def _with_history(file: Part, terms: list[dict[str, Any]], part: Part) -> dict[str, Any]:
    """Frames of `observations_history`, where 0 is the latest: frame by frame ("time"), or term by term ("term")."""
    history = file.maybe("observations_history")
    ages = history.indices() if history else []
    if not ages:
        return {"groups": part.value({"policy": terms})}
    stride = abs(ages[1] - ages[0]) if len(ages) > 1 else 1
    newest = list(range(0, stride * len(ages), stride))
    if ages not in (newest, newest[::-1]):
        raise RobotError(
            f"{file.source}: observations_history is {shown(ages)}; only ages from 0 in equal steps, such as [0, 1, 2], can"
            " be imported"
        )
    order = "newest_first" if ages == newest and len(ages) > 1 else "oldest_first"
    priority = file.maybe("observations_history_priority")
    if priority is not None and priority.text() == "term":
        more = {"history": len(ages)} | ({"stride": stride} if stride > 1 else {})
        more |= {"newest_first": True} if order == "newest_first" else {}
        return {"groups": part.value({"policy": [{**term, **more} for term in terms]})}
    if priority is not None and priority.text() != "time":
        raise priority.refuse("'time' or 'term'")
    frames = {"history": len(ages), "order": order} | ({"stride": stride} if stride > 1 else {})
    source = Value(frames, f"{file.source}: observations_history")
    return {"groups": part.value({"policy": terms})} | ({"observation_frames": source} if len(ages) > 1 else {})
