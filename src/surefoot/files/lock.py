"""One owner for a folder at a time.

The lock is an advisory lock of the operating system (flock) on a file in the folder. It ends with its owner, however
that ends, so a run that was killed leaves nothing that a person has to remove. The file names the owner's process and
machine, for the message. Where a disk has no such locks, the named process is asked whether it lives; one on another
machine cannot be asked, and then a person decides. On Windows two runs in one folder are not noticed.

A file of that name that is no lock, or that has a second name, is somebody's: it is neither written to nor removed.
"""

import contextlib
import errno
import json
import os
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from surefoot.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "host")


NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)


MOST_LOCK_BYTES = 4096
_BEGINNING = b'{"pid": '  # of the signature in a lock


class FolderLock:
    """Holds a folder in a `with`; the folder is made where it does not exist."""

    NAME: ClassVar[str] = ".surefoot.lock"

    def __init__(self, folder: Path, verb: str) -> None:
        self._path, self._verb = folder / self.NAME, verb
        self._file: int | None = None

    def __enter__(self) -> Self:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            while fcntl is not None and not self._take():
                pass
        except OSError as reason:
            raise OutputError(
                f"cannot write to {self._path.parent}: {reason.strerror or reason}; choose another folder"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, reason: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _take(self) -> bool:
        """Lock the file and sign it; False where it was removed in the meantime by an owner that ended."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        try:
            opened = os.fstat(file)
            if not stat.S_ISREG(opened.st_mode):
                raise OSError(errno.EINVAL, f"{self.NAME} is not an ordinary file")
            self._refuse_strange(file, opened)
            self._lock(file)
            try:
                current = os.stat(self._path, follow_symlinks=False)
            except FileNotFoundError:
                return False
            if (current.st_dev, current.st_ino) != (opened.st_dev, opened.st_ino):
                return False
            signature = {
                "pid": os.getpid(),
                "host": host_name(),
                "verb": self._verb,
                "since": time.strftime("%Y-%m-%d %H:%M:%S"),
            }
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(signature).encode(), 0)
            self._file, file = file, -1
            return True
        finally:
            if file >= 0:
                os.close(file)

    def _refuse_strange(self, file: int, opened: os.stat_result) -> None:
        if opened.st_nlink > 1 or not _looks_like_lock(os.pread(file, MOST_LOCK_BYTES + 1, 0)):
            raise OutputError(f"{self._path} is not a lock of surefoot; move it elsewhere, or choose another folder")

    def _lock(self, file: int) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputError(self._busy(_owner(file))) from None
        except OSError as reason:
            if reason.errno not in NO_LOCKS:
                raise
            owner = _owner(file)
            if owner is not None and owner["host"] != host_name():
                raise OutputError(f"{self._busy(owner)}, or remove {self._path} if that run has ended") from None
            if owner is not None and owner["pid"].isdigit() and _alive(int(owner["pid"])):
                raise OutputError(self._busy(owner)) from None

    def _busy(self, owner: dict[str, str] | None) -> str:
        who = "another run"
        if owner is not None:
            who = f"'surefoot {owner['verb']}' (process {owner['pid']} on {owner['host']}, since {owner['since']})"
        return f"{self._path.parent} is in use by {who}; wait for it, or choose another folder"


def _looks_like_lock(content: bytes) -> bool:
    """Whether a file is a lock, perhaps one that a kill or a power failure cut off."""
    return len(content) <= MOST_LOCK_BYTES and (
        not content.strip(b"\x00") or content.startswith(_BEGINNING) or _BEGINNING.startswith(content)
    )


def _owner(file: int) -> dict[str, str] | None:
    try:
        content: Any = json.loads(os.pread(file, MOST_LOCK_BYTES, 0))
        return {key: str(content[key])[:100] for key in ("pid", "host", "verb", "since")}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return False  # this process holds the folder through another lock object, which flock would have told
    with contextlib.suppress(PermissionError, OverflowError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
