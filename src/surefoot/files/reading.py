"""Opening what a user gave: an ordinary file of a sensible size, or one sentence.

A FIFO or a device named as a file would hang the reader or fill the memory.
"""

import os
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import ledger
from surefoot.files.canonical import parse_json

MOST_BYTES = 2_000_000_000
MOST_JSON_BYTES = 50_000_000
MOST_JSON_VALUES = 3_000_000  # a value takes some 60 bytes once it is a Python object
MOST_STATE_BYTES = 20_000_000


def path_of(name: str | Path) -> Path:
    """The path that a user means, with '~' for the home folder; a name that only begins so stays as it is."""
    return Path(os.path.expanduser(name))  # Path.expanduser raises where there is no such user


def check_input(
    path: Path, error: type[SurefootError], what: str = "a file", most_bytes: int = MOST_BYTES, note: bool = True
) -> int:
    """Refuse what is no ordinary file or larger than its kind can be, and note it as an input; its size in bytes."""
    try:
        if not path.exists():
            raise error(f"{path} does not exist; give the path of {what}")
        if path.is_dir():
            raise error(f"{path} is a folder; give the path of {what}")
        if not path.is_file():
            raise error(f"{path} is not an ordinary file; give the path of {what}")
        size = path.stat().st_size
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror or reason}") from None
    except ValueError:  # a name that no file can have
        raise error(f"cannot read {str(path)!r}: this is no file name") from None
    if size > most_bytes:
        raise error(f"{path} has {size / 1e6:,.0f} MB, which is more than {what} can have ({most_bytes / 1e6:,.0f} MB)")
    if note:
        ledger.note_input(path)
    return size


def read_bytes(path: Path, error: type[SurefootError], what: str = "a file", most_bytes: int = MOST_BYTES) -> bytes:
    """All bytes of an ordinary file."""
    size = check_input(path, error, what, most_bytes)
    try:
        with open(path, "rb") as file:
            return file.read(size)  # a file may grow while it is read
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror or reason}") from None


def read_text(path: Path, error: type[SurefootError], what: str = "a text file", most_bytes: int = MOST_BYTES) -> str:
    """The text of a UTF-8 file."""
    try:
        return read_bytes(path, error, what, most_bytes).decode("utf-8")
    except UnicodeDecodeError:
        raise error(f"{path} is not a text file; {what} is expected") from None


def read_state(path: Path, most_bytes: int = MOST_STATE_BYTES) -> Any:
    """What a JSON file of an earlier run in the same folder holds; None where it is not there or cannot be read.

    A folder may come from somebody else, so such a file is no more trusted than an input. It is not noted as one.
    """
    try:
        if not path.is_file() or path.stat().st_size > most_bytes:
            return None
        return parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None


def read_json(
    path: Path, error: type[SurefootError], what: str = "a JSON file", most_bytes: int = MOST_JSON_BYTES
) -> Any:
    """What a JSON file holds."""
    text = read_text(path, error, what, most_bytes)
    try:
        return parse_limited(text, str(path), error, what, most_bytes)
    except ValueError:
        raise error(f"{path} is not valid JSON; give the path of {what}") from None


def parse_limited(
    text: str | bytes, source: str, error: type[SurefootError], what: str, most_bytes: int = MOST_JSON_BYTES
) -> Any:
    """What a JSON text from a file holds, measured before it is built; a ValueError where it is no JSON."""
    if len(text) > most_bytes:
        raise error(
            f"{source} has {len(text) / 1e6:,.0f} MB of JSON, which is more than {what} can have"
            f" ({most_bytes / 1e6:,.0f} MB)"
        )
    if isinstance(text, bytes):
        values = sum(text.count(mark) for mark in (b",", b"[", b"{"))
    else:
        values = sum(text.count(mark) for mark in (",", "[", "{"))
    if values > MOST_JSON_VALUES:
        raise error(f"{source} holds more than {MOST_JSON_VALUES:,} values, far more than {what} does")
    return parse_json(text)
