"""Descriptions of one or several files, put onto the joints of a model: what robot.yaml will say, and why.

Of several files, the first that says something wins, joint by joint. What a later one says otherwise becomes a sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.robot.importing.description import PER_JOINT, WHOLE, Description, JointKey, Patterns, Value
from surefoot.robot.importing.layout import find_layout
from surefoot.robot.importing.order import ModelJoints, Order, find_order, first
from surefoot.robot.importing.patterns import find_joint, matching

TRUTH = Value(
    {"base_velocity": {"kind": "truth"}},
    "",
    "no robot measures its velocity; this is the simulator's true value until an estimator is named",
    guess=True,
)


@dataclass(frozen=True)
class Imported:
    """What the files say about a model's joints and its policy."""

    joints: tuple[str, ...]  # the driven ones first, in the policy's order; then the rest of those with a motor
    driven: tuple[str, ...]
    order: Value  # where the order comes from
    per_joint: dict[str, dict[str, Value]]  # key of robot.yaml -> joint -> number
    whole: dict[str, Value]  # key of robot.yaml -> what it says
    target_offset: dict[str, Value]  # target at an action of 0, for joints where that is not the default pose
    target_clip: dict[str, Value]  # (low, high) of targets
    remarks: tuple[str, ...]  # sentences: contradictions, rounding, and what robot.yaml does not hold


def resolve(descriptions: Sequence[Description], model: ModelJoints) -> Imported:
    """Put what files say onto the joints of a model."""
    order = find_order(descriptions, model)
    rest = tuple(name for name in model.names if name not in order.driven)
    joints = order.driven + rest
    remarks: list[str] = []
    per_joint: dict[str, dict[str, Value]] = {}
    for field in PER_JOINT:
        values = [(v, _spread(v, joints, order, model)) for d in _with_gains(descriptions) if (v := getattr(d, field))]
        per_joint[field] = _merged(field, values, remarks)
        remarks += [sentence for value, _ in values if (sentence := _passed_over(value, model))]
    offsets, clips = _actions(descriptions, order, model, per_joint, remarks)
    _refuse_negative(per_joint)
    whole = {}
    for field in WHOLE:
        if (value := first(descriptions, field)) is not None:
            whole[field] = value
            _contradict(field, value, [getattr(d, field) for d in descriptions], remarks)
    if isinstance((clip := whole.get("action_clip") or Value(None, "")).value, Mapping):
        named = {order.name(key, model, clip.source): list(pair) for key, pair in clip.value.items()}
        whole["action_clip"] = Value(named, clip.source, clip.remark)
    whole |= find_layout(descriptions, order, model, remarks)
    if "observation_frames" in whole and "observation" not in whole:
        del whole["observation_frames"]
    if any(term.get("name") == "base_velocity" for term in _all_terms(whole)):
        whole["estimators"] = TRUTH
    remarks += [sentence for description in descriptions for sentence in description.remarks]
    for description in descriptions:
        for value in description.held().values():
            if "rounded" in value.remark and f"{value.source}: {value.remark}" not in remarks:
                remarks.append(f"{value.source}: {value.remark}")
    return Imported(joints, order.driven, order.source, per_joint, whole, offsets, clips, tuple(dict.fromkeys(remarks)))


def _refuse_negative(per_joint: Mapping[str, Mapping[str, Value]]) -> None:
    for key in ("kp_nm_per_rad", "kd_nms_per_rad", "torque_limit_nm", "velocity_limit_rad_s"):
        for name, value in per_joint[key].items():
            if value.value < 0:
                raise RobotError(f"{value.source}: {key} of {name} is {value.value:g}; it must be at least 0")


def _all_terms(whole: Mapping[str, Value]) -> list[dict[str, Any]]:
    if "observation" in whole:
        return list(whole["observation"].value)
    return [term for entry in whole["inputs"].value.values() for term in entry["terms"]] if "inputs" in whole else []


def _with_gains(descriptions: Sequence[Description]) -> list[Description]:
    """The descriptions, and one more with gains that one file names and the network of another holds."""
    named, constants = first(descriptions, "gain_outputs"), first(descriptions, "constants")
    found: dict[str, Any] = {}
    if named is not None and constants is not None:
        for output, (field, names) in named.value.items():
            numbers = constants.value.get(output, ())
            if len(numbers) == len(names):
                source = f"{constants.source}: the constant output {output}"
                found[field] = Value(dict(zip(names, numbers, strict=True)), source)
    extra = [Description(kind="", source=constants.source, **found)] if found and constants else []
    return [*descriptions, *extra]


def _spread(value: Value, joints: Sequence[str], order: Order, model: ModelJoints) -> dict[str, Any]:
    """A value of a file as one for each joint of the model that it speaks of."""
    content = value.value
    if isinstance(content, Patterns):
        found = dict.fromkeys(joints, content.rest) if content.rest is not None else {}
        for patterns, number in reversed(content.entries):  # the first wins
            chosen = list(joints)
            for pattern in patterns:
                chosen = matching(pattern, chosen, value.source)
            found |= dict.fromkeys(chosen, number)
        return found
    if isinstance(content, Mapping):
        return {
            name: number for key, number in content.items() if (name := _name(key, value, order, model)) is not None
        }
    return dict.fromkeys(joints, content)


def _passed_over(value: Value, model: ModelJoints) -> str:
    """A sentence about joints that a file names and the model does not have."""
    keys = value.value if isinstance(value.value, Mapping) else ()
    unknown = [key for key in keys if isinstance(key, str) and find_joint(key, model.everything) is None]
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    return f"{value.source} names {', '.join(unknown[:3])}{more}, which the model does not have" if unknown else ""


def _name(key: JointKey, value: Value, order: Order, model: ModelJoints) -> str | None:
    """The joint that a key means; a name that the model lacks is passed over (a hand, say, that this model has not)."""
    return find_joint(key, model.everything) if isinstance(key, str) else order.name(key, model, value.source)


def _merged(field: str, values: list[tuple[Value, dict[str, Any]]], remarks: list[str]) -> dict[str, Value]:
    """One number for each joint: of the first file that has it, and a sentence for those that say otherwise."""
    found: dict[str, Value] = {}
    for value, numbers in sorted(values, key=lambda pair: pair[0].guess):
        other = [name for name, number in numbers.items() if name in found and not agree(found[name].value, number)]
        if other and not value.guess:
            name = other[0]
            more = f" (and {len(other) - 1} more joints)" if len(other) > 1 else ""
            remarks.append(
                f"{field} of {name}{more} is {found[name].value:g} by {found[name].source} and {numbers[name]:g} by"
                f" {value.source}; the first is taken"
            )
        for name, number in numbers.items():
            better = name in found and agree(found[name].value, number) and _longer(number, found[name].value)
            if name not in found or better:
                found[name] = Value(number, value.source, value.remark, value.guess)
    return found


def agree(one: float, other: float) -> bool:
    """Whether two numbers are the same but for rounding to three digits or decimals."""
    return one == other or any(float(f"{a:.3g}") == b or round(a, 3) == b for a, b in ((one, other), (other, one)))


def _longer(one: float, other: float) -> bool:
    return len(repr(one)) > len(repr(other))


def _contradict(field: str, value: Value, others: Sequence[Value | None], remarks: list[str]) -> None:
    for other in others:
        if other is not None and not other.guess and other.value != value.value and not value.guess:
            remarks.append(
                f"{field} is {shown(value.value)} by {value.source} and {shown(other.value)} by {other.source}; the first is"
                " taken"
            )


def _actions(
    descriptions: Sequence[Description],
    order: Order,
    model: ModelJoints,
    per_joint: dict[str, dict[str, Value]],
    remarks: list[str],
) -> tuple[dict[str, Value], dict[str, Value]]:
    """Kind and scale of the driven joints into `per_joint`; offsets and clips of targets."""
    scales: list[tuple[Value, dict[str, Any]]] = []
    kinds: dict[str, Value] = {}
    offsets: dict[str, Value] = {}
    clips: dict[str, Value] = {}
    leading = first(descriptions, "actions")
    for description in descriptions:
        actions = description.actions
        if actions is None:
            continue
        numbers: dict[str, Any] = {}
        for action in actions.value:
            names = order.names(action.joints, model, actions.source) if action.joints else order.driven
            numbers |= _over(action.scale, names, actions, order, model)
            if actions is not leading:
                continue
            if action.kind != "position":
                kinds |= {name: Value(action.kind, actions.source) for name in names}
            offset = _over(action.offset, names, actions, order, model) if action.offset is not None else {}
            offsets |= {name: Value(number, actions.source) for name, number in offset.items()}
            pairs = _over(action.target_clip, names, actions, order, model) if action.target_clip is not None else {}
            clips |= {name: Value(pair, actions.source) for name, pair in pairs.items()}
        scales.append((actions, numbers))
    per_joint["action_scale_rad"] = _merged("action_scale_rad", scales, remarks)
    per_joint["action_kind"] = {name: kinds.get(name, Value("position", "")) for name in order.driven} if kinds else {}
    return offsets, clips


def _over(content: Any, names: Sequence[str], actions: Value, order: Order, model: ModelJoints) -> dict[str, Any]:
    """Numbers or pairs of an action for its joints."""
    if isinstance(content, tuple) and content and isinstance(content[0], tuple):  # pairs by pattern
        content = Patterns(tuple(((pattern,), pair) for pattern, pair in content))
    found = _spread(Value(content, actions.source), names, order, model)
    return {name: number for name, number in found.items() if name in names}
