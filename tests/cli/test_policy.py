"""`surefoot policy` as it is typed."""

import pytest
from support import sources as made_up
from support.command_line import SHORT
from support.policy_files import bare, layers
from support.robot_files import HEXAPOD
from support.sources import MADE, write_network, write_source

from surefoot.logs import read_log
from surefoot.policy import OnnxPolicy, write_mlp
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


@pytest.mark.parametrize("made", list(MADE.values()), ids=list(MADE))
def test_attach_from_files_with_a_robot_or_with_a_model(surefoot, refused, here, made) -> None:
    n = len(made.joints)
    model = made.model(here)
    write_source(here / "deploy.yaml", made_up.unitree(made))
    write_network(here / "bare.onnx", {"obs": 3 * (9 + 3 * n)}, {"actions": n})
    assert surefoot("robot", "new", model, "--from", "deploy.yaml")[0] == 0
    attach = ("policy", "attach", "bare.onnx", "--from", "deploy.yaml")
    assert surefoot(*attach, "--robot", "robot.yaml", "--out", "one.onnx")[0] == 0
    assert surefoot(*attach, "--model", model, "--out", "two.onnx")[0] == 0
    assert OnnxPolicy.load("one.onnx").contract == OnnxPolicy.load("two.onnx").contract
    text = (here / "robot.yaml").read_text()
    (here / "robot.yaml").write_text(text.replace("control_hz: 50.0", "control_hz: 25.0"))
    refused(
        *attach,
        "--robot",
        "robot.yaml",
        "--out",
        "x.onnx",
        says=("control_hz is 25 in robot.yaml and 50 by deploy.yaml",),
    )
    refused(*attach, "--out", "x.onnx", says=("give a robot, or a model", "--robot"))
    refused(*attach, "--robot", "go2", "--model", model, "--out", "x.onnx", says=("give a robot, or a model",))
    refused("policy", "attach", "bare.onnx", "--model", model, "--out", "x.onnx", says=("with files to import",))
    assert not (here / "x.onnx").exists()
