"""The observation of a description as terms of robot.yaml, over the joints of the model."""

from collections.abc import Sequence
from typing import Any

from surefoot.errors import RobotError
from surefoot.robot.importing.description import Description, Joints, Value
from surefoot.robot.importing.isaaclab import POLICY_GROUPS
from surefoot.robot.importing.order import ModelJoints, Order, first
from surefoot.robot.importing.parts import same
from surefoot.robot.importing.terms import WIDTHS

COMMANDS = 3


def find_layout(
    descriptions: Sequence[Description], order: Order, model: ModelJoints, remarks: list[str]
) -> dict[str, Value]:
    """`observation` or `inputs`, with `observation_frames` where there are any; sentences go to `remarks`."""
    groups, inputs = first(descriptions, "groups"), first(descriptions, "inputs")
    if inputs is not None and (groups is None or groups.guess or inputs.guess == groups.guess):
        named = {}
        for name, entry in inputs.value.items():
            terms, _ = _terms(entry["terms"], order, model, remarks)
            named[name] = {**entry, "terms": terms}
        bad = any("unknown" in term for entry in named.values() for term in entry["terms"])
        return {"inputs": Value(named, inputs.source, inputs.remark, inputs.guess or bad)}
    if groups is None:
        return {}
    chosen = _chosen(groups, first(descriptions, "policy_groups"))
    if not any(groups.value[name] for name in chosen):
        raise RobotError(f"{groups.source} lists no terms in the group {' and '.join(chosen)}")
    terms, size = _terms([term for name in chosen for term in groups.value[name]], order, model, remarks)
    frames = first(descriptions, "observation_frames")
    guess, remark = groups.guess or any("unknown" in term for term in terms), groups.remark
    sizes = first(descriptions, "input_sizes")
    total = None if size is None else size * (frames.value["history"] if frames else 1)
    if sizes is not None and total is not None and total not in sizes.value.values():
        described = f"{total} entries by {groups.source}"
        takes = ", ".join(f"{count} ({name})" for name, count in sizes.value.items())
        remarks.append(
            f"the observation has {described}, and the network of {sizes.source.split(':')[0]} takes {takes}"
        )
        guess, remark = True, f"{remark}; {total} entries, and the network takes {takes}".strip("; ")
    found = {"observation": Value(terms, groups.source, remark, guess)}
    return found | ({"observation_frames": frames} if frames else {})


def _chosen(groups: Value, named: Value | None) -> list[str]:
    """The groups that the policy reads: those that a file names, else the one that is called after it."""
    if named is not None:
        missing = [name for name in named.value if name not in groups.value]
        if missing:
            raise RobotError(
                f"{named.source} names the observation group {missing[0]!r}, and {groups.source} has no such group"
            )
        return list(named.value)
    own = [name for name in POLICY_GROUPS if name in groups.value]
    if not own:
        known = ", ".join(groups.value)
        raise RobotError(
            f"{groups.source} has no group {' or '.join(POLICY_GROUPS)} (known: {known}); give the agent.yaml too"
        )
    return own[:1]


def _terms(
    terms: list[dict[str, Any]], order: Order, model: ModelJoints, remarks: list[str]
) -> tuple[list[dict[str, Any]], int | None]:
    """Terms with the names of the model's joints, and their size where it is known."""
    found, total = [], 0
    known = True
    for entry in terms:
        term = dict(entry)
        source = term.get("source", "")
        joints = term.pop("joints", None)
        if "unknown" in term:
            remarks.append(
                f"{source} is the term {term['unknown']!r}, which robot.yaml has no word for; it is left out"
            )
            found.append(term)
            known = False
            continue
        names = order.names(joints, model, source) if isinstance(joints, Joints) else order.driven
        if isinstance(joints, Joints) and not names:
            raise RobotError(f"{source} names no joint of the model")
        if names != order.driven and "joint" in term["name"]:
            term["joints"] = list(names)
        width = _width(term, len(names), len(order.driven))
        if width is None and term["name"] in ("height_scan", "motion_reference"):
            remarks.append(f"{source} is {term['name']}, and no file says how many entries it has; write 'size' to it")
        for key in ("scale", "clip", "offset"):
            _check_length(term, key, width, source)
        _simplify(term)
        known = known and width is not None
        total += (width or 0) * term.get("history", 1)
        found.append(term)
    return found, total if known else None


def _width(term: dict[str, Any], joints: int, driven: int) -> int | None:
    name = term["name"]
    if name in WIDTHS:
        return WIDTHS[name]
    if name == "command":
        return len(term.get("entries", range(COMMANDS)))
    if name in ("joint_position", "joint_velocity"):
        return joints
    if name in ("last_action", "last_target"):
        return driven
    if name == "gait_phase":
        return len(term["offsets"]) * (1 if term["form"] in ("sin", "cos", "phase", "phase_rad") else 2)
    size: int | None = term.get("size")
    return size


def _simplify(term: dict[str, Any]) -> None:
    """One scale in the place of a list of the same, and none where it is 1."""
    if isinstance(term.get("scale"), list):
        term["scale"] = same(term["scale"])
    if term.get("scale") == 1.0:
        del term["scale"]


def _check_length(term: dict[str, Any], key: str, width: int | None, source: str) -> None:
    values = term.get(key)
    pair = key == "clip" and isinstance(values, list) and not isinstance(values[0], list)
    if isinstance(values, list) and not pair and width is not None and len(values) not in (1, width):
        raise RobotError(f"{source}: {key} has {len(values)} numbers, and {term['name']} has {width} entries")
