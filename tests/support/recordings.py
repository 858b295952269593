"""Recordings of made-up motion, brought in as logs or refused."""

import numpy as np
import pytest
import yaml
from support.log_files import joint_columns

from surefoot.errors import LogError
from surefoot.logs import RobotLog
from surefoot.logs.importing import MapFile, assemble, read_map, read_recordings
from surefoot.robot import Robot

ROWS = 100


def brought_in(robot: Robot, *paths, map_file: MapFile | None = None) -> RobotLog:
    map_file = map_file or MapFile()
    return assemble(read_recordings(paths, robot.contract, map_file), robot, map_file)


def mapped(tmp_path, **content) -> MapFile:
    path = tmp_path / "map.yaml"
    path.write_text(yaml.safe_dump(content))
    return read_map(path)


def motion(robot: Robot, rows: int = 100, hz: float = 50.0, seed: int = 0):
    """Time, position, velocity, target: smooth, and different for each joint."""
    contract = robot.contract
    rng = np.random.default_rng(seed)
    time = np.arange(rows) / hz
    phase, rate = rng.uniform(0, 6, contract.n_joints), rng.uniform(2, 6, contract.n_joints)
    angle = time[:, None] * rate + phase
    return (
        time,
        contract.pose_rad + 0.2 * np.sin(angle),
        0.2 * rate * np.cos(angle),
        contract.pose_rad + 0.2 * np.sin(angle + 0.3),
    )


def columns(robot: Robot, rows: int = 100, hz: float = 50.0, seed: int = 0) -> dict[str, np.ndarray]:
    time, position, velocity, target = motion(robot, rows, hz, seed)
    joints = robot.contract.joints
    return {
        "t_s": time,
        **joint_columns("q_", joints, position),
        **joint_columns("qd_", joints, velocity),
        **joint_columns("q_des_", joints, target),
    }


def refused(robot: Robot, path, *parts: str, map_file: MapFile | None = None) -> None:
    with pytest.raises(LogError) as caught:
        brought_in(robot, path, map_file=map_file)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def walk(robot, rows=ROWS, hz=50.0):
    """Position, velocity, torque and target of each row, all different."""
    rng = np.random.default_rng(0)
    shape = (rows, robot.contract.n_joints)
    return np.arange(rows) / hz, *(rng.uniform(-1, 1, shape) for _ in range(4))
