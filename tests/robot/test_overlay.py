"""Files beside a robot.yaml, and files in its place."""

from pathlib import Path

import pytest
from support import sources as made_up
from support.sources import MADE, Made, write_source

from surefoot.errors import RobotError
from surefoot.policy.sources import read_sources
from surefoot.robot import Robot, load_robot
from surefoot.robot.guess import write_starter
from surefoot.robot.overlay import refuse_contradictions, robot_from


@pytest.fixture(params=list(MADE))
def made(request) -> Made:
    return MADE[request.param]


def robot_of(folder: Path, made: Made, *files: Path, **changes: str) -> Robot:
    text, _ = write_starter(made.model(folder), folder, read_sources(files))
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / "robot.yaml").write_text(text)
    return load_robot(folder)


def test_a_robot_that_was_written_from_the_same_files_agrees_with_them(tmp_path, made) -> None:
    for name, content in (
        ("deploy", made_up.unitree(made)),
        ("env", made_up.isaac_env(made)),
        ("c", made_up.rl_sar(made)),
    ):
        file = write_source(tmp_path / f"{name}.yaml", content)
        robot = robot_of(tmp_path, made, file)
        refuse_contradictions(robot, read_sources([file]))


def test_rounded_files_do_not_contradict_a_robot_at_full_precision(tmp_path, made) -> None:
    robot = robot_of(tmp_path, made, write_source(tmp_path / "deploy.yaml", made_up.unitree(made)))
    rounded = made_up.unitree(made)
    for key in ("stiffness", "damping", "default_joint_pos"):
        rounded[key] = [float(f"{v:.3g}") for v in rounded[key]]
    imported = refuse_contradictions(robot, read_sources([write_source(tmp_path / "r.yaml", rounded)]))
    assert any("three digits" in sentence for sentence in imported.remarks)


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("control_hz: 50.0", "control_hz: 25.0", ("control_hz is 25 in robot.yaml and 50 by deploy.yaml: step_dt",)),
        (
            "scale: 0.05,",
            "scale: 0.06,",
            ("observation: [gyro", "joint_velocity×0.06", "joint_velocity×0.05", "deploy.yaml"),
        ),
        (
            "hip_joint: 20.0\n",
            "hip_joint: 23.0\n",
            ("kp_nm_per_rad of", "is 23 in robot.yaml and 20 by deploy.yaml: stiffness"),
        ),
    ],
)
def test_a_contradiction_names_the_field_both_values_and_the_source(tmp_path, made, old, new, parts) -> None:
    file = write_source(tmp_path / "deploy.yaml", made_up.unitree(made))
    robot_of(tmp_path, made, file)
    text = (tmp_path / "robot.yaml").read_text()
    assert old in text
    (tmp_path / "robot.yaml").write_text(text.replace(old, new))
    with pytest.raises(RobotError) as caught:
        refuse_contradictions(load_robot(tmp_path), read_sources([file]))
    for part in parts:
        assert part in str(caught.value)


def test_another_order_of_joints_is_a_contradiction(tmp_path, made) -> None:
    file = write_source(tmp_path / "deploy.yaml", made_up.unitree(made))
    robot = robot_of(tmp_path, made, write_source(tmp_path / "env.yaml", made_up.mjlab_env(made)))
    with pytest.raises(RobotError, match=f"joints: {', '.join(made.joints)} against .*joint_ids_map"):
        refuse_contradictions(robot, read_sources([file]))


def test_a_guess_contradicts_nothing(tmp_path, made) -> None:
    robot = robot_of(tmp_path, made)
    env = made_up.isaac_env(made)
    assert robot.contract.joints == made.joints
    with pytest.raises(RobotError) as caught:  # gains are held by the file, the order of joints is not
        refuse_contradictions(robot, read_sources([write_source(tmp_path / "env.yaml", env)]))
    assert "kp_nm_per_rad of" in str(caught.value)
    assert "joints:" not in str(caught.value)


def test_a_robot_from_a_model_and_files_alone(tmp_path, made) -> None:
    file = write_source(tmp_path / "io.yaml", made_up.isaac_io(made))
    robot = robot_from(made.model(tmp_path), read_sources([file]))
    assert robot.contract.joints == made.breadth_first
    assert dict(zip(robot.contract.joints, robot.contract.kp_nm_per_rad, strict=True)) == made.kp


def test_a_model_and_files_that_leave_something_open(tmp_path, made) -> None:
    file = write_source(tmp_path / "env.yaml", made_up.isaac_env(made))
    with pytest.raises(RobotError, match="no file says joints, which the contract of a policy needs") as caught:
        robot_from(made.model(tmp_path), read_sources([file]))
    assert caught.value.verb == "robot new"
