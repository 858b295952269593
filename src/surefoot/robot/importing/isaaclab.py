"""`env.yaml` of Isaac Lab and mjlab: the configuration of a training run, dumped with Python's tags.

Actuators, default pose, action and observation terms are all there, by regular expressions of joint names. The order of
the joints is not: Isaac Lab takes that of the articulation, breadth first, and mjlab that of the model.
"""

from typing import Any

from surefoot.errors import RobotError
from surefoot.robot.importing.description import Action, Description, Joints, Patterns, Value
from surefoot.robot.importing.parts import Part, rate_hz
from surefoot.robot.importing.terms import FUNCTIONS, NAMES, configured_term
from surefoot.robot.importing.unitree_rl_lab import velocity_ranges

KIND = "an env.yaml of Isaac Lab or mjlab"
POLICY_GROUPS = ("policy", "actor")
ACTIONS = {
    "JointPositionAction": "position",
    "JointVelocityAction": "velocity",
    "JointEffortAction": "torque",
}
NO_LIMIT = 1e5  # N·m or rad/s: explicit actuators have 1e9 in the fields of the simulator


def is_isaaclab_env(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    return {"decimation", "sim", "scene", "observations", "actions"} <= set(content)


def read_isaaclab_env(content: dict[str, Any], source: str) -> Description:
    """What an env.yaml says."""
    file = Part(content, source)
    mjlab = file.at("scene").has("entities")
    robot = file.at("scene").at("entities").at("robot") if mjlab else file.at("scene").at("robot")
    step = file.at("sim").at("mujoco").at("timestep") if mjlab else file.at("sim").at("dt")
    decimation = file.at("decimation").whole(1, 10_000)
    actuators = _actuators(robot, mjlab)
    groups = _groups(file.at("observations"), _scan_size(file))
    remarks = actuators.pop("remarks", ())
    names = robot.maybe("joint_sdk_names")
    pose = robot.at("init_state").maybe("joint_pos")
    return Description(
        kind=KIND,
        source=source,
        order="model" if mjlab else "breadth_first",
        motors=names.value(tuple(names.names())) if names else None,
        actions=_actions(file.at("actions")),
        pose_rad=pose.value(_pose(pose)) if pose else None,
        control_hz=Value(rate_hz(step, decimation), f"{step.where} and decimation"),
        physics_hz=step.value(rate_hz(step)) if mjlab else None,  # the step that suits PhysX is too long for MuJoCo
        command_range=_ranges(file),
        groups=file.at("observations").value(groups),
        remarks=remarks,
        **actuators,
    )


def _pose(part: Part) -> Patterns:
    return Patterns(tuple(((key,), entry.number()) for key, entry in part.items()), rest=0.0)  # Isaac Lab's own default


def _actuators(robot: Part, mjlab: bool) -> dict[str, Any]:
    """Gains and limits of all actuator groups as patterns over joint names, for the fields of a description."""
    found: dict[str, list[tuple[tuple[str, ...], float]]] = {"kp": [], "kd": [], "torque": [], "speed": []}
    remarks = []
    for _, entry in _actuator_groups(robot, mjlab):
        expressions = entry.at("target_names_expr" if entry.has("target_names_expr") else "joint_names_expr").names()
        kind = entry.maybe("class_type")
        implicit = kind is None or "Implicit" in kind.text()
        ways = ("_sim", "") if implicit else ("", "_sim")
        for field, keys in (
            ("kp", ("stiffness",)),
            ("kd", ("damping",)),
            ("torque", tuple(f"effort_limit{way}" for way in ways)),
            ("speed", tuple(f"velocity_limit{way}" for way in ways)),
        ):
            part = next((entry.at(key) for key in keys if entry.has(key)), None)
            if part is not None:
                found[field] += _within(expressions, part.by_pattern(), field)
        if (delay := entry.maybe("max_delay") or entry.maybe("delay_max_lag")) and delay.content:
            remarks.append(
                f"{delay.where} is {delay.content}: training delayed commands by up to as many physics steps, which a"
                " contract does not hold"
            )
    source = f"{robot.where}.{'articulation.' if mjlab else ''}actuators"
    fields = {
        "kp_nm_per_rad": "kp",
        "kd_nms_per_rad": "kd",
        "torque_limit_nm": "torque",
        "velocity_limit_rad_s": "speed",
    }
    values: dict[str, Any] = {
        field: Part(None, source).value(Patterns(tuple(found[key]))) for field, key in fields.items() if found[key]
    }
    return values | ({"remarks": tuple(remarks)} if remarks else {})


def _actuator_groups(robot: Part, mjlab: bool) -> list[tuple[str, Part]]:
    if not mjlab:
        return robot.at("actuators").items()
    listed = robot.at("articulation").at("actuators")
    return [(str(i), Part(item, listed.source, f"{listed.path}[{i}]")) for i, item in enumerate(listed.sequence())]


def _within(expressions: list[str], value: Any, field: str) -> list[tuple[tuple[str, ...], float]]:
    """Entries that hold only for the joints of an actuator group."""
    inner = value.entries if isinstance(value, Patterns) else (((), value),)
    return [
        ((expression, *patterns), number)
        for expression in expressions
        for patterns, number in inner
        if field not in ("torque", "speed") or number <= NO_LIMIT
    ]


def _actions(part: Part) -> Value:
    actions = []
    for name, term in part.items():
        if term.content is None:
            continue
        kind_part = term.maybe("class_type")
        kind = kind_part.text() if kind_part else name
        found = next((ACTIONS[known] for known in ACTIONS if kind.endswith(known)), None)
        if found is None and kind_part is None and (term.has("joint_names") or term.has("actuator_names")):
            found = (
                "position" if "pos" in name else None
            )  # mjlab does not write the class; its terms are named joint_pos
        if found is None:
            raise RobotError(
                f"{term.where} is an action of the kind {kind!r}, which cannot be imported (known:"
                f" {', '.join(ACTIONS)})"
            )
        names = term.at("actuator_names" if term.has("actuator_names") else "joint_names").names()
        keep = term.maybe("preserve_order")
        offset: Any = term.at("offset").by_pattern() if term.has("offset") else 0.0
        default = term.maybe("use_default_offset")
        clip = term.maybe("clip")
        actions.append(
            Action(
                found,
                Joints(patterns=tuple(names), keep_order=keep is not None and keep.flag()),
                term.at("scale").by_pattern() if term.has("scale") else 1.0,
                None if default is not None and default.flag() and found == "position" else offset,
                None if clip is None else tuple((key, entry.pair()) for key, entry in clip.items()),
            )
        )
    return part.value(tuple(actions))


def _groups(part: Part, scan: int | None) -> dict[str, list[dict[str, Any]]]:
    """The terms of each observation group; those that only a critic reads are never asked for."""
    groups = {}
    for name, group in part.items():
        if not isinstance(group.content, dict):
            continue
        joined = group.maybe("concatenate_terms")
        if name in POLICY_GROUPS and joined is not None and not joined.flag():
            raise RobotError(f"{joined.where} is false: the policy takes a mapping of terms, which cannot be imported")
        history = group.maybe("history_length")
        frames = history.whole(0, 1000) if history else None
        terms = group.at("terms") if group.has("terms") else group
        try:
            groups[name] = [
                _term(key, entry, frames, scan)
                for key, entry in terms.items()
                if isinstance(entry.content, dict) and entry.has("func")
            ]
        except RobotError:
            if name in POLICY_GROUPS:  # a critic's terms may be anything
                raise
    if not any(groups.get(name) for name in groups):
        raise RobotError(
            f"{part.where} lists no terms; it must have a group such as 'policy' with terms that name a 'func'"
        )
    return groups


def _term(name: str, entry: Part, frames: int | None, scan: int | None) -> dict[str, Any]:
    path = entry.at("func").text()
    function = path.replace(":", ".").split(".")[-1]
    term = dict(FUNCTIONS.get(function) or NAMES.get(name) or {"unknown": name})
    if function == "builtin_sensor" and name not in NAMES:
        term = {"unknown": name}
    if function == "generated_commands":
        command = entry.maybe("params") and entry.at("params").maybe("command_name")
        if command and command.content == "motion":
            term = {"name": "motion_reference"}
    term = configured_term(entry, term, frames)
    if term.get("name") == "height_scan":
        offset = entry.maybe("params") and entry.at("params").maybe("offset")
        term |= {"size": scan} if scan else {}
        term |= {"offset": offset.number()} if offset else {}
    if entry.has("modifiers") and entry.at("modifiers").content:
        term = {"unknown": f"{name} (it has modifiers)"}
    return term | {"source": entry.where}


def _scan_size(file: Part) -> int | None:
    """Rays of the height scanner's grid."""
    scanner = file.at("scene").maybe("height_scanner")
    grid = scanner.maybe("pattern_cfg") if scanner else None
    if grid is None or not grid.has("resolution") or not grid.has("size"):
        return None
    resolution = grid.at("resolution").number(1e-3, 10.0)
    x, y = grid.at("size").numbers(2)
    rays = (round(max(x, 0.0) / resolution) + 1) * (round(max(y, 0.0) / resolution) + 1)
    return rays if rays <= 100_000 else None


def _ranges(file: Part) -> Value | None:
    """Ranges of the velocity command; `limit_ranges` is where a curriculum may take them."""
    commands = file.maybe("commands")
    for _, command in commands.items() if commands else ():
        if isinstance(command.content, dict):
            ranges = command.maybe("limit_ranges") or command.maybe("ranges")
            if ranges is not None and isinstance(ranges.content, dict) and ranges.has("lin_vel_x"):
                return ranges.value(velocity_ranges(ranges))
    return None
