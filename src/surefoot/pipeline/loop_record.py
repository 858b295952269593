"""run.json: what a loop was asked for, and of each step its command, time, result and files, so that the
same call goes on.
"""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import canonical_json, file_hash, json_ready, read_state, remove_written, sha256, write_json
from surefoot.pipeline.artefacts import RUN

FORMAT = 1


@dataclass(frozen=True)
class Work:
    """One step as the record knows it: what identifies it, and what it must leave behind."""

    name: str
    command: str  # a line that does the same step alone; empty where there is none
    key: str  # hash of all that decides its result
    files: tuple[str, ...]  # in its folder
    if_made: tuple[str, ...] = ()  # further ones, which not every machine can make; those that were made must stay


def key_of(name: str, identity: Mapping[str, Any], versions: Mapping[str, str]) -> str:
    """Hash of a step: its options, the hashes of its inputs wherever they lie, and the versions of what computes it."""
    return sha256(canonical_json([name, json_ready(dict(identity)), dict(versions)]).encode())


class LoopRecord:
    """The record of one loop; written whole after every change."""

    def __init__(
        self, out: Path, command: str, inputs: dict[str, Any], versions: dict[str, str], *, forget: tuple[str, ...] = ()
    ):
        """`forget` names folders of steps; what the steps wrote there is removed with the record, to begin anew."""
        self._out = out
        known = read_record(out)
        if known is not None and forget:
            remove_written(out, forget)
            known = None
        asked = json.loads(json.dumps(json_ready({"inputs": inputs, "versions": versions})))
        if known is not None:
            differs = [key for key in asked["inputs"] if known["inputs"].get(key) != asked["inputs"][key]]
            differs += ["versions"] if known["versions"] != asked["versions"] else []
            if differs:
                raise SurefootError(
                    f"{out} holds a loop with other inputs ({', '.join(differs)}); choose another folder, or restart to"
                    " begin anew there",
                    argument="restart",
                )
        self.content: dict[str, Any] = {
            "surefoot_loop": FORMAT,
            "command": command,
            **asked,
            "outcome": None,
            "steps": {},
        }
        if known is not None:
            self.content["steps"] = known["steps"]
        self._write()

    def complete(self, work: Work) -> bool:
        """Whether the step was done with the same inputs, and what it left is still as it was."""
        entry = self.content["steps"].get(work.name)
        if entry is None or entry.get("state") != "done" or entry.get("key") != work.key:
            return False
        if set(entry["files"]) - set(work.if_made) != set(work.files):
            return False
        try:
            return all(file_hash(self._out / work.name / name) == content for name, content in entry["files"].items())
        except OSError:
            return False

    def begin(self, work: Work) -> None:
        """A step starts, for the first time or again."""
        before = self.content["steps"].get(work.name, {})
        again = before.get("key") == work.key and before.get("state") != "done"
        self.content["steps"][work.name] = {
            "state": "running",
            "key": work.key,
            "command": work.command,
            "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "runs": before.get("runs", 0) + 1 if again else 1,
            "wall_s": before.get("wall_s", 0.0) if again else 0.0,
            "says": "",
            "files": {},
        }
        self._write()

    def end(self, work: Work, state: str, says: str, wall_s: float) -> None:
        """A step ended: done, failed or interrupted. `wall_s` adds to earlier tries, except to those that
        were killed.
        """
        entry = self.content["steps"][work.name]
        left = (
            [*work.files, *(name for name in work.if_made if (self._out / work.name / name).is_file())]
            if state == "done"
            else []
        )
        files = {name: file_hash(self._out / work.name / name) for name in left}
        entry |= {"state": state, "says": says, "wall_s": round(entry["wall_s"] + wall_s, 2), "files": files}
        self._write()

    def entry(self, name: str) -> dict[str, Any]:
        """What is known of a step."""
        return dict(self.content["steps"].get(name, {}))

    def finish(self, outcome: str, exit_code: int) -> None:
        """How the loop ended."""
        self.content["outcome"] = {"says": outcome, "exit_code": exit_code}
        self._write()

    def _write(self) -> None:
        write_json(self._out / RUN, self.content)


def read_record(folder: Path) -> dict[str, Any] | None:
    """An earlier record, or None where there is none; one that cannot be read is refused rather than overwritten."""
    path = folder / RUN
    if not path.exists():
        return None
    content = read_state(path)
    try:
        good = (
            content["surefoot_loop"] == FORMAT
            and isinstance(content["inputs"], dict)
            and isinstance(content["versions"], dict)
        )
        good = good and all(
            isinstance(entry, dict) and isinstance(entry["files"], dict) for entry in content["steps"].values()
        )
    except (KeyError, TypeError, AttributeError):
        good = False
    if not good:
        raise SurefootError(
            f"{path} is not the record of a loop of version {FORMAT}; choose another folder, or remove it"
        )
    return dict(content)
