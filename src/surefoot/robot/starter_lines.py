"""Lines of a starter robot.yaml: each value with the reason of a guess, or the place that it was imported from."""

import math
import re
from collections.abc import Sequence
from typing import Any

import yaml

from surefoot.robot.importing import Imported, Value
from surefoot.robot.stance import Guess
from surefoot.text import for_comment

MARK = "  # GUESS: "
OBSERVATION = ("gyro", "gravity", "command", "joint_position", "joint_velocity", "last_action")
FROM = "  # from "
PLAIN = ("control_hz", "physics_hz", "command_range", "command_default", "output", "state", "estimators")
OF_OBSERVATION = ("observation_frames", "observation_clip", "observation_normalizer")


def mark_of(guess: bool) -> str:
    """What comes before the reason of a guess, or before the place of an imported value."""
    return MARK if guess else FROM


def over(guesses: dict[int, Guess], imported: Imported | None, key: str, names: dict[int, str]) -> dict[int, Guess]:
    """Guesses, with what files say in the place of those that they know better."""
    values = imported.per_joint.get(key, {}) if imported else {}
    return {
        joint: _imported(values[names[joint]]) if names[joint] in values else guess for joint, guess in guesses.items()
    }


def per_joint(key: str, names: dict[int, str], guesses: dict[int, Guess]) -> list[str]:
    """One joint a line, or one line where all are the same for the same reason."""
    first = next(iter(guesses.values()))
    if all(guess == first for guess in guesses.values()):
        return [f"{key}: {_plain(first.value)}{mark_of(not first.imported)}{for_comment(first.why)}"]
    rows = [(f"  {word(names[j])}: {_plain(guess.value)}", guess) for j, guess in guesses.items()]
    if first.imported and all(guess.why == first.why for guess in guesses.values()):
        return [f"{key}:{FROM}{for_comment(first.why)}", *(text for text, _ in rows)]
    width = max(len(text) for text, _ in rows)
    return [
        f"{key}:",
        *(f"{text:<{width}}{mark_of(not guess.imported)}{for_comment(guess.why)}" for text, guess in rows),
    ]


def aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Guesses below each other, with their reasons."""
    width = max(len(text) for text, _ in rows)
    return [f"{text:<{width}}{MARK}{for_comment(why)}" for text, why in rows]


def imported_lines(imported: Imported, pose: dict[str, float]) -> dict[str, list[str]]:
    """The lines of each key that files fill, beside those for each joint; `pose` is the default pose of all joints."""
    lines = {}
    for key in (*PLAIN, *OF_OBSERVATION):
        if key in imported.whole:
            lines[key] = [f"{key}: {flow(imported.whole[key].value)}{_comment(imported.whole[key])}"]
    for key, held in (("action_kind", "position"), ("action_scale_rad", 1.0)):
        values = imported.per_joint.get(key, {})
        if all(name in values for name in imported.driven) and values:
            filled = _filled(imported, {name: _imported(value) for name, value in values.items()}, held)
            lines[key] = per_joint(key, *filled)
    lines |= _offset_lines(imported, pose) | _clip_lines(imported)
    if "observation" in imported.whole:
        value = imported.whole["observation"]
        lines["observation"] = [f"observation:{_comment(value)}", *_term_lines(value.value, value, "  ")]
    if "inputs" in imported.whole:
        value = imported.whole["inputs"]
        lines["inputs"] = [f"inputs:{_comment(value)}"]
        for name, entry in value.value.items():
            rest = [f"    {key}: {flow(item)}" for key, item in entry.items() if key != "terms"]
            lines["inputs"] += [f"  {word(name)}:", "    terms:", *_term_lines(entry["terms"], value, "      "), *rest]
    return lines


def policy_lines(imported: Imported | None, pose: dict[str, float]) -> list[str]:
    """Action, rates, commands and observation: what files say, and a common choice for what they do not."""
    held = imported_lines(imported, pose) if imported else {}
    usual = {
        "action_scale_rad": [
            f"action_scale_rad: 0.25{MARK}a common choice; it must be the one that the policy was trained with"
        ],
        "control_hz": [f"control_hz: 50{MARK}a common choice; it must be the one that the policy was trained with"],
        "physics_hz": [f"physics_hz: {_physics_hz(imported):g}{MARK}a common choice; a multiple of control_hz"],
        "observation": [
            f"observation:{MARK}a common layout; order and scale ('{{name: gyro, scale: 0.25}}') must be those of the policy",
            *(f"  - {term}" for term in OBSERVATION),
        ],
    }
    if "inputs" in held:
        usual["observation"] = []
    blocks = [
        ("action_kind", "action_scale_rad", "action_offset", "action_clip", "target_clip"),
        ("control_hz", "physics_hz"),
        ("command_range", "command_default"),
        ("observation", "inputs", "observation_frames", "observation_clip", "observation_normalizer"),
        ("output", "state", "estimators"),
    ]
    lines: list[str] = []
    for block in blocks:
        found = [line for key in block for line in held.get(key, usual.get(key, []))]
        lines += [*([""] if lines and found else []), *found]
    return lines


def _physics_hz(imported: Imported | None) -> float:
    """About 500 Hz, in whole steps of the control rate where a file gives that."""
    control = imported.whole.get("control_hz") if imported else None
    return 500.0 if control is None else float(control.value * math.ceil(500.0 / control.value))


def word(text: str) -> str:
    """A string as YAML reads it back: plain where it can be, quoted where YAML would see something else."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) is not None and yaml.safe_load(text) == text
    return text if plain else yaml.safe_dump(text, default_style='"', width=math.inf).strip()


def flow(value: Any) -> str:
    """A value on one line of YAML, at full precision."""
    if isinstance(value, str):
        return word(value)
    if isinstance(value, (bool, int, float)):
        return yaml.safe_dump(value).split("\n")[0]
    if isinstance(value, dict):
        return "{" + ", ".join(f"{word(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(flow(item) for item in value) + "]"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _imported(value: Value) -> Guess:
    why = value.source if not value.remark or value.remark == value.source else f"{value.source}; {value.remark}"
    return Guess(value.value, why, imported=not value.guess)


def _comment(value: Value) -> str:
    guess = _imported(value)
    return f"{mark_of(value.guess)}{for_comment(guess.why.lstrip('; '))}"


def _term_lines(terms: Sequence[dict[str, Any]], whole: Value, indent: str) -> list[str]:
    """A line for each term; its own source where that says more than that of the whole."""
    lines = []
    for entry in terms:
        source = entry.get("source", "")
        term = {key: item for key, item in entry.items() if key != "source"}
        if "unknown" in term:
            lines.append(f"{indent}# - {for_comment(term['unknown'])}: robot.yaml has no such term")
            continue
        text = f"{indent}- {term['name'] if set(term) == {'name'} else flow(term)}"
        lines.append(text if source in ("", whole.source) else f"{text}{mark_of(whole.guess)}{for_comment(source)}")
    return lines


def _offset_lines(imported: Imported, pose: dict[str, float]) -> dict[str, list[str]]:
    """What is added to targets where an action of 0 does not mean the default pose."""
    kinds = imported.per_joint.get("action_kind", {})
    found = {}
    for name in imported.driven:
        value = imported.target_offset.get(name)
        moves = name not in kinds or kinds[name].value == "position"
        offset = 0.0 if value is None else value.value - (pose[name] if moves else 0.0)
        found[name] = Guess(offset, value.source if value else "an action of 0 is the default pose", imported=True)
    if all(abs(guess.value) < 1e-9 for guess in found.values()):
        return {}
    return {"action_offset": per_joint("action_offset", *_filled(imported, found, 0.0))}


def _clip_lines(imported: Imported) -> dict[str, list[str]]:
    """Limits of actions and of targets: one for all joints, or one for each."""
    lines = {}
    whole = imported.whole.get("action_clip")
    if whole is not None and isinstance(whole.value, dict):
        lines["action_clip"] = [f"action_clip:{_comment(whole)}", *_pair_lines(whole.value)]
    elif whole is not None:
        lines["action_clip"] = [f"action_clip: {whole.value!r}{_comment(whole)}"]
    if imported.target_clip:
        source = next(iter(imported.target_clip.values())).source
        pairs = {name: list(value.value) for name, value in imported.target_clip.items()}
        lines["target_clip"] = [f"target_clip:{FROM}{for_comment(source)}", *_pair_lines(pairs)]
    return lines


def _pair_lines(pairs: dict[str, list[float]]) -> list[str]:
    return [f"  {word(name)}: {flow(pair)}" for name, pair in pairs.items()]


def _filled(imported: Imported, values: dict[str, Guess], held: Any) -> tuple[dict[int, str], dict[int, Guess]]:
    """Values of the driven joints, and one for those that are held, whose action is always 0."""
    names = dict(enumerate(imported.driven))
    found = {i: values[name] for i, name in names.items()}
    rest = [name for name in imported.joints if name not in imported.driven]
    if len(set(found.values())) > 1 and rest:
        more = dict(enumerate(rest, start=len(names)))
        return names | more, found | dict.fromkeys(more, Guess(held, "held: its action is always 0", imported=True))
    return names, found
