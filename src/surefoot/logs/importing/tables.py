"""CSV, NPZ and Parquet files as columns of numbers. Nothing is unpickled, and no size is believed before it
is checked.
"""

import math
import re
import shlex
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from surefoot.errors import LogError
from surefoot.files import check_input, read_bytes
from surefoot.limits import refuse_size
from surefoot.logs.parquet import CELL_BYTES, COPIES, log_metadata, read_table
from surefoot.text import flat

# What a cell of a CSV file takes while it is read: 16 bytes in Arrow's parser (20 where it is empty), a number of 8
# bytes, for which there is room twice when a column is turned into an array. Measured on 40,000,000 rows of one column
# and on 60,000,000 empty cells. A row takes more, for its time on the way to the control ticks.
CSV_CELL_BYTES, CSV_ROW_BYTES = 24, 32
WIDE = 1_000  # columns
MOST_SKIPPED = 10_000  # rows of the wrong width: each is handed to Python
JOINT_COLUMNS = (
    "joint_position_rad",
    "joint_velocity_rad_s",
    "action",
    "torque_nm",
    "motor_temperature_c",
)  # of a robot log
NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
# Only ever shown: what a user who trusts a file may run once. Nothing here loads a pickle.
HOW_TO_CONVERT = (
    "python -c \"import sys, numpy as n; d = n.load(sys.argv[1], allow_pickle=True); n.savez('log.npz', **{k:"
    ' n.asarray(d[k].tolist(), float) for k in d})"'
)


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length: numbers as (rows,) or (rows, width) arrays, anything else as text."""

    path: Path
    kind: str
    rows: int
    numbers: dict[str, np.ndarray]
    texts: dict[str, pa.ChunkedArray]  # not decoded: one long text may stand in millions of cells
    notes: tuple[str, ...] = ()
    names: dict[str, tuple[str, ...]] | None = None  # of the entries of a wide column, where the file gives them

    @property
    def columns(self) -> tuple[str, ...]:
        """All names, in the file's order as far as it is known."""
        return (*self.numbers, *self.texts)


def read_csv(path: Path) -> Table:
    """Read a CSV file with a header line; comma, semicolon, tab or blanks between the cells."""
    size = check_input(path, LogError, "a CSV file")
    refuse_size(str(path), COPIES * size, LogError)
    content = read_bytes(path, LogError, "a CSV file").removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if content.startswith(b"#"):  # as numpy.savetxt marks its header
        content = content.lstrip(b"# ")
    _refuse_cells(content, path)
    if not content.isascii():  # pyarrow prints tracebacks about bytes that are no text
        content = content.decode("utf-8", "replace").encode()
    header = content[: content.find(b"\n") if b"\n" in content else len(content)].strip()
    if not header:
        raise LogError(f"{path} is empty; a CSV file begins with a line of column names")
    delimiter = _delimiter(header)
    if all(re.match(NUMBER, cell) for cell in header.decode().split(delimiter) if cell):
        raise LogError(f"{path} has no header line: its first line holds numbers; put the column names above it")
    skipped: list[int] = []

    def skip(row: Any) -> str:
        skipped.append(row.number or 0)
        return "skip" if len(skipped) < MOST_SKIPPED else "error"

    parse = pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip)
    # Arrow keeps a piece of a column for each block, at a kilobyte each: a wide file is one block.
    wide = header.count(delimiter.encode()) > WIDE
    read = pa_csv.ReadOptions(block_size=len(content) + 1) if wide else None
    try:
        try:
            table = pa_csv.read_csv(pa.BufferReader(content), read_options=read, parse_options=parse)
        except (
            pa.ArrowInvalid
        ):  # a word far down in a column of numbers: read all as text, and turn it into numbers below
            skipped.clear()
            names = [name.strip() for name in header.decode().split(delimiter)]
            text = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True)
            table = pa_csv.read_csv(
                pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=text
            )
        built = _from_arrow(table, path, "CSV")
    except LogError:
        raise
    except Exception as reason:  # whatever the library says about a damaged file
        if len(skipped) >= MOST_SKIPPED:
            raise LogError(
                f"{path}: {MOST_SKIPPED:,} rows have another number of cells than the header; is the delimiter"
                f" {delimiter!r}?"
            ) from None
        raise LogError(f"{path} is not a readable CSV file: {flat(reason, 200)}") from None
    if not skipped:
        return built
    note = f"{path.name}: {len(skipped)} rows with another number of cells than the header were left out"
    return Table(built.path, built.kind, built.rows, built.numbers, built.texts, (*built.notes, note))


def _delimiter(header: bytes) -> str:
    return max(",;\t ", key=lambda mark: (header.count(mark.encode()), mark == ","))


def _refuse_cells(content: bytes, path: Path) -> None:
    """Count what the parser will hold, before anything is decoded."""
    header = content[: content.find(b"\n") if b"\n" in content else len(content)]
    delimiter = _delimiter(header).encode()
    rows = max(content.count(b"\n"), content.count(b"\r")) + 1
    cells = max((header.strip().count(delimiter) + 1) * rows, content.count(delimiter) + rows)
    refuse_size(str(path), COPIES * len(content) + CSV_CELL_BYTES * cells + CSV_ROW_BYTES * rows, LogError)


def read_parquet(path: Path) -> Table:
    """Read a Parquet file of numbers or of lists of numbers."""
    table = read_table(path)
    try:
        return replace(_from_arrow(table, path, "Parquet"), names=_joint_names(table, path))
    except LogError:
        raise
    except Exception as reason:  # text that is no text shows when it is decoded
        raise LogError(f"{path} is not a readable Parquet file: {flat(reason, 200)}") from None


def _joint_names(table: pa.Table, path: Path) -> dict[str, tuple[str, ...]] | None:
    """The joints of a robot log's own columns, which its metadata name."""
    try:
        content = log_metadata(table, path)
        joints = tuple(map(str, content["joints"]))
        return dict.fromkeys(JOINT_COLUMNS, joints)
    except (KeyError, ValueError, TypeError):
        return None


def read_npz(path: Path) -> Table:
    """Read an NPZ file whose arrays have one row for each time."""
    arrays: dict[str, np.ndarray] = {}
    notes = []
    check_input(path, LogError, "an NPZ file")
    try:
        with zipfile.ZipFile(path) as archive:
            needed = sum(info.file_size for info in archive.infolist() if info.filename.endswith(".npy"))
            refuse_size(str(path), COPIES * needed, LogError)
            if any(name.endswith((".pkl", "/version", "/byteorder")) for name in archive.namelist()):
                raise LogError(pickled(path))
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    with archive.open(info) as member:
                        arrays[info.filename.removesuffix(".npy")] = _array(member, info.file_size, path, info.filename)
    except LogError:
        raise
    except Exception as reason:  # zipfile, zlib and numpy each have their own way to refuse a damaged file
        raise LogError(f"{path} is not a readable NPZ file: {flat(reason, 200)}") from None
    lengths = [len(a) for a in arrays.values() if a.ndim]
    if not lengths:
        raise LogError(f"{path} holds no arrays with rows; an NPZ log has time, joint positions and targets or actions")
    rows = max(set(lengths), key=lambda n: (lengths.count(n), n))
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, pa.ChunkedArray] = {}
    for name, array in arrays.items():
        if array.dtype.kind in "US" and array.shape == (rows,):
            texts[name] = pa.chunked_array(
                [pa.array(np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array)]
            )
        elif array.dtype.kind in "biuf" and array.ndim in (1, 2, 3) and len(array) == rows:
            numbers[name] = array.reshape(rows, -1) if array.ndim == 3 else array
        else:
            notes.append(f"{path.name}: {name} has shape {array.shape} and was left out; a channel has {rows} rows")
    return Table(path, "NPZ", rows, numbers, texts, tuple(notes))


def pickled(path: Path) -> str:
    """Why a pickle is refused, and the way out: a command for the user to read and run, never run here."""
    if path.suffix.lower() in (".pt", ".pth"):
        way = (
            'python -c "import sys, torch, numpy as n; d = torch.load(sys.argv[1], weights_only=True);'
            " n.savez('log.npz', **{k: n.asarray(v) for k, v in d.items()})\""
        )
    elif path.suffix.lower() in (".pkl", ".pickle"):
        way = (
            "python -c \"import sys, pickle, numpy as n; d = pickle.load(open(sys.argv[1], 'rb')); n.savez('log.npz',"
            ' **{k: n.asarray(v, float) for k, v in d.items()})"'
        )
    else:
        way = HOW_TO_CONVERT
    return (
        f"{path} holds pickled objects, which can run any program when they are read; where you trust it, convert it"
        f" once: {way} {shlex.quote(path.name)}"
    )


def _array(member: IO[bytes], size: int, path: Path, name: str) -> np.ndarray:
    """One .npy member; its header is checked against the bytes that are there before anything is allocated."""
    version = np.lib.format.read_magic(member)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(member)
    if dtype.hasobject:
        raise LogError(pickled(path))
    if dtype.kind not in "biufUS" or len(shape) > 3 or min(shape, default=0) < 0:
        return np.zeros(0)
    needed = math.prod(shape) * dtype.itemsize
    if needed > size:
        raise LogError(
            f"{path}: {name} claims shape {shape}, {needed / 1e9:.3g} GB, and holds {size / 1e9:.3g} GB; it is damaged,"
            " or must be split"
        )
    content = member.read(needed)
    if len(content) < needed:
        raise LogError(f"{path}: {name} ends after {len(content)} of {needed} bytes; the file is damaged")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _from_arrow(table: pa.Table, path: Path, kind: str) -> Table:
    """Columns of an Arrow table; what is not a number stays text."""
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, pa.ChunkedArray] = {}
    notes = []
    total = 0
    for place, given in enumerate(table.column_names):
        name = given.strip().strip("'\"").strip()
        if name in numbers or name in texts:
            name = f"{name} ({place + 1})"
        column = table.column(place)
        values = _dictionary_numbers(column, path) if pa.types.is_dictionary(column.type) else _numbers(column, path)
        if values is not None:
            total += values.nbytes
            refuse_size(str(path), COPIES * total, LogError)
            numbers[name] = values
        elif _is_text(column.type):
            texts[name] = column
        else:
            notes.append(f"{path.name}: the column {name} holds {column.type} and was left out")
    return Table(path, kind, table.num_rows, numbers, texts, tuple(notes))


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _dictionary_numbers(column: pa.ChunkedArray, path: Path) -> np.ndarray | None:
    """The same for a dictionary, whose texts are looked at once each: one of them may stand in millions of cells."""
    if not _is_text(column.type) or not len(column):
        return None
    merged = column.unify_dictionaries().combine_chunks()
    meant = _numbers(pa.chunked_array([merged.dictionary]), path) if len(merged.dictionary) else np.full(1, np.nan)
    if meant is None:
        return None
    refuse_size(str(path), COPIES * CELL_BYTES * len(column) * (meant.shape[1] if meant.ndim == 2 else 1), LogError)
    known = np.asarray(merged.is_valid())
    values = meant.astype(np.float64)[pc.fill_null(merged.indices, 0).to_numpy(zero_copy_only=False)]
    values[~known] = np.nan
    return values


def _numbers(column: pa.ChunkedArray, path: Path) -> np.ndarray | None:
    """A column as numbers, NaN where a cell is empty or is no number; None where it is text."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_timestamp(kind):
        return _numbers(pc.cast(column, pa.timestamp("ns"), safe=False).cast(pa.int64()), path)
    if pa.types.is_boolean(kind):
        return _numbers(column.cast(pa.uint8()), path)
    if pa.types.is_integer(kind) and not column.null_count:
        return np.asarray(column.to_numpy())  # nanoseconds since 1970 do not fit a float
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column, path)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _from_text(column, path)
    return None


def _lists(column: pa.ChunkedArray, path: Path) -> np.ndarray | None:
    """Lists of equal length as (rows, width); a missing or shorter list becomes NaN."""
    merged = column.combine_chunks()
    if not pa.types.is_integer(merged.type.value_type) and not pa.types.is_floating(merged.type.value_type):
        return None
    lengths = pc.fill_null(pc.list_value_length(merged), 0).to_numpy()
    if not len(lengths) or (width := int(np.bincount(lengths).argmax())) < 1:
        return None
    if pa.types.is_fixed_size_list(merged.type):
        lengths = np.where(np.asarray(merged.is_valid()), width, 0)
    whole = lengths == width
    # the numbers as they are cast, those of whole lists, and the rows with a place for each
    given, kept = int(lengths.sum()), width * len(lengths)
    needed = CELL_BYTES * (given + (kept if whole.all() else 2 * kept))
    refuse_size(str(path), merged.nbytes + needed, LogError)
    flat = np.asarray(merged.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if whole.all():
        return flat.reshape(-1, width)
    values = np.full((len(lengths), width), np.nan)
    values[whole] = flat[np.repeat(whole, lengths)].reshape(-1, width)
    return values


def _from_text(column: pa.ChunkedArray, path: Path) -> np.ndarray | None:
    """Text that is numbers after all: a column with a few damaged cells, or '[1.0, 2.0]' in each cell."""
    text = column.combine_chunks()
    if not len(text):
        return None
    number = pc.fill_null(pc.match_substring_regex(text, NUMBER), False)
    share = pc.sum(number).as_py() / max(len(text) - text.null_count, 1)
    if share > 0.5:
        cleaned = pc.utf8_trim_whitespace(pc.if_else(number, text, None))
        return np.asarray(cleaned.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    listed = pc.fill_null(pc.match_substring_regex(text, r"^\s*[\[\(].*[\]\)]\s*$"), False)
    if pc.sum(listed).as_py() / len(text) <= 0.5:
        return None
    cells = pc.split_pattern_regex(pc.utf8_trim(text, " \t[]()"), r"[,;\s]+")
    words = cells.flatten()
    number = pc.fill_null(pc.match_substring_regex(words, NUMBER), False)
    parsed = pc.if_else(number, words, None).cast(pa.float64())
    return _lists(pa.chunked_array([pa.ListArray.from_arrays(cells.offsets, parsed, mask=cells.is_null())]), path)


def text_codes(column: pa.ChunkedArray) -> np.ndarray:
    """A number for each different text of a column, (rows,); -1 where there is none. Only changes of it
    mean something.
    """
    encoded = (
        (column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
        .unify_dictionaries()
        .combine_chunks()
    )
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.float64)
