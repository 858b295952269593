"""MCAP files, ROS 1 and ROS 2 bags, without ROS: joint states, commands, IMU and Unitree's low-level messages.

`rosbags` opens the SQLite files of ROS 2 and the bags of ROS 1; MCAP files are read by `mcap`, and messages decoded by
`cdr`, which say why.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.rosbag2 import Reader

from surefoot.errors import LogError, nearest
from surefoot.files import check_input, read_yaml
from surefoot.limits import refuse_size
from surefoot.logs.importing import messages as kinds
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.mcap import FREE_BYTES, MOST_RATIO, Topic, read_mcap
from surefoot.logs.importing.messages import BATCH_BYTES, MESSAGE_BYTES, TopicData
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.record_topics import ENCODINGS, RecordTopic
from surefoot.logs.importing.recording import ROLES, Clock, RecordedChannel, Recording
from surefoot.logs.importing.streams import joined_joints, shared_clocks
from surefoot.logs.importing.tables import Table
from surefoot.logs.importing.topics import recorded_gains, topic_channel
from surefoot.logs.importing.unitree import COMMANDS, STATES
from surefoot.logs.importing.vocabulary import DESIRED, words
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
MOST_TOPICS = 1_000
FROM_STATE = ("joint_velocity", "torque")  # come with the joint positions

ReadProgress = Callable[[int, int], None] | None


def read_bag(
    path: Path, joints: JointNames, map_file: MapFile, progress: ReadProgress = None
) -> tuple[Recording | None, list[Table]]:
    """Read a bag and choose its topics; every choice is said. Topics of JSON or Protobuf messages come as tables."""
    notes: list[str] = []
    topics, records, others = _gather(path, notes, progress)
    tables = [table for topic in records if (table := topic.table(map_file, notes)) is not None]
    if not topics and not tables:
        held = f"it holds {', '.join(sorted(others)[:6])}" if others else "no message could be read"
        known = ", ".join(dict.fromkeys(kind.split("/")[-1] for kind in kinds.KNOWN))
        raise LogError("; ".join((f"{path} has no topic that is known here ({known}); {held}", *notes[:1])))
    if not topics:
        return None, [replace(tables[0], notes=(*tables[0].notes, *notes)), *tables[1:]]
    for topic in topics.values():
        if topic.broken:
            notes.append(
                f"{path.name}: {topic.broken} of {topic.count} messages of {topic.name} are damaged and were left out"
            )
    chosen, unmatched = _choose(topics, map_file, path, notes, bool(tables))
    start_ns = min(int(part.log_ns.min()) for topic in topics.values() for part in topic.parts if len(part.log_ns))
    channels: dict[str, RecordedChannel] = {}
    guesses: list[str] = []
    metadata: dict[str, Any] = {}
    for role, rivals in chosen.items():
        found = [
            topic_channel(role, topic, joints, map_file, start_ns, path, notes, len(rivals) > 1) for topic in rivals
        ]
        parts = [channel for channel in found if channel is not None]
        if not parts or (role == "enabled" and not parts[0].values.any()):  # simulators leave the motors' modes at 0
            continue
        channels[role] = parts[0] if len(parts) == 1 else joined_joints(role, parts, joints)
        which = " and ".join(topic.name for topic in rivals)
        guesses.append(f"{role} <- {which} ({rivals[0].kind.split('/')[-1]})")
        if role == "target" and rivals[0].kind in COMMANDS:
            metadata["recorded_gains"] = recorded_gains(rivals[0], joints, map_file)
    offered = tuple(f"{topic.name} ({topic.kind.split('/')[-1]})" for topic in topics.values())
    recording = Recording(
        path,
        _kind(path),
        shared_clocks(channels),
        tuple(guesses),
        tuple(notes),
        {},
        metadata,
        offered,
        path.name,
        Clock("time of recording", (), np.zeros(0), start_ns, "ns"),
        frozenset(role for role in channels if map_file.rule(role).sources),
        unmatched,
    )
    return recording, tables


def _kind(path: Path) -> str:
    if path.suffix == ".bag" and path.is_file():
        return "ROS 1 bag"
    return "MCAP" if path.is_file() and path.suffix != ".db3" else "ROS 2 bag"


def _gather(
    path: Path, notes: list[str], progress: ReadProgress
) -> tuple[dict[str, TopicData], list[RecordTopic], set[str]]:
    """The topics of known types, those of records, and the names of the rest."""
    topics: dict[str, TopicData] = {}
    records: dict[str, RecordTopic] = {}
    others: set[str] = set()

    def wanted(topic: Topic) -> bool:
        if (topic.kind in kinds.KNOWN and topic.encoding in ("cdr", "ros1")) or topic.encoding in ENCODINGS:
            return True
        others.add(f"{topic.name} ({topic.kind or 'no type'})")
        return False

    waiting = 0  # bytes of messages that are not decoded yet, over all topics
    for source, log_ns, raw in _messages(path, wanted, notes, progress):
        if source.encoding in ENCODINGS:
            if source.name not in records:
                _refuse_many(records, path)
                records[source.name] = RecordTopic(source, path)
            records[source.name].add(log_ns, raw)
            continue
        topic = topics.setdefault(source.name, TopicData(source.name, source.kind, source.encoding == "ros1"))
        if topic.kind != source.kind:
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
    return {name: topic for name, topic in topics.items() if topic.parts}, list(records.values()), others


def _refuse_many(records: dict[str, RecordTopic], path: Path) -> None:
    if len(records) >= MOST_TOPICS:
        raise LogError(f"{path} has more than {MOST_TOPICS} topics of JSON or Protobuf messages; split the file")


def _messages(
    path: Path, wanted: Callable[[Topic], bool], notes: list[str], progress: ReadProgress
) -> Iterator[tuple[Topic, int, bytes]]:
    """Topic, time and bytes of each message."""
    _refuse_odd(path)
    if path.is_file() and path.suffix not in (".db3", ".bag"):
        for topic, log_ns, raw in read_mcap(path, wanted, notes, progress):
            yield topic, log_ns, raw
        return
    if path.is_dir():
        files, plain = _bag_files(path, notes)
        if plain:
            for file in files:
                yield from _messages(file, wanted, notes, progress)
            return
    ros1 = path.suffix == ".bag" and path.is_file()
    _refuse_packed(files if path.is_dir() else [path], path)
    try:
        with watched(f"reading {path}", seconds=math.inf), Ros1Reader(path) if ros1 else Reader(path) as reader:
            of_connection = {
                c.id: Topic(c.topic, c.msgtype, "ros1" if ros1 else _encoding(c)) for c in reader.connections
            }
            connections = [c for c in reader.connections if wanted(of_connection[c.id])]
            total = sum(c.msgcount for c in connections)
            for i, (connection, log_ns, raw) in enumerate(reader.messages(connections) if connections else ()):
                if progress and i % 10_000 == 0:
                    progress(i, total)
                yield of_connection[connection.id], int(log_ns), bytes(raw)
    except LogError:
        raise
    except Exception as reason:  # the library has no one exception for damaged databases
        if "not indexed" in str(reason):
            raise LogError(
                f"{path} was not closed when it was recorded, and has no index; `rosbag reindex {path.name}` makes one"
            ) from None
        which = "ROS 1" if ros1 else "ROS 2"
        raise LogError(f"{path} is not a readable {which} bag: {flat(reason, 200)}") from None


def _encoding(connection: Any) -> str:
    return str(connection.ext.serialization_format)


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


def _choose(
    topics: dict[str, TopicData], map_file: MapFile, path: Path, notes: list[str], more: bool
) -> tuple[dict[str, list[TopicData]], dict[str, str]]:
    """One topic for each role, or several with other joints each; and what the map file names that is not there.

    There may be `more` topics, of records: what is not found is refused later.
    """
    of_kind: dict[str, list[TopicData]] = {}
    for topic in topics.values():
        for role in _roles(topic):
            of_kind.setdefault(role, []).append(topic)
    chosen: dict[str, list[TopicData]] = {}
    unmatched: dict[str, str] = {}
    for role in ROLES:
        rule = map_file.rule(role)
        if rule.absent or rule.constant:
            continue
        if rule.sources:
            name = rule.sources[0]
            if name not in topics:
                sentence = f"{map_file.name}: {role} is {name!r}, but the bag has no such topic{nearest(name, topics)}"
                if not more:
                    raise LogError(sentence)
                unmatched[role] = sentence
                continue
            chosen[role] = [topics[name]]
        elif role in FROM_STATE and "joint_position" in chosen:
            chosen[role] = chosen["joint_position"]
        elif role in of_kind:
            rivals = of_kind[role]
            low_level = [topic for topic in rivals if topic.kind in (*STATES, *COMMANDS)]
            rivals = low_level or rivals  # what the motors say themselves, where it was recorded
            rivals = [topic for topic in rivals if topic.name in PREFERRED] or rivals
            if len(rivals) > 1 and not _of_different_joints(rivals):
                names = " and ".join(topic.name for topic in rivals)
                sentence = (
                    f"{path}: {names} could each be the {role}; choose one in the map file: '{role}: {rivals[0].name}'"
                )
                if role in ("joint_position", "target", "action", "command"):
                    raise LogError(sentence, argument="map")
                notes.append(f"{sentence}; it was left out")
                continue
            chosen[role] = rivals
    return chosen, unmatched


def _of_different_joints(topics: list[TopicData]) -> bool:
    """Whether topics name joints, and each other ones: a leg's or a joint's each."""
    named = [{name for part in topic.parts for name in part.names or ()} for topic in topics]
    return all(named) and sum(map(len, named)) == len(set().union(*named))


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
