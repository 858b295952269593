"""CSV, NPZ and Parquet files as columns of numbers. Nothing is unpickled, and no size is believed before it is checked."""

import math
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from surefoot.errors import LogError

MOST_BYTES = 2_000_000_000  # of one array, unpacked
NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
# Only ever shown: what a user who trusts a file may run once. Nothing here loads a pickle.
HOW_TO_CONVERT = "python -c \"import numpy as n; d = n.load('{name}', allow_pickle=True); n.savez('log.npz', **{{k: n.asarray(d[k].tolist(), float) for k in d}})\""


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length: numbers as (rows,) or (rows, width) arrays, anything else as text."""

    path: Path
    kind: str
    rows: int
    numbers: dict[str, np.ndarray]
    texts: dict[str, list[str]]
    notes: tuple[str, ...] = ()
    names: dict[str, tuple[str, ...]] | None = None  # of the entries of a wide column, where the file gives them

    @property
    def columns(self) -> tuple[str, ...]:
        """All names, in the file's order as far as it is known."""
        return (*self.numbers, *self.texts)


def said(reason: Exception) -> str:
    """A library's complaint for one sentence."""
    return " ".join(str(reason).split())[:200] or type(reason).__name__


def read_csv(path: Path) -> Table:
    """Read a CSV file with a header line; comma, semicolon, tab or blanks between the cells."""
    content = _bytes(path).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    if content.startswith(b"#"):  # as numpy.savetxt marks its header
        content = content.lstrip(b"# ")
    if not content.isascii():  # pyarrow prints tracebacks about bytes that are no text
        content = content.decode("utf-8", "replace").encode()
    header = content[: content.find(b"\n") if b"\n" in content else len(content)].strip()
    if not header:
        raise LogError(f"{path} is empty; a CSV file begins with a line of column names")
    delimiter = max(",;\t ", key=lambda mark: (header.count(mark.encode()), mark == ","))
    if all(re.match(NUMBER, cell) for cell in header.decode().split(delimiter) if cell):
        raise LogError(f"{path} has no header line: its first line holds numbers; put the column names above it")
    skipped: list[int] = []

    def skip(row: Any) -> str:
        skipped.append(row.number or 0)
        return "skip"

    parse = pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip)
    try:
        try:
            table = pa_csv.read_csv(pa.BufferReader(content), parse_options=parse)
        except pa.ArrowInvalid:  # a word far down in a column of numbers: read all as text, and turn it into numbers below
            skipped.clear()
            names = [name.strip() for name in header.decode().split(delimiter)]
            text = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True)
            table = pa_csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=text)
        built = _from_arrow(table, path, "CSV")
    except LogError:
        raise
    except Exception as reason:  # whatever the library says about a damaged file
        raise LogError(f"{path} is not a readable CSV file: {said(reason)}") from None
    if not skipped:
        return built
    note = f"{path.name}: {len(skipped)} rows with another number of cells than the header were left out"
    return Table(built.path, built.kind, built.rows, built.numbers, built.texts, (*built.notes, note))


def read_parquet(path: Path) -> Table:
    """Read a Parquet file of numbers or of lists of numbers."""
    return _from_arrow(arrow_table(path), path, "Parquet")


def arrow_table(path: Path) -> pa.Table:
    """A Parquet file, whole."""
    try:
        with open(path, "rb") as file, pq.ParquetFile(file) as parquet:
            claimed = sum(parquet.metadata.row_group(i).total_byte_size for i in range(parquet.metadata.num_row_groups))
            if claimed > MOST_BYTES or parquet.metadata.num_rows > MOST_BYTES // 8:
                raise LogError(f"{path} claims to hold {claimed / 1e9:.3g} GB; it is damaged, or must be split")
            return parquet.read(use_threads=False)
    except LogError:
        raise
    except Exception as reason:
        raise LogError(f"{path} is not a readable Parquet file: {said(reason)}") from None


def read_npz(path: Path) -> Table:
    """Read an NPZ file whose arrays have one row for each time."""
    arrays: dict[str, np.ndarray] = {}
    notes = []
    try:
        with zipfile.ZipFile(path) as archive:
            if any(name.endswith((".pkl", "/version", "/byteorder")) for name in archive.namelist()):
                raise LogError(pickled(path))
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    with archive.open(info) as member:
                        arrays[info.filename.removesuffix(".npy")] = _array(member, info.file_size, path, info.filename)
    except LogError:
        raise
    except Exception as reason:  # zipfile, zlib and numpy each have their own way to refuse a damaged file
        raise LogError(f"{path} is not a readable NPZ file: {said(reason)}") from None
    lengths = [len(a) for a in arrays.values() if a.ndim]
    if not lengths:
        raise LogError(f"{path} holds no arrays with rows; an NPZ log has time, joint positions and targets or actions")
    rows = max(set(lengths), key=lambda n: (lengths.count(n), n))
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, list[str]] = {}
    for name, array in arrays.items():
        if array.dtype.kind in "US" and array.shape == (rows,):
            texts[name] = [str(value) for value in array]
        elif array.dtype.kind in "biuf" and array.ndim in (1, 2, 3) and len(array) == rows:
            numbers[name] = array.reshape(rows, -1) if array.ndim == 3 else array
        else:
            notes.append(f"{path.name}: {name} has shape {array.shape} and was left out; a channel has {rows} rows")
    return Table(path, "NPZ", rows, numbers, texts, tuple(notes))


def pickled(path: Path) -> str:
    """Why a pickle is refused, and the way out: a command for the user to read and run, never run here."""
    if path.suffix.lower() in (".pt", ".pth"):
        way = f"python -c \"import torch, numpy as n; d = torch.load('{path.name}', weights_only=True); n.savez('log.npz', **{{k: n.asarray(v) for k, v in d.items()}})\""
    elif path.suffix.lower() in (".pkl", ".pickle"):
        way = f"python -c \"import pickle, numpy as n; d = pickle.load(open('{path.name}', 'rb')); n.savez('log.npz', **{{k: n.asarray(v, float) for k, v in d.items()}})\""
    else:
        way = HOW_TO_CONVERT.format(name=path.name)
    return f"{path} holds pickled objects, which can run any program when they are read; where you trust it, convert it once: {way}"


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
    if needed > min(size, MOST_BYTES):
        raise LogError(
            f"{path}: {name} claims shape {shape}, {needed / 1e9:.3g} GB, and holds {size / 1e9:.3g} GB; it is damaged, or must be split"
        )
    content = member.read(needed)
    if len(content) < needed:
        raise LogError(f"{path}: {name} ends after {len(content)} of {needed} bytes; the file is damaged")
    return np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise LogError(f"{path} is larger than {MOST_BYTES / 1e9:g} GB; split it")
        return path.read_bytes()
    except OSError as reason:
        raise LogError(f"cannot read {path}: {reason.strerror or reason}") from None


def _from_arrow(table: pa.Table, path: Path, kind: str) -> Table:
    """Columns of an Arrow table; what is not a number stays text."""
    numbers: dict[str, np.ndarray] = {}
    texts: dict[str, list[str]] = {}
    notes = []
    for place, given in enumerate(table.column_names):
        name = given.strip().strip("'\"").strip()
        if name in numbers or name in texts:
            name = f"{name} ({place + 1})"
        column = table.column(place)
        values = _numbers(column)
        if values is not None:
            numbers[name] = values
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            texts[name] = ["" if cell is None else cell for cell in column.to_pylist()]
        else:
            notes.append(f"{path.name}: the column {name} holds {column.type} and was left out")
    return Table(path, kind, table.num_rows, numbers, texts, tuple(notes))


def _numbers(column: pa.ChunkedArray) -> np.ndarray | None:
    """A column as numbers, NaN where a cell is empty or is no number; None where it is text."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if pa.types.is_timestamp(kind):
        return _numbers(pc.cast(column, pa.timestamp("ns"), safe=False).cast(pa.int64()))
    if pa.types.is_boolean(kind):
        return _numbers(column.cast(pa.uint8()))
    if pa.types.is_integer(kind) and not column.null_count:
        return np.asarray(column.to_numpy())  # nanoseconds since 1970 do not fit a float
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _from_text(column)
    return None


def _lists(column: pa.ChunkedArray) -> np.ndarray | None:
    """Lists of equal length as (rows, width); a missing or shorter list becomes NaN."""
    merged = column.combine_chunks()
    if not pa.types.is_integer(merged.type.value_type) and not pa.types.is_floating(merged.type.value_type):
        return None
    lengths = pc.fill_null(pc.list_value_length(merged), 0).to_numpy()
    if not len(lengths) or (width := int(np.bincount(lengths).argmax())) < 1:
        return None
    flat = np.asarray(merged.flatten().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_fixed_size_list(merged.type):
        lengths = np.where(np.asarray(merged.is_valid()), width, 0)
    values = np.full((len(lengths), width), np.nan)
    whole = lengths == width
    starts = np.cumsum(lengths) - lengths
    values[whole] = flat[starts[whole, None] + np.arange(width)]
    return values


def _from_text(column: pa.ChunkedArray) -> np.ndarray | None:
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
    rows = [_cell(cell) for cell in text.to_pylist()]
    width = int(np.bincount([len(row) for row in rows]).argmax())
    if width < 1:
        return None
    return np.array([row if len(row) == width else [np.nan] * width for row in rows])


def _cell(text: str | None) -> list[float]:
    try:
        return [float(word) for word in re.split(r"[,;\s]+", (text or "").strip(" \t[]()")) if word]
    except ValueError:
        return []
