"""Names: a joint of a file in a model that may spell it otherwise, and regular expressions from files."""

import re
from collections.abc import Sequence

from surefoot.errors import RobotError, nearest, shown

SUFFIX = "_joint"
MOST_STEPS = 1e7  # of a match: an expression from a file may take time that is a power of the name's length
LONGEST_PATTERN = 500


def find_joint(name: str, known: Sequence[str]) -> str | None:
    """The joint of the model that a name means: the same, or the same with or without "_joint" at its end."""
    for spelling in (name, f"{name}{SUFFIX}", name.removesuffix(SUFFIX)):
        if spelling in known:
            return spelling
    return None


def need_joint(name: str, known: Sequence[str], source: str) -> str:
    """The joint of the model that a name means; a sentence where there is none."""
    joint = find_joint(name, known)
    if joint is None:
        raise RobotError(
            f"{source} names the joint {shown(name)}, and the model has no joint of this name, with or without"
            f" '{SUFFIX}'{nearest(name, known)}; give the model of the robot that this file is for"
        )
    return joint


def matching(pattern: str, known: Sequence[str], source: str) -> list[str]:
    """The joints whose whole name a regular expression matches, with or without "_joint" at its end."""
    expression = _compiled(pattern, known, source)
    return [name for name in known if any(expression.fullmatch(text) for text in _spellings(name))]


def _spellings(name: str) -> tuple[str, ...]:
    return (name, name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else f"{name}{SUFFIX}")


def _compiled(pattern: str, known: Sequence[str], source: str) -> re.Pattern[str]:
    longest = max((len(name) for name in known), default=1) + len(SUFFIX)
    repeats = len(re.findall(r"(?<!\\)[*+{]", pattern))
    costly = longest ** min(repeats, 20) > MOST_STEPS or re.search(
        r"\)[*+{]|\\[1-9]|\{\d{4,}|\{\d*,\d{4,}|\(\?P=", pattern
    )
    if len(pattern) > LONGEST_PATTERN or costly:
        raise RobotError(
            f"{source} has the pattern {shown(pattern)}, which may take for ever to match; write it with fewer repetitions"
        )
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise RobotError(f"{source} has the pattern {shown(pattern)}, which is not a regular expression") from None
