"""MCAP files and ROS 2 bags, without ROS: joint states, commands, IMU and Unitree's low-level messages as channels."""

import math
from collections.abc import Callable, Iterator
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rosbags.rosbag2 import Reader

from surefoot.errors import LogError, nearest
from surefoot.files import check_input, read_yaml
from surefoot.limits import refuse_size
from surefoot.logs.importing import messages as kinds
from surefoot.logs.importing.guess import DESIRED, words
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.mcap import FREE_BYTES, MOST_RATIO, Topic, read_mcap
from surefoot.logs.importing.messages import BATCH_BYTES, MESSAGE_BYTES, TopicData
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ROLES, RecordedChannel, Recording
from surefoot.logs.importing.topics import recorded_gains, topic_channel
from surefoot.logs.importing.unitree import COMMANDS, STATES
from surefoot.logs.parquet import COPIES
from surefoot.text import flat
from surefoot.watchdog import watched

PREFERRED = (
    "/lowstate",
    "/lowcmd",
    "/cmd_vel",
    "/joint_states",
    "/imu",
    "/imu/data",
)  # where several topics could play a role
PART_ENDINGS = (".mcap", ".db3", ".zstd", ".yaml", ".db3-wal", ".db3-shm", ".db3-journal")  # SQLite opens the last ones
MOST_PARTS = 10_000  # of a folder
FROM_STATE = ("joint_velocity", "torque")  # come with the joint positions

ReadProgress = Callable[[int, int], None] | None


def read_bag(path: Path, joints: JointNames, map_file: MapFile, progress: ReadProgress = None) -> Recording:
    """Read a bag and choose its topics; every choice is said."""
    notes: list[str] = []
    topics, others = _gather(path, notes, progress)
    if not topics:
        held = f"it holds {', '.join(sorted(others)[:6])}" if others else "no message could be read"
        known = ", ".join(dict.fromkeys(kind.split("/")[-1] for kind in kinds.KNOWN))
        raise LogError("; ".join((f"{path} has no topic that is known here ({known}); {held}", *notes[:1])))
    for topic in topics.values():
        if topic.broken:
            notes.append(
                f"{path.name}: {topic.broken} of {topic.count} messages of {topic.name} are damaged and were left out"
            )
    chosen = _choose(topics, map_file, path, notes)
    start_ns = min(int(part.log_ns.min()) for topic in topics.values() for part in topic.parts if len(part.log_ns))
    channels: dict[str, RecordedChannel] = {}
    guesses: list[str] = []
    metadata: dict[str, Any] = {}
    for role, topic in chosen.items():
        channel = topic_channel(role, topic, joints, map_file, start_ns, path, notes)
        if channel is not None:
            channels[role] = channel
            guesses.append(f"{role} <- {topic.name} ({topic.kind.split('/')[-1]})")
        if role == "target" and channel is not None and topic.kind in COMMANDS:
            metadata["recorded_gains"] = recorded_gains(topic, joints, map_file)
    offered = tuple(f"{topic.name} ({topic.kind.split('/')[-1]})" for topic in topics.values())
    kind = "MCAP" if path.is_file() and path.suffix != ".db3" else "ROS 2 bag"
    return Recording(path, kind, _shared_clocks(channels), tuple(guesses), tuple(notes), {}, metadata, offered)


def _gather(path: Path, notes: list[str], progress: ReadProgress) -> tuple[dict[str, TopicData], set[str]]:
    topics: dict[str, TopicData] = {}
    others: set[str] = set()

    def wanted(topic: Topic) -> bool:
        if topic.kind in kinds.KNOWN and topic.encoding == "cdr":
            return True
        others.add(f"{topic.name} ({topic.kind or 'no type'})")
        return False

    waiting = 0  # bytes of messages that are not decoded yet, over all topics
    for name, kind, log_ns, raw in _messages(path, wanted, notes, progress):
        topic = topics.setdefault(name, TopicData(name, kind))
        if topic.kind != kind:
            continue
        topic.add(log_ns, raw)
        waiting += len(raw) + MESSAGE_BYTES
        if waiting > BATCH_BYTES:
            waiting = 0
            for each in topics.values():
                each.finish()
            refuse_size(str(path), COPIES * sum(each.nbytes for each in topics.values()), LogError)
    for topic in topics.values():
        topic.finish()
    return {name: topic for name, topic in topics.items() if topic.parts}, others


def _messages(
    path: Path, wanted: Callable[[Topic], bool], notes: list[str], progress: ReadProgress
) -> Iterator[tuple[str, str, int, bytes]]:
    """Topic, type, time and bytes of each message."""
    _refuse_odd(path)
    if path.is_file() and path.suffix != ".db3":
        for topic, log_ns, raw in read_mcap(path, wanted, notes, progress):
            yield topic.name, topic.kind, log_ns, raw
        return
    if path.is_dir():
        files, plain = _bag_files(path, notes)
        if plain:
            for file in files:
                yield from _messages(file, wanted, notes, progress)
            return
    _refuse_packed(files if path.is_dir() else [path], path)
    try:
        with watched(f"reading {path}", seconds=math.inf), Reader(path) as reader:
            connections = [
                c for c in reader.connections if wanted(Topic(c.topic, c.msgtype, str(c.ext.serialization_format)))
            ]
            total = sum(c.msgcount for c in connections)
            for i, (connection, log_ns, raw) in enumerate(reader.messages(connections) if connections else ()):
                if progress and i % 10_000 == 0:
                    progress(i, total)
                yield connection.topic, connection.msgtype, int(log_ns), bytes(raw)
    except LogError:
        raise
    except Exception as reason:  # the library has no one exception for damaged databases
        raise LogError(f"{path} is not a readable ROS 2 bag: {flat(reason, 200)}") from None


def _refuse_odd(path: Path) -> None:
    """Refuse FIFOs and devices among the parts of a bag, which would block the library that opens them."""
    parts = (
        sorted(path.iterdir())[:MOST_PARTS] if path.is_dir() else [path, *path.parent.glob(f"{escape(path.name)}-*")]
    )
    for part in parts:
        if part.name.endswith(PART_ENDINGS) and part.exists():
            check_input(part, LogError, "a part of a bag")


def _refuse_packed(files: list[Path], path: Path) -> None:
    """Refuse compressed files that would fill the disk: rosbags unpacks them whole into a temporary folder."""
    for file in files:
        if file.suffix == ".zstd":
            allowed = FREE_BYTES + MOST_RATIO * check_input(file, LogError, "a part of a bag")
            with pa.CompressedInputStream(pa.OSFile(str(file)), "zstd") as stream:
                unpacked = 0
                while unpacked <= allowed and (piece := stream.read(1 << 20)):
                    unpacked += len(piece)
            if unpacked > allowed:
                raise LogError(
                    f"{path}: {file.name} unpacks to more than {MOST_RATIO} times its size, far beyond any recording;"
                    " the file is damaged or hostile"
                )


def _bag_files(folder: Path, notes: list[str]) -> tuple[list[Path], bool]:
    """The files of a bag, and whether they can be read one by one: a bag that was never closed has no metadata.yaml."""
    found = sorted([*folder.glob("*.mcap"), *folder.glob("*.db3")])
    if not (folder / "metadata.yaml").is_file():
        notes.append(
            f"{folder.name}: metadata.yaml is missing, the recording was not closed; {len(found)} files were read in"
            " the order of their names"
        )
        return found, True
    about: Any = read_yaml(folder / "metadata.yaml", LogError).get("rosbag2_bagfile_information")
    about = about if isinstance(about, dict) else {}
    packed = str(about.get("compression_mode", "")).lower() not in ("", "none")
    listed = about.get("relative_file_paths")
    listed = [folder / Path(str(name)).name for name in listed] if isinstance(listed, list) else found
    return [file for file in listed if file.is_file()], about.get("storage_identifier") == "mcap" and not packed


def _choose(topics: dict[str, TopicData], map_file: MapFile, path: Path, notes: list[str]) -> dict[str, TopicData]:
    """One topic for each role."""
    of_kind: dict[str, list[TopicData]] = {}
    for topic in topics.values():
        for role in _roles(topic):
            of_kind.setdefault(role, []).append(topic)
    chosen: dict[str, TopicData] = {}
    for role in ROLES:
        rule = map_file.rule(role)
        if rule.absent or rule.constant:
            continue
        if rule.sources:
            name = rule.sources[0]
            if name not in topics:
                raise LogError(
                    f"{map_file.name}: {role} is {name!r}, but the bag has no such topic{nearest(name, topics)}"
                )
            chosen[role] = topics[name]
        elif role in FROM_STATE and "joint_position" in chosen:
            chosen[role] = chosen["joint_position"]
        elif role in of_kind:
            rivals = of_kind[role]
            low_level = [topic for topic in rivals if topic.kind in (*STATES, *COMMANDS)]
            rivals = low_level or rivals  # what the motors say themselves, where it was recorded
            rivals = [topic for topic in rivals if topic.name in PREFERRED] or rivals
            if len(rivals) > 1:
                names = " and ".join(topic.name for topic in rivals)
                sentence = (
                    f"{path}: {names} could each be the {role}; choose one in the map file: '{role}: {rivals[0].name}'"
                )
                if role in ("joint_position", "target", "action", "command"):
                    raise LogError(sentence, argument="map")
                notes.append(f"{sentence}; it was left out")
                continue
            chosen[role] = rivals[0]
    return chosen


def _roles(topic: TopicData) -> list[str]:
    """What a topic can be, by its type and its name."""
    said_by_name = words(topic.name)
    desired = bool(said_by_name & DESIRED)
    if topic.kind == kinds.JOINT_STATE:
        return ["target"] if desired else ["joint_position"]
    if topic.kind in kinds.ARRAYS:
        return ["action"] if said_by_name & {"action", "actions"} else ["target"] if desired else []
    if topic.kind == kinds.TRAJECTORY:
        return ["target"]
    roles = {role for part in topic.parts for role in part.fields}
    return [role for role in ROLES if role in roles]


def _shared_clocks(channels: dict[str, RecordedChannel]) -> dict[str, RecordedChannel]:
    """Channels of one topic share one clock object, which spares them the resampling onto each other."""
    clocks: dict[str, np.ndarray] = {}
    shared = {}
    for role, channel in channels.items():
        known = clocks.setdefault(channel.source, channel.time_s)
        same = len(known) == len(channel.time_s) and np.array_equal(known, channel.time_s)
        shared[role] = RecordedChannel(
            known if same else channel.time_s, channel.values, channel.source, channel.names, channel.unit
        )
    return shared
