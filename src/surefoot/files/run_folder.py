"""The record of a run folder: which verb wrote which of its files, and what they held.

The record is a file in the folder. It is written before the file that it tells of takes its place, and then names two
contents: the one that is there and the one that comes. Whenever a run is killed, what lies in the folder is one of
them. A file that is neither was changed by somebody else.

A name that ends in a slash is a folder of the verb's own, in which it may write, replace and remove. A file that grows
(a step's log.txt) has no content that could be known beforehand, and is known by its name.
"""

import json
import os
from pathlib import Path

from surefoot.files.seal import MARK, Content, is_content
from surefoot.files.temporary import temporary_name

RECORD = ".surefoot.json"
MOST_RECORD_BYTES = 1_000_000

Known = dict[str, list[Content] | None]  # contents that a file may have; None: any


class RunFolder:
    """A folder that a verb holds, and what the record says of its files."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.verbs = _read_record(path)
        self.recorded = frozenset(self.verbs)  # verbs that have written here before

    def owns(self, verb: str, name: str) -> bool:
        """Whether a file lies in a folder of the verb's own, or is one of the verb's that grow."""
        known = self.verbs.get(verb, {})
        return (name in known and known[name] is None) or any(
            own.endswith("/") and name.startswith(own) for own in known
        )

    def wrote(self, verb: str, name: str) -> bool:
        """Whether the file is still as the verb wrote it."""
        if self.owns(verb, name):
            return True
        known = self.verbs.get(verb, {}).get(name)
        content = is_content(self.path / name, known) if known else None
        if content is not None:
            self.verbs[verb][name] = [content]
        return content is not None

    def writer(self, name: str) -> str | None:
        """A verb that has written a file with this name, whether or not it was changed since."""
        return next((verb for verb, known in self.verbs.items() if name in known), None)

    def note(self, verb: str, name: str, content: Content | None) -> None:
        """Write down that a verb writes a file with this content, before it takes its place."""
        if self.owns(verb, name):
            return
        known = self.verbs.setdefault(verb, {})
        if content is None:
            known[name] = None
        else:
            before = [one for one in known.get(name) or [] if one != content]
            known[name] = [*before[-2:], content]
        self.save()

    def settle(self, verb: str, name: str, content: Content) -> None:
        """The file took its place: what was there before need not be known any more, from the next record on."""
        if not self.owns(verb, name):
            self.verbs.setdefault(verb, {})[name] = [content]

    def forget(self, name: str) -> None:
        """The file or folder is gone."""
        for known in self.verbs.values():
            known.pop(name, None)

    def save(self) -> None:
        """Write the record, whole or not at all."""
        files = {
            verb: {
                name: None if known is None else [{"bytes": one.size, "sha256": one.digest} for one in known]
                for name, known in names.items()
            }
            for verb, names in self.verbs.items()
        }
        temporary = self.path / temporary_name(".json")
        temporary.write_text(json.dumps({"written_by": MARK, "files": files}, indent=1) + "\n", encoding="utf-8")
        os.replace(temporary, self.path / RECORD)


def _read_record(folder: Path) -> dict[str, Known]:
    """Which verb wrote which files of a folder. A record from elsewhere may hold anything."""
    path = folder / RECORD
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_RECORD_BYTES:
            return {}
        files = json.loads(path.read_text(encoding="utf-8"))["files"]
        return {str(verb): _known(names) for verb, names in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _known(names: object) -> Known:
    if isinstance(names, list):  # a record of names alone, as it once was: of files it cannot tell whether they changed
        return {str(name): None if str(name).endswith("/") else [] for name in names}
    if not isinstance(names, dict):
        raise TypeError("not a mapping of names")
    return {
        str(name): None if known is None else [Content(int(one["bytes"]), str(one["sha256"])) for one in known]
        for name, known in names.items()
    }
