"""What a robot says of itself: joints in policy order, rates, heights and the hash."""

import math
import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest
from support.robot_files import ALL, BIPED, GO2, HEXAPOD, LEG, TETRAHEDRON, TINY_YAML, changed, tiny, tiny_model

from surefoot.robot import load_robot
from surefoot.robot.load import find_robot, joint_addresses
from surefoot.robot.model import bare_spec
from surefoot.robot.model_files import files_of
from surefoot.robot.picture import standing


def test_go2_contract() -> None:
    robot = load_robot("go2")
    contract = robot.contract
    assert robot.name == "go2"
    assert contract.n_joints == 12
    assert contract.joints[:3] == ("FL_hip_joint", "FL_thigh_joint", "FL_calf_joint")
    assert contract.pose_rad == (0.1, 0.8, -1.5, -0.1, 0.8, -1.5, 0.1, 1.0, -1.5, -0.1, 1.0, -1.5)
    assert contract.torque_limit_nm == (23.7, 23.7, 45.43) * 4
    assert contract.position_limit_rad[2] == (-2.7227, -0.83776)
    assert contract.observation_size == 45
    assert contract.control_dt_s == 0.02
    assert robot.substeps() == 10
    assert robot.substeps(1000) == 20
    assert 0.25 < robot.base_height_m < 0.33
    assert robot.mass_kg == pytest.approx(15.2064, abs=1e-3)
    assert robot.passive_joints == ()


def test_hexapod_keeps_policy_order_and_history() -> None:
    robot = load_robot(HEXAPOD)
    assert robot.contract.joints[:2] == ("L1.coxa", "R1.coxa")
    assert dict(zip(robot.contract.joints, robot.contract.pose_rad, strict=True))["L3.coxa"] == 0.35
    assert set(robot.contract.action_scale_rad[:6]) == {0.15}
    assert set(robot.contract.action_scale_rad[6:]) == {0.2}
    assert robot.contract.observation_size == 3 + 3 + 2 * 18 + 18 + 18 + 3
    assert robot.mass_kg == pytest.approx(3.0)
    assert robot.mirror is not None
    assert robot.mirror.index[:4] == (1, 0, 3, 2)
    assert robot.mirror.sign == (-1.0,) * 6 + (1.0,) * 12


def test_biped_urdf_gets_a_free_base_and_its_own_rates() -> None:
    robot = load_robot(BIPED)
    assert robot.contract.control_hz == 40
    assert robot.substeps() == 25
    assert robot.imu is None
    assert robot.contract.action_clip == 100.0
    assert robot.contract.position_limit_rad[2] == (0.0, 2.2)
    # Thigh and shin of 0.2 m at 0.3 rad from upright, hip 0.06 m below the base, sole 0.05 m below the ankle.
    assert robot.base_height_m == pytest.approx(0.06 + 0.4 * math.cos(0.3) + 0.05, abs=1e-9)
    model = robot.spec().compile()
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert model.nu == 0
    assert not model.jnt_actfrclimited.any()


@pytest.mark.parametrize(("folder", "hz"), [(HEXAPOD, 500), (HEXAPOD, 1000), (BIPED, 500), (BIPED, 1000)], ids=str)
def test_fixtures_stand_under_their_gains(folder: Path, hz: int) -> None:
    robot = load_robot(folder)
    contract = robot.contract
    spec = robot.spec()
    spec.option.timestep = 1 / hz
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05])
    for joint, kp, kd, limit in zip(
        contract.joints, contract.kp_nm_per_rad, contract.kd_nms_per_rad, contract.torque_limit_nm, strict=True
    ):
        motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_position(kp=kp, kv=kd)
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-limit, limit]
    model = spec.compile()
    data = standing(robot, model)
    data.ctrl[:] = contract.pose_rad
    for _ in range(2 * hz):
        mujoco.mj_step(model, data)
    qpos, _ = joint_addresses(model, contract.joints)
    assert abs(data.body(robot.base).xpos[2] - robot.base_height_m) < 0.005
    assert data.body(robot.base).xmat[8] > 0.999
    assert np.abs(data.qpos[qpos] - contract.pose_rad).max() < 0.05
    assert np.abs(data.qvel).max() < 0.02


def test_robot_is_found_by_name_folder_and_file() -> None:
    assert find_robot("go2") == GO2 / "robot.yaml"
    assert find_robot(HEXAPOD) == find_robot(str(HEXAPOD / "robot.yaml")) == HEXAPOD / "robot.yaml"


def test_joints_left_out_are_passive(tmp_path: Path) -> None:
    assert load_robot(tiny(tmp_path)).passive_joints == ("shoulder",)


def test_exact_name_wins_over_pattern_and_later_pattern_over_earlier(tmp_path: Path) -> None:
    text = TINY_YAML.replace("kp_nm_per_rad: 20", 'kp_nm_per_rad: {left_hip: 7, "*": 1, "right*": 2}')
    assert load_robot(tiny(tmp_path, text)).contract.kp_nm_per_rad == (7.0, 2.0)


def test_scene_does_not_inherit_the_models_defaults(tmp_path: Path) -> None:
    default = (
        '<default><motor gear="150" ctrlrange="-1 1" forcerange="-1 1"/><geom contype="0" margin="0.3"'
        ' density="5"/></default>'
    )
    spec = bare_spec(tiny_model(tmp_path, default=default))
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    spec.add_actuator(name="m", target="left_hip", trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_motor()
    model = spec.compile()
    assert model.actuator_gear[0][0] == 1.0
    assert not model.actuator_ctrllimited[0]
    assert not model.actuator_forcelimited[0]
    assert model.geom("floor").contype == 1
    assert model.geom("floor").margin == 0.0
    assert model.geom_margin[model.geom_bodyid == model.body("left_leg").id].tolist() == [0.3, 0.3]


def test_hash_is_the_same_from_another_folder(tmp_path: Path) -> None:
    for folder in ALL:
        shutil.copytree(folder, tmp_path / "moved" / folder.name)
        assert load_robot(tmp_path / "moved" / folder.name).hash == load_robot(folder).hash


@pytest.mark.parametrize(
    "change",
    [
        {"kp_nm_per_rad": 20.000000000000004},
        {"torque_limit_nm": 4.5},
        {"physics_hz": 1000},
        {"base_height_m": 0.2},
        {"imu": None},
        {"feet": ["L1.tip"]},
        {"symmetry": None},
        {"control_hz": 100},
    ],
    ids=lambda change: next(iter(change)),
)
def test_hash_changes_with_every_value(tmp_path: Path, change: dict[str, object]) -> None:
    base = load_robot(changed(tmp_path / "a", HEXAPOD, kp_nm_per_rad=20.0))
    assert load_robot(changed(tmp_path / "b", HEXAPOD, **({"kp_nm_per_rad": 20.0} | change))).hash != base.hash


def test_hash_changes_with_a_byte_of_model_mesh_or_include(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    mesh, include = tmp_path / "meshes" / "shell.obj", tmp_path / "more.xml"
    mesh.write_text(TETRAHEDRON)
    include.write_text("<mujocoinclude><custom><numeric name='n' data='1'/></custom></mujocoinclude>")
    path = tiny(
        tmp_path,
        asset='<mesh name="shell" file="shell.obj"/>',
        leg=LEG + '<geom type="mesh" mesh="shell"/>',
        extra='<include file="more.xml"/>',
    )
    assert {file.name for file in files_of(tmp_path / "tiny.xml")} == {"tiny.xml", "shell.obj", "more.xml"}
    hashes = [load_robot(path).hash]
    for file, text in (
        (mesh, TETRAHEDRON + "#"),
        (include, include.read_text() + "\n"),
        (tmp_path / "tiny.xml", (tmp_path / "tiny.xml").read_text() + "\n"),
    ):
        file.write_text(text)
        hashes.append(load_robot(path).hash)
    assert len(set(hashes)) == 4


def test_hash_ignores_how_the_yaml_is_written(tmp_path: Path) -> None:
    assert load_robot(changed(tmp_path, HEXAPOD, kd_nms_per_rad=[0.5] * 18)).hash == load_robot(HEXAPOD).hash
