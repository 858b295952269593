"""Who wrote a file, and whether it is still as it was written.

A mark is a sentence inside a file: `written by surefoot VERB. sha256:DIGEST`. The digest covers all bytes of the file
with zeros in place of the digest itself, so that the mark does not survive an edit: a program that keeps a file's
metadata (pyarrow, an HTML editor) keeps the sentence too, and the digest no longer fits. The writer of a format puts a
mark with zeros where the format has room for a text, and `seal` fills it in once the file is complete.

Marks are looked for in the first and the last megabyte, and a file is hashed only where a mark or a record gives
something to compare with: once when it is written, once before it is replaced.
"""

import hashlib
import os
import re
import stat
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MARK = "written by surefoot"
ZEROS = "0" * 64
_PATTERN = re.compile(MARK.encode() + rb" ([a-z][a-z ]{0,30})\. sha256:([0-9a-f]{64})")
_REACH = 1 << 20  # bytes at either end of a file in which marks are looked for
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Mark:
    """One mark in a file."""

    verb: str
    digest: str
    start: int  # of the digest in the file


@dataclass(frozen=True)
class Content:
    """What a record keeps of a file."""

    size: int  # bytes
    digest: str  # of all bytes, with zeros in place of the digests of marks


def unsealed_mark(verb: str) -> str:
    """What a writer puts into its file; `seal` fills in the digest."""
    return f"{MARK} {verb}. sha256:{ZEROS}"


def seal(file: BinaryIO) -> Content:
    """Fill in the digest of a complete file that is open for reading and writing, where it has a mark."""
    marks = find_marks(file)
    content = measure(file, marks)
    for mark in marks:
        if mark.digest == ZEROS:
            file.seek(mark.start)
            file.write(content.digest.encode())
            chunk = _png_chunk(file, mark)
            if chunk is not None:  # it has a checksum of its own
                file.seek(chunk[0])
                checksum = zlib.crc32(file.read(chunk[1] - chunk[0]))
                file.write(struct.pack(">I", checksum))
    file.flush()
    return content


def find_marks(file: BinaryIO) -> list[Mark]:
    """The marks in a file, in its order."""
    size = os.fstat(file.fileno()).st_size
    starts = (0,) if size <= 2 * _REACH else (0, size - _REACH)
    marks = []
    for start in starts:
        file.seek(start)
        part = file.read(2 * _REACH if len(starts) == 1 else _REACH)
        marks += [Mark(m[1].decode(), m[2].decode(), start + m.start(2)) for m in _PATTERN.finditer(part)]
    return marks


def measure(file: BinaryIO, marks: list[Mark]) -> Content:
    """Size and digest of a file with these marks."""
    size = os.fstat(file.fileno()).st_size
    digest, at = hashlib.sha256(), 0
    for start, end in _holes(file, marks):
        _feed(digest, file, at, start)
        digest.update(b"0" * (end - start))
        at = end
    _feed(digest, file, at, size)
    return Content(size, digest.hexdigest())


def open_ordinary(path: Path) -> BinaryIO | None:
    """An ordinary file, for reading; None for anything else. A pipe is not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb")


def marked_by(path: Path) -> tuple[str | None, bool]:
    """The verb that a file says it was written by, and whether the file is still as that verb wrote it."""
    file = open_ordinary(path)
    if file is None:
        return None, False
    try:
        with file:
            marks = find_marks(file)
            if not marks:
                return None, False
            digest = measure(file, marks).digest
    except OSError:
        return None, False
    intact = [mark for mark in marks if mark.digest == digest]
    return (intact or marks)[0].verb, bool(intact)


def read_mark(path: Path) -> str | None:
    """The verb that wrote a file; None where the file does not say, or was changed since."""
    verb, intact = marked_by(path)
    return verb if intact else None


def is_content(path: Path, known: list[Content]) -> Content | None:
    """The one of the known contents that a file holds; None for another."""
    file = open_ordinary(path)
    if file is None:
        return None
    try:
        with file:
            size = os.fstat(file.fileno()).st_size
            if all(content.size != size for content in known):
                return None
            found = measure(file, find_marks(file))
    except OSError:
        return None
    return found if found in known else None


def _holes(file: BinaryIO, marks: list[Mark]) -> list[tuple[int, int]]:
    """What the digest does not cover, in the file's order: the digests, and what depends on them."""
    holes = []
    for mark in marks:
        holes.append((mark.start, mark.start + len(mark.digest)))
        chunk = _png_chunk(file, mark)
        if chunk is not None:
            holes.append((chunk[1], chunk[1] + 4))
    return sorted(set(holes))


def _png_chunk(file: BinaryIO, mark: Mark) -> tuple[int, int] | None:
    """Where the chunk of a PNG begins and ends that a mark lies in; its checksum comes next. None for other files."""
    file.seek(0)
    if file.read(len(_PNG)) != _PNG:
        return None
    at, size = len(_PNG), os.fstat(file.fileno()).st_size
    while at + 12 <= size:
        file.seek(at)
        (length,) = struct.unpack(">I", file.read(4))
        start, end = at + 4, at + 8 + length
        if start <= mark.start < mark.start + len(mark.digest) <= end <= size - 4:
            return start, end
        at = end + 4
    return None


def _feed(digest: "hashlib._Hash", file: BinaryIO, start: int, end: int) -> None:
    file.seek(start)
    while start < end:
        part = file.read(min(1 << 20, end - start))
        if not part:  # it became shorter meanwhile
            return
        digest.update(part)
        start += len(part)
