"""A robot as a picture, as a table, and through the command line."""

import io
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import tyro
from PIL import Image
from rich.console import Console
from support.robot_files import ALL, BIPED, HEXAPOD, tiny, tiny_model

from surefoot.cli import robot as cli
from surefoot.errors import RobotError
from surefoot.robot import Robot, load_robot
from surefoot.robot import picture as picture_module
from surefoot.robot.picture import Frames, framed, render, size_of, standing, studio
from surefoot.robot.table import describe, number


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_picture_shows_the_whole_robot(tmp_path: Path, folder: Path) -> None:
    robot = load_robot(folder)
    render(robot, tmp_path / "new" / "robot.png", 240, 180)
    image = Image.open(tmp_path / "new" / "robot.png")
    assert (image.format, image.size) == ("PNG", (240, 180))
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["robot.png"]
    spec = robot.spec()
    studio(spec, size_of(robot), floor=False)
    model = spec.compile()
    data = standing(robot, model)
    sky = robot.spec()
    studio(sky, size_of(robot), floor=False)
    for geom in sky.geoms:
        geom.rgba = [0, 0, 0, 0]
        geom.material = ""
    with Frames(model, 240, 180) as frames, Frames(sky.compile(), 240, 180) as empty:
        camera = framed(model, data, 240 / 180)
        robot_pixels = (frames.draw(data, camera) != empty.draw(data, camera)).any(axis=2)
    rows, columns = np.flatnonzero(robot_pixels.any(axis=1)), np.flatnonzero(robot_pixels.any(axis=0))
    assert rows[0] > 0
    assert rows[-1] < 179
    assert columns[0] > 0
    assert columns[-1] < 239
    assert np.ptp(rows) > 0.6 * 180 or np.ptp(columns) > 0.6 * 240


@pytest.mark.usefixtures("gl")
def test_picture_is_lit_the_same_whatever_lights_the_model_brings(tmp_path: Path) -> None:
    tiny(tmp_path)
    render(load_robot(tmp_path), tmp_path / "plain.png", 120, 90)
    tiny(
        tmp_path,
        default='<default><geom rgba="0.5 0.5 0.5 1"/><light diffuse="1 0 0"/></default>',
        extra='<worldbody><light pos="0 0 3" diffuse="1 1 1"/></worldbody>',
    )
    render(load_robot(tmp_path), tmp_path / "lit.png", 120, 90)
    assert (np.asarray(Image.open(tmp_path / "plain.png")) == np.asarray(Image.open(tmp_path / "lit.png"))).all()


def test_no_picture_without_gl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    with pytest.raises(RobotError, match="MUJOCO_GL is 'off'; unset it"):
        render(load_robot(HEXAPOD), tmp_path / "x.png")
    monkeypatch.delenv("MUJOCO_GL")

    def broken(width: int, height: int) -> None:
        raise AttributeError("'NoneType' object has no attribute 'eglQueryString'")

    monkeypatch.setattr(picture_module, "_gl_context", broken)
    with pytest.raises(RobotError, match=r"eglQueryString.*install the packages libegl1"):
        render(load_robot(HEXAPOD), tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def printed(robot: Robot, width: int) -> str:
    file = io.StringIO()
    Console(width=width, file=file).print(describe(robot))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("folder", ALL, ids=lambda folder: folder.name)
def test_table_holds_everything_at_any_width(folder: Path, width: int) -> None:
    robot = load_robot(folder)
    text = printed(robot, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.split()}
    contract = robot.contract
    for i, joint in enumerate(contract.joints):
        expected = (
            contract.pose_rad[i],
            contract.kp_nm_per_rad[i],
            contract.kd_nms_per_rad[i],
            contract.torque_limit_nm[i],
            contract.velocity_limit_rad_s[i],
            *contract.position_limit_rad[i],
            contract.action_scale_rad[i],
        )
        assert [float(cell) for cell in rows[joint]] == list(expected)
    flat = " ".join(text.split())
    for part in (
        robot.hash,
        contract.hash,
        robot.base,
        *robot.feet,
        f"{robot.substeps()} substeps",
        f"{contract.observation_size} numbers",
        *(term.name for term in contract.observation),
    ):
        assert part in flat


def test_table_names_passive_joints_and_what_is_not_given(tmp_path: Path) -> None:
    text = printed(load_robot(tiny(tmp_path)), 100)
    assert re.search(r"passive +shoulder", text)
    assert re.search(r"symmetry +none given", text)
    assert re.search(r"IMU +none given", text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.25, "0.25"),
        (-1.8, "-1.8"),
        (0.1 + 0.2, "~0.3"),
        (math.pi, "~3.14159"),
        (1e-7, "1e-07"),
        (1234567.0, "~1.23457e+06"),
        (0.0, "0"),
    ],
)
def test_rounded_numbers_are_marked(value: float, text: str) -> None:
    assert number(value) == text


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
    assert "feet must be a list" in captured.err
