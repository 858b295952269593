"""Records of nested names and values (JSON lines, messages of JSON or Protobuf topics) as columns of a table.

A record is flattened: {"imu": {"gyro": [1, 2, 3]}} gives the column 'imu.gyro'. Values that stand beside a list of names
become columns of these names, as ROS writes joint states: {"name": ["hip", "knee"], "position": [0.1, 0.2]}.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surefoot.errors import LogError
from surefoot.limits import refuse_size
from surefoot.logs.importing.tables import Table
from surefoot.logs.parquet import COPIES

MOST_COLUMNS, MOST_DEPTH = 5_000, 12
BATCH = 2_000  # records that are Python objects at a time
NAME_LISTS = ("name", "names", "joint_names", "joint_name", "joints")
NAME_KEYS = ("name", "joint", "joint_name", "id")
LONGEST_NAME, LONGEST_TEXT = 200, 200
LARGEST = 2**63


def flattened(record: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Names and values of a record: numbers, lists of numbers, and texts."""
    if depth > MOST_DEPTH:
        return
    if isinstance(record, dict):
        names = _names_in(record)
        for key, value in record.items():
            place = f"{prefix}.{key}" if prefix else str(key)
            if names and isinstance(value, list) and len(value) == len(names) and _numeric(value):
                for name, entry in zip(names, value, strict=True):
                    yield f"{place}.{name}", entry
            elif not (names and key in NAME_LISTS):
                yield from flattened(value, place, depth + 1)
    elif isinstance(record, list):
        if _numeric(record):
            yield prefix, record
        elif record and all(isinstance(entry, dict) for entry in record):
            for i, entry in enumerate(record):
                key = next((entry[k] for k in NAME_KEYS if isinstance(entry.get(k), str)), i)
                yield from flattened(entry, f"{prefix}.{key}", depth + 1)
    elif isinstance(record, (str, bool, int, float)):
        yield prefix, record


def _names_in(record: dict[str, Any]) -> list[str] | None:
    for key in NAME_LISTS:
        names = record.get(key)
        if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
            return names if len(set(names)) == len(names) else None
    return None


def _numeric(values: list[Any]) -> bool:
    return all(value is None or isinstance(value, (int, float)) for value in values)


class Columns:
    """Columns that grow record by record, in arrays: a Python object for each number would take five times as much."""

    def __init__(self, path: Path, what: str) -> None:
        self.path, self.what = path, what
        self.rows = 0
        self._began = 0  # the first row that is not in arrays yet
        self._waiting: dict[str, dict[int, Any]] = {}
        self._parts: dict[str, list[tuple[int, int, Any]]] = {}  # first row, rows, numbers or texts
        self._held = 0

    def add(self, record: Any) -> None:
        """Take one record as a row."""
        for name, value in flattened(record):
            column = self._waiting.get(name)
            if column is None:
                if len(self._waiting) >= MOST_COLUMNS:
                    raise LogError(
                        f"{self.path}: {self.what} has more than {MOST_COLUMNS:,} names, far more than a robot's log"
                    )
                column = self._waiting.setdefault(name[:LONGEST_NAME], {})
            column[self.rows] = value
        self.rows += 1
        if self.rows - self._began >= BATCH:
            self._settle()

    def _settle(self) -> None:
        count = self.rows - self._began
        for name, column in self._waiting.items():
            if column:
                part = _array(column, self._began, count, self.path)
                self._held += part.nbytes if isinstance(part, np.ndarray) else 8 * count
                self._parts.setdefault(name, []).append((self._began, count, part))
                column.clear()
        self._began = self.rows
        refuse_size(str(self.path), COPIES * self._held, LogError)

    def arrays(self) -> tuple[dict[str, np.ndarray], dict[str, pa.ChunkedArray]]:
        """Numbers and texts by name, each with all rows."""
        self._settle()
        numbers: dict[str, np.ndarray] = {}
        texts: dict[str, pa.ChunkedArray] = {}
        for name, parts in self._parts.items():
            if any(isinstance(part, list) for _, _, part in parts):
                words: list[str | None] = [None] * self.rows
                for begin, count, part in parts:
                    words[begin : begin + count] = part if isinstance(part, list) else [None] * count
                texts[name] = pa.chunked_array([pa.array(words, pa.string())])
                continue
            numbers[name] = self._whole(parts)
        return numbers, texts

    def _whole(self, parts: list[tuple[int, int, np.ndarray]]) -> np.ndarray:
        if len(parts) == 1 and parts[0][1] == self.rows:
            return parts[0][2]
        widths = [part.shape[1:] for _, count, part in parts for _ in range(count)]
        width = max(set(widths), key=widths.count)
        whole_numbers = all(part.dtype.kind == "i" and part.shape[1:] == width for _, _, part in parts)
        dense = sum(count for _, count, _ in parts) == self.rows
        refuse_size(str(self.path), COPIES * (self._held + 8 * self.rows * math.prod(width)), LogError)
        if whole_numbers and dense:  # nanoseconds since 1970 do not fit a float
            return np.concatenate([part for _, _, part in parts])
        values = np.full((self.rows, *width), np.nan)
        for begin, count, part in parts:
            if part.shape[1:] == width:
                values[begin : begin + count] = part
        return values

    def table(self, kind: str, label: str = "", notes: tuple[str, ...] = ()) -> Table:
        """All of it as a table."""
        numbers, texts = self.arrays()
        return Table(self.path, kind, self.rows, numbers, texts, notes, None, label)


def _array(column: dict[int, Any], begin: int, count: int, path: Path) -> Any:
    """The values of some rows: an array (count,) or (count, width), NaN where there is none, or a list of texts."""
    values = list(column.values())
    if sum(isinstance(value, str) for value in values) * 2 > len(values):
        words: list[str | None] = [None] * count
        for row, value in column.items():
            words[row - begin] = (
                value[:LONGEST_TEXT].encode("utf-8", "replace").decode() if isinstance(value, str) else None
            )
        return words
    if len(values) == count and all(isinstance(value, int) and abs(value) < LARGEST for value in values):
        return np.array(values, dtype=np.int64)
    lists = [len(value) for value in values if isinstance(value, list)]
    if 2 * len(lists) > len(values):
        width = max(set(lists), key=lists.count)
        refuse_size(str(path), COPIES * 8 * count * width, LogError)  # one long list would make all rows long
        wide = np.full((count, width), np.nan)
        for row, value in column.items():
            if isinstance(value, list) and len(value) == width:
                wide[row - begin] = [_number(entry) for entry in value]
        return wide
    array = np.full(count, np.nan)
    for row, value in column.items():
        array[row - begin] = _number(value)
    return array


def _number(value: Any) -> float:
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:  # an integer beyond all floats
            return math.nan
    return math.nan
