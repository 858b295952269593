"""Files that are being written: their names, and those that a killed run left behind."""

import os
import re
from pathlib import Path

from surefoot.files.lock import host_name

TEMPORARY = ".surefoot-"  # their names begin so, then host and process


def temporary_name(suffix: str) -> str:
    """A name for a file that is being written, by which an abandoned one can be told from one that is not."""
    return f"{TEMPORARY}{_host()}-{os.getpid()}-{os.urandom(6).hex()}{suffix}"


def remove_abandoned(folder: Path) -> None:
    """Remove files that a run of this machine was writing when it was killed."""
    for path in folder.glob(f"{TEMPORARY}{_host()}-*"):
        pid = path.name.removeprefix(f"{TEMPORARY}{_host()}-").partition("-")[0]
        if (
            pid.isdigit()
            and int(pid) != os.getpid()
            and not _alive(int(pid))
            and path.is_file()
            and not path.is_symlink()
        ):
            path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", host_name())[:20] or "host"
