"""Topics whose messages are JSON objects or Protobuf messages: each is a table, timed by its messages or its recorder.

The schemas of Protobuf come with the file, because there are no public ones: `google.protobuf` builds its classes from
them as data, without running code. It comes with ONNX.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.files import parse_json
from surefoot.logs.importing.clock import find_clock, has_clock, stamps_of
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.mcap import Topic
from surefoot.logs.importing.recording import TIMES
from surefoot.logs.importing.records import MOST_DEPTH, Columns
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.topics import SAME_CLOCK_S

ENCODINGS = ("json", "protobuf")
LOG_TIME = "log_time_ns"
MOST_SCHEMA_BYTES = 5_000_000
MOST_ENTRIES = 10_000  # of a repeated field


class RecordTopic:
    """One topic, growing while a file is read."""

    def __init__(self, topic: Topic, path: Path) -> None:
        self.topic = topic
        self.columns = Columns(path, f"a message of {topic.name}")
        self.broken = 0
        self._decode = _decoder(topic)
        self._log_ns: list[int] = []

    def add(self, log_ns: int, raw: bytes) -> None:
        """Take one message."""
        try:
            record = None if self._decode is None else self._decode(raw)
        except Exception:  # a damaged message; each decoder has its own exceptions
            record = None
        if not isinstance(record, dict):
            self.broken += 1
            return
        self.columns.add(record)
        self._log_ns.append(log_ns)

    def table(self, map_file: MapFile, notes: list[str]) -> Table | None:
        """The topic as a table with one clock; None where no message could be read."""
        path = self.columns.path
        if self.broken:
            total = self.broken + self.columns.rows
            notes.append(
                f"{path.name}: {self.broken} of {total} messages of {self.topic.name} could not be decoded"
                f" ({self.topic.encoding}) and were left out"
            )
        if not self.columns.rows:
            return None
        table = self.columns.table("MCAP", self.topic.name)
        if map_file.time is not None:
            return table
        log_ns = np.array(self._log_ns, dtype=np.int64)
        stamps_ns = _stamps_ns(table, log_ns, map_file)
        clocks = stamps_of(table)
        numbers = {name: values for name, values in table.numbers.items() if name not in clocks}
        numbers[LOG_TIME] = log_ns if stamps_ns is None else stamps_ns
        return Table(path, table.kind, table.rows, numbers, table.texts, (), None, table.label)


def _stamps_ns(table: Table, log_ns: np.ndarray, map_file: MapFile) -> np.ndarray | None:
    """The time inside the messages, where it is of the recorder's clock; None where that of the recorder is better."""
    if map_file.clock == "log" or not has_clock(table):
        return None
    try:
        clock = find_clock(table, MapFile())
    except LogError:
        return None
    with np.errstate(all="ignore"):
        origin_ns = clock.origin * TIMES[clock.unit] * 1e9 if isinstance(clock.origin, float) else None
        if origin_ns is None:
            origin_ns = clock.origin * round(TIMES[clock.unit] * 1e9)
        own = np.asarray(clock.ticks * TIMES[clock.unit] * 1e9)
        near_s = abs(float(np.median(own + float(origin_ns - int(log_ns[0])) - (log_ns - log_ns[0])))) / 1e9
    if not np.isfinite(own).all() or not (map_file.clock == "header" or near_s < SAME_CLOCK_S):
        return None
    return np.round(own).astype(np.int64) + int(origin_ns)


def _decoder(topic: Topic) -> Callable[[bytes], Any] | None:
    if topic.encoding == "json":
        return parse_json
    try:
        return _protobuf(topic)
    except Exception:  # whatever the library says about a damaged schema
        return None


def _protobuf(topic: Topic) -> Callable[[bytes], Any] | None:
    """A decoder for the messages that a schema describes."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    if not topic.schema or len(topic.schema) > MOST_SCHEMA_BYTES:
        return None
    waiting = list(descriptor_pb2.FileDescriptorSet.FromString(topic.schema).file)
    pool = descriptor_pool.DescriptorPool()
    while waiting:  # files that others need come first, in whichever order they are written
        added = {file.name for file in waiting}
        ready = [file for file in waiting if not set(file.dependency) & added]
        if not ready:
            return None
        for file in ready:
            pool.Add(file)
        waiting = [file for file in waiting if file not in ready]
    message_class = message_factory.GetMessageClass(pool.FindMessageTypeByName(topic.kind))
    return lambda raw: _record(message_class.FromString(raw), 0)


def _record(message: Any, depth: int) -> dict[str, Any]:
    """A message as names and values; fields at their default are there, too."""
    found: dict[str, Any] = {}
    if depth > MOST_DEPTH:
        return found
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        nested = field.message_type is not None
        if _repeated(field):
            if nested and field.message_type.GetOptions().map_entry:
                entries = list(value.items())[:MOST_ENTRIES]
                found[field.name] = {
                    str(key): _record(entry, depth + 1) if hasattr(entry, "DESCRIPTOR") else entry
                    for key, entry in entries
                }
            else:
                inside = list(value[:MOST_ENTRIES])
                found[field.name] = [_record(entry, depth + 1) for entry in inside] if nested else inside
        elif nested:
            if message.HasField(field.name):
                found[field.name] = _record(value, depth + 1)
        elif not isinstance(value, bytes):
            found[field.name] = value
    return found


def _repeated(field: Any) -> bool:
    known = getattr(field, "is_repeated", None)  # since Protobuf 6.31; its predecessor is gone in 7
    return bool(field.label == field.LABEL_REPEATED if known is None else known)
