"""How much memory and time one input file may take before it is refused.

A few kilobytes can ask for gigabytes (a compressed table of equal rows) or for ever (a network with an endless loop).
The limits are far above what any robot, policy or ordinary log needs. Whoever knows better raises them: for one call
with `raised`, for a process with the environment variables SUREFOOT_MEMORY_GB and SUREFOOT_TIME_LIMIT_S.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from surefoot.errors import SurefootError

MEMORY_GB, TIME_LIMIT_S = "SUREFOOT_MEMORY_GB", "SUREFOOT_TIME_LIMIT_S"


class Limits(NamedTuple):
    """What one input may take."""

    memory_gb: float = 1.0  # decoded: rows × columns × 8 bytes for a log
    seconds: float = 20.0  # for a library that cannot be interrupted: compiling a model, one inference

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        return int(self.memory_gb * 1e9)


_changed: ContextVar[Limits | None] = ContextVar("limits", default=None)


def limits() -> Limits:
    """The limits that hold here."""
    usual = Limits()
    return _changed.get() or Limits(
        _from_environment(MEMORY_GB, usual.memory_gb), _from_environment(TIME_LIMIT_S, usual.seconds)
    )


@contextmanager
def raised(memory_gb: float | None) -> Iterator[None]:
    """Other limits inside a `with`; None leaves them as they are."""
    if memory_gb is not None and not 0 < memory_gb < float("inf"):
        raise SurefootError(f"the memory limit is {memory_gb:g} GB; it must be a number above 0")
    token = _changed.set(limits() if memory_gb is None else limits()._replace(memory_gb=memory_gb))
    try:
        yield
    finally:
        _changed.reset(token)


def refuse_size(what: str, needed_bytes: float, error: type[SurefootError]) -> None:
    """Refuse what would take more memory than is allowed, before anything is decoded."""
    allowed = limits()
    if needed_bytes > allowed.bytes:
        raise error(
            f"{what} needs about {needed_bytes / 1e9:.2f} GB of memory, and the limit is {allowed.memory_gb:.4g} GB;"
            f" split the file, or raise the limit with the environment variable {MEMORY_GB}"
            f" ({MEMORY_GB}={math.ceil(needed_bytes / 1e9)})"
        )


def _from_environment(name: str, default: float) -> float:
    text = os.environ.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise SurefootError(f"the environment variable {name} is {text!r}; it must be a number above 0")
    return value
