"""Frozen dataclasses from what JSON holds of them: the way back from `dataclasses.asdict`.

Field types decide: nested dataclasses, tuples, lists, dictionaries, optional values and plain numbers. JSON has no word
for NaN and infinity and holds null instead; where a float is expected, null is NaN.
"""

import dataclasses
import types
from functools import lru_cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def from_json(kind: type[T], content: Any) -> T:
    """A dataclass of this type from a mapping; further keys are an error, as they are for its constructor."""
    value: T = _decode(kind, content)
    return value


def _decode(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        if hasattr(kind, "from_json"):  # one that knows better what null stands for
            return kind.from_json(value)
        hints = _hints(kind)
        return kind(**{name: _decode(hints.get(name, Any), item) for name, item in dict(value).items()})
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        others = [one for one in inner if one is not type(None)]
        return None if value is None and len(others) < len(inner) else _decode(others[0], value)
    if origin is tuple:
        kinds = [inner[0]] * len(value) if inner[1:] == (...,) else inner
        return tuple(_decode(one, item) for one, item in zip(kinds, value, strict=True))
    if origin is list:
        return [_decode(inner[0], item) for item in value]
    if origin is dict:
        return {key: _decode(inner[1], item) for key, item in value.items()}
    if kind is float:
        return float("nan") if value is None else float(value)
    return value


@lru_cache(maxsize=256)
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
