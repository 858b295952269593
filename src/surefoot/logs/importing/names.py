"""Joint names as files write them: with or without 'joint', in any case, inside column names, or under other names."""

import re
from collections.abc import Sequence

from surefoot.errors import LogError, nearest
from surefoot.logs.importing.mapping import MapFile


def plain(name: str) -> str:
    """A name without case, separators and the word 'joint'."""
    words = re.split(r"[^a-z0-9]+", name.lower())
    return "_".join(word for word in words if word and word != "joint")


class JointNames:
    """Finds the contract's joint behind a name, and inside the name of a column."""

    def __init__(self, joints: Sequence[str], map_file: MapFile) -> None:
        self.joints = tuple(joints)
        spellings = [(joint, joint) for joint in joints]
        if isinstance(map_file.joints, dict):
            for other, joint in map_file.joints.items():
                if joint not in joints:
                    raise LogError(
                        f"{map_file.name}: joints names {joint!r}, which is not a joint of the"
                        f" robot{nearest(joint, joints)}"
                    )
                spellings.append((other, joint))
        self._exact = dict(spellings)
        loose: dict[str, set[str]] = {}
        for spelling, joint in spellings:
            for form in (spelling.lower(), _without_joint(spelling.lower()), plain(spelling)):
                loose.setdefault(form, set()).add(joint)
        self._loose = {form: next(iter(owners)) for form, owners in loose.items() if form and len(owners) == 1}
        forms = sorted(self._loose, key=len, reverse=True)  # the longest first: FL_hip_joint before FL_hip
        self._inside = re.compile(
            r"(?<![a-z0-9])(" + "|".join(re.escape(form) for form in forms) + r")(?![a-z0-9])", re.I
        )
        self.order = map_file.joints if isinstance(map_file.joints, tuple) else None

    def find(self, name: str) -> str | None:
        """The joint that a name stands for."""
        return self._exact.get(name) or self._loose.get(name.lower()) or self._loose.get(plain(name))

    def split(self, column: str) -> tuple[str, str] | None:
        """'q_FL_hip' as ('q_*', 'FL_hip_joint'), where a column name holds the name of a joint."""
        found = self._inside.search(column)
        if found is None:
            return None
        return f"{column[: found.start()]}*{column[found.end() :]}", self._loose[found.group(1).lower()]


def _without_joint(name: str) -> str:
    return name.removesuffix("_joint").removesuffix("joint").removeprefix("joint_")
