"""What the files of a step say, in the words of its one sentence."""

import math
import re
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import parse_limited

LONGER_MIN = 0.25  # an iteration of training ends a little after its time
MOST_STATE_BYTES = 10_000_000  # as in learn.checkpoint, which needs PyTorch


def walking(evaluation: dict[str, Any]) -> tuple[float, float]:
    """Mean drift of straight walks, m, and velocity error, m/s; NaN where all fell."""
    straight = [one["lateral_abs_m"] for one in evaluation["directions"].values() if any(one["command"][:2])]
    known = [value for value in straight if value is not None]
    error = evaluation["walk"]["velocity_error_m_s"]
    return sum(known) / len(known) if known else math.nan, math.nan if error is None else error


def falls_words(found: dict[str, Any]) -> str:
    """Falls before and after, without pushes and with, where there are any."""
    said = ""
    for words, groups in (
        ("falls", lambda one: [one["walk"], *one["directions"].values()]),
        ("falls when pushed", lambda one: [one["pushed"]]),
    ):
        counts = [sum(group["falls"] for group in groups(found[side])) for side in ("before", "after")]
        if any(counts):
            said += (
                f", {words} {counts[0]} → {counts[1]} of {sum(group['episodes'] for group in groups(found['after']))}"
            )
    return said


def longer(checkpoint: Path, asked_min: float) -> str:
    """That the policy was trained for longer than asked, where an earlier run did so; training cannot be taken back."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        return ""
    if not checkpoint.is_file():
        return ""
    try:
        with safe_open(checkpoint, framework="np") as file:
            text = (file.metadata() or {})["state"]
        state = parse_limited(text, str(checkpoint), SurefootError, "the state of a checkpoint", MOST_STATE_BYTES)
        trained_min = float(state["elapsed_s"]) / 60
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, SurefootError):
        return ""
    if trained_min <= asked_min + LONGER_MIN:
        return ""
    kept = f"trained for {trained_min:.1f} minutes before, and kept though --minutes asks for {asked_min:g}"
    return f"; {kept} (to train anew, remove {checkpoint.parent})"


def arrow(values: tuple[float, ...], digits: int) -> str:
    """Before and after."""
    return " → ".join("(fell)" if math.isnan(value) else f"{value:.{digits}f}" for value in values)


def short(reason: str) -> str:
    """A reason without its figures in brackets and what follows a colon; the verdict's page has them."""
    return re.sub(r" \([^)]*\)", "", reason).split(": ")[0]
