"""Mistakes a user can make. The command line prints them as one sentence, never as a traceback."""

import difflib
from collections.abc import Iterable


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


class LogError(SurefootError):
    """A log cannot be read or written."""


def nearest(name: str, known: Iterable[str]) -> str:
    """' (did you mean ...?)' with the closest known names, or the whole list where nothing is close."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    if close:
        return f" (did you mean {' or '.join(repr(c) for c in close)}?)"
    return f" (known: {', '.join(known)})"
