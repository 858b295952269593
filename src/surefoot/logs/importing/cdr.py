"""ROS messages as arrays: one walk through a message finds where its numbers lie, and holds for all that look alike.

Messages of one topic mostly differ in numbers only. Their strings and lengths are compared with the first one's as
bytes, and the numbers of all are then taken with one indexing: no Python object is made for a message. The
definitions are the public ones that `rosbags` ships; those inside a file are never used, because nothing that comes
with a log should decide how it is read. For the same reason `rosbags` does not decode the messages: it generates Python
code from definitions and runs it, and it makes an object for each message.

ROS 2 writes CDR: four bytes of encapsulation, then numbers aligned to their size. ROS 1 writes the same fields without
either.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from surefoot.logs.importing.unitree import DEFINITIONS

SIZES = {
    "bool": 1,
    "byte": 1,
    "char": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}
KINDS = {
    "bool": "u1",
    "byte": "u1",
    "char": "u1",
    "int8": "i1",
    "uint8": "u1",
    "int16": "i2",
    "uint16": "u2",
    "int32": "i4",
    "uint32": "u4",
    "float32": "f4",
    "int64": "i8",
    "uint64": "u8",
    "float64": "f8",
}
MOST_ENTRIES = 10_000  # of a sequence of strings or messages; the messages of a robot's joints have tens
ROS1 = "ros1"  # in place of a byte order: little-endian, and nothing is aligned
MOST_LAYOUTS = 32  # looked for among messages of one length, before each is walked on its own


class BrokenMessageError(Exception):
    """The bytes are not such a message."""


@dataclass
class Layout:
    """Where the numbers of a message lie, by path ('motor_state.3.q'), and its strings."""

    spots: dict[str, tuple[int, str, int]] = field(default_factory=dict)  # offset, kind, count
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fixed: list[tuple[int, int]] = field(default_factory=list)  # bytes that shape the rest: lengths and strings


@dataclass(frozen=True, eq=False)
class Block:
    """Messages of one layout: `rows` are their places in the list that was decoded."""

    rows: np.ndarray
    layout: Layout
    content: np.ndarray  # (messages, bytes)

    def numbers(self, path: str) -> np.ndarray:
        """The numbers at a path, (messages, count), as wide as they were sent."""
        offset, kind, count = self.layout.spots[path]
        size = np.dtype(kind).itemsize * count
        if not count:
            return np.zeros((len(self.rows), 0))
        return np.ascontiguousarray(self.content[:, offset : offset + size]).view(kind).astype(kind.replace(">", "="))

    def integers(self, path: str) -> np.ndarray:
        """One integer of each message, (messages,) int64."""
        offset, kind, count = self.layout.spots[path]
        size = np.dtype(kind).itemsize * count
        return np.ascontiguousarray(self.content[:, offset : offset + size]).view(kind)[:, 0].astype(np.int64)

    def has(self, path: str) -> bool:
        """Whether this layout has such numbers."""
        return path in self.layout.spots and self.layout.spots[path][2] > 0


@cache
def definitions(ros1: bool = False) -> dict[str, list[tuple[str, Any]]]:
    """Fields of the message types that can be read."""
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    found = {name: fields for name, (_, fields) in store.fielddefs.items()}
    for name, text in DEFINITIONS.items():
        found.update({key: fields for key, (_, fields) in get_types_from_msg(text, name).items()})
    return found


def decode(messages: list[bytes], kind: str, ros1: bool = False) -> tuple[list[Block], int]:
    """The messages of one type in blocks of equal layout, and how many of them are broken."""
    lengths = np.fromiter(map(len, messages), dtype=np.int64, count=len(messages))
    blocks = []
    broken = 0
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        content = np.frombuffer(b"".join(messages[i] for i in rows), dtype=np.uint8).reshape(len(rows), length)
        for _ in range(MOST_LAYOUTS):
            if not len(rows):
                break
            try:
                layout = find_layout(content[0].tobytes(), kind, ros1)
            except BrokenMessageError:
                broken += 1
                rows, content = rows[1:], content[1:]
                continue
            alike = np.ones(len(rows), dtype=bool)
            for begin, end in layout.fixed:
                alike &= (content[:, begin:end] == content[0, begin:end]).all(axis=1)
            blocks.append(Block(rows[alike], layout, content[alike]))
            rows, content = rows[~alike], content[~alike]
        for row, single in zip(rows, content, strict=True):
            try:
                blocks.append(Block(np.array([row]), find_layout(single.tobytes(), kind, ros1), single[None]))
            except BrokenMessageError:
                broken += 1
    return blocks, broken


def find_layout(raw: bytes, kind: str, ros1: bool = False) -> Layout:
    """Walk through one message."""
    if ros1:
        layout = Layout()
        _walk_message(raw, 0, kind, "", layout, ROS1)
    else:
        if len(raw) < 4 or raw[:2] not in (b"\x00\x00", b"\x00\x01"):
            raise BrokenMessageError
        layout = Layout(fixed=[(0, 2)])
        _walk_message(raw, 4, kind, "", layout, "<" if raw[1] else ">")
    layout.fixed = list(_merged(layout.fixed))
    return layout


def _walk_message(raw: bytes, at: int, kind: str, path: str, layout: Layout, end: str) -> int:
    for name, description in definitions(end == ROS1)[kind]:
        at = _walk(raw, at, description, f"{path}.{name}" if path else name, layout, end)
    return at


def _walk(raw: bytes, at: int, description: Any, path: str, layout: Layout, end: str) -> int:
    node, inner = description
    if node == Nodetype.NAME:
        return _walk_message(raw, at, inner, path, layout, end)
    if node == Nodetype.BASE:
        if inner[0] == "string":
            at, text = _string(raw, at, layout, end)
            layout.texts[path] = (text,)
            return at
        return _plain(raw, at, inner[0], 1, path, layout, end)
    element, count = inner
    if node == Nodetype.SEQUENCE:
        at, count = _length(raw, at, layout, end)
    if element[0] == Nodetype.BASE and element[1][0] != "string":
        return _plain(raw, at, element[1][0], count, path, layout, end) if count else _empty(at, path, layout)
    if count > MOST_ENTRIES:
        raise BrokenMessageError
    if element[0] == Nodetype.BASE:
        texts = []
        for _ in range(count):
            at, text = _string(raw, at, layout, end)
            texts.append(text)
        layout.texts[path] = tuple(texts)
        return at
    for i in range(count):
        at = _walk(raw, at, element, f"{path}.{i}", layout, end)
    return at


def _plain(raw: bytes, at: int, kind: str, count: int, path: str, layout: Layout, end: str) -> int:
    size = SIZES.get(kind)
    if size is None:
        raise BrokenMessageError
    at = _aligned(at, size, end)
    if at + size * count > len(raw):
        raise BrokenMessageError
    layout.spots[path] = (at, ("<" if end == ROS1 else end) + KINDS[kind], count)
    return at + size * count


def _empty(at: int, path: str, layout: Layout) -> int:
    layout.spots[path] = (at, "u1", 0)
    return at


def _length(raw: bytes, at: int, layout: Layout, end: str) -> tuple[int, int]:
    at = _aligned(at, 4, end)
    if at + 4 > len(raw):
        raise BrokenMessageError
    layout.fixed.append((at, at + 4))
    return at + 4, int.from_bytes(raw[at : at + 4], "big" if end == ">" else "little")


def _string(raw: bytes, at: int, layout: Layout, end: str) -> tuple[int, str]:
    at, length = _length(raw, at, layout, end)
    if at + length > len(raw):
        raise BrokenMessageError
    layout.fixed.append((at, at + length))
    return at + length, raw[at : at + length].rstrip(b"\x00").decode("utf-8", "replace")


def _aligned(at: int, size: int, end: str) -> int:
    if end == ROS1:
        return at
    return 4 + (-(-(at - 4) // size)) * size  # counted from behind the four bytes of encapsulation


def _merged(spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch, as one."""
    if not spans:
        return
    begin, end = spans[0]
    for a, b in spans[1:]:
        if a == end:
            end = b
        else:
            yield begin, end
            begin, end = a, b
    yield begin, end
