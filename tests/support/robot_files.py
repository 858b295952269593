"""Robots for the tests of the robot package: three that are whole, and one small enough to break in every way."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.paths import ROBOTS

from surefoot.errors import RobotError
from surefoot.robot import load_robot
from surefoot.robot.load import find_robot

HEXAPOD = ROBOTS / "hexapod"
BIPED = ROBOTS / "biped"
GO2 = find_robot("go2").parent
ALL = [GO2, HEXAPOD, BIPED]

TINY = """<mujoco model="tiny">
  <compiler angle="radian" meshdir="meshes"/>
  {default}
  <asset>{asset}</asset>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1"/>
    <body name="box" pos="0 0 0.4">
      {free}
      <geom type="box" size="0.2 0.1 0.05" mass="4"/>
      <site name="IMU_0"/>
      <body name="left_leg" pos="0 0.1 0"><joint name="left_hip" axis="0 1 0" {range}/>{leg}</body>
      <body name="right_leg" pos="0 -0.1 0"><joint name="right_hip" axis="0 1 0" range="-1 1"/>{leg}</body>
      <body name="arm" pos="0.2 0 0">
        <joint name="shoulder" axis="0 1 0" range="-1 1"/><geom size="0.02" fromto="0 0 0 0.1 0 0" type="capsule"/>
      </body>
    </body>
  </worldbody>
  {extra}
</mujoco>
"""
LEG = '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.28"/><geom type="sphere" size="0.03" pos="0 0 -0.3"/>'
TINY_YAML = """name: tiny
model: tiny.xml
base: box
feet: [left_leg, right_leg]
joints: [left_hip, right_hip]
pose_rad: 0.1
kp_nm_per_rad: 20
kd_nms_per_rad: 1
torque_limit_nm: 10
velocity_limit_rad_s: 10
action_scale_rad: 0.25
observation: [gyro, gravity, joint_position]
control_hz: 50
"""
TETRAHEDRON = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def tiny_model(folder: Path, **parts: str) -> Path:
    filled = {
        "free": "<freejoint/>",
        "range": 'range="-1 1"',
        "leg": LEG,
        "default": "",
        "asset": "",
        "extra": "",
    } | parts
    path = folder / "tiny.xml"
    path.write_text(TINY.format(**filled))
    return path


def tiny(folder: Path, text: str = TINY_YAML, **parts: str) -> Path:
    tiny_model(folder, **parts)
    (folder / "robot.yaml").write_text(text)
    return folder / "robot.yaml"


def changed(folder: Path, source: Path, **values: Any) -> Path:
    """A copy of a robot with keys of its robot.yaml changed, or left out where the value is None."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    content = yaml.safe_load((source / "robot.yaml").read_text()) | values
    (folder / "robot.yaml").write_text(
        yaml.safe_dump({key: value for key, value in content.items() if value is not None})
    )
    return folder / "robot.yaml"


def refused(path: str | Path, *parts: str) -> None:
    """A robot is refused with one line that holds all parts."""
    with pytest.raises(RobotError) as caught:
        load_robot(path)
    message = str(caught.value)
    for part in parts:
        assert part in message
    assert "\n" not in message


def hexapod_twin(folder: Path, **keys: Any) -> Path:
    shutil.copytree(HEXAPOD, folder / "hexapod", dirs_exist_ok=True)
    (folder / "old.yaml").write_text(
        yaml.safe_dump({"robot": "hexapod", "dry_friction_nm": 0.1, "torque_noise_nm": 0.05, **keys})
    )
    return folder / "old.yaml"
