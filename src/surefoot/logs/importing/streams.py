"""Files, groups or topics that are streams of one recording: joined by their time stamps.

A robot's logger often writes one file for what was asked of the motors, one for what they did and one for the IMU, each
with its own clock; or one file for each joint. None of them is a log, all together are.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from surefoot.errors import LogError
from surefoot.logs.importing.mapping import MapFile
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import JOINTS, ROLES, RecordedChannel, Recording
from surefoot.logs.importing.resample import ROUNDING_S, hold, interpolate, period, rising
from surefoot.logs.importing.vocabulary import (
    ACTION,
    ASKED,
    MEASURED,
    NOISE,
    POSITION,
    TORQUE,
    VELOCITY,
    words_in_order,
)
from surefoot.logs.time_gaps import PAUSE_PERIODS

# Words of file names that say which stream it is, not which recording.
STREAM_WORDS = ACTION | ASKED | MEASURED | POSITION | TORQUE | VELOCITY | NOISE
STREAM_WORDS |= {"event", "events", "imu", "gyro", "battery", "temperature", "mode", "log", "stream", "topic", "csv"}
MAIN = ("joint_position", "target", "action")
FROM_STATE = ("joint_velocity", "torque", "motor_temperature", "enabled", "mode", "episode")


def recordings_of(streams: Sequence[Recording], joints: JointNames, map_file: MapFile) -> list[Recording]:
    """Recordings from the streams of one place: each complete by itself, or put together from several.

    What cannot be made complete is handed on as it is, for the sentence about what is missing.
    """
    if len(streams) < 2:
        return list(streams)
    made = _all_made(_by_name(streams, joints), joints, map_file)
    if made is not None:
        return made
    roles = {_roles(stream) for stream in streams}
    if len(roles) == 1 and roles != {()} and all(_covers(stream, joints) for stream in streams):
        return list(streams)  # recordings of their own, which all lack the same
    made = _all_made([list(streams)], joints, map_file)
    if made is not None or any(stream.complete(joints.joints) for stream in streams):
        return made or list(streams)
    return [_joined(streams, joints, map_file)]


def _all_made(sets: list[list[Recording]], joints: JointNames, map_file: MapFile) -> list[Recording] | None:
    """The recordings of all sets; None where one of them makes none."""
    made = [_made(each, joints, map_file) for each in sets]
    if any(recordings is None for recordings in made):
        return None
    return [recording for recordings in made if recordings is not None for recording in recordings]


def _covers(stream: Recording, joints: JointNames) -> bool:
    return all(stream.covers(role, joints.joints) for role in _roles(stream))


def _by_name(streams: Sequence[Recording], joints: JointNames) -> list[list[Recording]]:
    """Streams whose names differ only in what they hold: 'run1_state.csv' and 'run1_cmd.csv'."""
    sets: dict[tuple[object, ...], list[Recording]] = {}
    for stream in streams:
        stem = stream.path.stem
        split = joints.split(stem)
        stem = stem if split is None else split[0]
        sets.setdefault(tuple(word for word in words_in_order(stem) if word not in STREAM_WORDS), []).append(stream)
    return list(sets.values())


def _roles(stream: Recording) -> tuple[str, ...]:
    return tuple(role for role in MAIN if role in stream.channels)


def _made(streams: list[Recording], joints: JointNames, map_file: MapFile) -> list[Recording] | None:
    """Complete recordings from a set of streams; None where it does not make any, or leaves one over."""
    whole = [stream for stream in streams if stream.complete(joints.joints)]
    rest = [stream for stream in streams if not stream.complete(joints.joints)]
    if not rest:
        return whole
    useful = [stream for stream in rest if set(stream.channels) - {"mode", "enabled", "episode"}]
    if whole and not useful and len(whole) > 1:
        return [replace(whole[0], notes=(*whole[0].notes, *_left(rest))), *whole[1:]]
    if len(whole) > 1 or any(_roles(stream) for stream in rest if whole):
        return None
    joined = _joined(streams, joints, map_file)
    return [joined] if joined.complete(joints.joints) else None


def _left(rest: list[Recording]) -> list[str]:
    return [f"{stream.label} holds no channel of a log and was left out" for stream in rest]


def _joined(streams: Sequence[Recording], joints: JointNames, map_file: MapFile) -> Recording:
    """One recording from all streams, on one clock."""
    streams = _on_one_clock(streams)
    files = tuple(dict.fromkeys(stream.path for stream in streams))
    where = str(files[0]) if len(files) == 1 else ", ".join(file.name for file in files[:4])
    notes = [note for stream in streams for note in stream.notes]
    channels: dict[str, RecordedChannel] = {}
    guesses: dict[str, None] = {}
    home = None  # the stream of the joint positions
    for role in (*MAIN, *(role for role in ROLES if role not in MAIN)):
        having = [stream for stream in streams if role in stream.channels]
        having = [stream for stream in having if role in stream.by_map] or having
        if role in FROM_STATE and len(having) > 1:
            having = [stream for stream in having if stream is home] or having
        if not having:
            continue
        channels[role], taken = _one_channel(role, having, joints, notes, where)
        home = taken[0] if role == "joint_position" and len(taken) == 1 else home
    for stream in streams:
        for guess in stream.guesses:
            guesses[guess.replace("<- ", f"<- {stream.label}: ", 1)] = None
    empty = [stream for stream in streams if not stream.channels]
    notes += _left(empty)
    channels = shared_clocks(_overlapping(channels, map_file, notes, where))
    first = streams[0]
    orders = _orders(streams)
    return replace(
        first,
        kind=", ".join(sorted({stream.kind for stream in streams})),
        channels=channels,
        guesses=_shortened(list(guesses), joints),
        notes=tuple(notes),
        assumed={
            **{key: value for stream in streams for key, value in stream.assumed.items()},
            **({"joint order": orders} if orders else {}),
        },
        metadata={key: value for stream in streams for key, value in stream.metadata.items()},
        offered=tuple(f"{stream.label}: {entry}" for stream in streams for entry in stream.offered),
        label="",
        by_map=frozenset().union(*(stream.by_map for stream in streams)),
        unmatched={
            role: sentence for stream in streams for role, sentence in stream.unmatched.items() if role not in channels
        },
        misfits={role: f"{stream.label}: {said}" for stream in streams for role, said in stream.misfits.items()},
        parts=files if len(files) > 1 else (),
    )


def _orders(streams: Sequence[Recording]) -> str:
    """What was assumed about the order of joints, once for all streams of which the same was."""
    alike: dict[str, list[str]] = {}
    for stream in streams:
        if "joint order" in stream.assumed:
            alike.setdefault(stream.assumed["joint order"].replace(stream.label, "{}"), []).append(stream.label)
    return "; ".join(said.replace("{}", " and ".join(labels)) for said, labels in list(alike.items())[:3])


def _shortened(guesses: list[str], joints: JointNames) -> tuple[str, ...]:
    """Guesses of one file for each joint are alike: some of them stand for all."""
    if len(guesses) <= max(30, len(joints.joints)):
        return tuple(guesses)
    return (*guesses[:12], f"... and {len(guesses) - 12} more of the same kind")


def _on_one_clock(streams: Sequence[Recording]) -> list[Recording]:
    """Time counted from the first sample of all."""
    clocks = [stream.clock for stream in streams if stream.clock is not None]
    if not clocks:
        return list(streams)
    first = min(clocks, key=lambda clock: clock.after_s(clocks[0]))
    shifted = []
    for stream in streams:
        late_s = 0.0 if stream.clock is None else stream.clock.after_s(first)
        channels = stream.channels if late_s == 0 else _later(stream.channels, late_s)
        shifted.append(replace(stream, channels=channels))
    return shifted


def _later(channels: dict[str, RecordedChannel], late_s: float) -> dict[str, RecordedChannel]:
    clocks: dict[int, np.ndarray] = {}
    return {
        role: replace(channel, time_s=clocks.setdefault(id(channel.time_s), channel.time_s + late_s))
        for role, channel in channels.items()
    }


def _one_channel(
    role: str, having: list[Recording], joints: JointNames, notes: list[str], where: str
) -> tuple[RecordedChannel, list[Recording]]:
    """The channel of a role that one stream has, or that several have a part of; and those streams."""
    found = [_labelled(stream, role) for stream in having]
    if len(found) == 1:
        return found[0], having
    names = [name for channel in found for name in channel.names or ()]
    parts = all(channel.names is not None for channel in found) and len(set(names)) == len(names)
    if parts and (ROLES[role].width == JOINTS or role == "enabled"):
        return joined_joints(role, found, joints), having
    either = " and ".join(channel.source for channel in found[:4])
    way = f"'{role}: {{from: COLUMNS, file: {having[0].label}}}'"
    if role in MAIN:
        raise LogError(
            f"{where}: {either} could each be the {role}, of streams that are to be one recording; choose one in the map file:"
            f" {way}, or put recordings of their own into folders of their own",
            argument="map",
        )
    notes.append(f"{either} could each be the {role}; the first was taken ({way} in the map file takes another)")
    return found[0], having[:1]


def _labelled(stream: Recording, role: str) -> RecordedChannel:
    channel = stream.channels[role]
    return replace(channel, source=f"{stream.label}: {channel.source}")


def joined_joints(role: str, parts: Sequence[RecordedChannel], joints: JointNames) -> RecordedChannel:
    """One channel from channels of some joints each, on the clock of the first; gaps of any are not bridged."""
    units = {part.unit for part in parts}
    if len(units) > 1:
        raise LogError(f"{' and '.join(part.source for part in parts[:4])}, for {role}, are in different units")
    order = {name: place for place, name in enumerate(joints.joints)}
    parts = sorted(parts, key=lambda part: min(order.get(name, len(order)) for name in part.names or ("",)))
    base = parts[0]
    keep = rising(base.time_s)
    time_s, columns = base.time_s, []
    covered = np.ones(len(time_s), dtype=bool)
    for part in parts:
        if len(part.time_s) == len(base.time_s) and np.array_equal(part.time_s, base.time_s):
            columns.append(part.values)
            continue
        risen = rising(part.time_s)
        gap_s = PAUSE_PERIODS * max(period(part.time_s), period(base.time_s)) + ROUNDING_S
        carry = hold if ROLES[role].hold else interpolate
        values, there = carry(part.time_s[risen], part.values[risen], time_s, gap_s)
        columns.append(values)
        covered &= there & keep
    names = tuple(name for part in parts for name in part.names or ())
    source = parts[0].source if len(parts) == 1 else f"{parts[0].source} and {len(parts) - 1} more"
    values = np.concatenate(columns, axis=1)
    if covered.all():
        return RecordedChannel(time_s, values, source, names, base.unit)
    return RecordedChannel(time_s[covered], values[covered], source, names, base.unit)


def _overlapping(
    channels: dict[str, RecordedChannel], map_file: MapFile, notes: list[str], where: str
) -> dict[str, RecordedChannel]:
    """Refuse streams that were recorded at other times, or that count from other beginnings."""
    position = channels.get("joint_position")
    if position is None or not len(position.time_s):
        return channels
    first_s, last_s = _span_s(position, map_file.rule("joint_position").shift_s)
    kept = {}
    for role, channel in channels.items():
        begin_s, end_s = _span_s(channel, map_file.rule(role).shift_s)
        if ROLES[role].hold and role not in MAIN:  # an event or a command holds until the next
            end_s = max(end_s, last_s)
        if begin_s <= last_s and end_s >= first_s:
            kept[role] = channel
            continue
        apart = (
            f"{channel.source} was recorded from {begin_s:.6g} to {end_s:.6g} s, and {position.source} from"
            f" {first_s:.6g} to {last_s:.6g} s of the same clock"
        )
        if role in MAIN:
            raise LogError(
                f"{where}: {apart}: these are no streams of one recording, or their clocks begin at different times; where"
                f" they belong together, give the difference in the map file: '{role}: {{from: COLUMNS, shift_s:"
                " SECONDS}'",
                argument="map",
            )
        notes.append(f"{apart}; {role} was left out")
    return kept


def _span_s(channel: RecordedChannel, shift_s: float) -> tuple[float, float]:
    if not len(channel.time_s):
        return 0.0, 0.0
    return float(channel.time_s.min()) + shift_s, float(channel.time_s.max()) + shift_s


def shared_clocks(channels: dict[str, RecordedChannel]) -> dict[str, RecordedChannel]:
    """Channels with equal time stamps share one clock object, which spares them the resampling onto each other."""
    clocks: list[np.ndarray] = []
    shared = {}
    for role, channel in channels.items():
        time_s = channel.time_s
        known = next(
            (
                clock
                for clock in clocks
                if clock is time_s
                or (len(clock) == len(time_s) and np.abs(clock - time_s).max(initial=0.0) < ROUNDING_S)
            ),
            None,
        )
        if known is None:
            clocks.append(time_s)
        shared[role] = channel if known is None else replace(channel, time_s=known)
    return shared
