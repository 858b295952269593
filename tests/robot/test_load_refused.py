"""Every mistake in a robot.yaml or its model is answered with one sentence that names it and the way out."""

import math
import re
from pathlib import Path

import pytest
from support.robot_files import BIPED, GO2, HEXAPOD, LEG, TINY_YAML, changed, refused, tiny


def test_missing_mesh_is_named(tmp_path: Path) -> None:
    refused(
        tiny(tmp_path, asset='<mesh name="shell" file="shell.stl"/>', leg=LEG + '<geom type="mesh" mesh="shell"/>'),
        "shell.stl",
        "not there",
        "beside the model",
    )


def test_joint_named_twice_in_the_model(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    model = tmp_path / "tiny.xml"
    model.write_text(model.read_text().replace('name="right_hip"', 'name="left_hip"'))
    refused(path, "'left_hip' twice", "its own name")


def test_joint_named_twice_in_the_yaml(tmp_path: Path) -> None:
    refused(
        tiny(tmp_path, TINY_YAML.replace("[left_hip, right_hip]", "[left_hip, left_hip]")),
        "'left_hip' twice",
        "one place",
    )


def test_gains_of_the_wrong_length(tmp_path: Path) -> None:
    refused(changed(tmp_path, HEXAPOD, kp_nm_per_rad=[20.0] * 17), "kp_nm_per_rad", "17 values for 18 joints")


@pytest.mark.parametrize(
    "value",
    [".nan", ".inf", "-.inf", "1.0e+400", "{left_hip: .nan, right_hip: 1}", "[1, .inf]", "true", "ten", "null", "'10'"],
)
def test_limit_that_is_no_finite_number(tmp_path: Path, value: str) -> None:
    refused(
        tiny(tmp_path, TINY_YAML.replace("torque_limit_nm: 10", f"torque_limit_nm: {value}")),
        "torque_limit_nm",
        "finite number",
    )


@pytest.mark.parametrize("key", ["control_hz", "physics_hz", "base_height_m", "action_clip"])
@pytest.mark.parametrize("value", [".nan", "1.0e+999", "0", "-5", "fast"])
def test_scalar_that_is_no_number_above_zero(tmp_path: Path, key: str, value: str) -> None:
    text = re.sub(f"^{key}:.*\n", "", TINY_YAML, flags=re.M) + f"{key}: {value}\n"
    refused(tiny(tmp_path, text), key, "above 0")


@pytest.mark.parametrize(
    ("limits", "part"), [("nan 1", "nan to 1"), ("-1 nan", "-1 to nan"), ("2 1", "2 to 1"), ("1 1", "1 to 1")]
)
def test_model_range_that_mujoco_takes_for_no_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: str, part: str
) -> None:
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warning about NaN into the current folder
    refused(tiny(tmp_path, range=f'range="{limits}"'), "left_hip", part)


def test_infinite_model_range(tmp_path: Path) -> None:
    refused(tiny(tmp_path, range='range="-1 inf" limited="true"'), "left_hip", "-1 to inf", "finite")


def test_pose_outside_the_range(tmp_path: Path) -> None:
    refused(
        changed(tmp_path, GO2, pose_rad={"*": 0.0}), "pose_rad of FL_calf_joint is 0", "-2.7227 to -0.83776", "degrees"
    )


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [("kp_nm_per_rad", 0, "above 0"), ("kd_nms_per_rad", -1, "at least 0"), ("action_scale_rad", -0.1, "above 0")],
)
def test_sign_of_gains(tmp_path: Path, key: str, value: float, part: str) -> None:
    refused(changed(tmp_path, HEXAPOD, **{key: value}), key, part)


def test_unknown_key_gets_the_nearest_name(tmp_path: Path) -> None:
    refused(
        changed(tmp_path, HEXAPOD, torque_limits_nm=4),
        "unknown key 'torque_limits_nm'",
        "did you mean 'torque_limit_nm'",
    )


def test_missing_key(tmp_path: Path) -> None:
    refused(changed(tmp_path, HEXAPOD, control_hz=None), "'control_hz' is missing")


def test_key_given_twice(tmp_path: Path) -> None:
    refused(tiny(tmp_path, TINY_YAML + "control_hz: 100\n"), "'control_hz' is given twice", "line 14")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1, 2", "not valid YAML"),
        ("- a\n- b\n", "found a list"),
        ("", "found nothing"),
        ("a: !!python/object:os.system {}", "not valid YAML"),
    ],
)
def test_not_a_yaml_mapping(tmp_path: Path, text: str, part: str) -> None:
    refused(tiny(tmp_path, text), "robot.yaml", part)


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_bytes(b"\xff\xfe\x00\x81")
    refused(tmp_path / "robot.yaml", "not a text file")


def test_missing_model(tmp_path: Path) -> None:
    refused(
        tiny(tmp_path, TINY_YAML.replace("tiny.xml", "tinny.xml")), "tinny.xml does not exist", "relative to the folder"
    )


@pytest.mark.parametrize("text", ["", "no xml", "<mujoco><foo/></mujoco>", "<mujoco>"])
def test_model_that_mujoco_cannot_load(tmp_path: Path, text: str) -> None:
    path = tiny(tmp_path)
    (tmp_path / "tiny.xml").write_text(text)
    refused(path, "tiny.xml is not a model that MuJoCo can load")


def test_no_free_joint(tmp_path: Path) -> None:
    refused(tiny(tmp_path, free=""), "free joint", "<freejoint/>", "'box'")


def test_wrong_base(tmp_path: Path) -> None:
    refused(tiny(tmp_path, TINY_YAML.replace("base: box", "base: arm")), "'arm' is not a body with a free joint", "box")


def test_foot_that_does_not_exist(tmp_path: Path) -> None:
    refused(tiny(tmp_path, TINY_YAML.replace("left_leg,", "left_log,")), "'left_log'", "did you mean 'left_leg'")


def test_foot_that_does_not_collide(tmp_path: Path) -> None:
    refused(
        tiny(tmp_path, leg=LEG.replace("/>", ' contype="0" conaffinity="0"/>')), "'left_leg' has no shape that collides"
    )


def test_foot_named_twice(tmp_path: Path) -> None:
    refused(tiny(tmp_path, TINY_YAML.replace("right_leg", "left_leg")), "feet names 'left_leg' twice")


def test_unknown_joint(tmp_path: Path) -> None:
    refused(
        tiny(tmp_path, TINY_YAML.replace("[left_hip,", "[left_hips,")),
        "no hinge or slide joint 'left_hips'",
        "did you mean 'left_hip'",
    )


def test_pattern_that_matches_nothing(tmp_path: Path) -> None:
    refused(changed(tmp_path, HEXAPOD, kd_nms_per_rad={"*": 1.0, "*_knee": 2.0}), "'*_knee' matches none")


def test_mapping_that_leaves_joints_out(tmp_path: Path) -> None:
    refused(changed(tmp_path, HEXAPOD, kd_nms_per_rad={"L*": 1.0}), "says nothing about R1.coxa")


def test_physics_rate_that_is_no_multiple(tmp_path: Path) -> None:
    refused(
        changed(tmp_path, BIPED, physics_hz=500), "physics_hz 500 is not a multiple of control_hz 40", "for example 480"
    )


def test_imu_that_is_no_site_on_the_base(tmp_path: Path) -> None:
    refused(changed(tmp_path, HEXAPOD, imu="imu_sight"), "'imu_sight'", "did you mean 'imu_site'")


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ([], "list of terms"),
        (["gyros"], "did you mean 'gyro'"),
        ([{"name": "gyro", "scales": 2}], "did you mean 'scale'"),
        ([{"name": "gyro", "scale": math.nan}], "finite number"),
        ([{"name": "gyro", "history": 0}], "whole number from 1"),
        ([3], "not a term"),
    ],
)
def test_observation_that_is_wrong(tmp_path: Path, value: object, part: str) -> None:
    refused(changed(tmp_path, HEXAPOD, observation=value), "observation", part)


@pytest.mark.parametrize(
    ("value", "part"),
    [({"vx": [0, 1]}, "did you mean 'vx_m_s'"), ({"vx_m_s": [1, 0]}, "[lowest, highest]"), ([1], "vx_m_s")],
)
def test_command_range_that_is_wrong(tmp_path: Path, value: object, part: str) -> None:
    refused(changed(tmp_path, HEXAPOD, command_range=value), "command_range", part)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"flip": []}, "'swap'"),
        ({"swap": {"L1.": "R9."}}, "no partner 'R9.coxa'"),
        ({"swap": {"X": "Y"}}, "matches none"),
        ({"swap": {"L": "R"}, "flip": ["*x"]}, "matches none"),
    ],
)
def test_symmetry_that_is_wrong(tmp_path: Path, value: object, part: str) -> None:
    refused(changed(tmp_path, HEXAPOD, symmetry=value), "symmetry", part)


def test_robot_that_is_not_there(tmp_path: Path) -> None:
    refused("gogo2", "no robot 'gogo2'", "go2")
    refused(tmp_path, "has no robot.yaml", "write a starter")
    refused(HEXAPOD / "hexapod.xml", "is a model, not a robot.yaml", "write a starter")
