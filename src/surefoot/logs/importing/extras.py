"""Libraries that only some formats need: imported when such a file is read, with the extra that brings them."""

import importlib
from pathlib import Path
from typing import Any

from surefoot.errors import LogError


def need(module: str, package: str, extra: str, path: Path, what: str) -> Any:
    """A library for one kind of file; where it is missing, the sentence names the extra."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise LogError(
            f"{path} is {what}, and reading it needs {package}, which is not installed; `pip install"
            f" 'surefoot[{extra}]'` adds it"
        ) from None
