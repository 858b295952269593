"""Writing files whole or not at all."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from surefoot.errors import OutputError
from surefoot.files import ledger
from surefoot.files.canonical import json_ready
from surefoot.files.seal import seal
from surefoot.files.temporary import temporary_name

LONGEST_NAME = 255  # bytes, on every file system that robots and laptops have


def check_place(path: Path, endings: tuple[str, ...] = (), argument: str = "out") -> None:
    """Refuse a place where no file can be written, before the work that leads to the file; nothing is created.

    With `endings`, the name must end in one of them: a page that is called log.parquet is a slip of the hand.
    `argument` is the one that names the place, for errors.
    """
    _refuse_place(path, argument)
    if endings and path.suffix.lower() not in endings:
        raise OutputError(
            f"{path} does not end in {' or '.join(endings)}; give the output such a name", argument=argument
        )
    ledger.claim(path)


def check_folder(folder: Path, names: tuple[str, ...]) -> None:
    """Refuse a folder that a verb cannot or may not write these files into; the folder is held until the verb ends."""
    _refuse_folder(folder, "out")
    for name in names:
        if name.endswith("/"):
            continue
        if (folder / name).is_dir():
            raise OutputError(
                f"{folder / name} is a folder, where a file will be written; choose another folder", argument="out"
            )
        _refuse_strange(folder / name, "out")
    ledger.claim_folder(folder, names)


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it into place: whole or not at all."""
    _refuse_place(path)
    folder = path.parent
    temporary = folder / temporary_name(path.suffix)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as reason:
        raise OutputError(
            f"cannot write to {folder}: {reason.strerror or reason}; choose another place", argument="out"
        ) from None
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            content = seal(file)
            os.fsync(file.fileno())
        ledger.check_write(path, content)
        os.replace(temporary, path)
        ledger.settle(path, content)
    except OSError as reason:
        raise OutputError(f"cannot write {path}: {reason.strerror or reason}; nothing was changed") from None
    finally:
        temporary.unlink(missing_ok=True)


def open_log(path: Path) -> TextIO:
    """Open a text file that grows while a step runs; one of an earlier run of the same verb is begun anew."""
    _refuse_place(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    ledger.check_write(path, None)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o666)
    return open(handle, "w", encoding="utf-8", errors="backslashreplace")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all; a file name that is not UTF-8 stands in it as an escape."""
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8", errors="backslashreplace"))


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file whole or not at all, with a mark of who wrote it; null stands for NaN and infinity."""
    write_text(path, json.dumps({"written_by": ledger.mark(), **json_ready(content)}, indent=1, allow_nan=False) + "\n")


def _refuse_place(path: Path, argument: str = "out") -> None:
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts):
        raise OutputError(
            f"cannot write {path}: a name is longer than {LONGEST_NAME} bytes; choose a shorter one", argument=argument
        )
    try:
        if path.is_dir():
            raise OutputError(f"{path} is a folder; give the name of a file", argument=argument)
        _refuse_strange(path, argument)
    except (OSError, ValueError) as reason:
        raise OutputError(
            f"cannot write {path}: {getattr(reason, 'strerror', None) or reason}; choose another place",
            argument=argument,
        ) from None
    _refuse_folder(path.parent, argument)


def _refuse_strange(path: Path, argument: str) -> None:
    """Moving a file over /dev/null would take it from the whole system, and opening a pipe waits for ever."""
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not an ordinary file; choose another place", argument=argument)


def _refuse_folder(folder: Path, argument: str) -> None:
    try:
        above = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
        if not above.is_dir():
            raise OutputError(
                f"cannot write to {folder}: {above} is a file, not a folder; choose another place", argument=argument
            )
        if not os.access(above, os.W_OK | os.X_OK):
            raise OutputError(
                f"cannot write to {folder}: no permission to write to {above}; choose another place", argument=argument
            )
    except (OSError, ValueError) as reason:
        raise OutputError(
            f"cannot write to {folder}: {getattr(reason, 'strerror', None) or reason}; choose another place",
            argument=argument,
        ) from None
