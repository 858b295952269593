"""A journal: every answer of a simulator, one file each, so that a long job can be killed and continued.

A search is a deterministic function of the answers it was given. Continuing is giving them again, without simulating:
it ends in the same numbers as a run that was never stopped, because it is the same run.
"""

import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from surefoot.errors import FitError
from surefoot.files import canonical_json, read_state, sha256, write_text, write_whole
from surefoot.limits import limits

IDENTITY = "run.json"


class Journal:
    """Answers of a run that is known by `identity`: all that decides its course."""

    def __init__(
        self, folder: Path, identity: Mapping[str, object], *, restart: bool = False, forget_other: bool = False
    ) -> None:
        """`restart` forgets an earlier run in the folder; a run with another identity is refused, or
        forgotten with `forget_other`.
        """
        self._folder, self._next, self._identity = folder, 0, canonical_json(identity).encode()
        path = folder / IDENTITY
        known = _read(path)
        other = known is not None and canonical_json(known).encode() != self._identity
        if restart or (other and forget_other):
            for place in self._own_files():
                place.unlink(missing_ok=True)
            known = None
        elif known is not None and other:
            differs = sorted(key for key in set(known) | set(identity) if known.get(key) != identity.get(key))
            raise FitError(
                f"{folder} holds a run with other settings ({', '.join(differs)}); give another folder, or begin anew"
                " there",
                argument="restart",
            )
        if known is None:
            write_text(path, json.dumps(identity, indent=1, sort_keys=True) + "\n")

    def recall(self, question: bytes, *names: str) -> dict[str, np.ndarray] | None:
        """The arrays with these names of the next answer, if it is known and was given to this question."""
        path = self._file()
        try:
            if not path.is_file() or _unpacked_bytes(path) > limits().bytes:
                return None
            with np.load(path, allow_pickle=False) as file:
                if str(file["question"]) != sha256(self._identity, question):
                    return None
                answer = {name: file[name] for name in names}
        except Exception:  # not there, cut off, or not ours, and a zip file can be wrong in many ways: simulate
            return None
        self._next += 1
        return answer

    def keep(self, question: bytes, answer: Mapping[str, np.ndarray]) -> None:
        """Write an answer, whole or not at all."""

        def write(place: Path) -> None:
            with place.open("wb") as file:
                np.savez(file, question=np.array(sha256(self._identity, question)), **answer)  # type: ignore[arg-type]

        write_whole(self._file(), write)
        self._next += 1

    def remove(self) -> None:
        """The job is done and needs no journal any more; what is not the journal's own stays."""
        for place in self._own_files():
            place.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()

    def _own_files(self) -> list[Path]:
        return [self._folder / IDENTITY, *(place for place in self._folder.glob("*.npz") if place.stem.isdigit())]

    def _file(self) -> Path:
        return self._folder / f"{self._next:04d}.npz"


def _unpacked_bytes(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        return sum(info.file_size for info in archive.infolist())


def _read(path: Path) -> dict[str, object] | None:
    content = read_state(path)
    return content if isinstance(content, dict) else None
