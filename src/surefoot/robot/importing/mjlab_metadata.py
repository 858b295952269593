"""ONNX metadata of mjlab, whole_body_tracking and motion_tracking_controller: lists as text between commas.

Their exporters write three decimals. Gains are in the order of `joint_names`, which is that of the policy.
"""

from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.robot.importing.description import Action, Description, Joints, Value
from surefoot.robot.importing.parts import Part
from surefoot.robot.importing.terms import JOINT_TERMS, NAMES, term_of, with_numbers

KIND = "an ONNX file of mjlab or whole_body_tracking"
MOST_ENTRIES = 5000


def is_mjlab(metadata: dict[str, str]) -> bool:
    """Whether metadata is of this kind."""
    return {"joint_names", "joint_stiffness", "joint_damping"} <= set(metadata)


def read_mjlab(metadata: dict[str, str], source: str) -> Description:
    """What the metadata of an ONNX file says."""
    file = Part({key: _split(text, f"{source}: {key}") for key, text in metadata.items() if key in READ}, source)
    names = file.at("joint_names").names()
    remarks = []

    def listed(key: str) -> Value | None:
        part = file.maybe(key)
        if part is None:
            return None
        values = part.numbers()
        if len(values) != len(names):
            remarks.append(
                f"{part.where} has {len(values)} numbers for {len(names)} joints; it is not imported, because some joints"
                " have no motor and the file does not say which"
            )
            return None
        return part.value(dict(zip(names, values, strict=True)))

    if "anchor_body_name" in metadata or "motion" in metadata.get("command_names", ""):
        remarks.append(f"{source} tracks a motion, which is inside of the file; Surefoot knows no motions yet")
    return Description(
        kind=KIND,
        source=source,
        joints=file.at("joint_names").value(tuple(names)),
        actions=_actions(file, names),
        pose_rad=listed("default_joint_pos"),
        kp_nm_per_rad=listed("joint_stiffness"),
        kd_nms_per_rad=listed("joint_damping"),
        groups=_groups(file, len(names), metadata.get("command_names", "")),
        remarks=tuple(remarks),
    )


READ = (
    *("joint_names", "joint_stiffness", "joint_damping", "default_joint_pos", "action_scale", "observation_names"),
    *("observation_terms_scale", "observation_terms_history_length", "observation_terms_clip"),
)


def _split(text: str, where: str) -> list[Any]:
    """Entries between commas that are not inside of brackets; a bracket is a list of numbers."""
    if text.count(",") > MOST_ENTRIES:
        raise RobotError(f"{where} has {text.count(',') + 1:,} entries; no policy has as many")
    pieces: list[str] = []
    for piece in text.split(","):
        opened = bool(pieces) and pieces[-1].count("[") > pieces[-1].count("]")
        pieces[-1:] = [f"{pieces[-1]},{piece}"] if opened else [*pieces[-1:], piece]
    return [_entry(piece.strip()) for piece in pieces if piece.strip()]


def _entry(text: str) -> Any:
    if text.startswith("["):
        return [_entry(piece.strip()) for piece in text.strip("[]").split(",") if piece.strip()]
    try:
        return float(text)
    except ValueError:
        return text


def _actions(file: Part, names: list[str]) -> Value | None:
    part = file.maybe("action_scale")
    if part is None:
        return None
    values = part.numbers()
    if len(values) == 1:
        values *= len(names)
    if len(values) != len(names):
        raise RobotError(f"{part.where} has {len(values)} numbers for {len(names)} joints")
    scale = dict(zip(names, values, strict=True))
    return part.value((Action("position", Joints(keys=tuple(names)), scale),), part.value(scale).remark)


def _groups(file: Part, count: int, commands: str) -> Value | None:
    part = file.maybe("observation_names")
    if part is None:
        return None
    names = part.names()
    terms = []
    for i, name in enumerate(names):
        term = term_of(name, NAMES)
        if term.get("name") == "command" and "motion" in commands:
            term = {"name": "motion_reference", "size": 2 * count}
        if term.get("name") in JOINT_TERMS:
            term["joints"] = Joints(patterns=(".*",))
        settings: dict[str, Any] = {}
        for key, default in (("scale", None), ("history_length", 0.0), ("clip", None)):
            listed = file.maybe(f"observation_terms_{key}")
            if listed is not None:
                settings[key] = listed.sequence(len(names), "entries")[i]
            settings.setdefault(key, default)
        terms.append(_term(term, settings, part) | {"source": part.where})
    return part.value({"policy": terms})


def _term(term: dict[str, Any], settings: dict[str, Any], part: Part) -> dict[str, Any]:
    scale, clip, history = settings["scale"], settings["clip"], settings["history_length"]
    clip_ok = clip is None or (isinstance(clip, list) and len(clip) == 2 and all(isinstance(v, float) for v in clip))
    scale_part = Part(scale, part.source, "observation_terms_scale")
    if not clip_ok:
        raise RobotError(f"{part.source}: observation_terms_clip holds {shown(clip)}; it must be [lowest, highest]")
    frames = Part(history, part.source, "observation_terms_history_length").whole(0, 1000)
    return with_numbers(term, None if scale is None else scale_part.scale(), clip, max(1, frames))
