"""Recordings to a `RobotLog`, with its story: where it comes from, what was derived, what was assumed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surefoot import __version__
from surefoot.errors import LogError
from surefoot.files import file_hash, sha256
from surefoot.logs.importing.convert import in_contract_terms
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.recording import Recording
from surefoot.logs.importing.rows import FEWEST_ROWS, ImportNotes, control_rows
from surefoot.logs.robot_log import OPTIONAL, REQUIRED, RobotLog
from surefoot.robot.load import Robot


def assemble(recordings: Sequence[Recording], robot: Robot, map_file: MapFile) -> RobotLog:
    """One log from all recordings; each is at least one episode."""
    story = ImportNotes()
    _refuse_incomplete(recordings, robot.contract.joints)
    pieces, sources = [], []
    for recording in recordings:
        story.notes += recording.notes
        story.assumed |= recording.assumed
        with np.errstate(all="ignore"):  # numbers beyond all bounds become NaN, and their rows are left out
            channels = in_contract_terms(recording, robot.contract, map_file)
            piece, about_rows = control_rows(channels, recording, robot.contract, story)
        pieces.append(piece)
        sources += [
            {"file": part.name, "kind": recording.kind, "sha256": content_hash(part), **about_rows}
            for part in recording.parts or (recording.path,)
        ]
    columns = _joined(pieces, recordings, story)
    if not len(columns["time_s"]):
        raise LogError(
            f"nothing is left of {', '.join(r.name for r in recordings)}: no {FEWEST_ROWS} rows in a row hold"
            " joint positions and actions; " + ("; ".join(story.notes[:3]) or "the file is too short")
        )
    feet = columns.pop("feet", None)
    metadata: dict[str, Any] = {
        "robot": robot.name,
        "robot_hash": robot.hash,
        "contract_hash": robot.contract.hash,
        "control_hz": robot.contract.control_hz,
        "source": {
            "kind": ", ".join(sorted({r.kind for r in recordings})),
            "surefoot": __version__,
            "files": sources,
            "channels": {role: channel.source for role, channel in recordings[0].channels.items()},
        },
        "derived": story.derived,
        "assumed": story.assumed,
        "notes": list(dict.fromkeys(story.notes)),
        **{key: value for r in recordings for key, value in r.metadata.items()},
        **({"feet": feet} if feet and "foot_contact" in columns else {}),
    }
    return RobotLog(joints=robot.contract.joints, metadata=metadata, **columns)


def content_hash(path: Path) -> str:
    """sha256 of a file as sha256sum prints it; of a folder, over the hashes of its files in the order of
    their names.
    """
    if path.is_dir():
        return sha256(*(content_hash(file).encode() for file in sorted(path.rglob("*")) if file.is_file()))
    return file_hash(path)


def _refuse_incomplete(recordings: Sequence[Recording], joints: tuple[str, ...]) -> None:
    """One sentence about all that is missing, with what the files offer instead."""
    problems = [_missing(recording, joints) for recording in recordings if not _has_both(recording)]
    if problems:
        raise LogError(
            f"{'; '.join(problems)}. A log of this robot needs both, for {len(joints)} joints; where they are there, say"
            " so in a map file: 'joint_position: COLUMNS' and 'target: COLUMNS' or 'action: COLUMNS'",
            argument="map",
        )


def _has_both(recording: Recording) -> bool:
    return "joint_position" in recording.channels and bool({"action", "target"} & set(recording.channels))


def _missing(recording: Recording, joints: tuple[str, ...]) -> str:
    there, misfits = recording.channels, recording.misfits
    acted = next((there[role].source for role in ("target", "action") if role in there), None)
    asked = acted or misfits.get("target") or misfits.get("action")
    if "joint_position" in there:
        found = there["joint_position"].source
        missing = f"no actions or joint targets beside {found} (or, if those are the targets, no joint positions)"
        if misfits.get("target") or misfits.get("action"):
            missing = f"no actions or joint targets for {len(joints)} joints beside {found}; {asked} does not fit"
    elif "joint_position" in misfits:
        missing = f"no joint positions for {len(joints)} joints: {misfits['joint_position']} does not fit this robot"
        missing += "" if acted else ", and no actions or joint targets"
    elif asked is not None:
        missing = f"no joint positions: {asked} holds what was asked of the joints, and nothing tells what they did"
    else:
        missing = "no joint positions and no actions or joint targets"
    offered = ", ".join(recording.offered[:12]) + (", ..." if len(recording.offered) > 12 else "")
    return f"{recording.name} has {missing}; it offers {offered or 'nothing'}"


def _joined(pieces: list[dict[str, np.ndarray]], recordings: Sequence[Recording], story: ImportNotes) -> dict[str, Any]:
    """Recordings one after the other; a channel that one of them lacks is left out of all."""
    columns: dict[str, Any] = {}
    for key in (*REQUIRED, *OPTIONAL, "time_s"):
        having = [piece for piece in pieces if key in piece]
        widths = {piece[key].shape[1:] for piece in having}
        if len(having) == len(pieces) and len(widths) == 1:
            columns[key] = np.concatenate([piece[key] for piece in pieces])
        elif having:
            story.notes.append(f"{key} was recorded in {len(having)} of {len(pieces)} files only and was left out")
    first = 0
    episodes = []
    for piece in pieces:
        episodes.append(piece["episode"] + first)
        first += int(piece["episode"][-1]) + 1 if len(piece["episode"]) else 0
    columns["episode"] = np.concatenate(episodes).astype(np.int32)
    feet = recordings[0].channels.get("foot_contact")
    columns["feet"] = list(feet.names) if feet is not None and feet.names else None
    return columns
