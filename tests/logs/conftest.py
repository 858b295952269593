import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from surefoot.logs import RobotLog, record, write_log
from surefoot.sim import load_twin


@pytest.fixture(scope="module")
def log() -> RobotLog:
    return record(load_twin("go2-identified"), "trot", rollouts=4, seconds=1.0, hold_s=0.4, seed=3)


@pytest.fixture(scope="module")
def table(log, tmp_path_factory) -> pa.Table:
    path = tmp_path_factory.mktemp("log") / "log.parquet"
    write_log(log, path)
    return pq.read_table(path)
