"""Text on standard output as it is, without rich: for a program or a person to copy, and for verbs that end at once."""

import sys

from surefoot.text import for_terminal


def say_plain(text: str) -> None:
    """Print text; what it holds from files cannot steer the terminal."""
    sys.stdout.write(for_terminal(text) + "\n")
