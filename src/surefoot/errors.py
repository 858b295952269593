"""Mistakes a user can make. The command line prints them as one sentence, never as a traceback."""

import difflib
import reprlib
from collections.abc import Iterable
from typing import Any


class SurefootError(Exception):
    """What the user gave cannot be used; the message names the value, what is allowed and the way out."""


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


class FitError(SurefootError):
    """A simulator that cannot be fitted to a log."""


class LogError(SurefootError):
    """A log cannot be read or written."""


def shown(value: Any) -> str:
    """A user's value for a sentence, cut where it is long: nested YAML aliases can stand for millions of entries."""
    text = repr(value) if isinstance(value, (str, float)) else reprlib.repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


def nearest(name: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' with the closest known names, or the whole list where nothing is close."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    if close:
        return f" (did you mean {' or '.join(repr(c) for c in close)}?)"
    return f" (known: {', '.join(known)})"
