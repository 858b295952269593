"""Columns of numbers, from Arrow's tables and from Parquet files. No size is believed before it is checked."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surefoot.errors import LogError
from surefoot.limits import refuse_size
from surefoot.logs.parquet import CELL_BYTES, COPIES, log_metadata, read_table
from surefoot.text import flat

JOINT_COLUMNS = (
    "joint_position_rad",
    "joint_velocity_rad_s",
    "action",
    "torque_nm",
    "motor_temperature_c",
)  # of a robot log
MOST_TEXTS, LONGEST_TEXT = 10_000, 200  # different words of a mode or a joint column, and their letters
NUMBER = r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*$"
DECIMAL_COMMA = r"^\s*[-+]?([0-9]+(,[0-9]*)?|,[0-9]+)([eE][-+]?[0-9]+)?\s*$"


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
    label: str = ""  # of one table among several of a file: a group, a topic
    joint: str | None = None  # the one that the whole table is about
    guesses: tuple[str, ...] = ()  # how the file itself was understood

    @property
    def where(self) -> str:
        """The file, and the table in it, for a sentence."""
        return f"{self.path}: {self.label}" if self.label else str(self.path)

    @property
    def short(self) -> str:
        """The same without the folder."""
        return f"{self.path.name}: {self.label}" if self.label else self.path.name

    @property
    def columns(self) -> tuple[str, ...]:
        """All names, in the file's order as far as it is known."""
        return (*self.numbers, *self.texts)


def read_parquet(path: Path) -> Table:
    """Read a Parquet file of numbers or of lists of numbers."""
    table = read_table(path)
    try:
        return replace(from_arrow(table, path, "Parquet"), names=_joint_names(table, path))
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


def from_arrow(table: pa.Table, path: Path, kind: str) -> Table:
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
    comma = pc.fill_null(pc.match_substring_regex(text, DECIMAL_COMMA), False)
    if pc.sum(comma).as_py() > pc.sum(number).as_py():
        text, number = pc.replace_substring(text, ",", "."), comma
    if pc.sum(number).as_py() / max(len(text) - text.null_count, 1) > 0.5:
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
    return _codes(column)[0].astype(np.float64)


def text_matches(column: pa.ChunkedArray, test: Callable[[str], bool]) -> tuple[np.ndarray, list[str]]:
    """Which rows hold a text that passes a test, (rows,), and those texts."""
    codes, texts = _codes(column)
    if len(texts) > MOST_TEXTS:
        return np.zeros(len(column), dtype=bool), []
    passed = [i for i, text in enumerate(texts.to_pylist()) if text is not None and test(text[:LONGEST_TEXT])]
    return np.isin(codes, passed), [str(texts[i]) for i in passed]


def _codes(column: pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    encoded = (
        (column if pa.types.is_dictionary(column.type) else column.dictionary_encode())
        .unify_dictionaries()
        .combine_chunks()
    )
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)), encoded.dictionary
