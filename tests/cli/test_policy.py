"""`surefoot policy` as it is typed."""

import pytest
from support.command_line import SHORT
from support.policy_files import bare, layers
from support.robot_files import HEXAPOD

from surefoot.logs import read_log
from surefoot.policy import write_mlp
from surefoot.robot import load_robot


def test_policy_attach_then_show_then_record(surefoot, here, go2) -> None:
    bare(here / "bare.onnx", go2.contract.observation_size, go2.contract.n_joints)
    assert surefoot("policy", "attach", "bare.onnx", "--robot", "go2", "--out", "walk.onnx")[0] == 0
    code, out, _ = surefoot("policy", "show", "walk.onnx")
    assert code == 0
    assert go2.contract.hash[:12] in out
    assert surefoot("record", "--twin", "go2-spring", "--policy", "walk.onnx", *SHORT, "--out", "log.parquet")[0] == 0
    assert read_log(here / "log.parquet").metadata["policy"] == "walk"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["show", "none.onnx"], ("none.onnx does not exist",)),
        (["show", "."], ("is a folder",)),
        (["show", "empty.onnx"], ("empty.onnx is empty",)),
        (["show", "bare.onnx"], ("does not say for which robot", "policy attach")),
        (["attach", "none.onnx", "--robot", "go2", "--out", "x.onnx"], ("none.onnx does not exist",)),
        (["attach", "bare.onnx", "--robot", "go3", "--out", "x.onnx"], ("no robot 'go3'",)),
        (["attach", "bare.onnx", "--robot", "go2", "--out", "x.onnx"], ("has 7 entries",)),
    ],
)
def test_bad_policy(refused, here, arguments, parts) -> None:
    (here / "empty.onnx").touch()
    bare(here / "bare.onnx", 7, 3)
    refused("policy", *arguments, says=parts)
    assert not (here / "x.onnx").exists()


def test_policy_of_another_robot_is_refused_with_the_differing_field(refused, here) -> None:
    other = load_robot(HEXAPOD).contract
    write_mlp(here / "six.onnx", other, layers(other))
    refused(
        "record",
        "--twin",
        "go2-spring",
        "--policy",
        "six.onnx",
        *SHORT,
        "--out",
        "log.parquet",
        says=("another robot", "joints: L1.coxa"),
    )
    assert not (here / "log.parquet").exists()
