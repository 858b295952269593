"""HDF5 files, with h5py (extra `hdf5`): datasets by their paths, groups with a time of their own as tables.

Only what lies in the file itself is read: external links, external storage and virtual datasets, which point to other
files, are left out. MATLAB's files of version 7.3 are HDF5, too; their arrays are transposed.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.files import check_input
from surefoot.limits import refuse_size
from surefoot.logs.importing.extras import need
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.tree import tables_of
from surefoot.logs.parquet import COPIES
from surefoot.text import flat
from surefoot.watchdog import watched

MOST_DATASETS, MOST_DEPTH = 5_000, 12
MOST_TEXT_ROWS = 1_000_000
TEXT_S = 3.0  # for a column of texts; a damaged heap of them can lead the library in circles
INSIDE_MATLAB = "#refs#", "#subsystem#"  # where version 7.3 keeps cells and objects


def read_hdf5(path: Path) -> list[Table]:
    """Read the numeric datasets of an HDF5 file."""
    size = check_input(path, LogError, "an HDF5 file")
    h5py = need("h5py", "h5py", "hdf5", path, "an HDF5 file")
    reader = _Reader(h5py, path, size)
    try:
        with watched(f"reading {path}"), h5py.File(path, "r", locking=False) as file:
            tree = reader.group(file, 0)
    except LogError:
        raise
    except Exception as reason:  # h5py hands on whatever the C library says
        raise LogError(f"{path} is not a readable HDF5 file: {flat(reason, 200)}") from None
    if not tree:
        raise LogError("; ".join((f"{path} holds no numeric datasets with rows", *reader.notes[:2])))
    tables = tables_of(tree, path, "MATLAB" if reader.matlab else "HDF5")
    if not tables:
        raise LogError(f"{path} holds no datasets with more than one row; a log has time, joint positions and targets")
    return [replace(tables[0], notes=(*tables[0].notes, *reader.notes)), *tables[1:]]


class _Reader:
    """Walks through the groups of one file, and counts what it reads."""

    def __init__(self, h5py: Any, path: Path, size: int) -> None:
        self.h5py, self.path, self.size = h5py, path, size
        with open(path, "rb") as file:
            self.matlab = file.read(10) == b"MATLAB 7.3"
        self.notes: list[str] = []
        self.seen: set[Any] = set()  # groups: hard links can lead in circles
        self.count = self.held = 0

    def group(self, group: Any, depth: int) -> dict[str, Any]:
        """The datasets below a group, as a tree."""
        found: dict[str, Any] = {}
        info = self.h5py.h5o.get_info(group.id)
        identity = (info.fileno, info.addr)
        if identity in self.seen or depth > MOST_DEPTH:
            return found
        self.seen.add(identity)
        for name in group:
            if name in INSIDE_MATLAB:
                continue
            if not isinstance(group.get(name, getlink=True), self.h5py.HardLink):
                self._left(name, "points elsewhere")
                continue
            node = group[name]
            if isinstance(node, self.h5py.Group):
                inner = self.group(node, depth + 1)
                if inner:
                    found[name] = inner
            elif isinstance(node, self.h5py.Dataset):
                array = self.dataset(node, name)
                if array is not None:
                    found[name] = array
        return found

    def dataset(self, node: Any, name: str) -> np.ndarray | None:
        """One dataset as an array; None where it cannot be a channel."""
        self.count += 1
        if self.count > MOST_DATASETS:
            raise LogError(f"{self.path} holds more than {MOST_DATASETS:,} datasets, far more than a robot's log")
        if node.external or node.is_virtual:
            self._left(name, "lies in another file")
            return None
        shape, kind = node.shape, node.dtype
        if shape is None or not shape or 0 in shape or len(shape) > 3:
            return None
        text = self.h5py.check_string_dtype(kind) is not None
        if kind.names is not None or (kind.kind not in "biufS" and not text):
            self._left(name, f"holds {kind}")
            return None
        if text and (len(shape) > 1 or shape[0] > MOST_TEXT_ROWS):
            self._left(name, f"holds texts of shape {shape}")
            return None
        self.held += math.prod(shape) * max(kind.itemsize, 8)
        refuse_size(str(self.path), COPIES * self.held, LogError)
        if text:
            with watched(f"reading {name} of {self.path}", seconds=TEXT_S):
                return np.array([str(value)[:200] for value in node.asstr(errors="replace")[()]])
        self._refuse_chunks(node, name)
        array = np.asarray(node[()])
        if self.matlab:  # MATLAB's columns come first
            array = array.T
            array = array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array
        return array

    def _refuse_chunks(self, node: Any, name: str) -> None:
        """Refuse chunks that claim more than the file has: the library allocates what they claim."""
        if node.chunks is None:
            return
        unpacked = math.prod(node.chunks) * node.dtype.itemsize
        refuse_size(f"{self.path}: a chunk of {name}", unpacked, LogError)
        stored = [0]
        if hasattr(node.id, "chunk_iter"):  # since HDF5 1.14
            node.id.chunk_iter(lambda chunk: stored.append(int(chunk.size)))
        if max(stored) > self.size:
            raise LogError(f"{self.path}: a chunk of {name} claims {max(stored)} bytes of {self.size}; it is damaged")

    def _left(self, name: str, why: str) -> None:
        if len(self.notes) < 8:
            self.notes.append(f"{self.path.name}: {name} {why} and was left out")
