"""Exports of an adaptation: what stock MuJoCo, mjlab, Isaac Lab and training read is what the fit simulated."""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import mujoco
import numpy as np
import pytest
import yaml
from support.robot_files import BIPED, TETRAHEDRON, TINY_YAML, tiny

from surefoot.adapt.adaptation import Adaptation, Fitted, read_adaptation, write_adaptation
from surefoot.adapt.export import (
    isaaclab_config,
    mjlab_config,
    patched_mjcf,
    randomization_ranges,
    randomization_table,
    write_mjcf,
)
from surefoot.cli.main import VERBS, Verb
from surefoot.errors import FitError, OutputError
from surefoot.learn.randomize import load_randomization
from surefoot.robot import Robot, load_robot
from surefoot.sim import Worlds
from surefoot.sim.parameters import PARAMETERS

FIELDS = (
    "dof_armature",
    "dof_frictionloss",
    "dof_damping",
    "jnt_stiffness",
    "qpos_spring",
    "body_mass",
    "body_inertia",
    "body_ipos",
)
SERVO_FIELDS = ("actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_gaintype", "actuator_biastype")
PER_JOINT = {
    "armature_kgm2": (0.01, 0.04), "dry_friction_nm": (0.05, 0.5), "viscous_friction_nms": (0.05, 0.4),
    "spring_stiffness_nm_per_rad": (0.5, 5.0), "spring_rest_rad": (-1.0, 1.0), "kp_nm_per_rad": (10.0, 40.0),
    "kd_nms_per_rad": (0.3, 0.9), "torque_limit_nm": (3.0, 30.0), "motor_strength": (0.8, 1.1),
}  # fmt: skip


def physical(robot: Robot, seed: int = 0) -> dict:
    """Another value for everything that a model can hold, none of them round."""
    rng = np.random.default_rng(seed)
    found = {name: rng.uniform(*span, robot.contract.n_joints).tolist() for name, span in PER_JOINT.items()}
    mass = float(Worlds(robot, 1, threads=1).nominal("base_mass_kg"))
    return {**found, "base_mass_kg": mass * 1.1234567890123, "base_com_offset_m": [0.01 / 3, -0.02 / 7, 0.001 / 9]}


def knob(parameter: str, where: tuple[str, ...], value: float, low: float, high: float, **more) -> Fitted:
    name = f"{parameter}[{' = '.join(where)}]" if where else parameter
    return Fitted(
        name, parameter, where, PARAMETERS[parameter].unit, value / 2, value, (low, high), (0.0, 100.0), **more
    )


def adaptation(robot: Robot, settings: dict, knobs: tuple[Fitted, ...] = (), **provenance) -> Adaptation:
    return Adaptation(robot.name, robot.hash, "static", knobs, settings, provenance=provenance)


def simulated(robot: Robot, settings: dict) -> mujoco.MjModel:
    worlds = Worlds(robot, 1, threads=1, torque_speed="stall_torque_nm" in settings)
    for name, value in settings.items():
        worlds.set(name, value)
    return worlds.model_of(0)


def exported(folder: Path, robot: Robot, settings: dict) -> mujoco.MjModel:
    write_mjcf(folder / "patched.xml", adaptation(robot, settings), robot)
    return mujoco.MjModel.from_xml_path(str(folder / "patched.xml"))


def agree(found: mujoco.MjModel, wanted: mujoco.MjModel, fields: tuple[str, ...]) -> None:
    for field in fields:
        np.testing.assert_allclose(getattr(found, field), getattr(wanted, field), rtol=1e-13, atol=1e-16, err_msg=field)


class Stub:
    """A class of a library that is not installed: it keeps what it was made with."""

    def __init__(self, *given, **named):
        self.given = given
        self.__dict__.update(named)


@pytest.fixture
def run(monkeypatch):
    """Run generated source with the libraries that it imports replaced by stubs; its names."""

    def execute(source: str) -> SimpleNamespace:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                parts = node.module.split(".")
                for k in range(len(parts)):
                    monkeypatch.setitem(sys.modules, ".".join(parts[: k + 1]), ModuleType(parts[k]))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    setattr(
                        sys.modules[node.module],
                        alias.name,
                        type(alias.name, (Stub,), {}) if alias.name[0].isupper() else Function(),
                    )
        names: dict = {}
        exec(compile(source, "generated", "exec"), names)
        return SimpleNamespace(**{key: value for key, value in names.items() if not key.startswith("__")})

    return execute


class Function:
    """A module of functions: `dr.joint_armature` is its name."""

    def __getattr__(self, name: str) -> str:
        return name


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


def knobs_of(robot: Robot, settings: dict) -> tuple[Fitted, ...]:
    """Armature of each joint, one delay for all, the base's mass and one axis of its balance."""
    joints = robot.contract.joints
    armature = tuple(
        knob("armature_kgm2", (name,), v, v * 0.9, v * 1.2)
        for name, v in zip(joints, settings["armature_kgm2"], strict=True)
    )
    mass = settings["base_mass_kg"]
    rest = (knob("delay_s", joints, 0.00675, 0.0061, 0.0081), knob("base_mass_kg", (), mass, mass - 0.1, mass + 0.3))
    return (*armature, *rest, knob("base_com_offset_m", ("x",), settings["base_com_offset_m"][0], -0.001, 0.01))


@pytest.fixture
def fitted(robot) -> Adaptation:
    noise = {"delay_s": 0.00675, "torque_noise_nm": 1.25, "encoder_noise_rad": 0.001, "encoder_bias_rad": 0.0123}
    settings = {**physical(robot), **noise}
    return adaptation(robot, settings, knobs_of(robot, settings), command="surefoot fit log.parquet --out fit/")


class TestPythonFiles:
    def test_mjlab_has_every_joint_s_values_to_the_last_digit(self, robot, fitted, run) -> None:
        found, s = run(mjlab_config(fitted, robot)), fitted.settings
        assert len(found.ACTUATORS) == robot.contract.n_joints
        for i, (joint, cfg) in enumerate(zip(robot.contract.joints, found.ACTUATORS, strict=True)):
            assert [name for name in robot.contract.joints if re.fullmatch(cfg.target_names_expr[0], name)] == [joint]
            share = s["motor_strength"][i]
            assert (cfg.armature, cfg.frictionloss, cfg.viscous_damping) == (
                s["armature_kgm2"][i],
                s["dry_friction_nm"][i],
                s["viscous_friction_nms"][i],
            )
            assert (cfg.stiffness, cfg.damping, cfg.effort_limit) == (
                share * s["kp_nm_per_rad"][i],
                share * s["kd_nms_per_rad"][i],
                share * s["torque_limit_nm"][i],
            )
            assert cfg.delay_min_lag == cfg.delay_max_lag == round(0.00675 / found.PHYSICS_DT_S) == 3

    def test_mjlab_changes_springs_and_masses_of_a_spec(self, robot, fitted, run) -> None:
        spec = run(mjlab_config(fitted, robot)).change_spec(mujoco.MjSpec.from_file(str(robot.model_path)))
        agree(
            spec.compile(),
            simulated(robot, fitted.settings),
            ("jnt_stiffness", "qpos_spring", "body_mass", "body_inertia", "body_ipos"),
        )

    def test_mjlab_events_have_the_ranges(self, robot, fitted, run) -> None:
        found = run(mjlab_config(fitted, robot))
        events, first = found.EVENTS, robot.contract.joints[0]
        armature = fitted.settings["armature_kgm2"][0]
        assert events["armature_kgm2"].func == "joint_armature"
        assert events["armature_kgm2"].params["ranges"][re.escape(first)] == (armature * 0.9, armature * 1.2)
        low, high = events["base_mass_kg"].params["alpha_range"]
        mass = fitted.settings["base_mass_kg"]
        np.testing.assert_allclose(mass * np.exp([2 * low, 2 * high]), [mass - 0.1, mass + 0.3])
        offset = fitted.settings["base_com_offset_m"][0]
        np.testing.assert_allclose(np.array(events["base_com_offset_m"].params["ranges"][0]) + offset, (-0.001, 0.01))
        assert events[f"encoder_bias_rad {first}"].params["bias_range"] == (0.0123, 0.0123)

    def test_mjlab_takes_a_torque_speed_limit(self, go2, run) -> None:
        source = mjlab_config(
            adaptation(go2, {"stall_torque_nm": 30.0, "no_load_speed_rad_s": 20.0, "battery_level": 0.9}), go2
        )
        cfg = run(source).ACTUATORS[0]
        assert type(cfg).__name__ == "DcMotorActuatorCfg"
        assert (cfg.saturation_effort, cfg.velocity_limit) == (27.0, 18.0)
        assert "# NOT" not in source

    def test_isaaclab_has_every_joint_s_values_to_the_last_digit(self, robot, fitted, run) -> None:
        found, s = run(isaaclab_config(fitted, robot)), fitted.settings
        (cfg,) = found.ACTUATORS.values()
        for i, joint in enumerate(robot.contract.joints):
            key = re.escape(joint)
            assert cfg.joint_names_expr[i] == key
            assert cfg.armature[key] == s["armature_kgm2"][i]
            assert cfg.friction[key] == cfg.dynamic_friction[key] == s["dry_friction_nm"][i]
            assert cfg.viscous_friction[key] == s["viscous_friction_nms"][i]
            assert cfg.stiffness[key] == s["motor_strength"][i] * s["kp_nm_per_rad"][i]
            assert cfg.effort_limit[key] == s["motor_strength"][i] * s["torque_limit_nm"][i]
        assert cfg.min_delay == cfg.max_delay == 3

    def test_isaaclab_groups_joints_by_delay(self, go2, run) -> None:
        found = run(isaaclab_config(adaptation(go2, {"delay_s": {"*": 0.002, "*_calf_joint": 0.01}}), go2))
        groups = sorted((len(cfg.joint_names_expr), cfg.max_delay) for cfg in found.ACTUATORS.values())
        assert groups == [(4, 5), (8, 1)]

    def test_isaaclab_events_hold_mass_and_balance(self, robot, fitted, run) -> None:
        events, mass = run(isaaclab_config(fitted, robot)).EVENTS, fitted.settings["base_mass_kg"]
        assert events[f"mass {robot.base}"].params["mass_distribution_params"] == (mass - 0.1, mass + 0.3)
        shift = events["base_com_offset_m"].params["com_range"]
        assert shift["x"] == (-0.001, 0.01)
        assert shift["y"] == (fitted.settings["base_com_offset_m"][1],) * 2
        armature = fitted.settings["armature_kgm2"][0]
        assert events[f"armature_kgm2 {robot.contract.joints[0]}"].params["armature_distribution_params"] == (
            armature * 0.9,
            armature * 1.2,
        )

    @pytest.mark.parametrize("make", [mjlab_config, isaaclab_config])
    def test_the_head_names_what_is_not_in_it(self, robot, fitted, make) -> None:
        comments = "\n".join(line for line in make(fitted, robot).splitlines() if line.startswith("#"))
        for part in (
            "torque_noise_nm, N·m: 1.25",
            "encoder_noise_rad, rad: 0.001",
            "surefoot fit log.parquet",
            robot.hash[:12],
        ):
            assert part in comments
        assert ("encoder_bias_rad, rad: 0.0123" in comments) == (make is isaaclab_config)

    @pytest.mark.parametrize("make", [mjlab_config, isaaclab_config, randomization_table])
    def test_every_setting_is_in_the_file_or_in_its_head(self, go2, make) -> None:
        """Whatever parameter the simulator knows, or comes to know."""
        for name, of in PARAMETERS.items():
            value = 0.87654321 if of.low < 0.87654321 < of.high else 0.3654321
            text = make(adaptation(go2, {name: value}), go2)
            assert repr(value) in text or (name == "motor_strength" and repr(value * 25.0) in text), name


class TestNamesCannotBecomeCode:
    """Names come from files. What they would do if they got out of their strings is to raise."""

    BAD = "x\nraise SystemExit('out')\n'''\"\"\" --> <evil/> \\"

    JOINT = "left'); raise SystemExit('out') #"

    @pytest.fixture
    def evil(self, tmp_path) -> tuple[Robot, Adaptation]:
        content = {**yaml.safe_load(TINY_YAML), "name": self.BAD, "joints": [self.JOINT, "right_hip"]}
        path = tiny(tmp_path, yaml.safe_dump(content))
        model = (tmp_path / "tiny.xml").read_text()
        (tmp_path / "tiny.xml").write_text(model.replace("left_hip", self.JOINT.replace("'", "&apos;")))
        robot = load_robot(path)
        bad = Fitted(self.BAD, "armature_kgm2", (self.JOINT,), "kg·m²", 0.01, 0.02, (0.01, 0.03), (0.0, 1.0))
        settings = {"armature_kgm2": [0.02, 0.03], "torque_noise_nm": [0.5, 0.6]}
        return robot, Adaptation(robot.name, robot.hash, self.BAD, (bad,), settings, provenance={self.BAD: self.BAD})

    @pytest.mark.parametrize("make", [mjlab_config, isaaclab_config])
    def test_in_python(self, evil, make, run) -> None:
        robot, bad = evil
        found = run(make(bad, robot))
        assert found.RANGES["armature_kgm2"] == {robot.contract.joints[0]: (0.01, 0.03)}

    def test_in_yaml(self, evil, tmp_path) -> None:
        robot, bad = evil
        (tmp_path / "table.yaml").write_text(randomization_table(bad, robot))
        assert [spread.name for spread in load_randomization(str(tmp_path / "table.yaml")).spreads] == ["armature_kgm2"]

    def test_in_xml(self, evil, tmp_path) -> None:
        robot, bad = evil
        write_mjcf(tmp_path / "out" / "patched.xml", bad, robot)
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "patched.xml"))
        assert model.joint(robot.contract.joints[0]).armature[0] == 0.02


class TestRandomization:
    def test_ranges_are_the_intervals_within_what_the_simulator_takes(self, go2) -> None:
        knobs = (knob("dry_friction_nm", ("FL_hip_joint",), 0.1, -0.2, 0.3), knob("floor_friction", (), 0.9, 0.4, 0.8))
        found = randomization_ranges(adaptation(go2, {"dry_friction_nm": 0.1, "floor_friction": 0.9}, knobs))
        assert found == {"dry_friction_nm[FL_hip_joint]": (0.0, 0.3), "floor_friction": (0.4, 0.9)}

    def test_training_reads_the_table_back(self, robot, fitted, tmp_path) -> None:
        (tmp_path / "fit.yaml").write_text(randomization_table(fitted, robot))
        table = load_randomization(str(tmp_path / "fit.yaml"))
        spreads = {spread.name: spread for spread in table.spreads}
        armature = fitted.settings["armature_kgm2"]
        assert (spreads["armature_kgm2"].kind, spreads["armature_kgm2"].low) == ("set", min(armature) * 0.9)
        assert spreads["armature_kgm2"].high == max(armature) * 1.2
        assert not spreads["armature_kgm2"].together
        assert (spreads["delay_s"].low, spreads["delay_s"].high, spreads["delay_s"].together) == (0.0061, 0.0081, True)
        assert (spreads["torque_noise_nm"].low, spreads["torque_noise_nm"].high) == (1.25, 1.25)
        assert spreads["base_com_offset_m"].low == min(-0.001, *fitted.settings["base_com_offset_m"])
        worlds = Worlds(robot, 8, threads=1)
        table.draw(worlds, np.random.default_rng(0))
        drawn = worlds.get("armature_kgm2")
        assert drawn.min() >= min(armature) * 0.9
        assert drawn.max() <= max(armature) * 1.2
        assert np.ptp(drawn) > 0

    def test_what_the_table_cannot_say_is_in_its_head(self, robot, fitted) -> None:
        text = randomization_table(fitted, robot)
        assert "# NOT in this table" in text
        assert f"#   dry_friction_nm, N·m: {robot.contract.joints[0]} {fitted.settings['dry_friction_nm'][0]!r}" in text

    def test_an_empty_adaptation_is_an_empty_table(self, go2, tmp_path) -> None:
        (tmp_path / "fit.yaml").write_text(randomization_table(adaptation(go2, {}), go2))
        assert load_randomization(str(tmp_path / "fit.yaml")).spreads == ()

    def test_a_knob_of_a_joint_that_is_not_there_is_refused(self, go2) -> None:
        with pytest.raises(FitError, match="'tail', which go2 does not have"):
            randomization_table(
                adaptation(go2, {"armature_kgm2": 0.1}, (knob("armature_kgm2", ("tail",), 0.1, 0.05, 0.2),)), go2
            )


class TestCommandLine:
    @pytest.fixture
    def verbs(self, monkeypatch) -> None:
        for name in ("export", "show"):
            monkeypatch.setitem(VERBS, f"adapt {name}", Verb("surefoot.cli.adapt", name, "an adaptation"))

    @pytest.fixture
    def fit(self, go2, tmp_path) -> Path:
        flagged = knob("floor_friction", (), 0.912, 0.4, 0.95, flag="at its bound", note="walk on a slope")
        settings = {"armature_kgm2": 0.0234, "floor_friction": 0.912, "torque_noise_nm": 0.5}
        found = adaptation(go2, settings, (knob("armature_kgm2", go2.contract.joints, 0.0234, 0.0211, 0.0255), flagged))
        write_adaptation(tmp_path / "fit" / "adaptation.json", found)
        return tmp_path / "fit"

    @pytest.mark.parametrize(
        ("to", "name", "part"),
        [
            ("mjcf", "a.xml", "0.0234"),
            ("mjlab", "a.py", "0.0234"),
            ("isaaclab", "a.py", "0.0234"),
            ("randomization", "a.yaml", "0.0255"),
        ],
    )
    def test_export(self, surefoot, verbs, fit, to, name, part, here) -> None:
        code, out, error = surefoot("adapt", "export", fit, "--robot", "go2", "--to", to, "--out", f"deep/{name}")
        assert (code, error) == (0, "")
        assert f"wrote deep/{name}" in out
        assert part in (here / "deep" / name).read_text()

    def test_export_takes_the_file_too_and_reads_what_was_written(self, surefoot, verbs, fit, go2, here) -> None:
        assert surefoot("adapt", "export", fit / "adaptation.json", "--to", "mjcf", "--out", "a.xml")[0] == 0
        read = read_adaptation(fit, go2)
        agree(mujoco.MjModel.from_xml_path("a.xml"), simulated(go2, read.settings), FIELDS)

    @pytest.mark.parametrize(
        ("to", "out", "part"),
        [
            ("mjcf", "a.py", "does not end in .xml"),
            ("mjlab", "a.xml", "does not end in .py"),
            ("randomization", "a", ".yaml or .yml"),
        ],
    )
    def test_a_wrong_ending_is_refused(self, surefoot, verbs, fit, to, out, part, here) -> None:
        code, _, error = surefoot("adapt", "export", fit, "--to", to, "--out", out)
        assert (code, error.count("\n")) == (2, 1)
        assert part in error
        assert list(here.iterdir()) == []

    def test_a_folder_without_a_fit_is_refused(self, surefoot, verbs, here) -> None:
        code, _, error = surefoot("adapt", "show", ".")
        assert (code, error.count("\n")) == (2, 1)
        assert "surefoot fit" in error

    def test_show(self, surefoot, verbs, fit, monkeypatch) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        code, out, error = surefoot("adapt", "show", fit)
        assert (code, error) == (0, "")
        row = next(line for line in out.splitlines() if "floor_friction" in line)
        for part in ("0.456", "0.912", "0.4 to 0.95", "at its bound"):
            assert part in row
        assert "floor_friction is at its bound: walk on a slope" in out
        assert "also set, without a knob: torque_noise_nm" in out
