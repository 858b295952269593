"""MCAP files, record by record from the beginning: a file without its end gives what was written before the break.

The index at the end of a file is not used: a robot that loses power never writes it. https://mcap.dev/spec. The reader of
the `mcap` package stops with an exception where a file breaks off, and unpacks chunks of any size; this one gives what
was written before, and bounds what it unpacks.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa

from surefoot.errors import LogError

MAGIC = b"\x89MCAP0\r\n"
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0x02, 0x03, 0x04, 0x05, 0x06, 0x0F
CODECS = {"zstd": "zstd", "lz4": "lz4"}
MOST_BYTES = 256_000_000  # of a record or an unpacked chunk; writers use a few megabytes
MOST_RATIO, FREE_BYTES = (
    50,
    32_000_000,
)  # unpacked to packed bytes, in sum, and what any file may unpack; recordings reach a ratio of 5 to 20
PIECE = 1 << 16  # unpacked at a time: what came before a break is not lost with it


class Topic(NamedTuple):
    """A channel of the file."""

    name: str
    kind: str  # message type
    encoding: str  # of the messages: cdr, ros1, json, protobuf
    schema: bytes = b""  # that describes the messages, where the file has one


class Message(NamedTuple):
    """One message: its topic, when it was recorded, its bytes."""

    topic: Topic
    log_ns: int
    content: bytes


def read_mcap(
    path: Path, wanted: Callable[[Topic], bool], notes: list[str], progress: Callable[[int, int], None] | None = None
) -> Iterator[Message]:
    """Messages of the wanted topics, in the file's order; `notes` receives what is damaged."""
    scan = _McapScan(path, wanted, notes)
    size = path.stat().st_size
    try:
        with open(path, "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                raise LogError(f"{path} is not an MCAP file: it does not begin as one")
            while True:
                begin = file.tell()
                head = file.read(9)
                if len(head) < 9:
                    notes.append(f"{path.name}: the file breaks off at byte {size}; what was written before was read")
                    return
                opcode, length = struct.unpack("<BQ", head)
                if opcode in (DATA_END, FOOTER):
                    return
                if opcode not in (SCHEMA, CHANNEL, MESSAGE, CHUNK) and begin + 9 + length <= size:
                    file.seek(length, 1)
                    continue
                if length > MOST_BYTES or opcode == 0 or opcode > 0x7F:
                    notes.append(
                        f"{path.name}: the file is damaged at byte {begin} of {size}; what came before was read"
                    )
                    return
                content = file.read(length)
                yield from scan.record(opcode, content, length, begin)
                if len(content) < length:
                    notes.append(f"{path.name}: the file breaks off at byte {size}; what was written before was read")
                    return
                if progress:
                    progress(file.tell(), size)
    except OSError as reason:
        raise LogError(f"cannot read {path}: {reason.strerror or reason}") from None


class _McapScan:
    """Topics that were announced so far."""

    def __init__(self, path: Path, wanted: Callable[[Topic], bool], notes: list[str]) -> None:
        self.path, self.wanted, self.notes = path, wanted, notes
        self.packed = self.unpacked = 0  # bytes of chunks so far
        self.schemas: dict[int, tuple[str, bytes]] = {}
        self.topics: dict[int, Topic | None] = {}

    def record(self, opcode: int, content: bytes, length: int, begin: int) -> Iterator[Message]:
        """Messages of one record; one that is cut short gives what can be read of it."""
        if opcode == CHUNK:
            yield from self._chunk(content, length, begin)
        elif len(content) == length:
            yield from self._single(opcode, content, begin)

    def _single(self, opcode: int, content: bytes, begin: int) -> Iterator[Message]:
        try:
            if opcode == MESSAGE:
                channel, _, log_ns, _ = struct.unpack_from("<HIQQ", content)
                topic = self.topics.get(channel)
                if topic is not None and log_ns < 1 << 63:
                    yield Message(topic, log_ns, content[22:])
            elif opcode == SCHEMA:
                (number,) = struct.unpack_from("<H", content)
                name, at = _text(content, 2)
                at = _text(content, at)[1]  # the encoding of the schema, which follows from that of the messages
                (size,) = struct.unpack_from("<I", content, at)
                self.schemas[number] = name, content[at + 4 : at + 4 + size]
            elif opcode == CHANNEL:
                number, schema = struct.unpack_from("<HH", content)
                name, at = _text(content, 4)
                kind, described = self.schemas.get(schema, ("", b""))
                encoding = _text(content, at)[0]
                if encoding == "ros1" and kind.count("/") == 1:  # ROS 1 leaves the folder out
                    kind = kind.replace("/", "/msg/")
                topic = Topic(name, kind, encoding, described)
                self.topics[number] = topic if self.wanted(topic) else None
        except (struct.error, UnicodeDecodeError):
            self.notes.append(f"{self.path.name}: a record at byte {begin} is damaged and was left out")

    def _chunk(self, content: bytes, length: int, begin: int) -> Iterator[Message]:
        try:
            size, crc = struct.unpack_from("<QI", content, 16)
            codec, at = _text(content, 28)
            (packed,) = struct.unpack_from("<Q", content, at)
        except (struct.error, UnicodeDecodeError):
            if len(content) == length:
                self.notes.append(f"{self.path.name}: the chunk at byte {begin} is damaged and was left out")
            return
        records = content[at + 8 : at + 8 + packed]
        if (codec and codec not in CODECS) or size > MOST_BYTES:
            self.notes.append(
                f"{self.path.name}: the chunk at byte {begin} is packed as {codec!r}, {size} bytes, and was left out"
            )
            return
        self.packed, self.unpacked = self.packed + len(records), self.unpacked + size
        if self.unpacked > FREE_BYTES + MOST_RATIO * self.packed:
            raise LogError(
                f"{self.path}: its chunks unpack to more than {MOST_RATIO} times their size, far beyond any recording;"
                " the file is damaged or hostile"
            )
        data = _unpacked(records, CODECS[codec], size) if codec else records
        whole = len(content) == length and len(data) == size
        if len(content) == length and (len(data) != size or (crc and zlib.crc32(data) != crc)):
            self.notes.append(
                f"{self.path.name}: the chunk at byte {begin} is damaged" + (" and was left out" if whole else "")
            )
            if whole:  # its checksum is wrong: no telling which numbers are
                return
        at = 0
        while at + 9 <= len(data):
            opcode, count = struct.unpack_from("<BQ", data, at)
            if at + 9 + count > len(data):
                break
            yield from self._single(opcode, data[at + 9 : at + 9 + count], begin)
            at += 9 + count


def _text(content: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, at)
    if at + 4 + length > len(content):
        raise struct.error
    return content[at + 4 : at + 4 + length].decode("utf-8"), at + 4 + length


def _unpacked(packed: bytes, codec: str, size: int) -> bytes:
    """What a packed chunk holds, up to its break and never more than it claims."""
    pieces: list[bytes] = []
    total = 0
    try:
        stream: IO[bytes] = pa.CompressedInputStream(pa.BufferReader(packed), codec)
        while total < size and (piece := stream.read(min(PIECE, size - total))):
            pieces.append(piece)
            total += len(piece)
    except (pa.ArrowException, OSError):
        pass
    return b"".join(pieces)
