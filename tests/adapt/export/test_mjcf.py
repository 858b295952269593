"""An adaptation as MJCF: what stock MuJoCo reads is what the fit simulated."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from support.adaptations import FIELDS, adaptation, agree, physical, simulated
from support.robot_files import BIPED, TETRAHEDRON, tiny

from surefoot.adapt.export import patched_mjcf, write_mjcf
from surefoot.errors import FitError, OutputError
from surefoot.robot import Robot, load_robot
from surefoot.sim import Worlds

SERVO_FIELDS = ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_gaintype", "actuator_biastype")


def exported(folder: Path, robot: Robot, settings: dict) -> mujoco.MjModel:
    write_mjcf(folder / "patched.xml", adaptation(robot, settings), robot)
    return mujoco.MjModel.from_xml_path(str(folder / "patched.xml"))


class TestMjcf:
    def test_agrees_with_the_simulator_in_every_field(self, robot, tmp_path) -> None:
        settings = physical(robot)
        found, wanted = exported(tmp_path, robot, settings), simulated(robot, settings)
        agree(found, wanted, FIELDS)
        agree(found, wanted, SERVO_FIELDS)
        assert found.opt.timestep == wanted.opt.timestep
        assert found.opt.integrator == wanted.opt.integrator
        nominal = simulated(robot, {})
        for field in (*FIELDS, "actuator_gainprm"):
            assert np.abs(getattr(found, field) - getattr(nominal, field)).max() > 1e-5, field

    def test_a_urdf_with_fused_bodies_becomes_mjcf(self, tmp_path) -> None:
        biped = load_robot(BIPED)
        masses = simulated(biped, {}).body_mass[1:]
        settings = {**physical(biped), "link_mass_kg": (masses * np.linspace(0.8, 1.3, len(masses))).tolist()}
        found, wanted = exported(tmp_path, biped, settings), simulated(biped, settings)
        agree(found, wanted, (*FIELDS, *SERVO_FIELDS))
        assert not found.jnt_actfrclimited.any()  # the URDF's effort limits; those of robot.yaml govern

    def test_moves_as_the_simulator_does(self, robot, tmp_path) -> None:
        """Ten control periods in the air, stepped by MuJoCo alone."""
        settings = physical(robot)
        model = exported(tmp_path, robot, settings)
        worlds = Worlds(robot, 1, threads=1)
        for name, value in settings.items():
            worlds.set(name, value)
        worlds.reset(base_position_m=np.array([[0.0, 0.0, 5.0]]))
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, model.key("surefoot_stand").id)
        data.qpos[2] = 5.0
        contract = robot.contract
        actions = np.random.default_rng(1).normal(size=(10, contract.n_joints))
        address = [int(model.joint(name).qposadr[0]) for name in contract.joints]
        for action in actions:
            worlds.step(action[None])
            data.ctrl[:] = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * action
            for _ in range(worlds.scene.substeps):
                mujoco.mj_step(model, data)
        moved = np.abs(data.qpos[address] - contract.pose_rad).max()
        assert moved > 0.05
        np.testing.assert_allclose(data.qpos[address], worlds.data_of(0).qpos[worlds.scene.joint_qpos], atol=1e-9)

    def test_no_settings_leave_the_model_as_it_is(self, robot, tmp_path) -> None:
        found, own = exported(tmp_path, robot, {}), simulated(robot, {})
        for field in (*FIELDS, "body_iquat", "body_pos", "jnt_range", "jnt_axis", "qpos0"):
            assert np.array_equal(getattr(found, field), getattr(own, field)), field

    def test_torque_that_falls_with_speed_is_a_dc_motor(self, go2, tmp_path) -> None:
        settings = {
            "stall_torque_nm": 100 / 3,
            "no_load_speed_rad_s": 25.3,
            "battery_level": 0.9,
            "motor_strength": 0.95,
        }
        found, wanted = exported(tmp_path, go2, settings), simulated(go2, settings)
        agree(found, wanted, SERVO_FIELDS)
        assert "stall_torque_nm" not in (tmp_path / "patched.xml").read_text()

    def test_a_value_of_zero_is_written_over_a_default(self, go2, tmp_path) -> None:
        found = exported(tmp_path, go2, {"dry_friction_nm": 0.0, "viscous_friction_nms": 0.0})
        assert not found.dof_frictionloss.any()
        assert not found.dof_damping.any()

    def test_the_head_names_what_is_not_in_the_file_with_value_and_unit(self, go2, tmp_path) -> None:
        settings = {
            "delay_s": 0.00675,
            "torque_noise_nm": 1.25,
            "encoder_bias_rad": {"FL_hip_joint": 0.0123},
            "floor_friction": 0.456,
        }
        exported(tmp_path, go2, settings)
        head = (tmp_path / "patched.xml").read_text().split("-->")[0]
        for part in (
            "delay_s, s: 0.00675",
            "torque_noise_nm, N·m: 1.25",
            "FL_hip_joint 0.0123",
            "floor_friction: 0.456",
            go2.hash[:12],
        ):
            assert part in head
        assert "buffer of zeros" in head
        assert "no actuators: position servos" in head

    def test_the_keyframe_stands_with_the_servos_at_rest(self, go2, tmp_path) -> None:
        model = exported(tmp_path, go2, {"encoder_bias_rad": {"FL_hip_joint": 0.02}})
        key = model.key("surefoot_stand")
        np.testing.assert_allclose(key.ctrl[0], go2.contract.pose_rad[0] - 0.02)
        np.testing.assert_allclose(key.ctrl[1:], go2.contract.pose_rad[1:])
        np.testing.assert_allclose(key.qpos[7:], go2.contract.pose_rad)

    def test_text_alone_is_the_same_as_the_file_beside_the_model(self, go2) -> None:
        model = mujoco.MjModel.from_xml_string(
            patched_mjcf(adaptation(go2, {"armature_kgm2": 0.0123456789012345}), go2)
        )
        assert model.dof_armature[6] == 0.0123456789012345


class TestMjcfOfOddModels:
    def settings(self) -> dict:
        return {
            "spring_stiffness_nm_per_rad": [3.3, 4.4],
            "spring_rest_rad": [0.3, -0.2],
            "viscous_friction_nms": [0.11, 0.12],
            "base_mass_kg": 4.56789,
        }

    def changed(self, folder: Path, *swaps: tuple[str, str]) -> Robot:
        path = tiny(folder)
        for old, new in swaps:
            text = (folder / "tiny.xml").read_text()
            assert old in text
            (folder / "tiny.xml").write_text(text.replace(old, new))
        return load_robot(path)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('<compiler angle="radian"', '<compiler angle="radian" inertiafromgeom="true"'),
            ('<compiler angle="radian"', '<compiler angle="radian" settotalmass="9"'),
            ('name="left_hip"', 'name="left_hip" springdamper="0.1 1"'),
            ('name="left_hip"', 'name="left_hip" stiffness="7" springref="0.5" damping="3"'),
            ("<freejoint/>", '<freejoint align="true"/>'),
        ],
    )
    @pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass':UserWarning")
    def test_settings_of_the_model_do_not_undo_the_adaptation(self, tmp_path, old, new) -> None:
        robot = self.changed(tmp_path, (old, new))
        agree(exported(tmp_path / "out", robot, self.settings()), simulated(robot, self.settings()), FIELDS)

    def test_a_model_in_degrees(self, tmp_path) -> None:
        robot = self.changed(tmp_path, ('angle="radian"', 'angle="degree"'), ('range="-1 1"', 'range="-60 60"'))
        found = exported(tmp_path / "out", robot, self.settings())
        agree(found, simulated(robot, self.settings()), FIELDS)
        np.testing.assert_allclose(found.joint("left_hip").range, np.radians([-60, 60]))

    def test_the_model_s_own_floor_gets_the_friction(self, tmp_path) -> None:
        """The feet's friction of 1 would win over 0.3 without the floor's priority."""
        robot = load_robot(tiny(tmp_path))
        model = exported(tmp_path / "out", robot, {"floor_friction": 0.3})
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        for _ in range(100):
            mujoco.mj_step(model, data)
        assert data.ncon > 0
        assert set(data.contact.friction[:, 0]) == {0.3}
        assert "floor_friction" not in (tmp_path / "out" / "patched.xml").read_text()

    def test_meshes_are_found_from_the_new_place(self, tmp_path) -> None:
        home = tmp_path / "robot"
        (home / "meshes").mkdir(parents=True)
        (home / "meshes" / "foot.obj").write_text(TETRAHEDRON)
        leg = '<geom type="mesh" mesh="foot" pos="0 0 -0.3"/>'
        robot = load_robot(tiny(home, asset='<mesh name="foot" file="foot.obj"/>', leg=leg))
        out = tmp_path / "far" / "away"
        model = exported(out, robot, {"armature_kgm2": 0.02})
        assert model.nmesh == 1
        text = (out / "patched.xml").read_text()
        assert 'file="../../robot/meshes/foot.obj"' in text
        assert str(tmp_path) not in text
        assert "foot.obj" in patched_mjcf(adaptation(robot, {}), robot)

    def test_meshes_of_a_urdf_package_are_found_from_the_new_place(self, tmp_path) -> None:
        home = tmp_path / "my_robot"
        (home / "meshes").mkdir(parents=True)
        (home / "meshes" / "shell.obj").write_text(TETRAHEDRON)
        text = (BIPED / "biped.urdf").read_text()
        box = '<box size="0.12 0.16 0.16"/>'
        assert box in text
        (home / "biped.urdf").write_text(text.replace(box, '<mesh filename="package://my_robot/meshes/shell.obj"/>'))
        (home / "robot.yaml").write_text((BIPED / "robot.yaml").read_text())
        robot = load_robot(home)
        model = exported(tmp_path / "out", robot, {"armature_kgm2": 0.02})
        assert model.nmesh == 1
        assert str(tmp_path) not in (tmp_path / "out" / "patched.xml").read_text()

    def test_position_servos_of_the_model_get_gains_and_limits(self, tmp_path) -> None:
        extra = (
            '<actuator><position name="a" joint="right_hip" kp="3" ctrlrange="-0.1 0.1" armature="0.5"/>'
            '<position name="b" joint="left_hip" kp="4" kv="1"/><motor name="c" joint="shoulder"/></actuator>'
            '<keyframe><key name="home" ctrl="0.1 0.2 0.3"/></keyframe>'
        )
        robot = load_robot(tiny(tmp_path, extra=extra))
        settings = {"kp_nm_per_rad": [21.5, 22.5], "motor_strength": 0.8}
        found, wanted = exported(tmp_path / "out", robot, settings), simulated(robot, settings)
        assert [found.actuator(k).name for k in range(found.nu)] == ["a", "b", "c"]
        for own, i in (("b", 0), ("a", 1)):
            for field in ("gainprm", "biasprm", "forcerange"):
                np.testing.assert_allclose(
                    getattr(found.actuator(own), field), getattr(wanted.actuator(i), field), rtol=1e-14
                )
            assert not found.actuator(own).ctrllimited[0]
        assert np.array_equal(found.key("home").ctrl, [0.1, 0.2, 0.3])
        agree(found, wanted, ("dof_armature",))

    def test_torque_motors_keep_their_kind_and_the_head_gives_the_loop(self, tmp_path) -> None:
        extra = '<actuator><motor joint="left_hip" gear="4"/><motor joint="right_hip" gear="4"/></actuator>'
        robot = load_robot(tiny(tmp_path, extra=extra))
        found = exported(tmp_path / "out", robot, {"motor_strength": 0.9, "kp_nm_per_rad": 21.5})
        np.testing.assert_allclose(found.actuator_gainprm[:, 0], 0.9)
        np.testing.assert_allclose(found.actuator_forcerange[:, 1] * 4, 0.9 * 10)
        head = (tmp_path / "out" / "patched.xml").read_text().split("-->")[0]
        assert f"left_hip {21.5 * 0.9!r} 0.9" in head
        assert "kp_nm_per_rad, N·m/rad: 21.5" in head

    def test_other_actuators_stay_and_are_named(self, tmp_path) -> None:
        extra = '<actuator><velocity joint="left_hip" kv="4"/></actuator>'
        robot = load_robot(tiny(tmp_path, extra=extra))
        found = exported(tmp_path / "out", robot, {"motor_strength": 0.9})
        assert found.nu == 2
        assert found.actuator(0).gainprm[0] == 4
        head = (tmp_path / "out" / "patched.xml").read_text().split("-->")[0]
        assert "left as it was, gains, limits and strength included: left_hip" in head
        assert "motor_strength: 0.9" in head
        assert "right_hip" in head


class TestMjcfRefused:
    def test_over_the_robot_s_own_model(self, tmp_path) -> None:
        robot = load_robot(tiny(tmp_path))
        before = (tmp_path / "tiny.xml").read_bytes()
        with pytest.raises(FitError, match="robot's own model"):
            write_mjcf(tmp_path / "tiny.xml", adaptation(robot, {"armature_kgm2": 0.02}), robot)
        assert (tmp_path / "tiny.xml").read_bytes() == before

    def test_another_ending(self, go2, tmp_path) -> None:
        with pytest.raises(OutputError, match=r"does not end in \.xml"):
            write_mjcf(tmp_path / "patched.txt", adaptation(go2, {}), go2)

    def test_another_robot(self, go2, tmp_path) -> None:
        with pytest.raises(FitError, match="fitted to another"):
            write_mjcf(tmp_path / "patched.xml", adaptation(load_robot(BIPED), {}), go2)

    def test_a_value_that_would_not_arrive_is_not_written(self, tmp_path) -> None:
        path = tiny(tmp_path)
        text = (tmp_path / "tiny.xml").read_text()
        (tmp_path / "tiny.xml").write_text(
            text.replace('<compiler angle="radian"', '<compiler angle="radian" boundmass="0.5"')
        )
        robot = load_robot(path)
        with pytest.raises(FitError, match="body_mass of the exported model is not"):
            write_mjcf(tmp_path / "out.xml", adaptation(robot, {"base_mass_kg": 0.1}), robot)
        assert not (tmp_path / "out.xml").exists()
