"""A robot as a picture."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.models import without_shapes
from support.robot_files import ALL, BIPED, HEXAPOD, tiny

from surefoot.errors import RobotError
from surefoot.robot import load_robot
from surefoot.robot import picture as picture_module
from surefoot.robot.model import compile_spec
from surefoot.robot.picture import Frames, _corners, framed, render, size_of, standing, studio


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


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize("folder", [HEXAPOD, BIPED], ids=lambda folder: folder.name)
def test_links_without_shapes_are_drawn_as_rods(tmp_path: Path, folder: Path) -> None:
    robot = load_robot(folder)
    bare = without_shapes(robot)
    studio(bare, size_m=size_of(robot), floor=False)
    model = bare.compile()
    data = standing(robot, model)
    shown = {model.body(model.geom_bodyid[g]).name for g in range(model.ngeom)}
    long = np.linalg.norm(model.body_pos, axis=1) > 0.1 * size_of(robot)
    assert {model.body(model.body_parentid[b]).name for b in range(2, model.nbody) if long[b]} <= shown
    whole = compile_spec(robot.spec(), robot.model_path)
    assert (
        np.ptp(_corners(model, data), axis=0).max()
        > 0.6 * np.ptp(_corners(whole, standing(robot, whole)), axis=0).max()
    )
    assert model.body_mass.sum() == pytest.approx(robot.mass_kg, rel=1e-6)
