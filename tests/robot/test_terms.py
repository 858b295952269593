"""Observation terms and layouts as a robot.yaml gives them, and what is refused."""

from dataclasses import replace

import pytest
from support.layouts import varied

from surefoot.errors import PolicyError, RobotError
from surefoot.files import canonical_json
from surefoot.robot import Contract

CLOCK = {"name": "gait_phase", "frequency_hz": 1.5}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"observation": ["base_lin_vel"]}, r"unknown term 'base_lin_vel' \(did you mean 'base_velocity'\?"),
        ({"observation": ["projected_gravity"]}, r"did you mean 'gravity'\?"),
        ({"observation": ["base_velocity"]}, r"base_velocity, which no robot measures; say who estimates it"),
        ({"observation": [{"name": "gyro", "scale": [1, 2]}]}, r"gyro: scale has 2 numbers for 3 entries"),
        ({"observation": [{"name": "gyro", "offset": "much"}]}, r"gyro: offset is 'much'; it must be a finite number"),
        (
            {"observation": [{"name": "gyro", "clip": [1, -1]}]},
            r"gyro: clip is \[1, -1\]; it must be \[lowest, highest\]",
        ),
        ({"observation": [{"name": "gyro", "relative": True}]}, r"unknown key 'relative' in term 'gyro'"),
        ({"observation": [{"name": "gyro", "newest_first": 1}]}, r"newest_first is 1; it must be true or false"),
        (
            {"observation": [{"name": "gyro", "history": 500, "stride": 9}]},
            r"gyro looks 4491 ticks back; 999 is the most",
        ),
        ({"observation": [{"name": "joint_position", "joints": ["nobody*"]}]}, r"'nobody\*' matches none of"),
        (
            {"observation": [{"name": "command", "entries": ["height_m"]}]},
            r"entries: 'height_m' matches none of vx_m_s",
        ),
        ({"observation": [{"name": "gait_phase"}]}, r"gait_phase needs either frequency_hz.*or frequency_command"),
        ({"observation": [{**CLOCK, "form": "tan"}]}, r"form is 'tan'; it must be one of sin_cos"),
        (
            {"observation": [{**CLOCK, "standing": {"phase": "sit"}}]},
            r"phase of standing is 'sit'; it must be one of hold",
        ),
        ({"observation": [{**CLOCK, "frequency_hz": -1}]}, r"frequency_hz is -1; it must be above 0"),
        ({"observation": [{"name": "height_scan"}]}, r"height_scan needs its size"),
        ({"observation": [{"name": "foot_contact", "size": 3}]}, r"size is 3, and the robot has \d feet"),
        ({"observation": [{"name": "constant"}]}, r"constant: value is None; it must be a list of finite numbers"),
        ({"observation": [{"name": "quaternion", "order": "zyxw"}]}, r"order is 'zyxw'; it must be one of wxyz, xyzw"),
        (
            {"observation": ["gyro"], "observation_frames": {"history": 0}},
            r"history of frames is 0; it must be a whole",
        ),
        (
            {"observation": ["gyro"], "observation_frames": {"order": "any"}},
            r"order of frames is 'any'; it must be oldest",
        ),
        (
            {"observation": [{"name": "gyro", "history": 2}], "observation_frames": {"history": 2}},
            r"a history of whole frames and of single terms",
        ),
        ({"observation": ["gyro"], "observation_clip": -1}, r"clip is -1; it must be a number above 0"),
        (
            {"observation": ["gyro"], "observation_normalizer": {"mean": [0, 0], "std": [1, 1]}},
            r"mean of the normalizer has 2 numbers for 3 entries",
        ),
        (
            {"observation": ["gyro"], "observation_normalizer": {"mean": [0, 0, 0], "std": [1, 0, 1]}},
            r"std of the normalizer is 0 somewhere; every number must be above 0",
        ),
        ({"inputs": {"obs": ["gyro"]}}, r"'observation' and 'inputs' exclude each other"),
        ({"observation": None, "inputs": {"obs": 3}}, r"inputs: None is no input; write its name and its 'terms'"),
        (
            {"observation": None, "inputs": {"obs": {"term": []}}},
            r"inputs: obs: unknown key 'term' \(did you mean 'terms'",
        ),
        ({"driven": ["nobody"]}, r"driven: 'nobody' matches none of"),
        ({"driven": ["*", "*"]}, r"driven names .* twice"),
        ({"action_kind": "force"}, r"action_kind is 'force'; it must be position, velocity, torque"),
        ({"action_offset": {"nobody": 1.0}}, r"action_offset: 'nobody' matches none of"),
        ({"action_clip": {"*": [1, -1]}}, r"action_clip of '\*' is \[1, -1\]; it must be \[lowest, highest\]"),
        ({"command_range": {"height_m": [0.2, 0.4]}}, r"unknown key 'height_m'.*needs its value in command_default"),
        ({"command_default": {"height_m": 0.3}}, r"command_default names 'height_m', which is no further command"),
        (
            {"command_range": {"height_m": [0.2, 0.4]}, "command_default": {"height_m": 0.5}},
            r"the default of height_m is 0.5, outside 0.2 to 0.4",
        ),
        ({"state": [{"input": "h"}]}, r"must name an input and an output tensor"),
        ({"estimators": {"base_velocity": {"kind": "magic"}}}, r"kind is 'magic'; it must be truth, odometry or onnx"),
        ({"estimators": {"base_velocity": {"kind": "onnx"}}}, r"needs its 'file'"),
        (
            {"estimators": {"base_velocity": {"kind": "truth", "lag_s": 9}}},
            r"lag_s is 9; it must be a number from 0 to 1",
        ),
        ({"estimators": {"temper": {"kind": "truth"}}}, r"is no estimator of base_velocity"),
    ],
)
def test_what_is_wrong_is_one_sentence(robot, tmp_path, keys, said) -> None:
    with pytest.raises(RobotError, match=said) as refused:
        varied(robot, tmp_path, **keys)
    assert "\n" not in str(refused.value)


RICH = {
    "observation": [
        {"name": "command", "scale": [2, 2, 0.25, 1], "clip": 3.0},
        {"name": "gait_phase", "frequency_hz": 1.5, "offsets": [0, 0.5], "standing": {"below": 0.1, "phase": 0.5}},
        {"name": "joint_position", "history": 2, "newest_first": True, "stride": 3, "relative": False},
        {"name": "base_velocity", "offset": [0.1, 0, 0]},
        {"name": "foot_contact"},
        {"name": "constant", "value": [1.0]},
    ],
    "observation_clip": 100.0,
    "action_clip": {"*": [-2.0, 3.0]},
    "target_clip": {"*": [-4.0, 4.0]},
    "action_offset": 0.05,
    "command_range": {"height_m": [0.2, 0.4]},
    "command_default": {"height_m": 0.3},
    "estimators": {"base_velocity": {"kind": "truth", "noise_m_s": 0.05, "lag_s": 0.02}},
    "state": [{"input": "h_in", "output": "h_out"}],
    "output": "mu",
}


def test_all_of_it_travels_as_json_to_the_last_bit(robot, tmp_path) -> None:
    contract = varied(robot, tmp_path, **RICH).contract
    again = Contract.from_json(contract.to_json(), "here")
    assert again == contract
    assert again.hash == contract.hash


def test_a_contract_without_any_of_it_is_written_as_before(robot) -> None:
    content = robot.contract.to_dict()
    assert sorted(content) == sorted(
        [
            "action_clip",
            "action_scale_rad",
            "command_range",
            "control_hz",
            "joints",
            "kd_nms_per_rad",
            "kp_nm_per_rad",
            "observation",
            "pose_rad",
            "position_limit_rad",
            "robot",
            "torque_limit_nm",
            "velocity_limit_rad_s",
        ]
    )
    assert all(sorted(term) == ["history", "name", "scale"] for term in content["observation"])


def test_what_changes_the_meaning_is_a_difference(robot, tmp_path) -> None:
    plain, rich = robot.contract, varied(robot, tmp_path, **RICH).contract
    said = " ".join(rich.differences(plain))
    for word in ("action_offset", "action_limit", "target_limit", "observation", "observation_clip", "more_commands"):
        assert f"{word}:" in said
    assert not rich.differences(replace(rich, state=(), output=""))  # names of tensors: the file's own business


@pytest.mark.parametrize(
    ("key", "value"),
    [("driven", "x"), ("state", [["a"]]), ("action_kind", ["push"]), ("inputs", [3]), ("more_commands", [{}])],
)
def test_a_damaged_contract_in_a_file_is_one_sentence(robot, key, value) -> None:
    content = robot.contract.to_dict() | {key: value}
    if key == "inputs":
        content["observation"] = []
    with pytest.raises(PolicyError) as refused:
        Contract.from_json(canonical_json(content), "p.onnx")
    assert "p.onnx" in str(refused.value)
