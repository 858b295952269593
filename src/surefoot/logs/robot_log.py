"""`RobotLog`, what every robot already writes, and its Parquet form: one row per control tick.

docs/log-format.md describes the file: columns, units, frames and metadata.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from surefoot.errors import LogError, shown
from surefoot.files import canonical_json, file_hash, is_number, mark, path_of, write_whole
from surefoot.logs.parquet import METADATA_KEY, log_metadata, read_table
from surefoot.shown import Shown

FORMAT = 1
REQUIRED = ("command", "joint_position_rad", "joint_velocity_rad_s", "action")
OPTIONAL = (
    "gyro_rad_s",
    "gravity",
    "quaternion",
    "torque_nm",
    "motor_temperature_c",
    "battery_v",
    "foot_contact",
    "base_position_m",
    "base_velocity",
)
MOST_COMMANDS = 64
LATEST = 1e20  # in any unit: nanoseconds since 1970 are at 2e18
SCALARS = {"episode": "whole numbers", "time_s": "numbers"}
WIDTHS = {
    "command": 3,
    "gyro_rad_s": 3,
    "gravity": 3,
    "quaternion": 4,
    "battery_v": 1,
    "base_position_m": 3,
    "base_velocity": 6,
}  # others: one for each joint


@dataclass(frozen=True, eq=False)
class RobotLog(Shown):
    """Episodes, one after the other; arrays have one row per control tick."""

    joints: tuple[str, ...]
    episode: np.ndarray  # (rows,) int32, rising
    time_s: np.ndarray  # (rows,) float64
    command: (
        np.ndarray
    )  # (rows, 3) forward m/s, left m/s, turn rad/s; then further commands, where the robot takes some
    joint_position_rad: np.ndarray  # (rows, n_joints)
    joint_velocity_rad_s: np.ndarray
    action: np.ndarray
    gyro_rad_s: np.ndarray | None = None  # (rows, 3)
    gravity: np.ndarray | None = None  # (rows, 3) unit vector of gravity in the base frame
    quaternion: np.ndarray | None = None  # (rows, 4) of the base, w x y z
    torque_nm: np.ndarray | None = None  # (rows, n_joints) as the motors estimate it
    motor_temperature_c: np.ndarray | None = None
    battery_v: np.ndarray | None = None  # (rows, 1)
    # (rows, n_feet) 0 to 1, or a force sensor's reading, as metadata["feet"] names them
    foot_contact: np.ndarray | None = None
    base_position_m: np.ndarray | None = None  # (rows, 3) in the world, where motion capture gave it
    # (rows, 6) linear in the world frame, m/s, and angular in the base frame, rad/s
    base_velocity: np.ndarray | None = None
    metadata: dict[str, Any] = field(default_factory=dict)  # robot and policy hashes, rate, source
    path: Path | None = None  # the file that it was read from

    @property
    def n_episodes(self) -> int:
        """Number of episodes."""
        return len(np.unique(self.episode))

    @property
    def stated_hz(self) -> float | None:
        """The control rate that the metadata states, where it is a number above 0."""
        hz: Any = self.metadata.get("control_hz")
        return float(hz) if is_number(hz) and hz > 0 else None

    def episodes(self) -> list[slice]:
        """The rows of each episode."""
        starts = np.flatnonzero(np.diff(self.episode, prepend=self.episode[:1] - 1))
        return [slice(int(a), int(b)) for a, b in zip(starts, [*starts[1:], len(self.episode)], strict=True)]

    @property
    def seconds(self) -> float:
        """Recorded time over all episodes; rows without a time do not count."""
        return float(sum(self.seconds_of(rows) for rows in self.episodes()))

    def seconds_of(self, rows: slice) -> float:
        """Time from the first to the last of some rows that have one; 0 where none has."""
        time_s = self.time_s[rows]
        time_s = time_s[np.isfinite(time_s)]
        return float(time_s[-1] - time_s[0]) if len(time_s) else 0.0

    def steps_s(self, rows: slice = slice(None)) -> np.ndarray:
        """Times between neighbouring rows of one episode, where both have one, (steps,)."""
        with np.errstate(invalid="ignore", over="ignore"):  # of a log that was not read from a file
            steps = np.diff(self.time_s[rows])[np.diff(self.episode[rows]) == 0]
        return steps[np.isfinite(steps)]


def write_log(log: RobotLog, path: str | Path) -> str:
    """Write the log whole or not at all; the hash of its bytes, as sha256sum prints it."""
    path = path_of(path)
    columns: dict[str, pa.Array] = {
        "episode": pa.array(log.episode, pa.int32()),
        "time_s": pa.array(log.time_s, pa.float64()),
    }
    for name in REQUIRED + OPTIONAL:
        values = getattr(log, name)
        if values is not None:
            flat = pa.array(np.ascontiguousarray(values, dtype=np.float32).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    content = {**log.metadata, "format": FORMAT, "joints": list(log.joints)}
    table = pa.table(columns).replace_schema_metadata(
        {METADATA_KEY: canonical_json(content).encode(), b"surefoot.written_by": mark().encode()}
    )

    def write(temporary: Path) -> None:
        with open(temporary, "wb") as file:  # not by its name, which pyarrow would read as an address and as UTF-8
            pq.write_table(table, file, compression="zstd", write_page_checksum=True)

    place = Path(path)
    write_whole(place, write)
    return file_hash(place)


def read_log(path: str | Path) -> RobotLog:
    """Read a log that `write_log` wrote."""
    path = Path(path)
    table = read_table(path, ("episode", "time_s", *REQUIRED, *OPTIONAL))
    content = _metadata(table, path)
    joints = tuple(content.pop("joints"))
    if not table.num_rows:
        raise LogError(f"{path} is a robot log without rows; record it again")
    arrays: dict[str, Any] = {}
    for name in ("episode", "time_s", *REQUIRED, *OPTIONAL):
        count = table.column_names.count(name)
        if count > 1:
            raise LogError(f"{path} has {count} columns {name!r}; each may come once")
        if count:
            arrays[name] = _column(table[name], name, _width(name, joints, content, path), path)
        elif name not in OPTIONAL:
            raise LogError(f"{path} lacks the column {name!r}")
    episode = arrays["episode"]
    if (episode[1:] < episode[:-1]).any():
        raise LogError(f"{path}: the column 'episode' goes back; the rows of an episode must lie together, in order")
    # What no clock shows becomes NaN here, once: differences of infinite times are none, and those of huge ones
    # overflow. The doctor names the rows.
    time_s = arrays["time_s"].astype(np.float64)
    arrays["time_s"] = np.where(np.abs(time_s) <= LATEST, time_s, np.nan)
    return RobotLog(joints=joints, metadata=content, path=path, **arrays)


def _metadata(table: pa.Table, path: Path) -> dict[str, Any]:
    """What the file says about itself, with `joints` checked."""
    if METADATA_KEY not in (table.schema.metadata or {}):
        raise LogError(f"{path} is a Parquet file, but not a robot log: it has no {METADATA_KEY.decode()!r} metadata")
    try:
        content = log_metadata(table, path)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise LogError(f"{path} is a Parquet file, but its {METADATA_KEY.decode()!r} metadata is not a JSON object")
    version = content.pop("format", None)
    if version != FORMAT:
        raise LogError(f"{path} has log format {shown(version)}; this version reads format {FORMAT}")
    joints = content.get("joints")
    if not isinstance(joints, list) or not joints or not all(isinstance(name, str) for name in joints):
        raise LogError(
            f"{path} does not name its joints; its {METADATA_KEY.decode()!r} metadata must list them under 'joints'"
        )
    return content


def _width(name: str, joints: tuple[str, ...], content: dict[str, Any], path: Path) -> int | None:
    """Numbers in each cell of a column; None for plain ones."""
    if name in SCALARS:
        return None
    if name == "foot_contact":
        feet = content.get("feet")
        if not isinstance(feet, list) or not feet or not all(isinstance(foot, str) for foot in feet):
            raise LogError(
                f"{path} has a column 'foot_contact', but its {METADATA_KEY.decode()!r} metadata does not list the"
                " 'feet'"
            )
        return len(feet)
    return WIDTHS.get(name, len(joints))


def _column(chunks: pa.ChunkedArray, name: str, width: int | None, path: Path) -> np.ndarray:
    """One column as an array, (rows,) or (rows, width)."""
    kind = chunks.type
    if width is None:
        expected, fits = SCALARS[name], pa.types.is_integer(kind) if name == "episode" else pa.types.is_floating(kind)
    else:
        most = MOST_COMMANDS if name == "command" else width  # the three velocities, and further commands of the robot
        expected = f"lists of {width} numbers" + (" or more" if most > width else "")
        fits = (
            pa.types.is_fixed_size_list(kind)
            and width <= kind.list_size <= most
            and pa.types.is_floating(kind.value_type)
        )
        width = kind.list_size if fits else width
    if not fits:
        raise LogError(f"{path}: the column {name!r} must hold {expected}, found {kind}")
    column = chunks.combine_chunks()
    values = column if width is None else column.flatten()
    if column.null_count or values.null_count:
        raise LogError(f"{path}: the column {name!r} has empty cells; each row must hold {expected}")
    array: np.ndarray = values.to_numpy(zero_copy_only=False)
    return array if width is None else array.reshape(-1, width)
