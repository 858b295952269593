"""Everything that is read from and written to disk goes through here: one place for limits, locks and refusals.

Reading: only ordinary files, up to a size, decoded within limits (`reading`, `yaml_file`). Writing: whole or not at
all, never over an input and never over somebody else's file (`writing`, `ledger`, `run_folder`, `seal`). A folder that
a long job writes into has one owner at a time (`lock`).
"""

from surefoot.files.canonical import canonical_json, file_hash, is_number, json_ready, parse_json, sha256
from surefoot.files.ledger import Outputs, allow_overwriting, mark, note_input, outputs, remove_written
from surefoot.files.lock import FolderLock
from surefoot.files.reading import (
    check_input,
    parse_limited,
    path_of,
    read_bytes,
    read_json,
    read_state,
    read_text,
)
from surefoot.files.seal import read_mark
from surefoot.files.writing import check_folder, check_place, open_log, write_json, write_text, write_whole
from surefoot.files.yaml_file import parse_yaml, read_yaml, yaml_comment

__all__ = [
    "FolderLock",
    "Outputs",
    "allow_overwriting",
    "canonical_json",
    "check_folder",
    "check_input",
    "check_place",
    "file_hash",
    "is_number",
    "json_ready",
    "mark",
    "note_input",
    "open_log",
    "outputs",
    "parse_json",
    "parse_limited",
    "parse_yaml",
    "path_of",
    "read_bytes",
    "read_json",
    "read_mark",
    "read_state",
    "read_text",
    "read_yaml",
    "remove_written",
    "sha256",
    "write_json",
    "write_text",
    "write_whole",
    "yaml_comment",
]
