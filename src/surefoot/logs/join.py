"""Several recordings of one robot as one log: the episodes of all of them, one after the other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import LogError, shown
from surefoot.logs.robot_log import OPTIONAL, REQUIRED, RobotLog, read_log

MUST_AGREE = {  # what the files say about themselves, and what it is called
    "robot_hash": "robot",
    "contract_hash": "contract",
    "policy_hash": "policy",
    "control_hz": "control rate, Hz",
}


def join_logs(paths: Sequence[Path]) -> RobotLog:
    """All episodes, numbered anew; channels that only some of the files have are left out."""
    logs = [read_log(path) for path in paths]
    for path, log in zip(paths[1:], logs[1:], strict=True):
        _refuse_mixed(paths[0], logs[0], path, log)
    names = [name for name in (*REQUIRED, *OPTIONAL) if all(getattr(log, name) is not None for log in logs)]
    if "foot_contact" in names and any(log.metadata.get("feet") != logs[0].metadata.get("feet") for log in logs):
        names.remove("foot_contact")
    episode, first = [], 0
    for log in logs:
        order = np.unique(log.episode, return_inverse=True)[1].astype(np.int32)
        episode.append(order + np.int32(first))
        first += log.n_episodes
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(log, name) for log in logs]) for name in ("time_s", *names)
    }
    return RobotLog(logs[0].joints, np.concatenate(episode), metadata=_metadata(paths, logs), **columns)


def _refuse_mixed(first: Path, one: RobotLog, second: Path, other: RobotLog) -> None:
    if one.joints != other.joints:
        raise LogError(
            f"{first} and {second} are of different robots: one has the joints {shown(list(one.joints))}, the other"
            f" {shown(list(other.joints))}; give the logs of one robot"
        )
    for key, what in MUST_AGREE.items():
        values = one.metadata.get(key), other.metadata.get(key)
        if None not in values and values[0] != values[1]:
            shorts = [value[:12] if isinstance(value, str) else shown(value) for value in values]
            raise LogError(
                f"{first} and {second} differ in {what} ({shorts[0]} and {shorts[1]}); run the loop on each by itself"
            )


def _metadata(paths: Sequence[Path], logs: Sequence[RobotLog]) -> dict[str, Any]:
    """What all files say alike, and where each comes from."""
    said = {
        key: value for key, value in logs[0].metadata.items() if all(log.metadata.get(key) == value for log in logs)
    }
    fallen = [log.metadata.get("fallen_episodes") for log in logs]
    if all(isinstance(count, int) for count in fallen):
        said["fallen_episodes"] = sum(fallen)
    sources = [
        {"file": path.name, "episodes": log.n_episodes, "source": log.metadata.get("source")}
        for path, log in zip(paths, logs, strict=True)
    ]
    return {**said, "source": {"kind": "several logs", "logs": sources}}
