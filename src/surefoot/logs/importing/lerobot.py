"""LeRobot folders: meta/info.json names the features, data/chunk-*/*.parquet holds them.

In version 3 a file holds many episodes (file-000.parquet), in version 2 one (episode_000000.parquet).
"""

from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError, shown
from surefoot.files import read_json
from surefoot.logs.importing.tables import Table, read_parquet
from surefoot.logs.parquet import check_sum

LEROBOT = "LeRobot"  # the kind of such a table
# of the motion: joints that follow targets lag and sag by less; a policy's output has another pose and scale
FOLLOWS = 0.5


def read_lerobot(folder: Path) -> Table:
    """The dataset as one table; named entries of a feature become columns of their own, such as
    'observation.state/FL_hip.pos'.
    """
    features = _features(folder)
    files = sorted((folder / "data").glob("chunk-*/*.parquet"))
    if not files:
        raise LogError(f"{folder} has no data/chunk-*/file-*.parquet; a LeRobot folder holds its rows there")
    check_sum(files, folder)
    parts = [read_parquet(file) for file in files]
    common = [name for name in parts[0].numbers if all(name in part.numbers for part in parts)]
    numbers: dict[str, np.ndarray] = {}
    notes = [note for part in parts for note in part.notes]
    for name in common:
        arrays = [part.numbers[name] for part in parts]
        if len({array.shape[1:] for array in arrays}) > 1:
            notes.append(f"{folder.name}: {name} has another width in another file and was left out")
            continue
        values = np.concatenate(arrays)
        entries = _entries(features.get(name))
        if name in ("index", "frame_index", "task_index"):
            continue
        if values.ndim == 2 and entries and len(entries) == values.shape[1]:
            numbers.update({f"{name}/{entry}": values[:, i] for i, entry in enumerate(entries)})
        else:
            numbers[name] = values
    return Table(folder, LEROBOT, sum(part.rows for part in parts), numbers, {}, tuple(notes))


def _features(folder: Path) -> dict[str, Any]:
    path = folder / "meta" / "info.json"
    content = read_json(path, LogError, "the info.json of a LeRobot folder, which describes its features")
    features = content.get("features") if isinstance(content, dict) else None
    if not isinstance(features, dict):
        raise LogError(f"{path} does not describe features, found {shown(features)}")
    return features


def _entries(feature: Any) -> list[str] | None:
    """Names of a feature's entries: a list, or a list under 'motors' or the like."""
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    return (
        names
        if isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
        else None
    )


def off_motion(state: np.ndarray, action: np.ndarray) -> float | None:
    """How far joint positions are from actions, root mean square in units of the positions' own motion; None where
    nothing moves.
    """
    if state.shape != action.shape:
        return None
    with np.errstate(all="ignore"):
        known = np.isfinite(state).all(axis=1) & np.isfinite(action).all(axis=1)
        motion = float(np.sqrt(np.mean(np.var(state[known], axis=0)))) if known.sum() > 1 else 0.0
        off = float(np.sqrt(np.mean((state[known] - action[known]) ** 2))) if motion else np.nan
    return off / motion if motion and np.isfinite(off) else None
