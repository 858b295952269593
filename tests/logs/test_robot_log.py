"""Log files that are read back whole or refused."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.log_files import ARRAYS

from surefoot.errors import LogError, SurefootError
from surefoot.logs import RobotLog, read_log, robot_log, write_log


def same(one: RobotLog, other: RobotLog) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


def test_round_trip(log, tmp_path) -> None:
    write_log(log, tmp_path / "new" / "folder" / "log.parquet")
    back = read_log(tmp_path / "new" / "folder" / "log.parquet")
    assert back.joints == log.joints
    assert back.metadata == log.metadata
    np.testing.assert_array_equal(back.time_s, log.time_s)
    np.testing.assert_array_equal(back.episode, log.episode)
    for name in ARRAYS[2:]:
        np.testing.assert_array_equal(getattr(back, name), getattr(log, name).astype(np.float32))
    write_log(back, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == (tmp_path / "new" / "folder" / "log.parquet").read_bytes()


def test_round_trip_without_imu_and_under_any_name(log, tmp_path) -> None:
    bare = dataclasses.replace(log, gyro_rad_s=None, gravity=None)
    for name in ("log.parquet", "day=3", "ü 日 [x].log", "\udcff.parquet"):
        write_log(bare, tmp_path / name)
        back = read_log(tmp_path / name)
        assert back.gyro_rad_s is None
        assert back.gravity is None
        assert back.n_episodes == 4
    assert len(list(tmp_path.iterdir())) == 4


def test_episodes_are_found_whatever_their_numbers(log) -> None:
    renumbered = dataclasses.replace(log, episode=np.repeat([2, 7, 8, 40], 50).astype(np.int32))
    assert renumbered.episodes() == log.episodes() == [slice(50 * i, 50 * i + 50) for i in range(4)]


def refused(path: Path, *parts: str) -> None:
    with pytest.raises(LogError) as caught:
        read_log(path)
    message = str(caught.value)
    for part in (path.name, *parts):
        assert part in message
    assert "\n" not in message


def test_file_that_is_no_log(table, tmp_path) -> None:
    refused(tmp_path / "none.parquet", "does not exist")
    refused(tmp_path, "is a folder")
    path = tmp_path / "log.parquet"
    for content in (b"", b"PAR1", b"robot: go2\n", np.random.default_rng(0).bytes(5000)):
        path.write_bytes(content)
        refused(path, "not a readable Parquet file")
    pq.write_table(table, path)
    whole = path.read_bytes()
    for share in (0.1, 0.5, 0.99):
        path.write_bytes(whole[: int(share * len(whole))])
        refused(path, "not a readable Parquet file")
    pq.write_table(pa.table({"price": [1.0, 2.0]}), path)
    refused(path, "not a robot log", "surefoot.log")


def test_a_damaged_byte_is_noticed(log, tmp_path) -> None:
    """Each page has a checksum; what can still be read after a byte was changed holds the same numbers."""
    path = tmp_path / "log.parquet"
    write_log(log, path)
    whole = path.read_bytes()
    right = read_log(path)
    rng = np.random.default_rng(0)
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")  # the rest describes them
    refusals = 0
    for place in rng.integers(0, pages, 150):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert same(read_log(path), right)
        except LogError:
            refusals += 1
    assert refusals > 100


def metadata(table: pa.Table, **changes: Any) -> pa.Table:
    content = json.loads(table.schema.metadata[b"surefoot.log"]) | changes
    return table.replace_schema_metadata(
        {"surefoot.log": json.dumps({k: v for k, v in content.items() if v is not None})}
    )


def swapped(table: pa.Table, name: str, column: object) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column).replace_schema_metadata(table.schema.metadata)


def lists(table: pa.Table, width: int, kind: pa.DataType | None = None) -> pa.Array:
    flat = pa.array(np.zeros(table.num_rows * width, np.float32))
    return pa.FixedSizeListArray.from_arrays(flat.cast(kind) if kind else flat, width)


def cells(rows: list) -> pa.Array:
    return pa.array(rows, pa.list_(pa.float32(), 3))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda t: metadata(t, format=99), ("log format 99", "reads format 1")),
        (lambda t: metadata(t, format=None), ("log format None",)),
        (lambda t: metadata(t, joints=None), ("does not name its joints",)),
        (lambda t: metadata(t, joints="FL_hip"), ("does not name its joints",)),
        (lambda t: metadata(t, joints=[1, 2]), ("does not name its joints",)),
        (lambda t: metadata(t, joints=["a", "b"]), ("'joint_position_rad'", "lists of 2 numbers", "[12]")),
        (lambda t: t.replace_schema_metadata({"surefoot.log": "{"}), ("metadata is not a JSON object",)),
        (lambda t: t.replace_schema_metadata({"surefoot.log": "[1]"}), ("metadata is not a JSON object",)),
        (lambda t: t.replace_schema_metadata({"surefoot.log": "[" * 100_000}), ("metadata is not a JSON object",)),
        (lambda t: t.drop_columns(["action"]), ("lacks the column 'action'",)),
        (lambda t: t.drop_columns(["time_s"]), ("lacks the column 'time_s'",)),
        (lambda t: t.slice(0, 0), ("without rows",)),
        (lambda t: t.append_column("time_s", t["time_s"]), ("2 columns 'time_s'",)),
        (lambda t: swapped(t, "action", lists(t, 11)), ("'action'", "lists of 12 numbers", "[11]")),
        (lambda t: swapped(t, "command", lists(t, 2)), ("'command'", "lists of 3 numbers", "[2]")),
        (lambda t: swapped(t, "gravity", lists(t, 4)), ("'gravity'", "lists of 3 numbers", "[4]")),
        (lambda t: swapped(t, "action", lists(t, 12, pa.string())), ("'action'", "lists of 12 numbers", "string")),
        (lambda t: swapped(t, "action", t["time_s"]), ("'action'", "lists of 12 numbers", "double")),
        (lambda t: swapped(t, "time_s", t["time_s"].cast(pa.string())), ("'time_s'", "must hold numbers", "string")),
        (lambda t: swapped(t, "episode", t["time_s"]), ("'episode'", "whole numbers", "double")),
        (lambda t: swapped(t, "time_s", pa.array([None] + [0.0] * (t.num_rows - 1))), ("'time_s'", "empty cells")),
        (lambda t: swapped(t, "command", cells([None] + [[0.0] * 3] * (t.num_rows - 1))), ("'command'", "empty cells")),
        (lambda t: swapped(t, "command", cells([[0.0, None, 0.0]] * t.num_rows)), ("'command'", "empty cells")),
        (lambda t: swapped(t, "episode", pa.array(np.arange(t.num_rows, 0, -1))), ("'episode' goes back",)),
    ],
)  # fmt: skip
def test_log_that_does_not_fit(table, tmp_path, change, parts) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(change(table), path)
    refused(path, *parts)


def test_place_that_cannot_be_written(log, tmp_path) -> None:
    """Permission bits do not stop root, so the places here are impossible for anyone."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for place, part in (
        ("file/log.parquet", "is a file, not a folder"),
        ("file/deeper/log.parquet", "is a file, not a folder"),
        ("folder", "is a folder"),
        ("pipe", "not an ordinary file"),  # stands for /dev/null, which root could replace
        ("a" * 300, "longer than 255 bytes"),
    ):
        with pytest.raises(SurefootError, match=part) as caught:
            write_log(log, tmp_path / place)
        assert "\n" not in str(caught.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder", "pipe"]
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("reason", [OSError(28, "No space left on device"), RuntimeError("a bug"), KeyboardInterrupt()])
def test_a_log_is_written_whole_or_not_at_all(log, tmp_path, monkeypatch, reason) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("the old log")

    def fail(table, file, **options):
        file.write(b"half of it")
        raise reason

    monkeypatch.setattr(robot_log.pq, "write_table", fail)
    with pytest.raises(SurefootError if isinstance(reason, OSError) else type(reason)) as caught:
        write_log(log, path)
    if isinstance(reason, OSError):
        assert "No space left on device; nothing was changed" in str(caught.value)
    assert path.read_text() == "the old log"
    assert [p.name for p in tmp_path.iterdir()] == ["log.parquet"]


def test_the_old_log_stays_when_the_move_fails(log, tmp_path, monkeypatch) -> None:
    path = tmp_path / "log.parquet"
    path.write_text("the old log")

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("surefoot.files.writing.os.replace", fail)
    with pytest.raises(SurefootError, match="Input/output error"):
        write_log(log, path)
    assert path.read_text() == "the old log"
    assert [p.name for p in tmp_path.iterdir()] == ["log.parquet"]
