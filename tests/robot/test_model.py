"""Models whose contacts are listed one by one, and feet that are found all the same."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from support.robot_files import refused, tiny, tiny_model

from surefoot.robot import load_robot
from surefoot.robot.guess import starter_yaml
from surefoot.sim import Worlds

GHOST = (
    '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.28" contype="0" conaffinity="0"/>'
    '<geom name="{}_foot" type="sphere" size="0.03" pos="0 0 -0.3" contype="0" conaffinity="0"/>'
)


def feet_only(folder: Path, floor: str) -> Path:
    """A robot that touches the floor through <pair> alone."""
    pairs = "".join(f'<pair geom1="{side}_foot" geom2="{floor}"/>' for side in ("left", "right"))
    tiny_model(folder, leg="LEG", extra=f"<contact>{pairs}</contact>")
    text = (folder / "tiny.xml").read_text()
    for side in ("left", "right"):
        text = text.replace("LEG", GHOST.format(side), 1)
    text = text.replace('mass="4"/>', 'mass="4" contype="0" conaffinity="0"/>')
    (folder / "tiny.xml").write_text(text.replace('type="capsule"/>', 'type="capsule" contype="0" conaffinity="0"/>'))
    return folder / "tiny.xml"


@pytest.mark.parametrize("floor", ["ground", "floor_of_another_file"])
def test_feet_that_meet_the_floor_through_pairs_stand_on_ours(tmp_path: Path, floor: str) -> None:
    path = feet_only(tmp_path, floor)
    (tmp_path / "robot.yaml").write_text(starter_yaml(path))
    robot = load_robot(tmp_path)
    assert robot.feet == ("left_foot", "right_foot")
    worlds = Worlds(robot, 1, feet=True)
    for _ in range(10):
        worlds.step(np.zeros((1, robot.contract.n_joints)))
    assert worlds.foot_contact.all()
    assert worlds.trunk_height_m[0] > 0.8 * robot.trunk_height_m


def test_feet_of_a_keyframe_in_which_the_robot_lies_are_found_by_name(tmp_path: Path) -> None:
    leg = (
        '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.28"/><body name="{0}_foot" pos="0 0 -0.3">'
        '<geom name="{0}_sole" type="sphere" size="0.03"/></body>'
    )
    lying = '<keyframe><key name="home" qpos="0 0 0.1 1 0 0 0 0 1.0 0"/></keyframe>'
    tiny_model(tmp_path, leg="LEG", extra=lying)
    text = (tmp_path / "tiny.xml").read_text()
    for side in ("left", "right"):
        text = text.replace("LEG", leg.format(side), 1)
    (tmp_path / "tiny.xml").write_text(text)
    assert yaml.safe_load(starter_yaml(tmp_path / "tiny.xml"))["feet"] == ["left_sole", "right_sole"]


def test_no_feet_are_refused_with_what_to_name(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    path.write_text(path.read_text().replace("[left_leg, right_leg]", "[]"))
    refused(path, "feet is an empty list", "of an arm on a stand: its base")
