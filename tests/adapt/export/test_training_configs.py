"""Configurations for mjlab and Isaac Lab: every value to the last digit, and what is not in them is named."""

import re

import mujoco
import numpy as np
import pytest
from support.adaptations import adaptation, agree, simulated
from support.added import found, network

from surefoot.adapt.export import isaaclab_config, mjlab_config, patched_mjcf, randomization_table
from surefoot.sim.parameters import PARAMETERS


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


class TestHeadsOfOtherExports:
    @pytest.mark.parametrize("make", [patched_mjcf, mjlab_config, isaaclab_config])
    def test_name_what_they_leave_out_and_where_it_is(self, robot, make) -> None:
        text = make(found(robot, {"delta_error_rad_per_rad": 0.25}, network(robot)), robot).replace("- -", "--")
        assert (
            "delta_error_rad_per_rad, rad/rad: 0.25 for all (at the policy's rate, target += it * (target - measured"
            " position))" in text
        )
        assert f"a network that adds to the torque of {robot.contract.n_joints - 1} joints, N·m" in text
        for part in ("--to numpy", "--to onnx"):
            assert part in text

    @pytest.mark.parametrize("make", [patched_mjcf, mjlab_config, isaaclab_config, randomization_table])
    def test_say_nothing_of_it_where_nothing_is_added(self, go2, make) -> None:
        assert "numpy" not in make(found(go2, {"torque_noise_nm": 0.5}), go2)

    def test_the_table_of_ranges_holds_terms_but_no_network(self, go2) -> None:
        assert "numpy" not in randomization_table(found(go2, {"residual_constant_nm": 0.5}), go2)
        assert "a network that adds to the targets" in randomization_table(found(go2, {}, network(go2, "action")), go2)
