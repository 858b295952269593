"""Recognising files by their first bytes, reading them, and putting together what belongs together."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from surefoot.errors import LogError
from surefoot.files import check_input, note_input
from surefoot.limits import refuse_size
from surefoot.logs.importing.arrays import pickled, read_npy, read_npz
from surefoot.logs.importing.clock import common_unit, find_clock, has_clock
from surefoot.logs.importing.csv_file import read_csv
from surefoot.logs.importing.guess import table_channels
from surefoot.logs.importing.hdf5 import read_hdf5
from surefoot.logs.importing.json_file import read_json_log
from surefoot.logs.importing.lerobot import read_lerobot
from surefoot.logs.importing.long_table import split_long
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.matlab import read_matlab
from surefoot.logs.importing.mcap import MAGIC
from surefoot.logs.importing.motor_order import settled_order
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import Recording
from surefoot.logs.importing.ros import read_bag
from surefoot.logs.importing.streams import recordings_of
from surefoot.logs.importing.tables import Table, read_parquet
from surefoot.logs.importing.ulog import read_ulog
from surefoot.logs.importing.unpack import ENDINGS, packing
from surefoot.robot.contract import Contract

ReadTables = Callable[[Path], list[Table]]
TABLES: dict[str, ReadTables] = {
    "csv": lambda path: [read_csv(path)],
    "json": read_json_log,
    "npz": read_npz,
    "npy": read_npy,
    "parquet": lambda path: [read_parquet(path)],
    "hdf5": read_hdf5,
    "matlab": read_matlab,
    "ulog": read_ulog,
    "lerobot": lambda path: [read_lerobot(path)],
}
MOST_FILES = 10_000  # of a folder that is noted as an input
MOST_LOGS = 2_000  # files of a folder that are read
DEPTH = 3  # of folders in folders
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".npz": "npz",
    ".npy": "npy",
    ".parquet": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".hdf": "hdf5",
    ".mat": "matlab",
    ".ulg": "ulog",
    ".ulog": "ulog",
    ".mcap": "bag",
    ".db3": "bag",
    ".bag": "bag",
}
BEGINNINGS = {
    MAGIC: "bag",
    b"#ROSBAG V2.0": "bag",
    b"SQLite format 3": "bag",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"\x93NUMPY": "npy",
    b"\x89HDF\r\n": "hdf5",
    b"MATLAB 5.0 MAT-f": "matlab",
    b"MATLAB 7.3 MAT-f": "hdf5",
    b"ULog\x01\x12\x35": "ulog",
}
PICKLES = (".pkl", ".pickle", ".pt", ".pth", ".joblib")
READABLE = (
    "CSV (also compressed), JSON, NPZ, Parquet, HDF5, MATLAB and ULog files, MCAP files, ROS 1 and ROS 2 bags, and"
    " LeRobot folders"
)
ReadProgress = Callable[[int, int], None] | None


@dataclass
class _Pool:
    """What was found in one folder."""

    tables: list[Table] = field(default_factory=list)
    recordings: list[Recording] = field(default_factory=list)  # of bags, which choose their channels themselves
    notes: list[str] = field(default_factory=list)
    problems: list[LogError] = field(default_factory=list)  # of files that nobody named: others may be enough


def read_recordings(
    paths: Sequence[Path], contract: Contract, map_file: MapFile | None = None, progress: ReadProgress = None
) -> list[Recording]:
    """Read files and folders; files of one folder that are streams of one recording are joined by their time stamps."""
    map_file = map_file or MapFile()
    joints = JointNames(contract.joints, map_file)
    pools: dict[Path, _Pool] = {}
    for path in paths:
        _note_inputs(path)
        for file, named in _files(path):
            pool = pools.setdefault(file.absolute().parent, _Pool())
            try:
                _read_file(file, pool, joints, map_file, progress)
            except LogError as reason:
                if named:
                    raise
                pool.problems.append(reason)
    return [recording for pool in pools.values() for recording in _recordings(pool, joints, map_file, contract)]


def read_recording(
    path: Path, contract: Contract, map_file: MapFile | None = None, progress: ReadProgress = None
) -> Recording:
    """Read one file or folder that holds one recording."""
    recordings = read_recordings([path], contract, map_file, progress)
    if len(recordings) != 1:
        raise LogError(f"{path} holds {len(recordings)} recordings; read_recordings reads them all")
    return recordings[0]


def _note_inputs(path: Path) -> None:
    for file in (path, *islice(path.rglob("*"), MOST_FILES)) if path.is_dir() else (path,):
        if file.is_file():
            note_input(file)


def _files(path: Path, depth: int = 0) -> list[tuple[Path, bool]]:
    """The files and bags that a path stands for, and whether the user named them."""
    if not path.is_dir() or _kind_of_folder(path) is not None:
        return [(path, depth == 0)]
    inside = sorted(islice(path.iterdir(), MOST_LOGS + 1))
    if len(inside) > MOST_LOGS:
        raise LogError(f"the folder {path} holds more than {MOST_LOGS:,} files; give the log files themselves")
    found = []
    for entry in inside:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink() and depth < DEPTH:
            found += _files(entry, depth + 1)
        elif entry.is_file() and _by_suffix(entry) is not None:
            found.append((entry, False))
    if not found and depth == 0:
        raise LogError(
            f"the folder {path} holds no log: it is neither a ROS 2 bag (metadata.yaml) nor a LeRobot folder"
            f" (meta/info.json), and none of its files is one; known are {READABLE}"
        )
    if len(found) > MOST_LOGS:
        raise LogError(f"the folder {path} holds more than {MOST_LOGS:,} files; give the log files themselves")
    return found


def _by_suffix(path: Path) -> str | None:
    """The reader that a file's name asks for; of a compressed one, that of the name without its last ending."""
    suffix = path.suffix.lower()
    return SUFFIXES.get(Path(path.stem).suffix.lower() if suffix in ENDINGS else suffix)


def _read_file(path: Path, pool: _Pool, joints: JointNames, map_file: MapFile, progress: ReadProgress) -> None:
    kind = recognise(path)
    if kind == "bag":
        recording, tables = read_bag(path, joints, map_file, progress)
        pool.recordings += [] if recording is None else [recording]
    else:
        tables = TABLES[kind](path)
    pool.tables += [part for table in tables for part in split_long(table, joints)]
    held = sum(values.nbytes for table in pool.tables for values in table.numbers.values())
    refuse_size(str(path), held, LogError)


def _recordings(pool: _Pool, joints: JointNames, map_file: MapFile, contract: Contract) -> list[Recording]:
    """The recordings of a folder: tables with a clock become streams, and streams become recordings."""
    tables = pool.tables
    notes = list(pool.notes)
    if map_file.rate_hz is None and map_file.time is None and any(has_clock(table) for table in tables):
        notes += [f"{t.short}: no column is called time; it was left out" for t in tables if not has_clock(t)]
        tables = [table for table in tables if has_clock(table)]
    clocks = common_unit([find_clock(table, map_file) for table in tables])
    streams = [table_channels(table, joints, map_file, clock) for table, clock in zip(tables, clocks, strict=True)]
    if any(stream.unitree for stream in streams):  # one robot has one order
        streams = [
            stream if stream.unitree else table_channels(table, joints, map_file, clock, unitree_others=True)
            for stream, table, clock in zip(streams, tables, clocks, strict=True)
        ]
    streams += pool.recordings
    if not streams:
        raise pool.problems[0]
    found = _joined_within_files(streams, joints, map_file)
    found = recordings_of(found, joints, map_file)
    for recording in found:
        for sentence in recording.unmatched.values():
            raise LogError(sentence)
    if pool.problems and not all(recording.complete(joints.joints) for recording in found):
        raise pool.problems[0]
    found = [settled_order(recording, contract, map_file) for recording in found]
    notes += [f"left out: {reason}" for reason in pool.problems]
    return [replace(found[0], notes=(*notes, *found[0].notes)), *found[1:]] if notes else found


def _joined_within_files(streams: list[Recording], joints: JointNames, map_file: MapFile) -> list[Recording]:
    """Tables of one file belong together before files of one folder do."""
    files: dict[Path, list[Recording]] = {}
    for stream in streams:
        files.setdefault(stream.path, []).append(stream)
    found = []
    for inside in files.values():
        made = recordings_of(inside, joints, map_file)
        found += made if all(recording.complete(joints.joints) for recording in made) or len(made) == 1 else inside
    return found


def _kind_of_folder(path: Path) -> str | None:
    if (path / "meta" / "info.json").is_file():
        return "lerobot"
    if (path / "metadata.yaml").is_file() or any(path.glob("*.mcap")) or any(path.glob("*.db3")):
        return "bag"
    return None


def recognise(path: Path) -> str:
    """The reader for a file: what its first bytes say, else its suffix."""
    if path.is_dir():
        kind = _kind_of_folder(path)
        if kind is None:
            raise LogError(f"the folder {path} is neither a ROS 2 bag nor a LeRobot folder")
        return kind
    if not path.is_file():
        raise LogError(f"the log {path} does not exist" if not path.exists() else f"{path} is not an ordinary file")
    suffix = path.suffix.lower()
    try:
        with open(path, "rb") as file:
            begin = file.read(16)
    except OSError as reason:
        raise LogError(f"cannot read {path}: {reason.strerror or reason}") from None
    if suffix in PICKLES or (begin[:1] == b"\x80" and begin[1:2] in b"\x02\x03\x04\x05" and suffix not in SUFFIXES):
        raise LogError(pickled(path))
    for start, kind in BEGINNINGS.items():
        if begin.startswith(start):
            if start.startswith(b"SQLite") and suffix != ".db3":
                raise LogError(f"{path} is an SQLite file; where it is a ROS 2 bag, let its name end in .db3")
            return kind
    if packing(begin) is not None:
        return _packed_kind(path)
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    raise LogError(f"{path} is not a log that can be read here; known are {READABLE}")


def _packed_kind(path: Path) -> str:
    """The reader for a compressed file; only text is read so."""
    kind = _by_suffix(path)
    if kind in ("csv", "json"):
        return kind
    check_input(path, LogError, "a log")
    inside = Path(path.stem).suffix
    raise LogError(
        f"{path} is compressed; CSV and JSON files are read so (.csv.gz, .jsonl.zst), and this is"
        f" {'a ' + inside + ' file' if inside else 'something else'}: unpack it first,"
        f" e.g. with {shlex.join(['7z', 'x', path.name])}"
    )
