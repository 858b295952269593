"""Compressed text files (gzip, bzip2, xz, zstd, lz4), unpacked within the memory that is allowed.

A file that breaks off gives what was written before the break, as an uncompressed one does: a robot that loses power
never writes the end. The decompressors of the standard library are driven here piece by piece for that; its file
objects lose what they hold when the end is missing, and have no limit.
"""

import bz2
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from surefoot.errors import LogError
from surefoot.files import read_bytes
from surefoot.limits import refuse_size
from surefoot.logs.parquet import COPIES

PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4")
PIECE = 1 << 20
XZ_MEMORY = 200_000_000  # of its dictionary; xz -9 asks for 65 MB


def packing(begin: bytes) -> str | None:
    """How a file is compressed, by its first bytes."""
    return next((name for start, name in PACKED.items() if begin.startswith(start)), None)


def unpacked(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """What a compressed file holds, and a note where it breaks off."""
    content = read_bytes(path, LogError, "a log")
    how = packing(content[:16])
    pieces: list[bytes] = []
    total = 0
    notes: tuple[str, ...] = ()
    reader = _arrow(content, how) if how in ("zstd", "lz4") else _members(content, str(how))
    try:
        for piece in reader:
            total += len(piece)
            refuse_size(f"{path}, unpacked,", len(content) + COPIES * total, LogError)
            pieces.append(piece)
    except (zlib.error, lzma.LZMAError, OSError, EOFError, pa.ArrowException):
        if not total:
            raise LogError(f"{path} is no whole {how} file, and nothing of it can be unpacked; copy it again") from None
        notes = (f"{path.name}: the {how} file is damaged or breaks off; what could be unpacked before was read",)
    return b"".join(pieces), notes


def _members(content: bytes, how: str) -> Iterator[bytes]:
    """The pieces of a file of one or several compressed members."""
    while content:
        worker: Any = {
            "gzip": lambda: zlib.decompressobj(31),  # with the header of gzip
            "bzip2": bz2.BZ2Decompressor,
            "xz": lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY),
        }[how]()
        waiting = content
        while not worker.eof:
            piece = worker.decompress(waiting, PIECE)
            waiting = worker.unconsumed_tail if how == "gzip" else b""
            yield piece
            if not piece and not waiting:
                raise EOFError
        content = worker.unused_data.lstrip(b"\0")  # some tools fill up the last block


def _arrow(content: bytes, how: str | None) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.BufferReader(content), how) as stream:
        while piece := stream.read(PIECE):
            yield piece
