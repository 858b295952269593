"""Logs that ask for more memory than they have bytes, bags with files that are none, and times that no clock shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.log_files import joint_state, mcap_of, write_bag

from surefoot.errors import GapError, LogError
from surefoot.gap.schedule import schedule_of
from surefoot.logs.importing.csv_file import read_csv
from surefoot.logs.importing.tables import read_parquet
from surefoot.logs.parquet import METADATA_KEY, MOST_FOOTER_BYTES
from surefoot.logs.recorder import record
from surefoot.logs.robot_log import RobotLog, read_log, write_log
from surefoot.sim.twin import load_twin

MOST_KB = 1_500_000
# not the system's figure for a child, which counts what its parent held when it was made
MEASURED = """
import sys
from surefoot.cli.main import run
code = run(sys.argv[1:])
print(open("/proc/self/status").read())
sys.exit(code)
"""


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return record(load_twin("go2-identified"), "trot", rollouts=2, seconds=1.0, seed=0)


def run(*words: object, folder: Path) -> tuple[int, str, int]:
    """Exit code, standard error and the largest memory, KB, of a command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stderr, int(done.stdout.rpartition("VmHWM:")[2].split()[0])


def importing(name: str, folder: Path) -> str:
    """What an import says that is refused, within the memory that it may take."""
    code, error, peak_kb = run("log", "import", name, "--out", "log.parquet", folder=folder)
    assert code == 2
    assert error.count("\n") == 1
    assert peak_kb < MOST_KB, f"{peak_kb} KB"
    return error


class TestMemory:
    def test_metadata_of_many_values(self, tmp_path, log):
        write_log(log, tmp_path / "log.parquet")
        table = pq.read_table(tmp_path / "log.parquet")
        content = json.dumps({"format": 1, "joints": list(log.joints), "x": [[]] * 3_000_000})
        pq.write_table(table.replace_schema_metadata({METADATA_KEY: content.encode()}), tmp_path / "x.parquet")
        with pytest.raises(LogError, match=r"x\.parquet: its metadata has 12 MB of JSON"):
            read_log(tmp_path / "x.parquet")
        with pytest.raises(LogError, match="which is more than a robot log can have"):
            read_parquet(tmp_path / "x.parquet")

    def test_a_footer_of_many_megabytes(self, tmp_path, log):
        write_log(log, tmp_path / "log.parquet")
        table = pq.read_table(tmp_path / "log.parquet")
        huge = table.replace_schema_metadata({b"x": b"x" * (MOST_FOOTER_BYTES + 1)})
        pq.write_table(huge, tmp_path / "x.parquet")
        for words in (("log", "show", "x.parquet"), ("log", "import", "x.parquet", "--out", "y.parquet")):
            code, error, peak_kb = run(*words, folder=tmp_path)
            assert code == 2
            assert "MB of metadata, which is more than a Parquet file can have here" in error
            assert peak_kb < 400_000

    def test_a_csv_file_of_short_rows(self, tmp_path):
        (tmp_path / "x.csv").write_bytes(b"t\n" + b"1\n" * 20_000_000)
        assert "x.csv needs about 1.24 GB of memory" in importing("x.csv", tmp_path)

    def test_a_csv_file_of_empty_cells(self, tmp_path):
        header = b"time," + b",".join(b"c%d" % i for i in range(30_000)) + b"\n"
        (tmp_path / "x.csv").write_bytes(header + (b"0" + b"," * 30_000 + b"\n") * 1500)
        assert "x.csv needs about" in importing("x.csv", tmp_path)

    def test_a_csv_file_whose_rows_are_longer_than_its_header(self, tmp_path):
        (tmp_path / "x.csv").write_bytes(b"time,a\n" + b"," * 45_000_000)
        assert "x.csv needs about" in importing("x.csv", tmp_path)

    def test_what_a_csv_file_may_hold_fits(self, tmp_path):
        (tmp_path / "x.csv").write_bytes(b"t\n" + b"1\n" * 16_000_000)
        assert "needs about" not in importing("x.csv", tmp_path)

    @pytest.mark.parametrize("cell", [b"0", b"x"])
    def test_a_wide_csv_file_fits(self, tmp_path, cell):
        """Of 30,000 columns in 60 blocks, the pieces alone took 2 GB."""
        header = b"time," + b",".join(b"c%d" % i for i in range(30_000)) + b"\n"
        (tmp_path / "x.csv").write_bytes(header + (b"0" + (b"," + cell) * 30_000 + b"\n") * 1000)
        assert "no joint positions" in importing("x.csv", tmp_path)

    def test_lists_of_bytes(self, tmp_path):
        rows, width = 2000, 20_000
        lists = pa.ListArray.from_arrays(
            pa.array(np.arange(rows + 1) * width, pa.int32()), pa.array(np.zeros(rows * width, np.int8))
        )
        pq.write_table(pa.table({"time": np.arange(rows) / 50, "q": lists}), tmp_path / "x.parquet", compression="zstd")
        assert (tmp_path / "x.parquet").stat().st_size < 1e5
        importing("x.parquet", tmp_path)

    def test_one_long_list_does_not_make_all_rows_long(self, tmp_path):
        """The commonest length counts for all rows: here it is 10,000, of 2,002 rows, and others are shorter."""
        lengths = np.array([*range(1, 2001), 10_000, 10_000] * 10)
        lists = pa.ListArray.from_arrays(
            pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32()), pa.array(np.zeros(lengths.sum(), np.int8))
        )
        pq.write_table(
            pa.table({"time": np.arange(len(lengths)) / 50, "q": lists}), tmp_path / "x.parquet", compression="zstd"
        )
        assert "needs about" in importing("x.parquet", tmp_path)

    def test_lists_are_read_as_before(self, tmp_path):
        for kind in (pa.float32(), pa.int8()):
            table = pa.table(
                {
                    "whole": pa.array([[1, 2], [3, 4], [5, 6], [7, 8]], pa.list_(kind)),
                    "ragged": pa.array([[1, 2], None, [5], [7, 8]], pa.list_(kind)),
                    "fixed": pa.array([[1, 2], None, [5, 6], [7, 8]], pa.list_(kind, 2)),
                }
            )
            pq.write_table(table, tmp_path / "x.parquet")
            numbers = read_parquet(tmp_path / "x.parquet").numbers
            nan = float("nan")
            assert np.array_equal(numbers["whole"], [[1, 2], [3, 4], [5, 6], [7, 8]])
            assert np.array_equal(numbers["ragged"], np.array([[1, 2], [nan, nan], [nan, nan], [7, 8]]), equal_nan=True)
            assert np.array_equal(numbers["fixed"], np.array([[1, 2], [nan, nan], [5, 6], [7, 8]]), equal_nan=True)

    def test_an_ordinary_csv_file(self, tmp_path):
        (tmp_path / "x.csv").write_text("time;ä\n0;1\n1;2\n", encoding="utf-8")
        table = read_csv(tmp_path / "x.csv")
        assert table.numbers["ä"].tolist() == [1, 2]


class TestBagsWithOddFiles:
    @pytest.fixture
    def bag(self, tmp_path, go2) -> Path:
        joints = go2.contract.joints
        messages = [("/joint_states", k / 50, joint_state(joints, np.zeros(12), time_s=k / 50)) for k in range(5)]
        return write_bag(tmp_path / "bag", messages)

    @pytest.mark.parametrize("name", ["a.mcap", "a.db3", "a.mcap.zstd"])
    @pytest.mark.parametrize("closed", [True, False])
    def test_a_fifo_beside_the_recording(self, tmp_path, bag, name, closed):
        os.mkfifo(bag / name)
        if not closed:
            (bag / "metadata.yaml").unlink()
        assert f"bag/{name} is not an ordinary file" in importing("bag", tmp_path)

    def test_a_fifo_alone(self, tmp_path):
        (tmp_path / "bag").mkdir()
        os.mkfifo(tmp_path / "bag" / "a.db3")
        assert "a.db3 is not an ordinary file" in importing("bag", tmp_path)

    def test_a_fifo_in_place_of_the_recording(self, tmp_path, bag):
        file = mcap_of(bag)
        file.unlink()
        os.mkfifo(file)
        assert "is not an ordinary file" in importing("bag", tmp_path)

    @pytest.mark.parametrize("ending", ["-wal", "-journal"])
    def test_a_fifo_that_sqlite_would_open(self, tmp_path, go2, ending):
        bag = write_bag(
            tmp_path / "bag", [("/joint_states", 0.0, joint_state(go2.contract.joints, np.zeros(12)))], "sqlite3"
        )
        (file,) = bag.glob("*.db3")
        os.mkfifo(file.with_name(file.name + ending))
        for path in ("bag", f"bag/{file.name}"):
            assert f"{ending} is not an ordinary file" in importing(path, tmp_path)


TIMES = {
    "inf": lambda time_s: time_s + np.inf,
    "e300": lambda time_s: time_s * 1e300,
    "spike": lambda time_s: np.where(np.arange(len(time_s)) == 5, 1e300, time_s),
    "opposite": lambda time_s: np.where(np.arange(len(time_s)) % 2, 1.7e308, -1.7e308),
    "nan": lambda time_s: time_s * np.nan,
}


@pytest.mark.parametrize("name", TIMES)
class TestTimesThatNoClockShows:
    @pytest.fixture
    def path(self, here, log, name) -> Path:
        write_log(log, here / "log.parquet")
        table = pq.read_table(here / "log.parquet")
        place = table.schema.get_field_index("time_s")
        with np.errstate(all="ignore"):
            time_s = TIMES[name](log.time_s)
        pq.write_table(table.set_column(place, "time_s", pa.array(time_s)), here / "x.parquet")
        return here / "x.parquet"

    @pytest.mark.parametrize(
        "words",
        [
            ("log", "show", "x.parquet"),
            ("log", "plot", "x.parquet", "--out", "x.html"),
            ("doctor", "x.parquet", "--html", "x.html"),
            ("gap", "x.parquet", "--policy", "trot", "--out", "gap"),
            ("fit", "x.parquet", "--policy", "trot", "--out", "fit"),
        ],
        ids=lambda words: words[0] + words[1][:4],
    )
    def test_no_warning_of_a_library(self, surefoot, path, words, recwarn):
        code, out, error = surefoot(*words)
        assert code in (0, 2)
        assert not recwarn.list
        assert "RuntimeWarning" not in error
        assert " nan " not in out + error

    def test_they_are_missing_times(self, path, name):
        read = read_log(path)
        # 0 times 1e300 is a time
        assert np.isnan(read.time_s).sum() == {"spike": 1, "e300": len(read.time_s) - 2}.get(name, len(read.time_s))
        assert np.isfinite(read.seconds)
        assert np.isfinite(read.steps_s()).all()

    def test_a_schedule_refuses_them(self, path, go2):
        with pytest.raises(GapError, match=r"have a time|time_s holds values that are not finite"):
            schedule_of(read_log(path), go2)
