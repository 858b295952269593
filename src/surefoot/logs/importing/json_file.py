"""JSON and JSON-lines files: a record for each time, columns of equal length, or several of either by name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError
from surefoot.files import parse_json
from surefoot.limits import refuse_size
from surefoot.logs.importing.csv_file import text_of
from surefoot.logs.importing.records import Columns
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.tree import tables_of
from surefoot.logs.parquet import COPIES

# Bytes that a parsed file takes beside its text: a number with its place in a list, a list, a dictionary. Measured on
# files of 1,000,000 of each with Python 3.11.
NUMBER_BYTES, LIST_BYTES, DICT_BYTES = 40, 90, 300
MOST_DEPTH = 12
FEWEST = 2  # rows
LINES = (".jsonl", ".ndjson")


def read_json_log(path: Path) -> list[Table]:
    """Read a JSON file, or a file with a JSON object on each line."""
    content, notes, guesses = text_of(path, "a JSON file")
    begin = content[:1000].lstrip()
    if not begin:
        raise LogError(f"{path} is empty; a JSON log holds a record for each time")
    lines = _is_lines(content, path)
    tables = _from_lines(content, path) if lines else _from_whole(content, path)
    tables[0] = replace(tables[0], notes=(*notes, *tables[0].notes), guesses=guesses)
    return tables


def _is_lines(content: bytes, path: Path) -> bool:
    """Whether each line is a record: by the name, or because the first line alone is one and another follows."""
    if any(suffix.lower() in LINES for suffix in path.suffixes):
        return True
    first, _, rest = content.lstrip().partition(b"\n")
    if not first.lstrip().startswith(b"{") or not rest.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(parse_json(first), dict)
    except ValueError:
        return False


def _from_lines(content: bytes, path: Path) -> list[Table]:
    columns = Columns(path, "a record")
    damaged = 0
    for line in _lines(content):
        try:
            refuse_size(str(path), _parsed_bytes(line), LogError)
            record = parse_json(line)
        except ValueError:
            damaged += 1
            continue
        if isinstance(record, dict):
            columns.add(record)
        else:
            damaged += 1
    if not columns.rows:
        raise LogError(f"{path} holds no JSON object on any line; a log of JSON lines has one for each time")
    notes = (f"{path.name}: {damaged} lines are no JSON objects and were left out",) if damaged else ()
    return [columns.table("JSON lines", notes=notes)]


def _lines(content: bytes) -> Iterator[bytes]:
    begin = 0
    while begin < len(content):
        end = content.find(b"\n", begin)
        end = len(content) if end < 0 else end
        line = content[begin:end].strip()
        if line:
            yield line
        begin = end + 1


def _parsed_bytes(text: bytes) -> int:
    return (
        NUMBER_BYTES * text.count(b",")
        + LIST_BYTES * text.count(b"[")
        + DICT_BYTES * text.count(b"{")
        + COPIES * len(text)
    )


def _from_whole(content: bytes, path: Path) -> list[Table]:
    refuse_size(str(path), _parsed_bytes(content), LogError)
    try:
        tree = parse_json(content)
    except ValueError as reason:
        where = f" at line {reason.lineno}" if isinstance(reason, json.JSONDecodeError) else ""
        raise LogError(f"{path} is not valid JSON{where}; the file is damaged, or breaks off") from None
    if isinstance(tree, list) and not any(isinstance(entry, dict) for entry in tree):
        raise LogError(
            f"{path} is a list of {len(tree)} values without names, so nobody can tell what is what; write objects"
            ' instead: {"time": 0.02, "q": [...], "q_des": [...]} for each time'
        )
    tables: list[Table] = []
    arrays = _arrays(tree, path, "", 0, tables)
    if arrays:
        tables = [*tables_of(arrays, path, "JSON"), *tables]
    if not tables:
        raise LogError(
            f"{path} holds no rows: neither a list of records nor lists of equal length by name; a JSON log has"
            " time, joint positions and targets or actions"
        )
    return tables


def _arrays(node: Any, path: Path, label: str, depth: int, tables: list[Table]) -> dict[str, Any]:
    """The arrays below an object, as a tree; lists of records become tables on the way."""
    if isinstance(node, list):
        columns = Columns(path, label or "a record")
        for record in node:
            if isinstance(record, dict):
                columns.add(record)
        if columns.rows >= FEWEST:
            tables.append(columns.table("JSON", label))
        return {}
    found: dict[str, Any] = {}
    if not isinstance(node, dict) or depth > MOST_DEPTH:
        return found
    for key, value in node.items():
        if isinstance(value, dict):
            inner = _arrays(value, path, f"{label}/{key}".lstrip("/"), depth + 1, tables)
            if inner:
                found[key] = inner
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            _arrays(value, path, f"{label}/{key}".lstrip("/"), depth + 1, tables)
        elif isinstance(value, list) and value:
            array = _as_array(value)
            if array is not None:
                found[key] = array
    return found


def _as_array(values: list[Any]) -> np.ndarray | None:
    """A list of numbers, of lists of numbers, or of texts as an array; None where it is none of these."""
    if all(isinstance(value, str) for value in values):
        return np.array([value[:200] for value in values])
    columns = Columns(Path(), "a list")
    try:
        for value in values:
            columns.add({"x": value})
    except LogError:
        return None
    numbers, _ = columns.arrays()
    return numbers.get("x")
