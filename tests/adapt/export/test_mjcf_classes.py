"""Exports of models with default classes: nested, named by bodies, joints, geoms and actuators, in several files."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from support.models import four_bar_quadruped, parallel_ankle_biped
from support.robot_files import TETRAHEDRON

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.mjcf import write_mjcf
from surefoot.robot import load_robot
from surefoot.robot.guess import starter_yaml
from surefoot.robot.model import load_spec

CLASSES = """<default><default class="robot">
  <joint axis="0 1 0" damping="0.1" armature="0.01"/><geom friction="0.8"/>{shared}
  <default class="hip"><joint range="-1 1" frictionloss="0.2"/>{hip}</default>
  <default class="knee"><joint range="-1.5 1" damping="0.3"/>{knee}</default>
  <default class="visual"><geom type="mesh" mesh="hull" contype="0" conaffinity="0" group="2" density="0"/></default>
  <default class="collision"><geom group="3"/>
    <default class="foot"><geom friction="1.2" condim="3" priority="1"/></default></default></default></default>"""
LEG = """<body name="{side}_thigh" pos="{x} {y} 0"><joint name="{side}_hip" class="hip"/><geom class="visual"/>
  <geom class="collision" type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/>
  <body name="{side}_shank" pos="0 0 -.2"><joint name="{side}_knee" class="knee"/>
    <geom class="collision" type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/>
    <geom name="{side}_foot" class="foot" size=".03" pos="0 0 -.2"/></body></body>"""
SIDES = {"left": (0, 0.1), "right": (0, -0.1)}
FOUR = {"FL": (0.2, 0.1), "FR": (0.2, -0.1), "RL": (-0.2, 0.1), "RR": (-0.2, -0.1)}
KINDS = {
    "no actuators": ("", "", "", ""),
    "motors": ("", '<motor ctrlrange="-20 20"/>', '<motor ctrlrange="-30 30" gear="2"/>', "motor"),
    "positions": (
        '<position kp="50" kv="1"/>',
        '<position forcerange="-20 20" inheritrange="1"/>',
        '<position kp="70" ctrlrange="-1 1"/>',
        "position",
    ),
    "damping ratio": ('<position kp="50" dampratio="1"/>', "", '<position kp="70"/>', "position"),
    "general": (
        '<general biastype="affine" gainprm="50" biasprm="0 -50 -1"/>',
        '<general forcerange="-20 20" ctrlrange="-1 1"/>',
        '<general gainprm="80" biasprm="0 -80 -2"/>',
        "general",
    ),
    "filtered": ("", '<general dyntype="filter" dynprm="0.02"/>', '<general gear="6" gainprm="2"/>', "general"),
}


def model(folder: Path, kind: str, sides: dict) -> Path:
    shared, hip, knee, tag = KINDS[kind]
    legs = "".join(LEG.format(side=side, x=x, y=y) for side, (x, y) in sides.items())
    driven = [(side, joint) for side in sides for joint in ("hip", "knee")]
    motors = "".join(f'<{tag} class="{joint}" joint="{side}_{joint}"/>' for side, joint in driven) if tag else ""
    (folder / "meshes").mkdir()
    (folder / "meshes" / "hull.obj").write_text(TETRAHEDRON)
    (folder / "classes.xml").write_text(f"<mujoco>{CLASSES.format(shared=shared, hip=hip, knee=knee)}</mujoco>")
    (folder / "model.xml").write_text(
        f"""<mujoco model="classes"><compiler angle="radian" meshdir="meshes"/><include file="classes.xml"/>
<asset><mesh name="hull" file="hull.obj"/></asset><worldbody><geom name="floor" type="plane" size="0 0 .1"/>
<body name="base" pos="0 0 .5" childclass="robot"><freejoint/><geom type="box" size=".2 .1 .05" mass="5"/>
<site name="imu"/>{legs}</body></worldbody><actuator>{motors}</actuator>
<contact><pair geom1="{next(iter(sides))}_foot" geom2="floor"/></contact></mujoco>"""
    )
    (folder / "robot.yaml").write_text(starter_yaml(folder / "model.xml"))
    return folder


KEPT = (
    "geom_type", "geom_size", "geom_friction", "geom_priority", "geom_group", "geom_contype", "geom_condim",
    "geom_dataid", "jnt_range", "jnt_axis", "jnt_limited", "body_mass", "body_inertia", "body_pos", "mesh_vert",
    "pair_geom1", "pair_friction",
)  # fmt: skip


@pytest.mark.parametrize("sides", [SIDES, FOUR], ids=["two legs", "four legs"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_only_what_was_adapted_changes(tmp_path: Path, kind: str, sides: dict) -> None:
    robot = load_robot(model(tmp_path, kind, sides))
    n = robot.contract.n_joints
    settings = {
        "armature_kgm2": [0.0] * n,  # less than the class gives
        "dry_friction_nm": [0.3] * n,
        "viscous_friction_nms": [0.0, *[0.2] * (n - 1)],
        "torque_limit_nm": [15.0] * n,
        "kp_nm_per_rad": [33.0] * n,
    }
    write_mjcf(tmp_path / "out" / "adapted.xml", Adaptation(robot.name, robot.hash, "static", (), settings), robot)
    original = load_spec(robot.model_path).compile()
    exported = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "adapted.xml"))
    for field in KEPT:
        np.testing.assert_allclose(getattr(exported, field), getattr(original, field), atol=1e-12, err_msg=field)
    dofs = [int(exported.joint(name).dofadr[0]) for name in robot.contract.joints]
    np.testing.assert_allclose(exported.dof_armature[dofs], 0.0)
    np.testing.assert_allclose(exported.dof_frictionloss[dofs], 0.3)
    assert np.ravel(exported.dof_damping[dofs[0]])[0] == 0.0
    assert exported.nu == n
    if kind not in ("motors", "filtered"):
        np.testing.assert_allclose(exported.actuator_gainprm[:, 0], 33.0)
        np.testing.assert_allclose(exported.actuator_forcerange, np.tile([-15.0, 15.0], (n, 1)))


@pytest.mark.parametrize("make", [four_bar_quadruped, parallel_ankle_biped])
def test_loops_are_exported_closed(tmp_path: Path, make) -> None:
    robot = load_robot(make(tmp_path))
    settings = {"dry_friction_nm": [0.1] * robot.contract.n_joints}
    write_mjcf(tmp_path / "out" / "adapted.xml", Adaptation(robot.name, robot.hash, "static", (), settings), robot)
    exported = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "adapted.xml"))
    assert exported.neq == 4
