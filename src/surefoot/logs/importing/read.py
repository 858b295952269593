"""Recognising a file by its first bytes, and reading it."""

import shlex
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from surefoot.errors import LogError
from surefoot.files import note_input
from surefoot.logs.importing.guess import table_channels
from surefoot.logs.importing.lerobot import read_lerobot
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.mcap import MAGIC
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import Recording
from surefoot.logs.importing.ros import read_bag
from surefoot.logs.importing.tables import pickled, read_csv, read_npz, read_parquet
from surefoot.robot.contract import Contract

TABLES = {"csv": read_csv, "npz": read_npz, "parquet": read_parquet, "lerobot": read_lerobot}
MOST_FILES = 10_000  # of a folder
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".npz": "npz",
    ".parquet": "parquet",
    ".mcap": "bag",
    ".db3": "bag",
}
BEGINNINGS = {MAGIC: "bag", b"SQLite format 3": "bag", b"PK\x03\x04": "npz", b"PAR1": "parquet"}
READABLE = "CSV, NPZ and Parquet files, MCAP files, ROS 2 bags and LeRobot folders"
OTHERS = {
    b"#ROSBAG": "is a ROS 1 bag; convert it once: pip install rosbags && rosbags-convert --src {name} --dst converted",
    b"\x93NUMPY": (
        "is a single array; save named arrays instead: numpy.savez('log.npz', time=..., dof_pos=..., des_dof_pos=...)"
    ),
    b"\x89HDF": (
        "is an HDF5 file; save its arrays once with numpy.savez('log.npz', time=..., dof_pos=..., des_dof_pos=...)"
    ),
    b"MATLAB": "is a MATLAB file; save its arrays once as CSV (writetable) or with numpy.savez",
}


def read_recording(
    path: Path, contract: Contract, map_file: MapFile | None = None, progress: Callable[[int, int], None] | None = None
) -> Recording:
    """Read one file or folder; `progress` is told how much of how much is read."""
    map_file = map_file or MapFile()
    joints = JointNames(contract.joints, map_file)
    kind = recognise(path)
    for file in (path, *islice(path.rglob("*"), MOST_FILES)) if path.is_dir() else (path,):
        if file.is_file():
            note_input(file)
    if kind == "bag":
        return read_bag(path, joints, map_file, progress)
    return table_channels(TABLES[kind](path), joints, map_file)


def recognise(path: Path) -> str:
    """The reader for a file: what its first bytes say, else its suffix."""
    if path.is_dir():
        if (path / "meta" / "info.json").is_file():
            return "lerobot"
        if (path / "metadata.yaml").is_file() or any(path.glob("*.mcap")) or any(path.glob("*.db3")):
            return "bag"
        raise LogError(
            f"the folder {path} is neither a ROS 2 bag (metadata.yaml) nor a LeRobot folder (meta/info.json); give the"
            " log files themselves"
        )
    if not path.is_file():
        raise LogError(f"the log {path} does not exist" if not path.exists() else f"{path} is not an ordinary file")
    suffix = path.suffix.lower()
    try:
        with open(path, "rb") as file:
            begin = file.read(16)
    except OSError as reason:
        raise LogError(f"cannot read {path}: {reason.strerror or reason}") from None
    if suffix in (".pkl", ".pickle", ".pt", ".pth", ".joblib") or (
        begin[:1] == b"\x80" and begin[1:2] in b"\x02\x03\x04\x05" and suffix not in SUFFIXES
    ):
        raise LogError(pickled(path))
    for start, kind in BEGINNINGS.items():
        if begin.startswith(start):
            if start.startswith(b"SQLite") and suffix != ".db3":
                raise LogError(f"{path} is an SQLite file; where it is a ROS 2 bag, let its name end in .db3")
            return kind
    for start, why in OTHERS.items():
        if begin.startswith(start):
            raise LogError(f"{path} {why.format(name=shlex.quote(path.name))}")
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    raise LogError(f"{path} is not a log that can be read here; known are {READABLE}")
