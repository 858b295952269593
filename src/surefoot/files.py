"""Reading YAML safely, writing files whole or not at all, and hashing."""

import hashlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from surefoot.errors import SurefootError, shown


class _UniqueKeyLoader(yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader):  # type: ignore[misc]
    """A safe loader that refuses a key given twice (plain YAML keeps the last one in silence)."""


def _unique_mapping(loader: Any, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    mapping: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        try:
            repeated = key in mapping
        except TypeError:
            raise yaml.constructor.ConstructorError(None, None, "a key must be a plain word", key_node.start_mark) from None
        if repeated:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is given twice", key_node.start_mark)
        mapping[key] = loader.construct_object(value_node, deep=True)
    return mapping


def _bounded_int(loader: Any, node: yaml.ScalarNode) -> int:
    value: int = loader.construct_yaml_int(node)
    if abs(value) > sys.float_info.max:
        raise yaml.constructor.ConstructorError(None, None, "a number is too large", node.start_mark)
    return value


# YAML 1.1 reads '1e-3' as text, because it has no dot; everybody else reads a number.
_UniqueKeyLoader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$"), list("-+0123456789"))
_UniqueKeyLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _unique_mapping)
_UniqueKeyLoader.add_constructor("tag:yaml.org,2002:int", _bounded_int)


def read_yaml(path: Path, error: type[SurefootError]) -> dict[str, Any]:
    """The mapping in a YAML file; every way in which it can be wrong raises `error` with one sentence."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as reason:
        raise error(f"cannot read {path}: {reason.strerror or reason}") from None
    except UnicodeDecodeError:
        raise error(f"{path} is not a text file; a YAML file is expected") from None
    try:
        content = yaml.load(text, Loader=_UniqueKeyLoader)
    except yaml.YAMLError as reason:
        raise error(f"{path} is not valid YAML: {' '.join(str(reason).split())}") from None
    except Exception as reason:  # whatever Python says about a value such as '!!bool x' or 2026-99-99
        raise error(f"{path} is not valid YAML: a value cannot be read ({' '.join(str(reason).split())})") from None
    if not isinstance(content, dict):
        found = {"NoneType": "nothing", "list": "a list"}.get(type(content).__name__, shown(content))
        raise error(f"{path} must hold 'key: value' lines, found {found}")
    return content


def check_place(path: Path) -> None:
    """Refuse a place where no file can be written, before the work that leads to the file; nothing is created."""
    try:
        if path.is_dir():
            raise SurefootError(f"{path} is a folder; give the name of a file with --out")
        if path.exists() and not path.is_file():  # moving a file over /dev/null would take it from the whole system
            raise SurefootError(f"{path} is not an ordinary file; choose another place with --out")
        folder = next(parent for parent in path.absolute().parents if parent.exists())
        if not folder.is_dir():
            raise SurefootError(f"cannot write {path}: {folder} is a file, not a folder; choose another place with --out")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SurefootError(f"cannot write {path}: no permission to write to {folder}; choose another place with --out")
    except OSError as reason:
        raise SurefootError(f"cannot write {path}: {reason.strerror or reason}; choose another place with --out") from None


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it into place: whole or not at all."""
    check_place(path)
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=path.suffix)
        os.close(handle)
    except OSError as reason:
        raise SurefootError(f"cannot write to {folder}: {reason.strerror or reason}; choose another place with --out") from None
    temporary = Path(name)
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)  # mkstemp makes it private; the result is an ordinary file
        os.replace(temporary, path)
    except OSError as reason:
        raise SurefootError(f"cannot write {path}: {reason.strerror or reason}; nothing was changed") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def sha256(*parts: bytes) -> str:
    """Hash of the parts; each is preceded by its length, so that parts cannot run into one another."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def json_ready(value: Any) -> Any:
    """The value with null for what JSON has no word for: NaN and infinity."""
    if isinstance(value, dict):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def canonical_json(content: Any) -> str:
    """JSON with sorted keys; Python writes a float with as many digits as it takes to read it back exactly."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def is_number(value: Any) -> bool:
    """Whether a value read from YAML or JSON is a finite number (True is not a number here)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False
