"""What one verb reads and what it may write: no output is an input, and nobody else's file is replaced.

The command line opens an `outputs` context for each verb. Inside it every reader notes the file it opens and every
writer asks before it writes, so that a recording of a robot cannot be lost to a slip in `--out`, in whatever order the
verb reads and writes. Files are told apart by device and inode: a hard link or a symlink to an input is the input.

A file may be replaced when the same verb wrote it. It says so itself (a mark in Parquet, HTML, JSON, PNG, ONNX and
safetensors files), or the record in its run folder does. What carries no mark (CSV, MP4) or is made to be edited (YAML,
XML, Python) is kept outside of run folders. Library calls outside of such a context write where they are told to.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from surefoot.errors import OutputError
from surefoot.files.lock import FolderLock, host_name

MARK = "written by surefoot"
RECORD = ".surefoot.json"  # of a run folder: which verb wrote which of its files
TEMPORARY = ".surefoot-"  # files that are being written begin so, then host and process
MOST_RECORD_BYTES = 1_000_000
_MARK = MARK.encode() + rb" ([a-z][a-z ]{0,30})\."
_REACH = 1 << 16  # bytes at either end of a file in which a mark is looked for
_MARKED = (".parquet", ".html", ".htm", ".json", ".png", ".onnx", ".safetensors")
_ELSEWHERE = "choose another place for the output, or add --overwrite"


class RunFolder:
    """A folder that a verb holds, and what the record says of its files."""

    def __init__(self, path: Path, verbs: dict[str, list[str]]) -> None:
        self.path = path  # resolved
        self.verbs = verbs  # verb -> names of what it wrote there; a name that ends in / is a folder of its own

    def knows(self, verb: str, name: str) -> bool:
        """Whether the verb wrote the file with this name, or it lies in a folder of the verb's own."""
        return any(name == own or (own.endswith("/") and name.startswith(own)) for own in self.verbs.get(verb, ()))

    def note(self, verb: str, name: str) -> None:
        """Write down that a verb writes a file, before it does: a kill then leaves no file that nobody knows."""
        if self.knows(verb, name):
            return
        self.verbs.setdefault(verb, []).append(name)
        temporary = self.path / temporary_name(".json")
        temporary.write_text(json.dumps({"written_by": mark(), "files": self.verbs}, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, self.path / RECORD)


class Outputs:
    """The files of one verb."""

    def __init__(self, verb: str, overwrite: bool = False) -> None:
        self.verb, self.overwrite = verb, overwrite
        self._inputs: dict[object, Path] = {}
        self._claimed: dict[object, Path] = {}  # existing files that may be replaced
        self._folders: list[RunFolder] = []
        self._written: set[Path] = set()
        self._ends = ExitStack()  # what is done when the verb ends

    def note_input(self, path: Path) -> None:
        """Remember a file that is read; one that the verb is going to replace is refused."""
        identity = _identity(path)
        if _still(self._claimed, identity) and not self.overwrite:
            raise OutputError(f"{path} is an input and would be replaced by the output; {_ELSEWHERE}")
        self._inputs[identity] = path

    def claim(self, path: Path) -> None:
        """Ask for one file, before the work that leads to it."""
        self._refuse_input(path)
        if not self._may_replace(path):
            raise OutputError(
                f"{path} already exists, and 'surefoot {self.verb}' did not write it; it was left as it is."
                f" {_ELSEWHERE.capitalize()}"
            )
        if _exists(path):
            self._claimed[_identity(path)] = path

    def claim_folder(self, folder: Path, names: Iterable[str]) -> None:
        """Ask for a folder and the files in it that the verb may write; the folder is locked until the verb ends.

        A name that ends in a slash is a folder of the verb's own, in which it may write, replace and remove.
        """
        new = not folder.exists()
        self._ends.enter_context(FolderLock(folder, self.verb))
        held = RunFolder(folder.resolve(), _read_record(folder))
        self._ends.callback(_forget_unused, held, new, self.verb not in held.verbs)
        self._folders.append(held)
        _remove_abandoned(folder)
        for name in names:
            if name.endswith("/"):
                self._claim_own_folder(held, name)
            else:
                self.claim(folder / name)

    def check_write(self, path: Path) -> None:
        """Ask once more, when a file is about to take its place, and write it down."""
        place = path.absolute()
        if place not in self._written:
            self._refuse_input(path)
            if not self._may_replace(path):
                raise OutputError(
                    f"{path} was written by somebody else in the meantime; it was left as it is."
                    f" {_ELSEWHERE.capitalize()}"
                )
            self._claimed.pop(_identity(path), None)
            self._written.add(place)
        held, name = self._run_folder(path)
        if held is not None:
            held.note(self.verb, name)

    def close(self) -> None:
        """Release the folders."""
        self._ends.close()

    def _claim_own_folder(self, held: RunFolder, name: str) -> None:
        path = held.path / name
        if not held.knows(self.verb, name) and path.exists() and any(path.iterdir()) and not self.overwrite:
            raise OutputError(
                f"{path} already exists, and 'surefoot {self.verb}' did not write it; it was left as it is."
                f" {_ELSEWHERE.capitalize()}"
            )
        held.note(self.verb, name)

    def _refuse_input(self, path: Path) -> None:
        if not self.overwrite and _exists(path) and _still(self._inputs, _identity(path)):
            raise OutputError(f"{path} is an input and would be replaced by the output; {_ELSEWHERE}")

    def _may_replace(self, path: Path) -> bool:
        if self.overwrite or not _exists(path) or _still(self._claimed, _identity(path)):
            return True
        held, name = self._run_folder(path)
        if held is not None and held.knows(self.verb, name):
            return True
        return path.suffix.lower() in _MARKED and read_mark(path) == self.verb

    def _run_folder(self, path: Path) -> tuple[RunFolder | None, str]:
        """The innermost folder of this verb that a path lies in, and its name there."""
        place = path.parent.resolve() / path.name
        for held in sorted(self._folders, key=lambda one: -len(one.path.parts)):
            if held.path in place.parents:
                return held, place.relative_to(held.path).as_posix()
        return None, path.name


_current: ContextVar[Outputs | None] = ContextVar("outputs", default=None)


@contextmanager
def outputs(verb: str, overwrite: bool = False) -> Iterator[Outputs]:
    """Guard all that is read and written inside a `with`, for one verb; a step of a longer run inherits its
    --overwrite.
    """
    around = _current.get()
    guard = Outputs(verb, overwrite or (around is not None and around.overwrite))
    token = _current.set(guard)
    try:
        yield guard
    finally:
        guard.close()
        _current.reset(token)


def allow_overwriting() -> None:
    """From here on existing files may be replaced."""
    guard = _current.get()
    if guard is not None:
        guard.overwrite = True


def note_input(path: Path) -> None:
    """A file is read."""
    guard = _current.get()
    if guard is not None:
        guard.note_input(path)


def claim(path: Path) -> None:
    """A file will be written."""
    guard = _current.get()
    if guard is not None:
        guard.claim(path)


def claim_folder(folder: Path, names: Iterable[str]) -> None:
    """A folder will be written to."""
    guard = _current.get()
    if guard is not None:
        guard.claim_folder(folder, names)


def check_write(path: Path) -> None:
    """A file is about to take its place."""
    guard = _current.get()
    if guard is not None:
        guard.check_write(path)


def mark() -> str:
    """What a file says of who wrote it."""
    guard = _current.get()
    return f"{MARK} {'library' if guard is None else guard.verb}."


def read_mark(path: Path) -> str | None:
    """The verb that wrote a file, as the file itself says."""
    try:
        with path.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            head = file.read(_REACH)
            file.seek(max(0, path.stat().st_size - _REACH))
            match = re.search(_MARK, head) or re.search(_MARK, file.read(_REACH))
    except OSError:
        return None
    return match.group(1).decode() if match else None


def temporary_name(suffix: str) -> str:
    """A name for a file that is being written, by which an abandoned one can be told from one that is not."""
    return f"{TEMPORARY}{_host()}-{os.getpid()}-{os.urandom(6).hex()}{suffix}"


def _remove_abandoned(folder: Path) -> None:
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


def _read_record(folder: Path) -> dict[str, list[str]]:
    """Which verb wrote which files of a folder."""
    path = folder / RECORD
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_RECORD_BYTES:
            return {}
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {str(verb): [str(name) for name in names] for verb, names in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _forget_unused(held: RunFolder, new: bool, first: bool) -> None:
    """A verb that ended before it wrote anything leaves no trace of itself. Called while the folder is still locked."""
    if not first:
        return
    written = [name for names in held.verbs.values() for name in names if not name.endswith("/")]
    if written or {path.name for path in held.path.glob("*")} - {RECORD, FolderLock.NAME}:
        if not any(held.verbs.values()):
            (held.path / RECORD).unlink(missing_ok=True)
        return
    (held.path / RECORD).unlink(missing_ok=True)
    if new:
        (held.path / FolderLock.NAME).unlink(missing_ok=True)
        with suppress(OSError):
            held.path.rmdir()


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _still(known: dict[object, Path], identity: object) -> bool:
    """Whether a file is among the known ones; an inode whose file is gone may be another file's by now."""
    return identity in known and _identity(known[identity]) == identity


def _identity(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return path.absolute()
    return status.st_dev, status.st_ino
