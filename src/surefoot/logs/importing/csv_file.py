"""CSV files as columns of numbers: commas, semicolons, tabs or blanks, decimal commas, UTF-8 or UTF-16, compressed."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from surefoot.errors import LogError
from surefoot.files import check_input, read_bytes
from surefoot.limits import refuse_size
from surefoot.logs.importing.tables import NUMBER, Table, from_arrow
from surefoot.logs.importing.unpack import packing, unpacked
from surefoot.logs.parquet import COPIES
from surefoot.text import flat

# What a cell of a CSV file takes while it is read: 16 bytes in Arrow's parser (20 where it is empty), a number of 8
# bytes, for which there is room twice when a column is turned into an array. Measured on 40,000,000 rows of one column
# and on 60,000,000 empty cells. A row takes more, for its time on the way to the control ticks.
CSV_CELL_BYTES, CSV_ROW_BYTES = 24, 32
WIDE = 1_000  # columns
MOST_SKIPPED = 10_000  # rows of the wrong width: each is handed to Python
MOST_REMARKS = 200  # lines above the header that begin with '#'
LOOKED_AT = 20_000  # bytes that tell how numbers are written
UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def read_csv(path: Path) -> Table:
    """Read a CSV file with a header line; comma, semicolon, tab or blanks between the cells."""
    content, notes, guesses = text_of(path, "a CSV file")
    content = _from_header(content)
    _refuse_cells(content, path)
    header = content[: content.find(b"\n") if b"\n" in content else len(content)].strip()
    if not header:
        raise LogError(f"{path} is empty; a CSV file begins with a line of column names")
    delimiter = _delimiter(header)
    if all(re.match(NUMBER, cell) for cell in header.decode().split(delimiter) if cell):
        raise LogError(f"{path} has no header line: its first line holds numbers; put the column names above it")
    commas = _decimal_commas(content[:LOOKED_AT], delimiter)
    table, skipped = _parsed(content, header, delimiter, commas, path)
    if commas:
        guesses = (*guesses, f"numbers <- decimal commas ({commas} is read as {commas.replace(',', '.')})")
    if skipped:
        notes = (*notes, f"{path.name}: {skipped} rows with another number of cells than the header were left out")
    return replace(table, notes=(*notes, *table.notes), guesses=guesses)


def text_of(path: Path, what: str) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
    """A text file as UTF-8 without a mark, whatever it was compressed and encoded with; notes, and what was guessed."""
    size = check_input(path, LogError, what)
    refuse_size(str(path), COPIES * size, LogError)
    try:
        with open(path, "rb") as file:
            how = packing(file.read(16))
    except OSError as reason:
        raise LogError(f"cannot read {path}: {reason.strerror or reason}") from None
    content, notes = (read_bytes(path, LogError, what), ()) if how is None else unpacked(path)
    guesses: tuple[str, ...] = ()
    encoding = UTF_16.get(content[:2]) or _utf_16_by_zeros(content[:400])
    if encoding is not None:
        content = content.decode(encoding, "replace").lstrip("\ufeff").encode("utf-8", "replace")
        guesses = (f"text <- {path.name} is {encoding.upper()[:6]}",)
    elif not content.isascii():  # pyarrow prints tracebacks about bytes that are no text
        content = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").encode()
    return content, notes, guesses


def _utf_16_by_zeros(begin: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of plain text is zero."""
    if len(begin) < 8:
        return None
    half = len(begin) // 2
    even, odd = begin[0 : 2 * half : 2].count(0), begin[1 : 2 * half : 2].count(0)
    if odd > 0.9 * half and even < 0.1 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.9 * half and odd < 0.1 * half else None


def _from_header(content: bytes) -> bytes:
    """The text from its line of column names on: without empty lines, 'sep=;' and remarks above it."""
    content = content.lstrip(b"\r\n")
    if content[:4].lower() == b"sep=":
        content = content[content.find(b"\n") + 1 :] if b"\n" in content else b""
    for _ in range(MOST_REMARKS):
        if not content.startswith(b"#"):
            break
        line, _, rest = content.partition(b"\n")
        if rest.startswith(b"#") or not re.match(rb"[\s\d.+-]", rest[:1] or b"0"):
            content = rest.lstrip(b"\r\n")  # a remark: the header comes below it
        else:
            content = line.lstrip(b"# ") + b"\n" + rest  # as numpy.savetxt marks its header
    return content


def _parsed(content: bytes, header: bytes, delimiter: str, commas: str, path: Path) -> tuple[Table, int]:
    """The table, and how many rows were left out."""
    skipped: list[int] = []

    def skip(row: Any) -> str:
        skipped.append(row.number or 0)
        return "skip" if len(skipped) < MOST_SKIPPED else "error"

    parse = pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=skip)
    # Arrow keeps a piece of a column for each block, at a kilobyte each: a wide file is one block.
    wide = header.count(delimiter.encode()) > WIDE
    read = pa_csv.ReadOptions(block_size=len(content) + 1) if wide else None
    point = "," if commas else "."
    convert = pa_csv.ConvertOptions(decimal_point=point)
    try:
        try:
            table = pa_csv.read_csv(
                pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=convert
            )
        except (
            pa.ArrowInvalid
        ):  # a word far down in a column of numbers: read all as text, and turn it into numbers below
            skipped.clear()
            names = [name.strip() for name in header.decode().split(delimiter)]
            text = pa_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True)
            table = pa_csv.read_csv(
                pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=text
            )
        return from_arrow(table, path, "CSV"), len(skipped)
    except LogError:
        raise
    except Exception as reason:  # whatever the library says about a damaged file
        if len(skipped) >= MOST_SKIPPED:
            raise LogError(
                f"{path}: {MOST_SKIPPED:,} rows have another number of cells than the header; is the delimiter"
                f" {delimiter!r}?"
            ) from None
        raise LogError(f"{path} is not a readable CSV file: {flat(reason, 200)}") from None


def _decimal_commas(begin: bytes, delimiter: str) -> str:
    """A number with a decimal comma, where the cells have one; empty where they have none."""
    lines = begin.decode("utf-8", "replace").splitlines()[1:]
    bare = [cell.strip().strip('"') for line in lines for cell in line.split(delimiter)] if delimiter != "," else []
    quoted = [cell for line in lines for cell in re.findall(r'"([^"]*)"', line)]
    return next((cell for cell in (*bare, *quoted) if re.fullmatch(r"[-+]?\d+,\d+([eE][-+]?\d+)?", cell)), "")


def _delimiter(header: bytes) -> str:
    return max(",;\t ", key=lambda mark: (header.count(mark.encode()), mark == ","))


def _refuse_cells(content: bytes, path: Path) -> None:
    """Count what the parser will hold, before anything is decoded."""
    header = content[: content.find(b"\n") if b"\n" in content else len(content)]
    delimiter = _delimiter(header).encode()
    rows = max(content.count(b"\n"), content.count(b"\r")) + 1
    cells = max((header.strip().count(delimiter) + 1) * rows, content.count(delimiter) + rows)
    refuse_size(str(path), COPIES * len(content) + CSV_CELL_BYTES * cells + CSV_ROW_BYTES * rows, LogError)
