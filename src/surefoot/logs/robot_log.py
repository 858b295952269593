"""`RobotLog`, what every robot already writes, and its Parquet form: one row per control tick.

Columns: `episode` (int32), `time_s` (float64, from 0 in each episode), and fixed-size float32 lists `command`
(vx m/s, vy m/s, wz rad/s), `joint_position_rad`, `joint_velocity_rad_s` and `action` in the order of `joints`,
`gyro_rad_s` and `gravity`. The file's metadata holds a JSON text under the key `surefoot.log`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from surefoot.errors import LogError
from surefoot.files import canonical_json, sha256, write_whole

METADATA_KEY = b"surefoot.log"
FORMAT = 1
REQUIRED = ("command", "joint_position_rad", "joint_velocity_rad_s", "action")
OPTIONAL = ("gyro_rad_s", "gravity")


@dataclass(frozen=True, eq=False)
class RobotLog:
    """Episodes, one after the other; arrays have one row per control tick."""

    joints: tuple[str, ...]
    episode: np.ndarray  # (rows,) int32, rising
    time_s: np.ndarray  # (rows,) float64
    command: np.ndarray  # (rows, 3)
    joint_position_rad: np.ndarray  # (rows, n_joints)
    joint_velocity_rad_s: np.ndarray
    action: np.ndarray
    gyro_rad_s: np.ndarray | None = None  # (rows, 3)
    gravity: np.ndarray | None = None
    metadata: dict[str, Any] = field(default_factory=dict)  # robot and policy hashes, rate, source

    @property
    def n_episodes(self) -> int:
        """Number of episodes."""
        return len(np.unique(self.episode))

    def episodes(self) -> list[slice]:
        """The rows of each episode."""
        starts = np.flatnonzero(np.diff(self.episode, prepend=self.episode[:1] - 1))
        return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(self.episode)], strict=True)]

    @property
    def seconds(self) -> float:
        """Recorded time over all episodes."""
        return float(sum(self.time_s[rows][-1] - self.time_s[rows][0] for rows in self.episodes()))


def write_log(log: RobotLog, path: Path) -> str:
    """Write the log whole or not at all; the hash of its bytes."""
    columns: dict[str, pa.Array] = {"episode": pa.array(log.episode, pa.int32()), "time_s": pa.array(log.time_s, pa.float64())}
    for name in REQUIRED + OPTIONAL:
        values = getattr(log, name)
        if values is not None:
            flat = pa.array(np.ascontiguousarray(values, dtype=np.float32).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    content = {**log.metadata, "format": FORMAT, "joints": list(log.joints)}
    table = pa.table(columns).replace_schema_metadata({METADATA_KEY: canonical_json(content).encode()})
    write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))
    return sha256(path.read_bytes())


def read_log(path: Path) -> RobotLog:
    """Read a log that `write_log` wrote."""
    if not path.is_file():
        raise LogError(f"the log {path} does not exist")
    try:
        table = pq.read_table(path)
        content = json.loads((table.schema.metadata or {})[METADATA_KEY])
        joints = tuple(str(name) for name in content.pop("joints"))
        version = content.pop("format")
    except KeyError:
        raise LogError(f"{path} is a Parquet file, but not a robot log: it has no {METADATA_KEY.decode()!r} metadata") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, AttributeError) as reason:
        raise LogError(f"{path} is not a readable Parquet file: {' '.join(str(reason).split())}") from None
    if version != FORMAT:
        raise LogError(f"{path} has log format {version!r}; this version reads format {FORMAT}")
    arrays: dict[str, np.ndarray] = {}
    for name in ("episode", "time_s", *REQUIRED, *OPTIONAL):
        if name not in table.column_names:
            if name in OPTIONAL:
                continue
            raise LogError(f"{path} lacks the column {name!r}")
        column = table[name].combine_chunks()
        width = {"command": 3, "gyro_rad_s": 3, "gravity": 3}.get(name, len(joints))
        if name in ("episode", "time_s"):
            arrays[name] = column.to_numpy(zero_copy_only=False)
        elif not pa.types.is_fixed_size_list(column.type) or column.type.list_size != width:
            raise LogError(f"{path}: the column {name!r} must hold lists of {width} numbers, found {column.type}")
        else:
            arrays[name] = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    return RobotLog(joints=joints, metadata=content, **arrays)
