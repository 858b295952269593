"""The contract between a robot and its policy: kept to the last bit, compared by name."""

import json
import math
from pathlib import Path

import pytest
from support.robot_files import ALL, HEXAPOD, changed

from surefoot.errors import PolicyError
from surefoot.robot import Contract, load_robot


@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_contract_survives_json_to_the_last_bit(folder: Path) -> None:
    contract = load_robot(folder).contract
    assert Contract.from_json(contract.to_json(), "test") == contract


def test_contract_keeps_all_digits(tmp_path: Path) -> None:
    contract = load_robot(changed(tmp_path, HEXAPOD, kp_nm_per_rad=20.1 + 0.2)).contract
    assert contract.kp_nm_per_rad[0] == 20.1 + 0.2
    assert repr(20.1 + 0.2) in contract.to_json()


def test_contract_refuses_what_does_not_fit() -> None:
    contract = load_robot(HEXAPOD).contract
    content = json.loads(contract.to_json())
    with pytest.raises(PolicyError, match="not valid JSON"):
        Contract.from_json("{", "p.onnx")
    with pytest.raises(PolicyError, match="lacks pose_rad"):
        Contract.from_json(json.dumps({key: value for key, value in content.items() if key != "pose_rad"}), "p.onnx")
    with pytest.raises(PolicyError, match="unknown kP"):
        Contract.from_json(json.dumps(content | {"kP": 1}), "p.onnx")
    with pytest.raises(PolicyError, match="different lengths"):
        Contract.from_json(json.dumps(content | {"pose_rad": [0.0]}), "p.onnx")
    with pytest.raises(PolicyError, match="not a number"):
        Contract.from_json(json.dumps(content | {"control_hz": "fast"}), "p.onnx")
    for value in (math.nan, math.inf, 10**400):
        with pytest.raises(PolicyError, match="not a number"):
            Contract.from_json(json.dumps(content | {"pose_rad": [value] * 18}), "p.onnx")


def test_differences_name_the_first_joint_and_both_values(tmp_path: Path) -> None:
    one = load_robot(HEXAPOD).contract
    other = load_robot(changed(tmp_path, HEXAPOD, kd_nms_per_rad={"*": 0.5, "R3.tibia": 0.6}, control_hz=100)).contract
    assert one.differences(one) == []
    assert one.differences(other) == ["kd_nms_per_rad of R3.tibia: 0.5 against 0.6", "control_hz: 50.0 against 100.0"]


def test_limits_and_commands_do_not_make_a_policy_wrong(tmp_path: Path) -> None:
    other = load_robot(changed(tmp_path, HEXAPOD, torque_limit_nm=3.0, command_range={"vx_m_s": [0, 1]})).contract
    assert load_robot(HEXAPOD).contract.differences(other) == []
