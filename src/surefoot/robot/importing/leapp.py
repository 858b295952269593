"""The YAML of a LEAPP bundle: each tensor of each network with its kind and the names of its elements.

Observation and action processing are in the networks, so that outputs are targets in rad. Gains are constant outputs of
the ONNX file: give it too.
"""

from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.parts import Part

KIND = "the YAML of a LEAPP bundle"
INPUTS: dict[str, dict[str, Any]] = {
    "state/joint/position": {"name": "joint_position", "relative": False},
    "state/joint/velocity": {"name": "joint_velocity"},
    "state/body/angular_velocity": {"name": "gyro"},
    "state/body/linear_velocity": {"name": "base_velocity"},
    "state/body/rotation": {"name": "quaternion"},
    "command/body/velocity": {"name": "command", "entries": ["vx_m_s", "vy_m_s", "wz_rad_s"]},
}
TARGETS = {
    "target/joint/position": "position",
    "target/joint/velocity": "velocity",
    "target/joint/effort": "torque",
    "target/joint/torques": "torque",
}


def is_leapp(content: dict[str, Any]) -> bool:
    """Whether a file's content is of this kind."""
    return isinstance(content.get("models"), dict) and isinstance(content.get("pipeline"), dict)


def read_leapp(content: dict[str, Any], source: str) -> Description:
    """What a LEAPP YAML says, for a bundle with one network."""
    file = Part(content, source)
    models = file.at("models").items()
    if len(models) != 1:
        raise RobotError(
            f"{source} is a pipeline of {len(models)} networks ({', '.join(name for name, _ in models[:5])}), and one can be"
            " imported; export the policy as one node"
        )
    node, model = models[0]
    feedback = _feedback(file.at("pipeline"), node)
    inputs: dict[str, Any] = {}
    remarks: list[str] = []
    for part in _tensors(model.at("inputs")):
        name = part.at("name").text()
        if name not in feedback:
            inputs[name] = {"terms": [_term(name, part, remarks)]}
    targets = [
        (part.at("name").text(), TARGETS[part.at("kind").text()], part)
        for part in _tensors(model.at("outputs"))
        if part.has("kind") and part.at("kind").text() in TARGETS
    ]
    if not targets:
        raise RobotError(f"{model.where}.outputs has no joint target (a kind such as target/joint/position)")
    output, kind, part = targets[0]
    names = _elements(part)
    if names is None:
        raise RobotError(f"{part.where} ({output}) has no element_names, which say whose targets these are")
    configs = file.at("pipeline").maybe("configs")
    rate = configs.maybe("frequency") if configs else None
    if file.at("pipeline").has("initial_values"):
        remarks.append(f"{source} starts its state from a file of initial values; Surefoot starts it from zero")
    gains = _gain_outputs(model)
    state = [{"input": name, "output": result} for name, result in feedback.items()]
    return Description(
        kind=KIND,
        source=source,
        order="breadth_first",
        joints=part.value(tuple(names)),
        actions=part.value((Action(kind, Joints(keys=tuple(names)), 1.0, 0.0),), "targets in rad"),
        control_hz=rate.value(rate.number(0.0, 1e4, above=True)) if rate else None,
        inputs=model.at("inputs").value(inputs),
        output=part.value(output),
        state=file.at("pipeline").value(state) if state else None,
        gain_outputs=Value(gains, f"{source}: outputs of the kinds kp and kd") if gains else None,
        remarks=tuple(remarks),
    )


def _gain_outputs(model: Part) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Outputs that hold gains: name -> (field of the description, joints)."""
    found = {}
    for part in _tensors(model.at("outputs")):
        kind, names = part.maybe("kind"), _elements(part)
        if kind is not None and kind.content in ("kp", "kd") and names:
            field = "kp_nm_per_rad" if kind.content == "kp" else "kd_nms_per_rad"
            found[part.at("name").text()] = (field, tuple(names))
    return found


def _tensors(part: Part) -> list[Part]:
    return [Part(item, part.source, f"{part.path}[{i}]") for i, item in enumerate(part.sequence())]


def _feedback(pipeline: Part, node: str) -> dict[str, str]:
    """Inputs that are outputs of the step before: input -> output."""
    flow = pipeline.maybe("feedback_flow")
    found = {}
    for port, targets in flow.items() if flow else ():
        for target in targets.names():
            found[target.removeprefix(f"{node}/")] = port.removeprefix(f"{node}/")
    return found


def _elements(part: Part) -> list[str] | None:
    """Names along the last axis of a tensor."""
    listed = part.maybe("element_names")
    if listed is None:
        return None
    rows = listed.sequence()
    if rows and isinstance(rows[-1], list):
        return Part(rows[-1], listed.source, listed.path).names()
    return listed.names()


def _term(name: str, part: Part, remarks: list[str]) -> dict[str, Any]:
    kind_part = part.maybe("kind")
    kind = kind_part.text() if kind_part else ""
    connection = part.content.get("isaaclab_connection", "") if isinstance(part.content, dict) else ""
    names = _elements(part)
    if isinstance(connection, str) and connection.endswith("projected_gravity_b"):
        return {"name": "gravity", "source": part.where}
    term = dict(INPUTS.get(kind, {"unknown": f"{name} ({kind or 'no kind'})"}))
    if term.get("name") in ("joint_position", "joint_velocity"):
        term["joints"] = Joints(keys=tuple(names)) if names else Joints(patterns=(".*",))
    if term.get("name") == "quaternion":
        order = "".join(element[-1:] for element in names) if names else ""
        term["order"] = order if order in ("wxyz", "xyzw") else "xyzw"
        if order not in ("wxyz", "xyzw"):
            remarks.append(
                f"{part.where} ({shown(name)}) does not say the order of the quaternion; Isaac Lab 3 has xyzw"
            )
    return term | {"source": part.where}
