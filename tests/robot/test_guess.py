"""A starter robot.yaml: what it takes from a model, what it guesses, and that it says so."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from support.robot_files import BIPED, GO2, HEXAPOD, LEG, tiny_model

from surefoot.errors import RobotError
from surefoot.robot import Robot, load_robot
from surefoot.robot.guess import guessed, starter_yaml


def marked(text: str) -> bool:
    """Whether every value but that of 'model' carries a mark, on its own line or on the line of its key."""
    covered = True
    for line in text.splitlines():
        if not line.strip() or line.startswith("#") or line.startswith("model:"):
            continue
        has = "  # GUESS: " in line and len(line.split("  # GUESS: ")[1]) > 5
        if not line.startswith(" "):
            covered = has
            if not has and not line.endswith(":"):
                return False
        elif not (has or covered):
            return False
    return True


def started(folder: Path, model: Path) -> tuple[Robot, str]:
    shutil.copytree(model.parent, folder, dirs_exist_ok=True)
    text = starter_yaml(folder / model.name)
    (folder / "robot.yaml").write_text(text)
    return load_robot(folder), text


@pytest.mark.parametrize(
    "model", [GO2 / "go2.xml", HEXAPOD / "hexapod.xml", BIPED / "biped.urdf"], ids=lambda path: path.stem
)
def test_starter_loads_and_marks_every_guess(tmp_path: Path, model: Path) -> None:
    robot, text = started(tmp_path / "copy", model)
    truth = load_robot(model.parent)
    assert marked(text)
    assert not marked(text.replace("  # GUESS: ", "  # ", 1))
    assert robot.name == truth.name
    assert robot.base == truth.base
    assert robot.imu == truth.imu
    assert set(robot.feet) == set(truth.feet)
    assert set(robot.contract.joints) == set(truth.contract.joints)
    assert robot.passive_joints == ()
    assert robot.base_height_m > 0
    assert set(dict(guessed(text))) >= {
        "name",
        "base",
        "feet",
        "joints",
        "pose_rad",
        "kp_nm_per_rad",
        "observation",
        "symmetry",
    }


@pytest.mark.parametrize(
    "model", [GO2 / "go2.xml", HEXAPOD / "hexapod.xml", BIPED / "biped.urdf"], ids=lambda path: path.stem
)
def test_starter_finds_the_symmetry_that_was_written_by_hand(tmp_path: Path, model: Path) -> None:
    def signed_pairs(robot: Robot) -> dict[str, tuple[str, float]]:
        assert robot.mirror is not None
        joints = robot.contract.joints
        return {joint: (joints[robot.mirror.index[i]], robot.mirror.sign[i]) for i, joint in enumerate(joints)}

    assert signed_pairs(started(tmp_path / "copy", model)[0]) == signed_pairs(load_robot(model.parent))


def test_starter_takes_limits_and_speeds_of_a_urdf(tmp_path: Path) -> None:
    robot, text = started(tmp_path / "copy", BIPED / "biped.urdf")
    assert robot.contract.torque_limit_nm == load_robot(BIPED).contract.torque_limit_nm
    assert robot.contract.velocity_limit_rad_s == load_robot(BIPED).contract.velocity_limit_rad_s
    assert "velocity in the URDF" in text
    assert robot.contract.pose_rad[:4] == (
        0.0,
        -0.55,
        1.1,
        -0.55,
    )  # the knee's 0 is at the edge; hip and ankle make up for it


def test_starter_takes_keyframe_gains_and_limits_of_an_mjcf(tmp_path: Path) -> None:
    extra = """<actuator>
      <position joint="left_hip" kp="30" kv="2" forcerange="-12 12" gear="2"/>
      <motor joint="right_hip" ctrlrange="-0.5 0.5" gear="40"/>
    </actuator>
    <keyframe>
      <key name="other" qpos="0 0 1 1 0 0 0 0 0 0"/>
      <key name="Home" qpos="0 0 1 1 0 0 0 0.5 -1.7 0.1"/>
    </keyframe>"""
    model = tiny_model(tmp_path, extra=extra)
    text = starter_yaml(model)
    (tmp_path / "robot.yaml").write_text(text)
    robot = load_robot(tmp_path)
    contract = robot.contract
    assert contract.joints == ("left_hip", "right_hip")  # the shoulder has no actuator
    assert robot.passive_joints == ("shoulder",)
    assert contract.pose_rad == (0.5, -1.0)
    assert contract.kp_nm_per_rad == (120.0, 20.0)
    assert contract.kd_nms_per_rad[0] == 8.0
    assert contract.torque_limit_nm == (24.0, 20.0)
    assert robot.imu == "IMU_0"
    for source in (
        "keyframe Home",
        "moved into the joint's range",
        "kp of the model's position actuator",
        "forcerange",
        "ctrlrange",
        "torque limit / 1 rad",
    ):
        assert source in text
    assert marked(text)


def test_starter_feet_are_bodies_where_geoms_have_no_name_and_arms_are_no_feet(tmp_path: Path) -> None:
    text = starter_yaml(tiny_model(tmp_path))
    assert yaml.safe_load(text)["feet"] == ["left_leg", "right_leg"]


def test_starter_feet_are_bodies_that_end_a_leg_without_a_joint_of_their_own(tmp_path: Path) -> None:
    leg = '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.28"/><body pos="0 0 -0.3"><geom size="0.03"/></body>'
    model = tiny_model(tmp_path, leg=leg)
    text = model.read_text().replace("<body pos", '<body name="left_pad" pos', 1)
    model.write_text(text.replace("<body pos", '<body name="right_pad" pos', 1))
    assert yaml.safe_load(starter_yaml(model))["feet"] == ["left_pad", "right_pad"]


def test_starter_foot_is_the_geom_called_foot_or_the_body_of_several(tmp_path: Path) -> None:
    model = tiny_model(tmp_path, leg=LEG + '<geom type="sphere" size="0.03" pos="0.05 0 -0.3"/>')
    assert yaml.safe_load(starter_yaml(model))["feet"] == ["left_leg", "right_leg"]
    text = model.read_text().replace('pos="0 0 -0.3"', 'pos="0 0 -0.3" name="left_foot"', 1)
    model.write_text(text)
    assert yaml.safe_load(starter_yaml(model))["feet"] == ["left_foot", "right_leg"]


def test_starter_takes_the_heaviest_free_body_for_the_robot(tmp_path: Path) -> None:
    ball = '<worldbody><body name="ball" pos="1 0 0"><freejoint/><geom size="0.1" mass="0.2"/></body></worldbody>'
    assert yaml.safe_load(starter_yaml(tiny_model(tmp_path, extra=ball)))["base"] == "box"


def test_starter_quotes_names_that_yaml_would_misread(tmp_path: Path) -> None:
    model = tiny_model(tmp_path)
    model.write_text(
        model.read_text()
        .replace('"left_hip"', '"no"')
        .replace('"right_hip"', '"1e3: x"')
        .replace('"shoulder"', '"a[0]"')
    )
    (tmp_path / "robot.yaml").write_text(starter_yaml(model))
    assert load_robot(tmp_path).contract.joints == ("no", "1e3: x", "a[0]")


def test_starter_leaves_symmetry_out_with_the_reason(tmp_path: Path) -> None:
    model = tiny_model(tmp_path)
    model.write_text(model.read_text().replace('pos="0 -0.1 0"', 'pos="0.1 -0.1 0"'))
    text = starter_yaml(model)
    assert "# symmetry:" in text
    assert "do not lie opposite" in text
    assert "symmetry" not in yaml.safe_load(text)


def test_starter_lies_in_another_folder(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "robot.yaml").write_text(starter_yaml(tiny_model(tmp_path / "models"), tmp_path))
    assert load_robot(tmp_path).model_path == tmp_path / "models" / "tiny.xml"


@pytest.mark.parametrize(
    ("prepare", "part"),
    [
        (lambda folder: tiny_model(folder, free=""), "add <freejoint/>"),
        (lambda folder: folder / "none.xml", "does not exist"),
        (lambda folder: tiny_model(folder, extra="<oops/>"), "not a model that MuJoCo can load"),
    ],
)
def test_starter_refuses(tmp_path: Path, prepare: Callable[[Path], Path], part: str) -> None:
    with pytest.raises(RobotError, match=part):
        starter_yaml(prepare(tmp_path))


@pytest.mark.parametrize(
    ("names", "chosen", "why"),
    [
        (("crouch", "home"), 1, "keyframe home"),
        (("lying", "Stand"), 1, "keyframe Stand"),
        (("stand_still", "home"), 1, "keyframe home"),
        (("a", "knees_bent", "stand_up"), 2, "keyframe stand_up"),
        (("a", "b"), 0, "the first of 2 keyframes, none called home or stand, a"),
        (("",), 0, "the model's only keyframe"),
    ],
)
def test_the_pose_is_that_of_the_keyframe_in_which_the_robot_stands(tmp_path: Path, names, chosen, why) -> None:
    keys = "".join(
        f'<key {f"name={chr(34)}{name}{chr(34)}" if name else ""} qpos="0 0 0.4 1 0 0 0 {0.1 * k + 0.1} 0 0"/>'
        for k, name in enumerate(names)
    )
    tiny_model(tmp_path, extra=f"<keyframe>{keys}</keyframe>")
    text = starter_yaml(tmp_path / "tiny.xml")
    assert yaml.safe_load(text)["pose_rad"]["left_hip"] == pytest.approx(0.1 * chosen + 0.1)
    assert f"# GUESS: {why}\n" in text
