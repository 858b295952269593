"""Reading a contract: from the JSON inside a policy's file, or from the keys of a robot.yaml once they are resolved."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from surefoot.errors import PolicyError, SurefootError, shown
from surefoot.files import is_number
from surefoot.robot.contract import (
    ACTION_KINDS,
    LARGEST,
    OPTIONAL_FIELDS,
    POSITION,
    VELOCITY_COMMANDS,
    Command,
    Contract,
)
from surefoot.robot.estimates import parse_estimators
from surefoot.robot.layout import parse_input, parse_inputs
from surefoot.robot.terms import TermNames, pick_names

COMMAND_KEYS = ("name", "range", "default")


def contract_from_dict(content: Any, source: str) -> Contract:
    """What `Contract.to_dict` gave; `source` names the file in errors."""
    fields = {field.name for field in dataclasses.fields(Contract)}
    given = set(content) if isinstance(content, dict) else set()
    missing, extra = sorted(fields - OPTIONAL_FIELDS - given), sorted(given - fields)
    if not isinstance(content, dict) or missing or extra:
        raise PolicyError(
            f"the contract inside {source} does not fit this version"
            + (f"; it lacks {', '.join(missing)}" if missing else "")
            + (f"; it has the unknown {', '.join(map(str, extra))}" if extra else "")
            + "; attach it again",
            verb="policy attach",
        )
    try:
        joints = tuple(str(name) for name in content["joints"])
        numbers: dict[str, Any] = {
            key: tuple(float(v) for v in content[key])
            for key in (
                "pose_rad",
                "kp_nm_per_rad",
                "kd_nms_per_rad",
                "torque_limit_nm",
                "velocity_limit_rad_s",
                "action_scale_rad",
            )
        }
        limits = tuple((float(low), float(high)) for low, high in content["position_limit_rad"])
        vx, vy, wz = ((float(low), float(high)) for low, high in content["command_range"])
        action_clip, control_hz = float(content["action_clip"]), float(content["control_hz"])
        everything = [
            *(v for values in (*numbers.values(), *limits, vx, vy, wz) for v in values),
            action_clip,
            control_hz,
        ]
        if not all(map(math.isfinite, everything)):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(
            f"the contract inside {source} holds something that is not a number where one is needed; attach it again",
            verb="policy attach",
        ) from None
    if any(len(values) != len(joints) for values in (*numbers.values(), limits)) or not joints:
        raise PolicyError(
            f"the contract inside {source} has lists of different lengths for {len(joints)} joints; attach it again",
            verb="policy attach",
        )
    scalars = {"action_clip": (action_clip,), "control_hz": (control_hz,)}
    ranges = {"position_limit_rad": sum(limits, ()), "command_range": (*vx, *vy, *wz)}
    for key, values in {**numbers, **scalars, **ranges}.items():
        if (largest := max(map(abs, values))) > LARGEST.get(key, math.inf):
            raise PolicyError(
                f"the contract inside {source}: {key} is {largest:g}, and no robot has more than {LARGEST[key]:g};"
                " attach it again",
                verb="policy attach",
            )
    contract = Contract(
        str(content["robot"]),
        joints,
        position_limit_rad=limits,
        observation=(),
        command_range=(vx, vy, wz),
        action_clip=action_clip,
        control_hz=control_hz,
        **numbers,
    )
    return with_layout(contract, content, f"the contract inside {source}", PolicyError)


def with_layout(
    contract: Contract, content: Mapping[str, Any], what: str, error: type[SurefootError], n_feet: int | None = None
) -> Contract:
    """The contract with its observation and its optional fields, from the mapping that `to_dict` gives or from the
    resolved keys of a robot.yaml.
    """
    driven = _driven(content.get("driven", ()), contract.joints, what, error)
    more = _more_commands(content.get("more_commands", ()), what, error)
    names = TermNames(
        contract.joints,
        len(driven) or contract.n_joints,
        (*VELOCITY_COMMANDS, *(command.name for command in more)),
        n_feet,
    )
    fields: dict[str, Any] = {"driven": driven, "more_commands": more}
    if content.get("inputs"):
        if content.get("observation"):
            raise error(f"{what} gives both observation and inputs; inputs alone describe a policy with several")
        fields["inputs"] = parse_inputs(content["inputs"], f"{what}: inputs", error, names)
    else:
        only = parse_input(
            {
                "terms": content.get("observation"),
                "frames": content.get("frames"),
                "clip": content.get("observation_clip"),
                "normalizer": content.get("normalizer"),
            },
            f"{what}: observation",
            error,
            names,
        )
        fields |= {
            "observation": only.terms,
            "frames": only.frames,
            "observation_clip": only.clip,
            "normalizer": only.normalizer,
        }
    kinds = tuple(content.get("action_kind", ()))
    if kinds and (len(kinds) != contract.n_joints or set(kinds) - set(ACTION_KINDS)):
        raise error(f"{what}: action_kind must give {', '.join(ACTION_KINDS)} for each of {contract.n_joints} joints")
    fields["action_kind"] = () if set(kinds) <= {POSITION} else kinds
    offsets = tuple(content.get("action_offset", ()))
    if offsets and (len(offsets) != contract.n_joints or not all(map(is_number, offsets))):
        raise error(f"{what}: action_offset must give a finite number for each of {contract.n_joints} joints")
    fields["action_offset"] = tuple(map(float, offsets)) if any(offsets) else ()
    for key in ("action_limit", "target_limit"):
        fields[key] = _limits(content.get(key, ()), contract.n_joints, f"{what}: {key}", error)
    fields["output"] = _tensor(content.get("output", ""), f"{what}: output", error)
    fields["state"] = parse_state(content.get("state", ()), f"{what}: state", error)
    fields["estimators"] = parse_estimators(content.get("estimators", ()), f"{what}: estimators", error)
    return dataclasses.replace(contract, **fields)


def _driven(value: Any, joints: tuple[str, ...], what: str, error: type[SurefootError]) -> tuple[str, ...]:
    """Resolved names; the joints themselves, in their own order, are the default and stay unsaid."""
    picked = pick_names(value, joints, f"{what}: driven", error) if value else ()
    return () if picked == joints else picked


def _more_commands(value: Any, what: str, error: type[SurefootError]) -> tuple[Command, ...]:
    commands = []
    for item in value:
        values: list[Any] = [item.get(key) if isinstance(item, dict) else None for key in COMMAND_KEYS]
        name, limits, default = values
        pair = isinstance(limits, (list, tuple)) and len(limits) == 2 and all(map(is_number, limits))
        if not isinstance(name, str) or not name.isidentifier() or not pair or not is_number(default):
            raise error(f"{what}: the command {shown(item)} needs a name, a range [lowest, highest] and a default")
        if not limits[0] <= default <= limits[1]:
            raise error(f"{what}: the default of {name} is {default:g}, outside {limits[0]:g} to {limits[1]:g}")
        commands.append(Command(name, (float(limits[0]), float(limits[1])), float(default)))
    names = [*VELOCITY_COMMANDS, *(command.name for command in commands)]
    for name in names:
        if names.count(name) > 1:
            raise error(f"{what}: the command {name} is there twice")
    return tuple(commands)


def _limits(value: Any, n: int, what: str, error: type[SurefootError]) -> tuple[tuple[float, float], ...]:
    if not value:
        return ()
    pairs = [
        p for p in value if isinstance(p, (list, tuple)) and len(p) == 2 and all(map(is_number, p)) and p[0] <= p[1]
    ]
    if len(pairs) != len(value) or len(value) != n:
        raise error(f"{what} must give [lowest, highest] for each of {n} joints")
    return tuple((float(low), float(high)) for low, high in pairs)


def _tensor(value: Any, what: str, error: type[SurefootError]) -> str:
    if not isinstance(value, str):
        raise error(f"{what} is {shown(value)}; it must be the name of a tensor")
    return value


def parse_state(value: Any, what: str, error: type[SurefootError]) -> tuple[tuple[str, str], ...]:
    """Pairs of tensors: the input that takes what the output gave at the tick before."""
    if not isinstance(value, (list, tuple)):
        raise error(f"{what} is {shown(value)}; it must be a list of {{input: ..., output: ...}}")
    pairs = []
    for item in value:
        pair = (item.get("input"), item.get("output")) if isinstance(item, dict) else item
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(t, str) and t for t in pair):
            raise error(f"{what}: {shown(item)} must name an input and an output tensor")
        pairs.append((str(pair[0]), str(pair[1])))
    return tuple(pairs)
