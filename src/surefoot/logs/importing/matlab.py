"""MATLAB files up to version 7, with SciPy (extra `mat`): arrays, and structs of arrays.

Version 7.3 is HDF5 and is read there. Tables, timetables and timeseries are objects that only MATLAB can read.
"""

import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.files import read_bytes
from surefoot.limits import limits, refuse_size
from surefoot.logs.importing.extras import need
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.tree import tables_of
from surefoot.logs.parquet import COPIES
from surefoot.text import flat
from surefoot.watchdog import watched

HEADER = 128
COMPRESSED = 15  # type of an element of the file
MOST_FIELDS, MOST_DEPTH = 5_000, 12
WAY = "in MATLAB, writetable(timetable2table(x), 'log.csv') or struct arrays of numbers make it readable"


def read_matlab(path: Path) -> list[Table]:
    """Read the arrays and structs of a MATLAB file."""
    content = read_bytes(path, LogError, "a MATLAB file")
    refuse_size(str(path), COPIES * _unpacked_bytes(content, path), LogError)
    scipy_io = need("scipy.io", "SciPy", "mat", path, "a MATLAB file")
    try:
        with watched(f"reading {path}"):
            found = scipy_io.loadmat(io.BytesIO(content), squeeze_me=True, struct_as_record=True, chars_as_strings=True)
    except Exception as reason:  # SciPy refuses damaged files in many ways
        raise LogError(f"{path} is not a readable MATLAB file: {flat(reason, 200)}") from None
    notes: list[str] = []
    count = [0]
    tree = {
        name: node
        for name, value in found.items()
        if not name.startswith("__") and (node := _node(value, name, path, notes, count, 0)) is not None
    }
    tables = tables_of(tree, path, "MATLAB") if tree else []
    if not tables:
        why = f" ({notes[0]})" if notes else ""
        raise LogError(f"{path} holds no arrays with rows{why}; {WAY}")
    return [replace(tables[0], notes=(*tables[0].notes, *notes)), *tables[1:]]


def _node(value: Any, name: str, path: Path, notes: list[str], count: list[int], depth: int) -> Any:
    """An array, a struct as a tree, or None for what cannot be a channel."""
    count[0] += 1
    if count[0] > MOST_FIELDS or depth > MOST_DEPTH:
        return None
    if not isinstance(value, np.ndarray):
        value = np.asarray(value)
    if value.dtype.names is not None and value.size == 1:
        single = value.reshape(-1)[0]
        parts = {key: _node(single[key], key, path, notes, count, depth + 1) for key in value.dtype.names}
        return {key: part for key, part in parts.items() if part is not None} or None
    if value.dtype.kind in "biufUS" and value.ndim:
        return value
    if value.dtype.hasobject and value.size == 1 and depth < MOST_DEPTH:
        return _node(value.reshape(-1)[0], name, path, notes, count, depth + 1)
    if value.dtype.kind == "O" and value.ndim == 1 and all(isinstance(entry, str) for entry in value):
        return np.array([entry[:200] for entry in value])  # a cell array of names
    if value.ndim and len(notes) < 8:
        notes.append(f"{path.name}: {name} is an object, a cell array or an array of structs, and was left out")
    return None


def _unpacked_bytes(content: bytes, path: Path) -> int:
    """What the elements of the file unpack to, counted before SciPy builds arrays of them."""
    order = ">" if content[126:128] == b"MI" else "<"
    total, at = 0, HEADER
    allowed = limits().bytes
    while at + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, at)
        if kind == COMPRESSED:
            worker = zlib.decompressobj()
            waiting = content[at + 8 : at + 8 + size]
            try:
                while waiting and not worker.eof and total <= allowed:
                    total += len(worker.decompress(waiting, 1 << 20))
                    waiting = worker.unconsumed_tail
            except zlib.error:
                raise LogError(f"{path} is not a readable MATLAB file: a compressed element is damaged") from None
        total += size
        at += 8 + size
    return total
