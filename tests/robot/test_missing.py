"""Models that were copied without their meshes."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.robot_files import BIPED, HEXAPOD, LEG, TETRAHEDRON, changed, refused, tiny

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.mjcf import write_mjcf
from surefoot.robot import load_robot
from surefoot.robot.guess import starter_yaml
from surefoot.sim import Worlds

SEEN = 'type="mesh" mesh="hull" contype="0" conaffinity="0"'
INERTIAL = '<inertial pos="0 0 -0.1" mass="1.5" diaginertia="0.01 0.01 0.01"/>'
HULL = '<mesh name="hull" file="hull.stl"/>'


def test_a_mesh_that_is_only_seen_is_left_out_and_the_given_mass_stays(tmp_path: Path) -> None:
    leg = f"{INERTIAL}<geom {SEEN}/>{LEG}"
    robot = load_robot(tiny(tmp_path, asset=HULL, leg=leg))
    assert robot.left_out == ("hull.stl",)
    plain = load_robot(tiny(tmp_path / "..", leg=INERTIAL + LEG))
    assert robot.mass_kg == pytest.approx(plain.mass_kg)
    assert plain.left_out == ()
    Worlds(robot, 2).step(np.zeros((2, 2)))


@pytest.mark.parametrize("there", [True, False])
def test_masses_do_not_depend_on_whether_the_mesh_is_there(tmp_path: Path, there: bool) -> None:
    folder = changed(tmp_path / "hexapod", HEXAPOD).parent
    text = (folder / "hexapod.xml").read_text()
    assert "<asset" not in text
    text = text.replace("<worldbody>", '<asset><mesh name="hull" file="hull.obj"/></asset><worldbody>', 1)
    site = '<site name="imu_site"'
    (folder / "hexapod.xml").write_text(text.replace(site, f'<geom {SEEN} mass="0"/>{site}', 1))
    if there:
        (folder / "hull.obj").write_text(TETRAHEDRON)
    robot = load_robot(folder)
    assert robot.mass_kg == pytest.approx(load_robot(HEXAPOD).mass_kg, rel=1e-12)
    assert robot.left_out == (() if there else ("hull.obj",))


def test_a_mesh_that_collides_is_refused_with_the_body(tmp_path: Path) -> None:
    leg = f'{INERTIAL}<geom type="mesh" mesh="hull"/>{LEG}'
    refused(tiny(tmp_path, asset=HULL, leg=leg), "hull.stl, which is not there", "'left_leg' that collides", "a box")
    pair = '<contact><pair geom1="shell" geom2="ground"/></contact>'
    leg = f'<geom type="sphere" size="0.03" pos="0 0 -0.3"/>{INERTIAL}'
    once = f'<body name="arm2"><joint name="j2"/><geom name="shell" {SEEN}/>{INERTIAL}</body>'
    tiny(tmp_path, asset=HULL, leg=leg, extra=pair)
    text = (tmp_path / "tiny.xml").read_text().replace('<site name="IMU_0"/>', '<site name="IMU_0"/>' + once)
    (tmp_path / "tiny.xml").write_text(text)
    refused(tmp_path, "'arm2' that collides")


def test_a_mesh_that_gives_the_mass_is_refused(tmp_path: Path) -> None:
    bare = f'<geom {SEEN}/><geom type="sphere" size="0.03" pos="0 0 -0.3" mass="0.1"/>'
    refused(tiny(tmp_path, asset=HULL, leg=bare), "takes the mass of 'left_leg' from the mesh hull.stl", "<inertial>")
    inside = tiny(tmp_path, asset=HULL, leg=INERTIAL + bare)
    text = (tmp_path / "tiny.xml").read_text()
    (tmp_path / "tiny.xml").write_text(text.replace("<compiler ", '<compiler inertiafromgeom="true" '))
    refused(inside, "takes the mass of 'left_leg'")
    (tmp_path / "tiny.xml").write_text(
        text.replace("<compiler ", '<compiler inertiafromgeom="true" inertiagrouprange="0 0" ').replace(
            'mesh="hull"', 'mesh="hull" group="2"'
        )
    )
    assert load_robot(inside).left_out == ("hull.stl",)


@pytest.mark.parametrize("ending", ["dae", "glb"])
def test_a_format_that_cannot_be_read_counts_as_missing(tmp_path: Path, ending: str) -> None:
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / f"hull.{ending}").write_text("<COLLADA/>")
    asset = f'<mesh name="hull" file="hull.{ending}"/>'
    robot = load_robot(tiny(tmp_path, asset=asset, leg=f"{INERTIAL}<geom {SEEN}/>{LEG}"))
    assert robot.left_out == (f"hull.{ending}",)
    path = tiny(tmp_path, asset=asset, leg=f'{INERTIAL}<geom type="mesh" mesh="hull"/>{LEG}')
    refused(path, f"hull.{ending}, which MuJoCo cannot read", "convert it to OBJ or binary STL")


def test_textures_and_the_terrain_of_a_scene_are_left_out_too(tmp_path: Path) -> None:
    asset = (
        '<texture name="skin" type="2d" file="skin.png"/><material name="paint" texture="skin"/>'
        '<hfield name="hills" file="hills.png" size="1 1 1 0.1"/>'
    )
    leg = LEG.replace("<geom ", '<geom material="paint" ', 1)
    extra = '<worldbody><geom type="hfield" hfield="hills"/></worldbody>'
    robot = load_robot(tiny(tmp_path, asset=asset, leg=leg, extra=extra))
    assert set(robot.left_out) == {"skin.png", "hills.png"}


def test_an_adapted_model_without_its_meshes_can_be_exported(tmp_path: Path) -> None:
    robot = load_robot(tiny(tmp_path, asset=HULL, leg=f"{INERTIAL}<geom {SEEN}/>{LEG}"))
    adaptation = Adaptation(robot.name, robot.hash, "static", (), {"armature_kgm2": [0.02, 0.03]})
    write_mjcf(tmp_path / "out" / "adapted.xml", adaptation, robot)
    assert "hull" not in (tmp_path / "out" / "adapted.xml").read_text()


def urdf_package(folder: Path, collision: str, visual: str = "") -> Path:
    """The biped as a ROS package: urdf/ and meshes/ side by side."""
    text = (BIPED / "biped.urdf").read_text()
    box = '<collision><origin xyz="0 0 0.05"/><geometry><box size="0.12 0.16 0.16"/></geometry></collision>'
    assert box in text
    seen = f'<visual><geometry><mesh filename="{visual}"/></geometry></visual>' if visual else ""
    hit = f'<collision><geometry><mesh filename="{collision}"/></geometry></collision>'
    (folder / "urdf").mkdir(parents=True)
    (folder / "urdf" / "biped.urdf").write_text(text.replace(box, hit + seen))
    (folder / "meshes").mkdir()
    (folder / "meshes" / "pelvis.obj").write_text(TETRAHEDRON)
    shutil.copy(BIPED / "robot.yaml", folder / "urdf")
    return folder / "urdf" / "robot.yaml"


@pytest.mark.parametrize(
    "name",
    [
        "package://biped_description/meshes/pelvis.obj",
        "model://biped_description/meshes/pelvis.obj",
        "file:///home/somebody/ws/src/biped_description/meshes/pelvis.obj",
        "/home/somebody/ws/src/biped_description/meshes/pelvis.obj",
        "../meshes/pelvis.obj",
    ],
)
def test_a_urdf_finds_its_meshes_however_they_are_named(tmp_path: Path, name: str) -> None:
    path = urdf_package(tmp_path / "biped_description", name, visual="package://biped_description/meshes/gone.dae")
    robot = load_robot(path)
    model = robot.spec().compile()
    assert model.nmesh == 1
    assert robot.left_out == ()
    assert robot.mass_kg == pytest.approx(load_robot(BIPED).mass_kg)
    Worlds(robot, 1).step(np.zeros((1, 10)))


def test_a_urdf_without_the_mesh_that_it_collides_with_is_refused(tmp_path: Path) -> None:
    path = urdf_package(tmp_path / "d", "package://other_description/meshes/gone.stl")
    refused(path, "gone.stl, which is not there, for a shape of 'pelvis' that collides")


def test_a_starter_says_what_was_left_out(tmp_path: Path, surefoot) -> None:
    tiny(tmp_path, asset=HULL, leg=f"{INERTIAL}<geom {SEEN}/>{LEG}")
    (tmp_path / "robot.yaml").unlink()
    said = "1 file that is only seen was missing or not readable, and left out: hull.stl"
    assert f"# {said}" in starter_yaml(tmp_path / "tiny.xml")
    code, out, _ = surefoot("robot", "new", tmp_path / "tiny.xml")
    assert code == 0
    assert said in out
    code, out, _ = surefoot("robot", "check", tmp_path)
    assert said in " ".join(out.split())


def test_a_folder_that_is_stripped_from_names_is_not_looked_for(tmp_path: Path) -> None:
    tiny(tmp_path, asset=HULL.replace("hull.stl", "/home/x/hull.obj"), leg=f"{INERTIAL}<geom {SEEN}/>{LEG}")
    text = (tmp_path / "tiny.xml").read_text()
    (tmp_path / "tiny.xml").write_text(text.replace("<compiler ", '<compiler strippath="true" '))
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "hull.obj").write_text(TETRAHEDRON)
    robot = load_robot(tmp_path)
    assert robot.left_out == ()
    adaptation = Adaptation(robot.name, robot.hash, "static", (), {"armature_kgm2": [0.02, 0.03]})
    write_mjcf(tmp_path / "out" / "adapted.xml", adaptation, robot)
