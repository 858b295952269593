"""Taking things out of a file that anybody may have written: each has a type, a length and a range, or one sentence."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from surefoot.errors import RobotError, shown
from surefoot.files import is_number
from surefoot.robot.importing.description import Patterns, Value, rounding

MOST_JOINTS = 1000  # as many degrees of freedom as a model may have
LARGEST = 1e9  # Isaac Lab writes 1e9 for "no limit"


class Part:
    """A piece of a file's content that remembers where it is, so that a mistake can be named."""

    def __init__(self, content: Any, source: str, path: str = "") -> None:
        self.content, self.source, self.path = content, source, path

    @property
    def where(self) -> str:
        """The file and the keys that lead here: "deploy.yaml: actions.scale"."""
        return f"{self.source}: {self.path}" if self.path else self.source

    def refuse(self, allowed: str) -> RobotError:
        """The sentence for a value that is not what it should be."""
        return RobotError(f"{self.where} is {shown(self.content)}; it must be {allowed}")

    def has(self, key: str) -> bool:
        """Whether there is a value other than null under a key."""
        return isinstance(self.content, Mapping) and self.content.get(key) is not None

    def at(self, key: str) -> "Part":
        """What is under a key of this mapping; a sentence where the key is missing."""
        if not isinstance(self.content, Mapping):
            raise self.refuse("a mapping")
        if key not in self.content:
            raise RobotError(f"{self.where} has no {key!r}, which a file of this kind needs")
        return Part(self.content[key], self.source, f"{self.path}.{key}" if self.path else str(key))

    def maybe(self, key: str) -> "Part | None":
        """What is under a key, or None where it is missing or null."""
        return self.at(key) if self.has(key) else None

    def items(self) -> list[tuple[str, "Part"]]:
        """The entries of a mapping."""
        if not isinstance(self.content, Mapping):
            raise self.refuse("a mapping")
        if len(self.content) > MOST_JOINTS:
            raise RobotError(f"{self.where} has {len(self.content):,} entries; no robot has as many")
        return [
            (str(key), Part(value, self.source, f"{self.path}.{key}" if self.path else str(key)))
            for key, value in self.content.items()
        ]

    def sequence(self, length: int | None = None, of: str = "entries") -> list[Any]:
        """A list, of this length where one is given."""
        if not isinstance(self.content, (list, tuple)):
            raise self.refuse("a list")
        if len(self.content) > MOST_JOINTS:
            raise RobotError(f"{self.where} has {len(self.content):,} entries; no robot has as many")
        if length is not None and len(self.content) != length:
            raise RobotError(f"{self.where} has {len(self.content)} {of}, and {length} are needed")
        return list(self.content)

    def numbers(self, length: int | None = None) -> list[float]:
        """A list of finite numbers."""
        return [self._number(item) for item in self.sequence(length, "numbers")]

    def number(self, low: float = -LARGEST, high: float = LARGEST, above: bool = False) -> float:
        """A finite number from `low` to `high`, or above `low`."""
        value = self._number(self.content)
        if not low <= value <= high or (above and value == low):
            allowed = f"above {low:g}" if above else f"from {low:g} to {high:g}"
            raise self.refuse(f"a number {allowed}")
        return value

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self.content
        if not is_number(value) or not low <= value <= high or value != int(value):
            raise self.refuse(f"a whole number from {low} to {high}")
        return int(value)

    def names(self, length: int | None = None) -> list[str]:
        """A list of names, or one name alone."""
        items = [self.content] if isinstance(self.content, str) else self.sequence(length, "names")
        for item in items:
            if not isinstance(item, str) or len(item) > 200:
                raise RobotError(f"{self.where} holds {shown(item)}; it must be a list of names")
        return items

    def indices(self, length: int | None = None) -> list[int]:
        """A list of different places, each a whole number from 0."""
        found = self.sequence(length, "numbers")
        for item in found:
            if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item < MOST_JOINTS:
                raise RobotError(f"{self.where} holds {shown(item)}; it must be a list of whole numbers from 0")
        if len(set(found)) != len(found):
            raise RobotError(f"{self.where} holds a number twice; each joint has one place")
        return found

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.content, bool):
            raise self.refuse("true or false")
        return self.content

    def text(self) -> str:
        """A name."""
        if not isinstance(self.content, str) or len(self.content) > 500:
            raise self.refuse("a name")
        return self.content

    def pair(self) -> tuple[float, float]:
        """[lowest, highest]."""
        low, high = self.numbers(2)
        if low > high:
            raise self.refuse("[lowest, highest]")
        return low, high

    def by_pattern(self) -> Any:
        """A number for all, or numbers by regular expression."""
        if is_number(self.content):
            return self.number()
        return Patterns(tuple(((key,), part.number()) for key, part in self.items()))

    def scale(self) -> Any:
        """One number, or a list with one for each entry."""
        return self.number() if is_number(self.content) else self.numbers()

    def value(self, value: Any, remark: str = "", guess: bool = False) -> Value:
        """A value that was found here; a remark where it looks rounded."""
        return Value(value, self.where, "; ".join(filter(None, (remark, rounding(value)))), guess)

    def _number(self, item: Any) -> float:
        if not is_number(item) or not math.isfinite(item) or abs(item) > LARGEST:
            raise RobotError(f"{self.where} holds {shown(item)}; it must be a finite number within ±{LARGEST:g}")
        return float(item)


def same(values: Sequence[Any]) -> Any:
    """One value where all are the same, else the list."""
    return values[0] if values and all(value == values[0] for value in values) else list(values)


def rate_hz(period: Part, steps: int = 1) -> float:
    """A rate from a period of so many steps in seconds; a whole number where only the division's last digits say no."""
    hz = 1.0 / (period.number(1e-6, 10.0) * steps)
    return float(round(hz)) if abs(hz - round(hz)) < 1e-6 * hz else hz
