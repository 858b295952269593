"""The journal of a search: every answer of the simulator, one file each, so that a run can be killed and continued.

A search is a deterministic function of the answers it was told. Continuing is telling them again, without simulating: it
ends in the same numbers as a run that was never stopped, because it is the same run.
"""

import json
from pathlib import Path

import numpy as np

from surefoot.errors import FitError
from surefoot.files import canonical_json, sha256, write_text, write_whole
from surefoot.fit.problem import Answer

IDENTITY = "run.json"


class Journal:
    """Answers of a run that is known by `identity`: all that decides its course."""

    def __init__(self, folder: Path, identity: dict[str, object], *, restart: bool = False):
        self._folder, self._next, self._identity = folder, 0, canonical_json(identity).encode()
        path = folder / IDENTITY
        known = _read(path)
        if restart:
            for place in (path, *folder.glob("*.npz")):
                place.unlink(missing_ok=True)
            known = None
        if known is not None and canonical_json(known) != canonical_json(identity):
            differs = sorted(key for key in set(known) | set(identity) if known.get(key) != identity.get(key))
            raise FitError(
                f"{folder} holds a run with other settings ({', '.join(differs)}); give another --out, or --restart to begin anew there"
            )
        if known is None:
            write_text(path, json.dumps(identity, indent=1, sort_keys=True) + "\n")

    def recall(self, question: bytes) -> tuple[Answer, float] | None:
        """The next answer and the seconds that it took, if it is known and was given to this question."""
        try:
            with np.load(self._file(), allow_pickle=False) as file:
                if str(file["question"]) != sha256(self._identity, question):
                    return None
                influence = file["influence"] if len(file["influence"]) else None
                found = Answer(file["residuals"], file["cost"], file["fallen"], influence), float(file["wall_s"])
        except Exception:  # not there, cut off, or not ours, and a zip file can be wrong in many ways: simulate
            return None
        self._next += 1
        return found

    def keep(self, question: bytes, answer: Answer, wall_s: float) -> None:
        """Write an answer, whole or not at all."""
        influence = np.zeros(0) if answer.influence is None else answer.influence
        parts = {"residuals": answer.residuals, "cost": answer.cost, "fallen": answer.fallen, "influence": influence}

        def write(place: Path) -> None:
            with place.open("wb") as file:
                np.savez(file, question=np.array(sha256(self._identity, question)), wall_s=np.array(wall_s), **parts)  # type: ignore[arg-type]

        write_whole(self._file(), write)
        self._next += 1

    def _file(self) -> Path:
        return self._folder / f"{self._next:04d}.npz"


def _read(path: Path) -> dict[str, object] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None
