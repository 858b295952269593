"""`surefoot robot check` and `surefoot robot new` as they are typed."""

import shutil
from pathlib import Path

import pytest
import tyro
from support import sources as made_up
from support.robot_files import BIPED, GO2, HEXAPOD, tiny, tiny_model
from support.sources import MADE, write_source

from surefoot.cli import robot as cli
from surefoot.robot import load_robot


@pytest.mark.usefixtures("gl")
def test_check_prints_the_table_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tyro.cli(cli.check, args=[str(HEXAPOD)])
    out = capsys.readouterr().out
    assert "L1.coxa" in out
    assert "picture: hexapod.png" in out
    assert (tmp_path / "hexapod.png").is_file()
    tyro.cli(cli.check, args=[str(HEXAPOD), "--out", "sub/x.png"])
    assert (tmp_path / "sub" / "x.png").is_file()


def test_check_without_gl_warns_and_succeeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    cli.check(str(HEXAPOD), tmp_path / "x.png")
    captured = capsys.readouterr()
    assert "warning: no picture" in captured.err
    assert "picture:" not in captured.out


@pytest.mark.parametrize("option", ["--force", "--overwrite"])
def test_new_writes_once_and_says_what_comes_next(tmp_path: Path, surefoot, option) -> None:
    model = shutil.copy(BIPED / "biped.urdf", tmp_path)
    _, out, err = surefoot("robot", "new", model)
    assert f"surefoot robot check {tmp_path / 'robot.yaml'}" in out
    assert "torque_limit_nm: the joint's effort" in out
    assert err == ""
    assert load_robot(tmp_path).name == "biped"
    (tmp_path / "robot.yaml").write_text("mine")
    code, _, err = surefoot("robot", "new", model)
    assert code == 2
    assert "already exists" in err
    assert "--overwrite" in err
    assert (tmp_path / "robot.yaml").read_text() == "mine"
    assert surefoot("robot", "new", model, option)[0] == 0
    assert load_robot(tmp_path).name == "biped"


def test_new_warns_where_the_model_lacks_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tiny_model(tmp_path, default='<default><geom contype="0" conaffinity="0"/></default>')
    cli.new(model, tmp_path / "here" / "tiny.yaml")
    captured = capsys.readouterr()
    assert "feet: no colliding shape" in captured.out
    assert "warning" in captured.err
    assert "feet is an empty list" in captured.err


def test_robot_check_prints_and_draws(surefoot, here, go2, monkeypatch) -> None:
    monkeypatch.delenv("MUJOCO_GL")
    code, out, error = surefoot("robot", "check", "go2", "--out", "pictures/go2.png")
    assert code == 0
    for joint in go2.contract.joints:
        assert joint in out
    for part in (go2.hash, "control 50 Hz, physics 500 Hz", "FL_foot, FR_foot, RL_foot, RR_foot"):
        assert part in out
    drawn = (here / "pictures" / "go2.png").is_file()
    assert drawn or "no picture can be drawn" in error  # a machine without a GL library still gets the table


def test_robot_check_takes_a_robot_that_is_not_a_go2(surefoot) -> None:
    code, out, _ = surefoot("robot", "check", HEXAPOD)
    assert code == 0
    assert "hexapod: 18 joints in policy order" in out


@pytest.mark.parametrize(
    "source", [GO2 / "go2.xml", HEXAPOD / "hexapod.xml", BIPED / "biped.urdf"], ids=lambda path: path.stem
)
def test_robot_new_then_check(surefoot, here, source) -> None:
    shutil.copy(source, here)
    code, out, error = surefoot("robot", "new", source.name)
    assert (code, error) == (0, "")
    assert "GUESS" in (here / "robot.yaml").read_text()
    assert "surefoot robot check robot.yaml" in out
    assert surefoot("robot", "check", "robot.yaml")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["check", "go3"], ("no robot 'go3'", "go2")),
        (["check", "."], ("has no robot.yaml",)),
        (["check", "empty"], ("empty", "found nothing")),
        (["check", "noise"], ("not a text file",)),
        (["check", "model.xml"], ("is a model, not a robot.yaml", "('surefoot robot new')")),
        (["check", "a" * 300], ("File name too long",)),
        (["check", "tiny/robot.yaml", "--out", "tiny/tiny.xml/x.png"], ("tiny.xml is a file",)),
        (["new", "none.xml"], ("none.xml does not exist",)),
        (["new", "."], (". is not a file",)),
        (["new", "empty"], ("empty is not a model", ".urdf")),
        (["new", "model.xml"], ("model.xml is not a model that MuJoCo can load",)),
        (["new", "tiny/tiny.xml"], ("already exists", "--overwrite")),
        (["new", "tiny/tiny.xml", "--out", "empty/robot.yaml"], ("empty is a file, not a folder",)),
    ],
)
def test_bad_robot(refused, here, arguments, parts) -> None:
    (here / "empty").touch()
    (here / "noise").write_bytes(b"\xff\xfe\x00")
    (here / "model.xml").write_text("<mujoco><body></mujoco>")
    (here / "tiny").mkdir()
    tiny(here / "tiny")
    before = sorted(here.rglob("*"))
    refused("robot", *arguments, says=parts)
    assert sorted(here.rglob("*")) == before


def test_xml_that_mujoco_reads_and_python_does_not(surefoot, here) -> None:
    (here / "odd.xml").write_text(
        '<?xml version="1.0" encoding="none-such"?>\n' + (HEXAPOD / "hexapod.xml").read_text()
    )
    assert surefoot("robot", "new", "odd.xml")[0] == 0
    assert surefoot("robot", "check", "robot.yaml")[0] == 0


@pytest.mark.parametrize("made", list(MADE.values()), ids=list(MADE))
def test_robot_new_from_files_says_what_it_took_and_what_is_open(surefoot, here, made) -> None:
    model = made.model(here)
    rounded = made_up.unitree(made)
    rounded["damping"] = [float(f"{v:.3g}") for v in rounded["damping"]]
    write_source(here / "deploy.yaml", rounded)
    code, out, error = surefoot("robot", "new", model, "--from", "deploy.yaml")
    assert code == 0
    assert "from deploy.yaml: joints, pose_rad, kp_nm_per_rad, kd_nms_per_rad, action_scale_rad" in out
    assert "velocity_limit_rad_s: the model gives none" in out
    assert "note: deploy.yaml: damping: no value has more than three digits" in error
    robot = load_robot(here)
    assert robot.contract.joints == made.breadth_first
    assert surefoot("robot", "check", "robot.yaml")[0] == 0


def test_robot_new_from_bad_files(refused, here) -> None:
    model = MADE["dog"].model(here)
    (here / "odd.yaml").write_text("a: 1\n")
    (here / "policy.pt").write_bytes(b"PK\x03\x04")
    for name, says in (
        ("odd.yaml", "no kind that can be imported"),
        ("policy.pt", "PyTorch"),
        ("x.yaml", "does not exist"),
    ):
        refused("robot", "new", model, "--from", name, says=(says,))
    refused("robot", "new", model, "--from", model, says=("dog.xml",))
    assert not (here / "robot.yaml").exists()


def test_robot_new_replaces_no_file_that_it_imports(refused, here) -> None:
    model = MADE["dog"].model(here)
    source = write_source(here / "deploy.yaml", made_up.unitree(MADE["dog"]))
    before = source.read_text()
    refused("robot", "new", model, "--from", source, "--out", source, "--overwrite", says=("deploy.yaml",))
    assert source.read_text() == before
