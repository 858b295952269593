"""Values as JSON that is the same text every time, and hashes."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any


def sha256(*parts: bytes) -> str:
    """Hash of the parts; each is preceded by its length, so that parts cannot run into one another."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def file_hash(path: Path) -> str:
    """Hash of a file's bytes, as sha256sum prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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


def parse_json(text: str | bytes) -> Any:
    """What a JSON text holds; every way in which it can be wrong is a ValueError.

    JSON can spell half of a surrogate pair, which is no character: no file could hold it afterwards.
    """
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\u" in (text.decode("utf-8", "replace") if isinstance(text, bytes) else text):
        json.dumps(content, ensure_ascii=False).encode()
    return content


def is_number(value: Any) -> bool:
    """Whether a value read from YAML or JSON is a finite number (True is not a number here)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False
