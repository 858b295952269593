"""ULog files of PX4, with pyulog (extra `ulog`): each topic is a table with time stamps in microseconds."""

import contextlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.files import check_input, read_bytes
from surefoot.limits import refuse_size
from surefoot.logs.importing.extras import need
from surefoot.logs.importing.tables import Table
from surefoot.logs.parquet import COPIES
from surefoot.text import flat
from surefoot.watchdog import watched

LARGER = 4  # times the file that pyulog's messages take before they are arrays


def read_ulog(path: Path) -> list[Table]:
    """Read the topics of a ULog file."""
    refuse_size(str(path), (LARGER + COPIES) * check_input(path, LogError, "a ULog file"), LogError)
    pyulog = need("pyulog", "pyulog", "ulog", path, "a ULog file")
    try:
        with watched(f"reading {path}"), contextlib.redirect_stdout(None):  # pyulog prints what it finds damaged
            log: Any = pyulog.ULog(io.BytesIO(read_bytes(path, LogError, "a ULog file")))  # it leaves files open
            tables = [_table(data, path) for data in log.data_list]
    except LogError:
        raise
    except Exception as reason:  # pyulog raises whatever its parsing meets
        raise LogError(f"{path} is not a readable ULog file: {flat(reason, 200)}") from None
    tables = [table for table in tables if table.rows]
    if not tables:
        raise LogError(f"{path} holds no messages")
    if log.file_corruption:
        note = f"{path.name}: the file is damaged; what pyulog could read was read"
        tables[0] = replace(tables[0], notes=(note,))
    return tables


def _table(data: Any, path: Path) -> Table:
    """One topic; only 'timestamp' is its clock, others are of sensors."""
    numbers = {
        str(name): np.asarray(values)
        for name, values in data.data.items()
        if not (str(name).startswith("timestamp") and name != "timestamp") and np.asarray(values).dtype.kind in "biuf"
    }
    stamps = numbers.get("timestamp")
    rows = 0 if stamps is None else len(stamps)
    numbers = {("timestamp_us" if name == "timestamp" else name): values for name, values in numbers.items()}
    label = str(data.name) + (f" {data.multi_id}" if data.multi_id else "")
    return Table(path, "ULog", rows, {name: v for name, v in numbers.items() if len(v) == rows}, {}, (), None, label)
