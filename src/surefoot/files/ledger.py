"""What one verb reads and what it may write: no output is an input, and nobody else's file is replaced.

The command line opens an `outputs` context for each verb. Inside it every reader notes the file it opens and every
writer asks before it writes, so that a recording of a robot cannot be lost to a slip in the name of the output, in
whatever order the verb reads and writes. Files are told apart by device and inode: a hard link or a symlink to an input
is the input. An input is never replaced, whatever the options say.

A file may be replaced when the same verb wrote it and nobody changed it since. In a run folder the record says so: it
keeps size and hash of each file (`run_folder`). Elsewhere the file says so itself, by a mark with a hash of the rest of
the file (`seal`): Parquet, HTML, JSON, PNG, ONNX and safetensors files have room for one. Of what carries no mark (CSV,
MP4, YAML, XML, Python) nobody can tell, and it is kept outside of run folders. `overwrite` replaces all of these.
Library calls outside of such a context write where they are told to.
"""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path, PurePosixPath

from surefoot.errors import OutputError
from surefoot.files.lock import FolderLock
from surefoot.files.run_folder import RECORD, RunFolder
from surefoot.files.seal import Content, marked_by, unsealed_mark
from surefoot.files.temporary import remove_abandoned

_MARKED = (".parquet", ".html", ".htm", ".json", ".png", ".onnx", ".safetensors")
_ELSEWHERE = "Choose another place for the output, or allow overwriting"
_NOT_INPUT = "an input is never replaced, also where overwriting is allowed; choose another place for the output"


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
        if _still(self._claimed, identity):
            raise OutputError(f"{path} is an input and would be replaced by the output; {_NOT_INPUT}")
        self._inputs[identity] = path

    def claim(self, path: Path) -> None:
        """Ask for one file, before the work that leads to it."""
        self._refuse_input(path)
        objection = self._objection(path)
        if objection is not None:
            raise OutputError(
                f"{path} already exists, and {objection}; it was left as it is. {_ELSEWHERE}", argument="overwrite"
            )
        if _exists(path):
            self._claimed[_identity(path)] = path

    def claim_folder(self, folder: Path, names: Iterable[str]) -> None:
        """Ask for a folder and the files in it that the verb may write; the folder is locked until the verb ends.

        A name that ends in a slash is a folder of the verb's own, in which it may write, replace and remove.
        """
        new = not folder.exists()
        self._ends.enter_context(FolderLock(folder, self.verb))
        held = RunFolder(folder)
        self._ends.callback(_forget_unused, held, new, self.verb not in held.recorded)
        self._folders.append(held)
        remove_abandoned(folder)
        for name in names:
            if name.endswith("/"):
                self._claim_own_folder(held, name)
            else:
                self.claim(folder / name)

    def check_write(self, path: Path, content: Content | None) -> None:
        """Ask once more, when a file with this content is about to take its place, and write it down.

        The content of a file that grows is None.
        """
        place = path.absolute()
        if place not in self._written:
            self._refuse_input(path)
            if self._objection(path) is not None:
                raise OutputError(
                    f"{path} was written by somebody else in the meantime; it was left as it is. {_ELSEWHERE}",
                    argument="overwrite",
                )
            self._claimed.pop(_identity(path), None)
            self._written.add(place)
        held, name = self._run_folder(path)
        if held is not None:
            held.note(self.verb, name, content)

    def settle(self, path: Path, content: Content) -> None:
        """The file took its place."""
        held, name = self._run_folder(path)
        if held is not None:
            held.settle(self.verb, name, content)

    def remove_written(self, folder: Path, names: Iterable[str]) -> None:
        """Remove what the records say the verbs wrote into these folders; see the function of this name."""
        held = next((held for held in self._folders if held.path == folder.resolve()), None)
        _remove_written(RunFolder(folder) if held is None else held, names, self.overwrite)

    def close(self) -> None:
        """Release the folders."""
        self._ends.close()

    def _claim_own_folder(self, held: RunFolder, name: str) -> None:
        path = held.path / name
        if _exists(path) and not path.is_dir():
            raise OutputError(
                f"{path} is a file, where a folder will be written; choose another folder", argument="out"
            )
        if not held.owns(self.verb, name) and path.exists() and any(path.iterdir()) and not self.overwrite:
            raise OutputError(
                f"{path} already exists, and {self._stranger(held, name)}; it was left as it is. {_ELSEWHERE}",
                argument="overwrite",
            )
        held.note(self.verb, name, None)

    def _refuse_input(self, path: Path) -> None:
        if _exists(path) and _still(self._inputs, _identity(path)):
            raise OutputError(f"{path} is an input and would be replaced by the output; {_NOT_INPUT}")

    def _objection(self, path: Path) -> str | None:
        """Why a file must not be replaced, for a sentence; None where it may be."""
        if self.overwrite or not _exists(path) or _still(self._claimed, _identity(path)):
            return None
        held, name = self._run_folder(path)
        if held is not None and held.wrote(self.verb, name):
            return None
        verb, intact = marked_by(path) if path.suffix.lower() in _MARKED else (None, False)
        if verb == self.verb and intact:
            return None
        known = None if held is None else held.verbs.get(self.verb, {}).get(name)
        if known or verb == self.verb:
            return f"it was changed after 'surefoot {self.verb}' wrote it"
        if known is None and verb is not None:
            who = "a call of the library" if verb == "library" else f"'surefoot {verb}'"
            return f"'surefoot {self.verb}' did not write it ({who} did)"
        return self._stranger(held, name)

    def _stranger(self, held: RunFolder | None, name: str) -> str:
        """What is known of a file or folder that does not say itself who wrote it."""
        writer = None if held is None else held.writer(name)
        if writer is not None and writer != self.verb:
            return f"'surefoot {self.verb}' did not write it ('surefoot {writer}' did)"
        if writer is None and held is not None and self.verb in held.recorded:
            return f"'surefoot {self.verb}' did not write it"
        return "surefoot cannot tell who wrote it"

    def _run_folder(self, path: Path) -> tuple[RunFolder | None, str]:
        """The innermost folder of this verb that a path lies in, and its name there."""
        place = path.parent.resolve() / path.name
        for held in sorted(self._folders, key=lambda held: -len(held.path.parts)):
            if held.path in place.parents:
                return held, place.relative_to(held.path).as_posix()
        return None, path.name


_current: ContextVar[Outputs | None] = ContextVar("outputs", default=None)


@contextmanager
def outputs(verb: str, overwrite: bool = False) -> Iterator[Outputs]:
    """Guard all that is read and written inside a `with`, for one verb; a step of a longer run inherits its
    `overwrite`.
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


def check_write(path: Path, content: Content | None) -> None:
    """A file with this content is about to take its place; None for a file that grows."""
    guard = _current.get()
    if guard is not None:
        guard.check_write(path, content)


def settle(path: Path, content: Content) -> None:
    """A file took its place."""
    guard = _current.get()
    if guard is not None:
        guard.settle(path, content)


def remove_written(folder: Path, names: Iterable[str]) -> None:
    """Remove what verbs wrote into these folders of a run folder, by its record and by the folders' own.

    What no record names stays, and so do the folders that hold it. Symlinks are not followed. A file that was changed
    after a verb wrote it is refused before anything is removed, unless `overwrite` says that it may go.
    """
    guard = _current.get()
    if guard is None:
        _remove_written(RunFolder(folder), names, overwrite=False)
    else:
        guard.remove_written(folder, names)


def mark() -> str:
    """What a file says of who wrote it; `write_whole` fills in the digest."""
    guard = _current.get()
    return unsealed_mark("library" if guard is None else guard.verb)


def _remove_written(held: RunFolder, names: Iterable[str], overwrite: bool) -> None:
    folders = [name for name in names if _really_in(held.path, name) and (held.path / name).is_dir()]
    with ExitStack() as locks:
        for name in folders:
            locks.enter_context(FolderLock(held.path / name, "remove"))
        steps = {name: RunFolder(held.path / name) for name in folders}
        doomed = [(held, verb, own) for verb, own in _recorded(held) if own.split("/")[0] in steps]
        doomed += [(step, verb, own) for step in steps.values() for verb, own in _recorded(step)]
        for record, verb, own in doomed if not overwrite else ():
            _refuse_changed(record, verb, own)
        for record, _, own in doomed:
            _remove(record.path, own)
            record.forget(own)
        for step in steps.values():
            (step.path / RECORD).unlink(missing_ok=True)
        if any(record is held for record, _, _ in doomed):
            held.save()
    for name in folders:
        with suppress(OSError):
            (held.path / name).rmdir()


def _refuse_changed(held: RunFolder, verb: str, name: str) -> None:
    path = held.path / name
    if not path.is_file() or any(held.wrote(writer, name) for writer in held.verbs):
        return
    marked = marked_by(path)
    if marked != (verb, True):
        known = held.verbs[verb][name] or marked[0] == verb  # a record of an older version knows the name alone
        why = f"was changed after 'surefoot {verb}' wrote it" if known else "may have been changed"
        raise OutputError(
            f"{path} {why}; nothing was removed. Move it elsewhere, or allow overwriting", argument="overwrite"
        )


def _recorded(held: RunFolder) -> list[tuple[str, str]]:
    """What a record names that is in its folder, with the verb; a record from elsewhere may name anything."""
    return [(verb, name) for verb, known in held.verbs.items() for name in known if _really_in(held.path, name)]


def _really_in(folder: Path, name: str) -> bool:
    """Whether a name leads to a place in the folder, without a way up or a symlink."""
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts:
        return False
    places = [folder.joinpath(*parts[: k + 1]) for k in range(len(parts))]
    return not any(place.is_symlink() for place in places)


def _remove(folder: Path, name: str) -> None:
    """Remove a file, or a folder of a verb's own, and the folders in between that are empty then."""
    path = folder / name
    if path.is_dir() and name.endswith("/"):
        shutil.rmtree(path)
    elif path.is_file():
        path.unlink()
    for above in path.parents:
        if above == folder or folder not in above.parents:
            break
        with suppress(OSError):
            above.rmdir()


def _forget_unused(held: RunFolder, new: bool, first: bool) -> None:
    """A verb that ended before it wrote anything leaves no trace of itself. Called while the folder is still locked."""
    if not first:
        return
    written = [name for known in held.verbs.values() for name in known if not name.endswith("/")]
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
