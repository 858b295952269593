"""Named arrays in groups (NPZ, HDF5, MATLAB structs, JSON objects) as tables: one for each clock.

Arrays of one length belong together. A group without a time of its own shares that of the group around it. Groups that
hold the same names are episodes, and stay apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.vocabulary import is_clock, words

FEWEST = 2  # rows of a table; shorter arrays describe it
MOST_NOTES = 8
JOINT_LISTS = {"joint", "joints", "motor", "motors", "dof", "dofs", "name", "names", "order", "label", "labels"}
Tree = Mapping[str, Any]  # arrays, or trees


@dataclass
class _Group:
    """Arrays of one length."""

    label: str
    rows: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def timed(self) -> bool:
        return any(is_clock(name) for name in self.arrays)


def tables_of(tree: Tree, path: Path, kind: str) -> list[Table]:
    """The tables of a tree of arrays; what belongs to none is named in the notes of the first."""
    names: dict[int, tuple[str, ...]] = {}
    turned: list[str] = []
    tree = _upright(tree, _times(tree), turned)
    groups = [group for group in _groups(tree, "", names) if group.rows >= FEWEST]
    timed = [group for group in groups if group.timed]
    # Arrays of another length than those with the time are not sampled with them.
    kept = timed or _largest(groups)
    notes = [
        f"{path.name}: {group.label + '/' if group.label else ''}{name} has shape {array.shape} and was left out; a"
        f" channel has {kept[0].rows} rows"
        for group in groups
        if group not in kept
        for name, array in group.arrays.items()
    ]
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"{path.name}: {len(notes) - MOST_NOTES} more arrays of other lengths likewise"]
    tables: list[Table] = []
    for group in kept:
        label = group.label
        if sum(other.label == label for other in kept) > 1:
            label = f"{label}/{next(filter(is_clock, group.arrays), group.rows)}".lstrip("/")
        tables.append(_table(group, label if len(kept) > 1 else "", path, kind, names, notes if not tables else []))
    if turned and tables:
        said = f"rows <- the second index of {', '.join(turned[:4])}{', ...' if len(turned) > 4 else ''}"
        tables[0] = replace(tables[0], guesses=(said,))
    return tables


def _times(tree: Tree) -> set[int]:
    """The lengths of all arrays that are called a time."""
    found: set[int] = set()
    for name, part in tree.items():
        if isinstance(part, Mapping):
            found |= _times(part)
        elif isinstance(part, np.ndarray) and is_clock(name):
            found.add(part.size)
    return found


def _upright(tree: Tree, times: set[int], turned: list[str]) -> dict[str, Any]:
    """The tree with arrays turned whose second index is the time, (n_joints, rows), as MATLAB's users like them."""
    found: dict[str, Any] = {}
    for name, part in tree.items():
        if isinstance(part, Mapping):
            found[name] = _upright(part, times, turned)
        elif part.ndim == 2 and len(part) not in times and part.shape[1] in times:
            found[name] = part.T
            if len(part) > 1:
                turned.append(name)
        else:
            found[name] = part
        if isinstance(found[name], np.ndarray) and is_clock(name) and found[name].ndim == 2 and 1 in found[name].shape:
            found[name] = found[name].reshape(-1)
    return found


def _largest(groups: list[_Group]) -> list[_Group]:
    """Without any time: the commonest length, by its arrays; of several groups with the same names, all."""
    if not groups:
        return []
    best = max(groups, key=lambda group: (len(group.arrays), group.rows))
    return [group for group in groups if group is best or set(group.arrays) == set(best.arrays)]


def _groups(tree: Tree, label: str, names: dict[int, tuple[str, ...]]) -> list[_Group]:
    own: dict[int, _Group] = {}
    for name, array in tree.items():
        if isinstance(array, np.ndarray) and array.ndim:
            if array.dtype.kind in "US" and array.ndim == 1 and words(name) <= JOINT_LISTS:
                names.setdefault(len(array), tuple(map(str, array)))
            else:
                own.setdefault(len(array), _Group(label, len(array))).arrays[name] = array
    inner = [
        (name, group)
        for name, part in tree.items()
        if isinstance(part, Mapping)
        for group in _groups(part, f"{label}/{name}".lstrip("/"), names)
    ]
    apart = []
    for name, group in inner:
        alike = any(other is not group and set(other.arrays) == set(group.arrays) for _, other in inner)
        home = own.get(group.rows)
        if group.timed or (alike and home is None):
            apart.append(group)
            continue
        home = own.setdefault(group.rows, _Group(label, group.rows)) if home is None else home
        below = group.label[len(label) :].lstrip("/") or name
        home.arrays.update({f"{below}/{key}": array for key, array in group.arrays.items()})
    return [*own.values(), *apart]


def _table(
    group: _Group, label: str, path: Path, kind: str, names: dict[int, tuple[str, ...]], notes: list[str]
) -> Table:
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, pa.ChunkedArray] = {}
    rows = group.rows
    notes = list(notes)
    for name, array in group.arrays.items():
        if array.dtype.kind in "US" and array.ndim == 1:
            decoded = np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array
            texts[name] = pa.chunked_array([pa.array(decoded)])
        elif array.dtype.kind in "biuf" and array.ndim in (1, 2, 3) and array.size:
            squeezed = array.reshape(rows, -1) if array.ndim == 3 else array
            numbers[name] = squeezed[:, 0] if squeezed.ndim == 2 and squeezed.shape[1] == 1 else squeezed
        else:
            notes.append(f"{path.name}: {name} has shape {array.shape}, {array.dtype}, and was left out")
    entries = {
        name: names[values.shape[1]]
        for name, values in numbers.items()
        if values.ndim == 2 and values.shape[1] in names
    }
    return Table(path, kind, rows, numbers, texts, tuple(notes), entries or None, label)
