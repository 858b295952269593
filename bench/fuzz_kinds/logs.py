"""Logs of every format, the map file, and archives."""

import copy
import dataclasses
import io
import json
import os
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import strategies as st

from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, numbers, texts
from fuzz_kinds.robots import write, yaml_text
from surefoot.logs.recorder import record
from surefoot.logs.robot_log import METADATA_KEY, RobotLog, write_log
from surefoot.sim.twin import load_twin

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))
from support.log_files import KINDS as FORMATS
from support.log_files import valid_file

ODD_PARTS = ("a.mcap", "a.db3", "a.mcap.zstd", "metadata.yaml", "run_0.db3-wal", "run_1.db3-journal", "other.txt")
IMPORT = ["log", "import", "--out", "out/log.parquet"]
MAP = {
    "time": {"from": "time", "unit": "s"},
    "joint_position": {"from": "q_*", "unit": "rad", "sign": 1.0, "scale": 1.0, "offset": 0.0},
    "action": "action_*",
    "command": [0.0, 0.0, 0.0],
    "joints": {"a": "FL_hip_joint"},
    "clock": "header",
    "gyro": None,
}


@cache
def files() -> dict[str, bytes]:
    """A whole file of every format."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return {kind: valid_file(kind, Path(folder)).read_bytes() for kind in FORMATS}


@cache
def walked() -> RobotLog:
    return record(load_twin("go2-identified"), "trot", rollouts=2, seconds=1.0, seed=3, threads=1)


def log_bytes(draw: Draw, folder: Path) -> Verbs:
    """A file of some format with damaged bytes."""
    kind = draw(st.sampled_from(FORMATS))
    (folder / kind).write_bytes(damaged(draw, files()[kind]))
    if kind == "log.parquet":
        return [
            draw(
                st.sampled_from(
                    [
                        ["log", "show", kind],
                        ["log", "plot", kind, "--out", "out/p.html"],
                        ["doctor", kind, "--html", "out/d.html"],
                    ]
                )
            )
        ]
    return [[*IMPORT, kind]]


def log_values(draw: Draw, folder: Path) -> Verbs:
    """A log that is well-formed and holds nonsense: values, clocks, episodes, metadata."""
    log = walked()
    changes: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        name = draw(
            st.sampled_from(
                [
                    "time_s",
                    "command",
                    "joint_position_rad",
                    "joint_velocity_rad_s",
                    "action",
                    "gyro_rad_s",
                    "gravity",
                    "episode",
                ]
            )
        )
        array = np.array(changes.get(name, getattr(log, name)))
        way = draw(st.sampled_from(["scale", "constant", "spike", "shuffle", "offset", "nan", "unit"]))
        with np.errstate(all="ignore"):
            value = (
                float(np.clip(draw(st.floats(allow_nan=False)), -1e38, 1e38))
                if name != "time_s"
                else float(draw(st.floats()))
            )
            if name == "episode":
                array = (
                    np.sort(array * draw(st.sampled_from([0, 1, 1000])))
                    if draw(st.booleans())
                    else np.arange(len(array), dtype=np.int32)
                )
            elif way == "scale":
                array = array * value
            elif way == "unit":
                array = array * draw(st.sampled_from([1e3, 1e6, 1e9, 180 / np.pi]))
            elif way == "constant":
                array[:] = value
            elif way == "spike":
                array[draw(st.integers(0, len(array) - 1))] = value
            elif way == "shuffle":
                array = array[::-1]
            elif way == "offset":
                array = array + value
            else:
                array[:: draw(st.integers(1, 9))] = np.nan
        changes[name] = array
    metadata = mutated(draw, copy.deepcopy(log.metadata)) if draw(st.booleans()) else log.metadata
    changed = dataclasses.replace(log, metadata=metadata if isinstance(metadata, dict) else {}, **changes)
    try:
        write_log(changed, folder / "log.parquet")
    except (ValueError, TypeError, UnicodeError):  # metadata that JSON cannot hold
        write_log(dataclasses.replace(changed, metadata={}), folder / "log.parquet")
    verbs = {
        "show": ["log", "show", "log.parquet"],
        "plot": ["log", "plot", "log.parquet", "--robot", "go2", "--out", "out/p.html"],
        "bare": ["log", "plot", "log.parquet", "--out", "out/p.html"],
        "doctor": ["doctor", "log.parquet", "--html", "out/d.html"],
        "json": ["doctor", "log.parquet", "--json"],
        "import": [*IMPORT, "log.parquet"],
        "fit": [
            "fit",
            "log.parquet",
            "--policy",
            "replay",
            "--out",
            "out/fit",
            "--most-evaluations",
            "1",
            "--threads",
            "1",
            "--free",
            "nonsense",
        ],
        "gap": ["gap", "log.parquet", "--policy", "replay", "--out", "out/gap"],
    }
    return [verbs[draw(st.sampled_from(list(verbs)))]]


def log_tables(draw: Draw, folder: Path) -> Verbs:
    """Parquet with other columns, types and sizes than a log has."""
    rows = draw(st.sampled_from([0, 1, 60, 100_000, 10_000_000]))
    columns: dict[str, pa.Array] = {}
    for name in ("time_s", "episode", "q", "action", draw(texts).encode("utf-8", "replace").decode()):
        kind = draw(st.sampled_from(["float", "int", "text", "list", "bool", "dictionary", "null", "bytes"]))
        if kind == "float":
            columns[name] = pa.array(np.full(rows, draw(st.floats()) if draw(st.booleans()) else 0.1))
        elif kind == "int":
            columns[name] = pa.array(np.zeros(rows, dtype=np.int64))
        elif kind == "bool":
            columns[name] = pa.array(np.zeros(rows, dtype=bool))
        elif kind == "null":
            columns[name] = pa.nulls(rows)
        elif kind == "list":
            width = draw(st.sampled_from([0, 1, 12, 40]))
            kind = draw(st.sampled_from([np.float32, np.int8]))
            columns[name] = (
                pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * width, dtype=kind)), width)
                if width and rows * width < 3e7
                else pa.nulls(rows)
            )
        else:
            word = draw(st.sampled_from(["1.5", "[1, 2]", "a" * 1000, "x"])).encode()
            indices = pa.array(np.zeros(rows, dtype=np.int32))
            values = pa.array([word if kind == "bytes" else word.decode()])
            columns[name] = pa.DictionaryArray.from_arrays(indices, values)
    metadata = {
        METADATA_KEY: json.dumps(mutated(draw, {"format": 1, "joints": ["a", "b"], "feet": ["a"]}), default=str).encode(
            "utf-8", "replace"
        )
    }
    much = draw(st.sampled_from([0, 0, 0, 100_000, 3_000_000]))  # of what the file says about itself
    if much:
        metadata[METADATA_KEY] = b'{"format": 1, "joints": ["a"], "x": [' + b"[]," * much + b"0]}"
    table = pa.table(columns)
    if much or draw(st.booleans()):
        table = table.replace_schema_metadata(metadata)
    pq.write_table(table, folder / "log.parquet", compression="zstd", store_schema=draw(st.booleans()))
    return [draw(st.sampled_from([[*IMPORT, "log.parquet"], ["log", "show", "log.parquet"]]))]


def csv(draw: Draw, folder: Path) -> Verbs:
    lines = files()["run.csv"].decode().splitlines()
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.integers(0, len(lines) - 1))
        cells = lines[row].split(",")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(texts) if draw(st.booleans()) else str(draw(numbers))
        lines[row] = draw(st.sampled_from([",", ";", "\t", " ", ","])).join(cells)
    ending = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    (folder / "run.csv").write_bytes(ending.join(lines).encode(encoding, "replace"))
    write(folder / "m.yaml", yaml_text(draw, MAP))
    return [
        [
            *IMPORT,
            "run.csv",
            *(["--map", "m.yaml"] if draw(st.booleans()) else []),
            *(["--time-unit", "ms"] if draw(st.integers(0, 4)) == 0 else []),
        ]
    ]


def shapes_of_csv(draw: Draw, folder: Path) -> Verbs:
    """CSV files of very many short rows, and of very many cells."""
    rows, cells = draw(
        st.sampled_from([(20_000_000, 1), (3_000_000, 1), (500_000, 5), (300, 30_000), (1, 9_000_000), (3, 3)])
    )
    cell = draw(st.sampled_from(["", "0", "1.5", "x", "é"]))
    header = ",".join(["time", *(f"c{k}" for k in range(min(cells, 30_000) - 1))])
    line = ",".join(["0", *[cell] * (cells - 1)])
    (folder / "run.csv").write_bytes(f"{header}\n".encode() + f"{line}\n".encode() * rows)
    return [[*IMPORT, "run.csv"]]


def bag_folder(draw: Draw, folder: Path) -> Verbs:
    """The folder of a bag: recordings of both kinds, and beside them what is no file, empty, damaged or elsewhere."""
    bag = folder / "bag"
    bag.mkdir()
    for k, kind in enumerate(kind for kind in FORMATS if kind.endswith((".mcap", ".db3"))):
        if draw(st.booleans()):
            content = files()[kind]
            (bag / f"run_{k}{Path(kind).suffix}").write_bytes(
                damaged(draw, content) if draw(st.booleans()) else content
            )
    for name in draw(st.lists(st.sampled_from(ODD_PARTS), max_size=3, unique=True)):
        way = draw(st.sampled_from(["pipe", "folder", "empty", "dangling", "device", "self"]))
        if (bag / name).exists():
            continue
        if way == "pipe":
            os.mkfifo(bag / name)
        elif way == "folder":
            (bag / name).mkdir()
        elif way == "empty":
            (bag / name).write_bytes(b"")
        else:
            (bag / name).symlink_to({"dangling": "nowhere", "device": "/dev/zero", "self": name}[way])
    names = [path.name for path in bag.iterdir()]
    about = {
        "version": 5,
        "storage_identifier": draw(st.sampled_from(["mcap", "sqlite3", "x"])),
        "relative_file_paths": draw(st.sampled_from([names, names[:1], ["../log", "/dev/zero"], []])),
        "duration": {"nanoseconds": 1},
        "starting_time": {"nanoseconds_since_epoch": 0},
        "message_count": 1,
        "topics_with_message_count": [],
        "compression_format": "",
        "compression_mode": draw(st.sampled_from(["", "FILE", "MESSAGE"])),
        "files": [],
        "custom_data": None,
        "ros_distro": "x",
    }
    if draw(st.booleans()) and not (bag / "metadata.yaml").is_symlink() and not (bag / "metadata.yaml").exists():
        tree = {"rosbag2_bagfile_information": about}
        write(bag / "metadata.yaml", yaml_text(draw, tree) if draw(st.integers(0, 3)) == 0 else yaml.safe_dump(tree))
    return [[*IMPORT, "bag"]]


def archive(draw: Draw, folder: Path) -> Verbs:
    """Zip files: hostile member names, bombs, headers that lie, pickles."""
    built = io.BytesIO()
    with zipfile.ZipFile(built, "w", zipfile.ZIP_DEFLATED) as file:
        for k in range(draw(st.integers(1, 4))):
            name = draw(
                st.sampled_from(
                    [
                        f"a{k}.npy",
                        "time.npy",
                        "dof_pos.npy",
                        "des_dof_pos.npy",
                        "../up.npy",
                        "/abs.npy",
                        "data.pkl",
                        "x/version",
                        draw(texts).replace("\0", ""),
                    ]
                )
            )
            kind = draw(st.sampled_from(["array", "array", "big", "lie", "object", "text", "bytes"]))
            content = io.BytesIO()
            if kind == "array":
                np.save(content, np.zeros(draw(st.sampled_from([(), (0,), (60,), (60, 12), (60, 2, 6), (1, 1, 1, 1)]))))
            elif kind == "big":
                np.save(content, np.zeros(draw(st.sampled_from([10**4, 10**7])), dtype=np.float64))
            elif kind == "text":
                np.save(content, np.array(["x" * 100] * 60))
            elif kind == "lie":
                np.save(content, np.zeros(3))
                content = io.BytesIO(
                    content.getvalue().replace(
                        b"(3,)",
                        draw(st.sampled_from([b"(3000000000,)", b"(-3,)", b"(3,3,3,3)", b"('a',)", b"(True,)"])),
                    )
                )
            elif kind == "object":
                content.write(
                    b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(128)
                    + b"\x80\x04cos\nsystem\n."
                )
            else:
                content.write(draw(st.binary(max_size=100)))
            file.writestr(name or "x", content.getvalue())
    data = built.getvalue()
    (folder / "run.npz").write_bytes(damaged(draw, data) if draw(st.integers(0, 3)) == 0 else data)
    return [[*IMPORT, "run.npz"]]


def nothing_escaped(folder: Path) -> None:
    """No member of an archive left it."""
    assert not (folder.parent / "up.npy").exists()


KINDS = (
    Kind("log bytes", log_bytes, cases=2500),
    Kind("log values", log_values, cases=2000),
    Kind("log tables", log_tables, cases=700),
    Kind("CSV and map", csv, cases=1500),
    Kind("CSV shapes", shapes_of_csv, cases=50),
    Kind("bag folder", bag_folder, cases=400),
    Kind("archive", archive, nothing_escaped, cases=700),
)
