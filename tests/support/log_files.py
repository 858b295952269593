"""Files as robots write them, made with the libraries that robots use: bags, tables, LeRobot folders; and
ways to damage them.
"""

import gzip
import json
import struct
import zipfile
from io import BytesIO
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyulog
import scipy.io
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.writer import Writer as McapWriter
from mcap_protobuf.writer import Writer as ProtobufWriter
from rosbags.rosbag1 import Writer as Ros1Writer
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from surefoot.logs.importing import MapFile, assemble, read_recording
from surefoot.logs.importing.unitree import DEFINITIONS
from surefoot.logs.robot_log import RobotLog, read_log, write_log
from surefoot.robot import Robot, load_robot

ARRAYS = (
    "episode",
    "time_s",
    "command",
    "joint_position_rad",
    "joint_velocity_rad_s",
    "action",
    "gyro_rad_s",
    "gravity",
)

STORE = get_typestore(Stores.ROS2_HUMBLE)
for _name, _text in DEFINITIONS.items():
    STORE.register(get_types_from_msg(_text, _name))
STORE1 = get_typestore(Stores.ROS1_NOETIC)
START_NS = 1_700_000_000_123_456_789


def message(kind: str, **fields):
    """A message with zeros wherever nothing is given."""
    cls = STORE.types[kind]
    values = {}
    for name, (node, inner) in STORE.fielddefs[kind][1]:
        values[name] = fields.pop(name) if name in fields else _zero(node, inner)
    assert not fields, f"{kind} has no {fields}"
    return cls(**values)


def _zero(node, inner):
    if node.name == "NAME":
        return message(inner)
    if node.name == "BASE":
        return "" if inner[0] == "string" else 0
    element, count = inner
    count = count if node.name == "ARRAY" else 0
    if element[0].name == "NAME":
        return [message(element[1]) for _ in range(count)]
    return (
        [""] * count
        if element[1][0] == "string"
        else np.zeros(count, dtype=element[1][0].replace("byte", "uint8").replace("char", "uint8"))
    )


def header(time_s: float):
    stamp_ns = START_NS + round(time_s * 1e9)
    stamp = message("builtin_interfaces/msg/Time", sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return message("std_msgs/msg/Header", stamp=stamp, frame_id="base")


def joint_state(names, position, velocity=(), effort=(), time_s: float | None = None):
    return message(
        "sensor_msgs/msg/JointState",
        header=header(time_s) if time_s is not None else message("std_msgs/msg/Header"),
        name=list(names),
        position=np.array(position, float),
        velocity=np.array(velocity, float),
        effort=np.array(effort, float),
    )


def twist(vx, vy, wz):
    return message(
        "geometry_msgs/msg/Twist",
        linear=message("geometry_msgs/msg/Vector3", x=vx, y=vy, z=0.0),
        angular=message("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=wz),
    )


def imu(quaternion_wxyz, gyro, time_s, without_orientation=False):
    w, x, y, z = quaternion_wxyz
    covariance = np.zeros(9)
    covariance[0] = -1 if without_orientation else 0
    return message(
        "sensor_msgs/msg/Imu",
        header=header(time_s),
        orientation=message("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w),
        orientation_covariance=covariance,
        angular_velocity=message("geometry_msgs/msg/Vector3", x=gyro[0], y=gyro[1], z=gyro[2]),
    )


def write_bag(folder: Path, messages, storage: str = "mcap", compression: str | None = None) -> Path:
    """Write (topic, time in s, message) triples; the folder of the bag."""
    plugin = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}[storage]
    writer = Writer(folder, version=9, storage_plugin=plugin)
    if compression:
        writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connections = {}
        for topic, time_s, content in sorted(messages, key=lambda item: item[1]):
            kind = content.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic], START_NS + round(time_s * 1e9), STORE.serialize_cdr(content, kind))
    return folder


def mcap_of(folder: Path) -> Path:
    """The one MCAP file of a bag."""
    (file,) = folder.glob("*.mcap")
    return file


def write_csv(path: Path, columns: dict[str, np.ndarray], separator: str = ",") -> Path:
    lines = [separator.join(columns)]
    lines += [separator.join(repr(float(v)) for v in row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def joint_columns(prefix: str, joints, values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{prefix}{joint}": values[:, i] for i, joint in enumerate(joints)}


def write_lerobot(
    folder: Path, features: dict[str, tuple[np.ndarray, list[str] | dict | None]], episode: np.ndarray, fps: float
) -> Path:
    """A LeRobot v3 folder: one Parquet file for two episodes, timestamps from 0 in each."""
    (folder / "meta").mkdir(parents=True)
    (folder / "data" / "chunk-000").mkdir(parents=True)
    frame = np.concatenate([np.arange(count) for count in np.unique(episode, return_counts=True)[1]])
    described = {
        name: {"dtype": "float32", "shape": list(values.shape[1:]), "names": names}
        for name, (values, names) in features.items()
    }
    (folder / "meta" / "info.json").write_text(
        json.dumps({"codebase_version": "v3.0", "fps": fps, "features": described})
    )
    columns = {
        name: pa.array(list(values.astype(np.float32)), pa.list_(pa.float32()))
        for name, (values, _) in features.items()
    }
    columns |= {
        "timestamp": pa.array((frame / fps).astype(np.float32)),
        "frame_index": pa.array(frame),
        "episode_index": pa.array(episode),
        "index": pa.array(np.arange(len(episode))),
    }
    pq.write_table(pa.table(columns), folder / "data" / "chunk-000" / "file-000.parquet")
    return folder


def damaged(kind: str, content: bytes, rng: np.random.Generator) -> bytes:
    """A file's bytes, damaged; of 'inner.npz' an array inside, so that the checksums of the archive are right."""
    if kind != "inner.npz":
        return damage(content, rng)
    built = BytesIO()
    with zipfile.ZipFile(BytesIO(content)) as old, zipfile.ZipFile(built, "w") as new:
        unlucky = int(rng.integers(0, len(old.namelist())))
        for i, name in enumerate(old.namelist()):
            member = old.read(name)
            new.writestr(name, damage(member[:128], rng) + member[128:] if i == unlucky else member)
    return built.getvalue()


def damage(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip, cut off, delete, insert, zero or repeat some of the bytes."""
    data = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        size = max(len(data), 1)
        place, length = int(rng.integers(0, size)), int(rng.integers(1, max(2, min(64, size))))
        way = int(rng.integers(0, 8))
        if way == 7:
            data[place : place + 1] = bytes(byte ^ 1 << int(rng.integers(0, 8)) for byte in data[place : place + 1])
        elif way == 0:
            for spot in rng.integers(0, size, int(rng.integers(1, 9))):
                data[int(spot) : int(spot) + 1] = bytes([int(rng.integers(0, 256))])
        elif way == 1:
            del data[place:]
        elif way == 2:
            del data[place : place + length]
        elif way == 3:
            data[place:place] = rng.bytes(length)
        elif way == 4:
            data[place : place + length] = bytes(len(data[place : place + length]))
        elif way == 5:
            data[place : place + length] = b"\xff" * len(data[place : place + length])
        else:
            data[place:place] = data[place : place + length]
    return bytes(data)


KINDS = (
    "log.parquet",
    "table.parquet",
    "run.csv",
    "run.npz",
    "packed.npz",
    "inner.npz",
    "run.mcap",
    "packed.mcap",
    "low.mcap",
    "run.db3",
    "run.bag",
    "json.mcap",
    "proto.mcap",
    "run.csv.gz",
    "german.csv",
    "long.csv",
    "run.jsonl",
    "run.json",
    "run.npy",
    "run.h5",
    "run.mat",
    "run.ulg",
)


def write_ros1_bag(path: Path, messages, compression: str | None = None) -> Path:
    """Write (topic, time in s, message) triples as a ROS 1 bag."""
    writer = Ros1Writer(path)
    if compression:
        writer.set_compression(getattr(Ros1Writer.CompressionFormat, compression))
    with writer:
        connections = {}
        for topic, time_s, content in sorted(messages, key=lambda item: item[1]):
            kind = content.__msgtype__
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE1)
            writer.write(connections[topic], START_NS + round(time_s * 1e9), STORE1.serialize_ros1(content, kind))
    return path


def write_record_mcap(path: Path, messages, chunk_size: int = 1 << 20) -> Path:
    """Write (topic, time in s, object) triples as JSON messages."""
    with open(path, "wb") as file:
        writer = McapWriter(file, chunk_size=chunk_size)
        writer.start()
        channels = {}
        for topic, time_s, content in sorted(messages, key=lambda item: item[1]):
            if topic not in channels:
                schema = writer.register_schema(topic.strip("/"), "jsonschema", b'{"type": "object"}')
                channels[topic] = writer.register_channel(topic, "json", schema)
            stamp = START_NS + round(time_s * 1e9)
            writer.add_message(channels[topic], stamp, json.dumps(content).encode(), stamp)
        writer.finish()
    return path


def robot_protocol():
    """Protobuf classes of a robot's own: JointState with names, and a command with one list."""
    file = descriptor_pb2.FileDescriptorProto(name="robot.proto", package="robot", syntax="proto3")
    repeated, single = 3, 1  # LABEL_REPEATED, LABEL_OPTIONAL
    double, text, uint64 = 1, 9, 4  # TYPE_DOUBLE, TYPE_STRING, TYPE_UINT64
    for name, fields in {
        "JointState": (("name", text, repeated), ("position", double, repeated), ("velocity", double, repeated)),
        "JointCommand": (("tick", uint64, single), ("position", double, repeated)),
    }.items():
        described = file.message_type.add(name=name)
        for number, (field, kind, label) in enumerate(fields, start=1):
            described.field.add(name=field, number=number, type=kind, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return tuple(
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"robot.{name}"))
        for name in ("JointState", "JointCommand")
    )


def write_protobuf_mcap(path: Path, joints, time, position, velocity, target) -> Path:
    state, command = robot_protocol()
    with open(path, "wb") as file, ProtobufWriter(file) as writer:
        for t, q, qd, wanted in zip(time, position, velocity, target, strict=True):
            stamp = START_NS + round(t * 1e9)
            writer.write_message("/joint_states", state(name=joints, position=q, velocity=qd), stamp, stamp)
            writer.write_message("/joint_command", command(tick=1, position=wanted), stamp, stamp)
    return path


def write_ulog(path: Path, topics: dict[str, dict[str, np.ndarray]]) -> Path:
    """Write topics with 'timestamp' in microseconds and float columns ('position[0]'), by the format's definition, and
    once more by pyulog.
    """
    kinds = {name: sorted({column.split("[")[0] for column in data} - {"timestamp"}) for name, data in topics.items()}
    content = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0)

    def record(kind: str, body: bytes) -> bytes:
        return struct.pack("<HB", len(body), ord(kind)) + body

    content += record("B", bytes(40))
    widths = {name: {f: sum(c.split("[")[0] == f for c in topics[name]) for f in kinds[name]} for name in topics}
    for name, fields in kinds.items():
        inside = "".join(f"float[{widths[name][field]}] {field};" for field in fields)
        content += record("F", f"{name}:uint64_t timestamp;{inside}".encode())
    for number, name in enumerate(topics):
        content += record("A", struct.pack("<BH", 0, number) + name.encode())
    for number, (name, data) in enumerate(topics.items()):
        for row, stamp in enumerate(data["timestamp"]):
            numbers = [data[f"{field}[{i}]"][row] for field in kinds[name] for i in range(widths[name][field])]
            content += record("D", struct.pack(f"<HQ{len(numbers)}f", number, int(stamp), *numbers))
    path.write_bytes(content)
    log = pyulog.ULog(str(path))
    log.write_ulog(str(path))
    return path


def _german(path: Path, joints, time, position, action) -> None:
    """As a spreadsheet with commas for points writes it: semicolons, UTF-16."""
    columns = {"time": time} | joint_columns("q_", joints, position) | joint_columns("action_", joints, action)
    lines = [";".join(columns)]
    lines += [";".join(f"{v:.6f}".replace(".", ",") for v in row) for row in zip(*columns.values(), strict=True)]
    path.write_bytes("\r\n".join(lines).encode("utf-16"))


def write_long(path: Path, joints, time, **columns) -> None:
    lines = [",".join(["time", "joint_name", *columns])]
    for row, t in enumerate(time):
        lines += [
            ",".join([repr(float(t)), joint, *(repr(float(values[row, i])) for values in columns.values())])
            for i, joint in enumerate(joints)
        ]
    path.write_text("\n".join(lines) + "\n")


def _json_lines(path: Path, joints, time, position, action) -> None:
    rows = zip(time, position, action, strict=True)
    path.write_text("\n".join(json.dumps({"t": t, "state": {"q": list(q)}, "action": list(a)}) for t, q, a in rows))


def _json_columns(path: Path, joints, time, position, action) -> None:
    content = {"time": time.tolist(), "q": position.tolist(), "action": action.tolist(), "joint_names": list(joints)}
    path.write_text(json.dumps(content))


def _structured(path: Path, joints, time, position, action) -> None:
    n = len(joints)
    records = np.zeros(len(time), dtype=[("time", "f8"), ("q", "f8", (n,)), ("action", "f8", (n,))])
    records["time"], records["q"], records["action"] = time, position, action
    np.save(path, records)


def _hdf5(path: Path, joints, time, position, action) -> None:
    with h5py.File(path, "w") as file:
        file["observations/qpos"] = position
        file.create_dataset("action", data=action, compression="gzip", chunks=(16, len(joints)))
        file["time"] = time
        file["joint_names"] = np.array(joints, dtype="S")


def _matlab(path: Path, joints, time, position, action) -> None:
    scipy.io.savemat(path, {"log": {"time": time, "q": position, "action": action}}, do_compression=True)


def _gzipped(path: Path, joints, time, position, action) -> None:
    plain = path.with_name("plain of it.csv")
    write_csv(plain, {"time": time} | joint_columns("q_", joints, position) | joint_columns("action_", joints, action))
    path.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()


def _ros1(path: Path, joints, time, position, action) -> None:
    found = [("/joint_states", t, joint_state1(joints, position[i], time_s=t)) for i, t in enumerate(time)]
    array = STORE1.types["std_msgs/msg/Float64MultiArray"]
    layout = STORE1.types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
    found += [("/action", t, array(layout=layout, data=action[i])) for i, t in enumerate(time)]
    write_ros1_bag(path, found)


def joint_state1(names, position, velocity=(), effort=(), time_s: float = 0.0):
    """A joint state as ROS 1 has it, whose header has a number."""
    stamp_ns = START_NS + round(time_s * 1e9)
    kinds = STORE1.types
    stamp = kinds["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    return kinds["sensor_msgs/msg/JointState"](
        header=kinds["std_msgs/msg/Header"](seq=7, stamp=stamp, frame_id="base"),
        name=list(names),
        position=np.array(position, float),
        velocity=np.array(velocity, float),
        effort=np.array(effort, float),
    )


def _json_mcap(path: Path, joints, time, position, action) -> None:
    found = [("/state", t, {"name": list(joints), "position": list(position[i])}) for i, t in enumerate(time)]
    found += [("/policy", t, {"action": list(action[i])}) for i, t in enumerate(time)]
    write_record_mcap(path, found, chunk_size=4000)


def _ulog(path: Path, joints, time, position, action) -> None:
    stamps = (1e6 * (time + 3)).astype(np.int64)
    write_ulog(
        path,
        {
            "joint_state": {"timestamp": stamps} | {f"position[{i}]": position[:, i] for i in range(len(joints))},
            "policy": {"timestamp": stamps} | {f"action[{i}]": action[:, i] for i in range(len(joints))},
        },
    )


WRITERS = {
    "run.bag": _ros1,
    "json.mcap": _json_mcap,
    "proto.mcap": lambda path, joints, time, q, a: write_protobuf_mcap(path, joints, time, q, 0 * q, a),
    "run.csv.gz": _gzipped,
    "german.csv": _german,
    "long.csv": lambda path, joints, time, q, a: write_long(path, joints, time, position=q, action=a),
    "run.jsonl": _json_lines,
    "run.json": _json_columns,
    "run.npy": _structured,
    "run.h5": _hdf5,
    "run.mat": _matlab,
    "run.ulg": _ulog,
}


def valid_file(kind: str, folder: Path) -> Path:
    """A small whole file of each kind that can be read, for a Go2."""
    contract = load_robot("go2").contract
    rng = np.random.default_rng(3)
    time = np.arange(60) / 50
    position, action = rng.uniform(-1, 1, (60, 12)), rng.uniform(-1, 1, (60, 12))
    path = folder / kind
    if kind == "log.parquet":
        gyro = rng.uniform(-1, 1, (60, 3))
        log = RobotLog(
            contract.joints,
            np.repeat([0, 1], 30).astype(np.int32),
            time,
            gyro,
            position,
            action,
            action,
            gyro,
            metadata={"robot": "go2"},
        )
        write_log(log, path)
    elif kind == "table.parquet":
        pq.write_table(pa.table({"time": time, "q": pa.array(list(position)), "action": pa.array(list(action))}), path)
    elif kind in WRITERS:
        WRITERS[kind](path, contract.joints, time, position, action)
    elif kind == "run.csv":
        write_csv(
            path,
            {
                "time": time,
                **joint_columns("q_", contract.joints, position),
                **joint_columns("action_", contract.joints, action),
            },
        )
    elif kind.endswith(".npz"):
        (np.savez_compressed if kind == "packed.npz" else np.savez)(
            path, time=time, dof_pos=position, des_dof_pos=action
        )
    else:
        names = list(contract.joints)
        if kind == "low.mcap":
            state = message("unitree_go/msg/LowState")
            found = [("/lowstate", t, state) for t in time[:20]] + [
                ("/lowcmd", t, message("unitree_go/msg/LowCmd")) for t in time[:20]
            ]
        else:
            found = [("/joint_states", t, joint_state(names, position[i], time_s=t)) for i, t in enumerate(time)]
            found += [
                ("/action", t, message("std_msgs/msg/Float64MultiArray", data=action[i])) for i, t in enumerate(time)
            ]
        bag = write_bag(
            folder / f"{kind} bag",
            found,
            "sqlite3" if kind == "run.db3" else "mcap",
            "storage" if kind == "packed.mcap" else None,
        )
        (file,) = [*bag.glob("*.mcap"), *bag.glob("*.db3")]
        file.rename(path)
    return path


def read_whole(kind: str, path: Path, robot: Robot) -> RobotLog:
    """Read a file as a user would, and write what was imported."""
    if kind == "log.parquet":
        return read_log(path)
    log = assemble([read_recording(path, robot.contract)], robot, MapFile())
    write_log(log, path.with_suffix(".written"))
    return read_log(path.with_suffix(".written"))
