"""A command line from values: what was parsed, written down again, so that a result can say how to repeat it.

And the option or the verb that mends what the library refuses, which does not speak of either.
"""

import dataclasses
import shlex
from collections.abc import Iterable
from typing import Any


def command_line(verb: str, positional: Iterable[object] = (), settings: Any = None, **options: object) -> str:
    """`surefoot VERB ...` with these options, and those fields of a settings dataclass that differ from their defaults.

    An option that is None, False or empty is left out; `threads` changes no result and is left out too.
    """
    words = ["surefoot", *verb.split(), *map(str, positional)]
    for name, value in options.items():
        words += _option(name, value)
    if settings is not None:
        usual = type(settings)()
        for entry in dataclasses.fields(settings):
            value = getattr(settings, entry.name)
            if entry.name != "threads" and value != getattr(usual, entry.name):
                words += _option(entry.name, value)
    return shlex.join(words)


def way_out(argument: str | None, verb: str | None = None) -> str:
    """What the command line adds to a sentence of the library: the option that mends it, and of which verb."""
    command = None if verb is None else f"'surefoot {verb}'"
    if argument is None:
        return "" if command is None else f" ({command})"
    return f" (option {_flag(argument)}{'' if command is None else f' of {command}'})"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, value: object) -> list[str]:
    flag = _flag(name)
    if value is None or value == ():
        return []
    if isinstance(value, bool):
        return [flag] if value else [f"--no-{flag[2:]}"]
    if isinstance(value, (tuple, list)):
        return [flag, *map(str, value)]
    return [flag, str(value)]
