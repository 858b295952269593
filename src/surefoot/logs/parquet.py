"""Reading Parquet within the memory that is allowed, counted before anything is decoded.

Half a megabyte of equal rows unpacks to gigabytes, and a dictionary lets one long text stand in ten million cells. What
a file claims to hold is counted first; what it really gives is counted again, piece by piece.
"""

from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from surefoot.errors import LogError
from surefoot.files import check_input, parse_limited
from surefoot.limits import refuse_size
from surefoot.text import flat

ROWS_AT_ONCE = 1 << 16
TEXTS = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
CELL_BYTES = 8  # a number, decoded
METADATA_KEY = b"surefoot.log"
MOST_METADATA_BYTES = 5_000_000  # of what a log says about itself; ours take some thousand
MOST_FOOTER_BYTES = 50_000_000  # with the statistics of its row groups; reading it takes four times as much
COPIES = 3  # of the data that reading makes: Arrow's, NumPy's and one on the way; measured 2.3 to 3


def read_table(path: Path, columns: tuple[str, ...] | None = None) -> pa.Table:
    """A Parquet file, or those of its top-level columns that are named; texts stay dictionaries."""
    check_input(path, LogError, "a Parquet file")
    try:
        with open(path, "rb") as file:  # not by its name, which pyarrow would read as an address and as UTF-8
            _refuse_footer(file, path)
            about = pq.read_metadata(file)
            leaves = [about.schema.column(i) for i in range(about.num_columns)]
            wanted = [i for i, leaf in enumerate(leaves) if columns is None or leaf.path.split(".")[0] in columns]
            texts = [leaves[i].path for i in wanted if leaves[i].physical_type in TEXTS]
            refuse_size(str(path), COPIES * _claimed_bytes(about, wanted), LogError)
            file.seek(0)
            with pq.ParquetFile(file, read_dictionary=texts, page_checksum_verification=True) as parquet:
                return _gather(parquet, columns, path)
    except LogError:
        raise
    except Exception as reason:  # pyarrow refuses a damaged file in many ways
        raise LogError(f"{path} is not a readable Parquet file: {flat(reason, 200)}") from None


def check_sum(paths: list[Path], what: Path) -> None:
    """Refuse files that together hold more than is allowed, by what each claims."""
    total = 0
    for path in paths:
        check_input(path, LogError, "a Parquet file")
        try:
            with open(path, "rb") as file:
                _refuse_footer(file, path)
                about = pq.read_metadata(file)
        except LogError:
            raise
        except Exception:  # reading it says what is wrong
            continue
        total += _claimed_bytes(about, list(range(about.num_columns)))
        refuse_size(str(what), COPIES * total, LogError)


def log_metadata(table: pa.Table, path: Path) -> Any:
    """What a robot log says about itself, within limits; None where it says nothing, a ValueError where it is no
    JSON.
    """
    text = (table.schema.metadata or {}).get(METADATA_KEY)
    if text is None:
        return None
    return parse_limited(text, f"{path}: its metadata", LogError, "a robot log", MOST_METADATA_BYTES)


def _refuse_footer(file: IO[bytes], path: Path) -> None:
    """Refuse a description of the columns that is larger than any: pyarrow decodes it whole. Leaves the file at its
    beginning.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    file.seek(0)
    if len(end) == 8 and (length := int.from_bytes(end[:4], "little")) > MOST_FOOTER_BYTES and length <= size:
        raise LogError(
            f"{path} has {length / 1e6:,.0f} MB of metadata, which is more than a Parquet file can have here"
            f" ({MOST_FOOTER_BYTES / 1e6:,.0f} MB); write it again without"
        )


def _claimed_bytes(about: pq.FileMetaData, wanted: list[int]) -> int:
    total = 0
    for group in range(about.num_row_groups):
        row_group = about.row_group(group)
        for i in wanted:
            total += CELL_BYTES * max(row_group.column(i).num_values, row_group.num_rows)
    return total


def _gather(parquet: pq.ParquetFile, columns: tuple[str, ...] | None, path: Path) -> pa.Table:
    schema = parquet.schema_arrow
    names = schema.names if columns is None else [name for name in schema.names if name in columns]
    batches, total = [], 0
    for batch in parquet.iter_batches(ROWS_AT_ONCE, columns=list(dict.fromkeys(names)), use_threads=False):
        total += batch.nbytes
        refuse_size(str(path), COPIES * total, LogError)
        batches.append(batch)
    if not batches:
        return parquet.read(columns=list(dict.fromkeys(names)), use_threads=False)
    return pa.Table.from_batches(batches).replace_schema_metadata(schema.metadata)
