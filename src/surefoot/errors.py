"""Mistakes a user can make. The command line prints them as one sentence, never as a traceback."""

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any

MOST_LISTED, MOST_COMPARED, LONGEST_COMPARED = 60, 1000, 100  # names


class SurefootError(Exception):
    """What the user gave cannot be used; the message names the value, what is allowed and the way out.

    The message speaks of values and files, to whoever calls the library. `argument` is the argument that mends it,
    where one does, and `verb` the verb that mends it or takes that argument, where that is another than the one that
    was called: the command line adds them as an option and a command.
    """

    def __init__(self, message: str = "", *, argument: str | None = None, verb: str | None = None) -> None:
        super().__init__(message)
        self.argument, self.verb = argument, verb


class RobotError(SurefootError):
    """A robot.yaml or its model is wrong."""


class PolicyError(SurefootError):
    """A policy file is wrong, or belongs to another robot."""


class WorldsError(SurefootError):
    """The simulator was asked for something it cannot do."""


class TwinError(SurefootError):
    """A virtual robot's YAML file is wrong."""


class GapError(SurefootError):
    """A log that cannot be compared with a simulator."""


class UnusableLog(GapError):
    """A log in which the doctor found an error; `check_log` tells all that it found."""


class FitError(SurefootError):
    """A simulator that cannot be fitted to a log."""


class TaskError(SurefootError):
    """A task or its randomization cannot be used for training."""


class FineTuneError(SurefootError):
    """A policy that cannot be fine-tuned as it was asked for."""


class LogError(SurefootError):
    """A log cannot be read or written."""


class OutputError(SurefootError):
    """An output cannot be written where it was asked for."""


def shown(value: Any) -> str:
    """A user's value for a sentence, cut where it is long: nested YAML aliases can stand for millions of entries."""
    text = repr(value) if isinstance(value, (str, float)) else reprlib.repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def nearest(value: Any, known: Iterable[str]) -> str:
    """' (did you mean ...?)' with the closest known names, or the whole list where nothing is close."""
    name, known = value if isinstance(value, str) else shown(value), list(known)
    comparable = [one for one in known if len(one) <= LONGEST_COMPARED][
        :MOST_COMPARED
    ]  # comparing takes the product of the lengths
    close = difflib.get_close_matches(name, comparable, n=2, cutoff=0.5) if len(name) <= LONGEST_COMPARED else []
    if close:
        return f" (did you mean {' or '.join(repr(c) for c in close)}?)"
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    return f" (known: {', '.join(known[:MOST_LISTED])}{more})"
