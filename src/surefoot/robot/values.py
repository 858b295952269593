"""One way to write a value per joint: a number, a list in policy order, or name patterns."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from surefoot.errors import SurefootError, shown
from surefoot.files import is_number


def per_name(
    value: Any,
    names: Sequence[str],
    what: str,
    error: type[SurefootError],
    default: Sequence[float] | None = None,
    kind: str = "joints",
) -> tuple[float, ...]:
    """Resolve `value` to one finite float for each of `names`.

    A number holds for all; a list is in the order of `names`; a mapping goes from names or patterns
    ("*_calf_joint") to numbers, where an exact name wins over a pattern and a later pattern over an
    earlier one. Names that a mapping leaves out take `default`, and are an error without one.
    """
    if is_number(value):
        return (float(value),) * len(names)
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise error(
                f"{what} has {len(value)} values for {len(names)} {kind} ({', '.join(names)}); give one each, one"
                " number for all, or name patterns"
            )
        for name, item in zip(names, value, strict=True):
            if not is_number(item):
                raise error(f"{what} of {name} is {shown(item)}; it must be a finite number")
        return tuple(float(item) for item in value)
    if isinstance(value, dict):
        return _from_patterns(value, names, what, error, default)
    raise error(
        f"{what} is {shown(value)}; it must be a finite number, a list of {len(names)} numbers in policy order, or a"
        " mapping of name patterns to numbers"
    )


def _from_patterns(
    mapping: dict[Any, Any],
    names: Sequence[str],
    what: str,
    error: type[SurefootError],
    default: Sequence[float] | None,
) -> tuple[float, ...]:
    found: dict[str, float] = {} if default is None else dict(zip(names, default, strict=True))
    exact: set[str] = set()
    for pattern, item in mapping.items():
        if not is_number(item):
            raise error(f"{what} of {shown(pattern)} is {shown(item)}; it must be a finite number")
        matched = match(str(pattern), names, what, error)
        for name in matched:
            if pattern == name:
                exact.add(name)
            if pattern == name or name not in exact:
                found[name] = float(item)
    missing = [name for name in names if name not in found]
    if missing:
        raise error(
            f"{what} says nothing about {', '.join(missing)}; add them, or a pattern such as '*' that holds for the"
            " rest"
        )
    return tuple(found[name] for name in names)


def match(pattern: str, names: Sequence[str], what: str, error: type[SurefootError]) -> list[str]:
    """The names that a pattern selects; none at all is a mistake that would otherwise pass in silence."""
    matched = (
        [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    )  # a name may hold [ or *
    if not matched:
        raise error(f"{what}: {shown(pattern)} matches none of {', '.join(names)}")
    return matched
