"""How long it takes to write, read and import ten minutes at 500 Hz, and how much memory.

Each figure comes from a process of its own, so that its peak memory is its own. The import reads the same ten minutes
as CSV, NPZ and MCAP with Unitree messages, and puts them on the control ticks of the Go2.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from results import write_results

from surefoot.logs.importing import MapFile, assemble, read_recording
from surefoot.logs.robot_log import RobotLog, read_log, write_log
from surefoot.robot import load_robot

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.log_files import START_NS, STORE, message

HZ = 500
REPEATS = 3


def made(seconds: float) -> RobotLog:
    """A log of noise, which no compression makes small."""
    contract = load_robot("go2").contract
    rng = np.random.default_rng(0)
    rows = round(seconds * HZ)
    joint, vector = (
        (lambda: rng.normal(size=(rows, contract.n_joints)).astype(np.float32)),
        (lambda: rng.normal(size=(rows, 3)).astype(np.float32)),
    )
    return RobotLog(
        contract.joints,
        np.zeros(rows, np.int32),
        np.arange(rows) / HZ,
        vector(),
        joint(),
        joint(),
        joint(),
        vector(),
        vector(),
        torque_nm=joint(),
        metadata={"robot": "go2", "control_hz": HZ},
    )


def prepare(folder: Path, seconds: float) -> None:
    """The files to read."""
    log = made(seconds)
    write_log(log, folder / "log.parquet")
    np.savez(folder / "run.npz", time=log.time_s, dof_pos=log.joint_position_rad, des_dof_pos=log.action)
    columns = {"time": log.time_s} | {
        f"{name}_{joint}": values[:, i]
        for name, values in (("q", log.joint_position_rad), ("qd", log.joint_velocity_rad_s), ("q_des", log.action))
        for i, joint in enumerate(log.joints)
    }
    pa_csv.write_csv(pa.table(columns), folder / "run.csv")
    _write_mcap(folder, log)


def _write_mcap(folder: Path, log: RobotLog) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    kinds = {"/lowstate": "unitree_go/msg/LowState", "/lowcmd": "unitree_go/msg/LowCmd"}
    raw = {topic: bytes(STORE.serialize_cdr(message(kind), kind)) for topic, kind in kinds.items()}
    with Writer(folder / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {topic: writer.add_connection(topic, kind, typestore=STORE) for topic, kind in kinds.items()}
        for i, t in enumerate(log.time_s):
            stamp = START_NS + round(float(t) * 1e9)
            writer.write(connections["/lowstate"], stamp, raw["/lowstate"])
            if i % 10 == 0:
                writer.write(connections["/lowcmd"], stamp, raw["/lowcmd"])


def measure(what: str, folder: Path, seconds: float) -> dict[str, float]:
    """Best of a few runs, and this process's peak memory above what it had before."""
    robot = load_robot("go2")
    log = made(seconds) if what == "write" else None

    def bring_in(name: str) -> Callable[[], object]:
        return lambda: assemble([read_recording(folder / name, robot.contract)], robot, MapFile())

    jobs: dict[str, Callable[[], object]] = {
        "write": lambda: write_log(log, folder / "written.parquet") if log else None,
        "read": lambda: read_log(folder / "log.parquet"),
        "import npz": bring_in("run.npz"),
        "import csv": bring_in("run.csv"),
        "import mcap": bring_in("bag/bag.mcap"),
    }
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        jobs[what]()
        times.append(time.perf_counter() - start)
    return {
        "seconds": round(min(times), 3),
        "slowest_s": round(max(times), 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    seconds = 60 * arguments.minutes
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, seconds)
        sizes = {
            file.name: round(file.stat().st_size / 1e6, 1)
            for file in (folder / "log.parquet", folder / "run.npz", folder / "run.csv", folder / "bag" / "bag.mcap")
        }
        for what in ("write", "read", "import npz", "import csv", "import mcap"):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found[what] = pool.submit(measure, what, folder, seconds).result()
            print(f"{what:12} {found[what]['seconds']:6.2f} s   peak {found[what]['peak_mb']:5} MB")
    write_results(
        "log_io.json", {"minutes": arguments.minutes, "hz": HZ, "size_mb": sizes, "jobs": found}, arguments.out
    )


if __name__ == "__main__":
    main()
