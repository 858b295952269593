"""How observation terms become the inputs of a network: one vector, repeated frames, or several named inputs."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from surefoot.errors import SurefootError, nearest, shown
from surefoot.files import is_number
from surefoot.robot.terms import MOST_FRAMES, Term, TermNames, numbers, parse_terms

OLDEST_FIRST, NEWEST_FIRST = "oldest_first", "newest_first"
FLAT, FRAMES = "flat", "frames"
MOST_INPUTS = 16


@dataclass(frozen=True)
class Frames:
    """The whole list of terms, several times: one frame after the other, each with all its terms."""

    history: int = 1
    order: str = OLDEST_FIRST
    stride: int = 1


ONE_FRAME = Frames()


@dataclass(frozen=True)
class Normalizer:
    """(observation - mean) / std, then a clip, where the network does not do this itself."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    clip: float | None = None


@dataclass(frozen=True)
class NetworkInput:
    """One input tensor of a policy: its terms and how they are laid out."""

    terms: tuple[Term, ...]
    name: str = ""  # of the tensor; empty: the only one that is no state
    frames: Frames = ONE_FRAME
    clip: float | None = None  # of every entry, after its scale
    normalizer: Normalizer | None = None
    shape: str = FLAT  # (batch, entries), or (batch, frames, entries of one frame)

    @property
    def depth(self) -> int:
        """Control ticks from the newest to the oldest frame, both included."""
        own = (self.frames.history - 1) * self.frames.stride
        return 1 + max(own, *((term.history - 1) * term.stride for term in self.terms))

    def width(self, n_driven: int, n_commands: int) -> int:
        """Entries of the whole input."""
        frame = sum(term.history * term.width(n_driven, n_commands) for term in self.terms)
        return self.frames.history * frame

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults."""
        content: dict[str, Any] = {"terms": [term.to_dict() for term in self.terms]}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name != "terms" and value != field.default:
                nested = isinstance(value, Frames | Normalizer)
                content[field.name] = dataclasses.asdict(value) if nested else value
        return content


def parse_input(content: Mapping[str, Any], what: str, error: type[SurefootError], names: TermNames) -> NetworkInput:
    """One input from a mapping with `terms` and, where they differ from the defaults, `frames`, `clip`, `normalizer`,
    `shape` and `name`.
    """
    allowed = [field.name for field in dataclasses.fields(NetworkInput)]
    for key in content:
        if key not in allowed:
            raise error(f"{what}: unknown key {shown(key)}{nearest(key, allowed)}")
    terms = parse_terms(content.get("terms"), what, error, names)
    frames = _frames(content.get("frames"), what, error)
    if frames.history > 1 and any(term.history > 1 for term in terms):
        raise error(f"{what} has a history of whole frames and of single terms; one of the two is enough")
    shape = content.get("shape", FLAT)
    if shape not in (FLAT, FRAMES):
        raise error(f"{what}: shape is {shown(shape)}; it must be {FLAT} or {FRAMES}")
    made = NetworkInput(terms, str(content.get("name", "")), frames, shape=str(shape))
    width = made.width(names.n_driven, len(names.commands))
    return dataclasses.replace(
        made,
        clip=_positive(content.get("clip"), f"{what}: clip", error),
        normalizer=_normalizer(content.get("normalizer"), width, what, error),
    )


def parse_inputs(value: Any, what: str, error: type[SurefootError], names: TermNames) -> tuple[NetworkInput, ...]:
    """Several inputs: a mapping from the names of tensors, or a list of inputs with their names."""
    if isinstance(value, dict):
        value = [
            {"name": name, **({"terms": content} if isinstance(content, list) else content)}
            if isinstance(content, (dict, list))
            else None
            for name, content in value.items()
        ]
    if not isinstance(value, (list, tuple)) or not 1 <= len(value) <= MOST_INPUTS:
        raise error(f"{what} must be a mapping from the names of input tensors to their terms, at most {MOST_INPUTS}")
    inputs = []
    for item in value:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str) or not item["name"]:
            raise error(f"{what}: {shown(item)} is no input; write its name and its 'terms'")
        inputs.append(parse_input(item, f"{what}: {item['name']}", error, names))
    twice = {made.name for made in inputs if sum(made.name == other.name for other in inputs) > 1}
    if twice:
        raise error(f"{what} names {', '.join(sorted(twice))} twice")
    return tuple(inputs)


def _frames(value: Any, what: str, error: type[SurefootError]) -> Frames:
    if value is None:
        return ONE_FRAME
    if not isinstance(value, dict) or set(value) - {"history", "order", "stride"}:
        raise error(f"{what}: frames is {shown(value)}; it must give history, and may give order and stride")
    frames = Frames(value.get("history", 1), value.get("order", OLDEST_FIRST), value.get("stride", 1))
    for key in ("history", "stride"):
        number = getattr(frames, key)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= MOST_FRAMES:
            raise error(
                f"{what}: {key} of frames is {shown(number)}; it must be a whole number from 1 to {MOST_FRAMES}"
            )
    if (frames.history - 1) * frames.stride >= MOST_FRAMES:
        raise error(f"{what}: frames look {(frames.history - 1) * frames.stride} ticks back; at most {MOST_FRAMES - 1}")
    if frames.order not in (OLDEST_FIRST, NEWEST_FIRST):
        raise error(f"{what}: order of frames is {shown(frames.order)}; it must be {OLDEST_FIRST} or {NEWEST_FIRST}")
    return frames


def _normalizer(value: Any, width: int, what: str, error: type[SurefootError]) -> Normalizer | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not {"mean", "std"} <= set(value) <= {"mean", "std", "clip"}:
        raise error(f"{what}: normalizer must give mean and std, and may give clip")
    mean, std = (numbers(value[key], f"{what}: {key} of the normalizer", error) for key in ("mean", "std"))
    for key, given in (("mean", mean), ("std", std)):
        if len(given) != width:
            raise error(f"{what}: {key} of the normalizer has {len(given)} numbers for {width} entries")
    if min(std) <= 0:
        raise error(f"{what}: std of the normalizer is {min(std):g} somewhere; every number must be above 0")
    return Normalizer(mean, std, _positive(value.get("clip"), f"{what}: clip of the normalizer", error))


def _positive(value: Any, what: str, error: type[SurefootError]) -> float | None:
    if value is None:
        return None
    if not is_number(value) or value <= 0:
        raise error(f"{what} is {shown(value)}; it must be a number above 0")
    return float(value)
