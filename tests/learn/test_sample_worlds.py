"""What is drawn around an adaptation, and whether left and right are alike in it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from support.finetuning import adapted, by_type, knob, one_sided

from surefoot.errors import FitError
from surefoot.learn.env import WalkEnv
from surefoot.learn.mirror import SymmetryAugmentation
from surefoot.learn.randomize import load_randomization
from surefoot.learn.sample_worlds import asymmetry, world_sampler
from surefoot.learn.task import walk
from surefoot.robot.legs import joint_types
from surefoot.sim import Worlds

MILD = load_randomization("mild")


class TestWhatIsDrawn:
    def test_intervals_are_widened_around_the_value_and_cut_at_the_bounds(self, go2):
        joints = go2.contract.joints
        knobs = [
            knob("dry_friction_nm", joints[:1], 0.5, 0.4, 0.7),
            knob("dry_friction_nm", joints[1:2], 0.1, 0.0, 0.2),
            knob("motor_strength", joints[:1], 1.0, 0.9, 1.2, bounds=(0.4, 1.25)),
        ]
        found = world_sampler(adapted(go2, {"dry_friction_nm": 0.5, "motor_strength": 1.0}, knobs), go2, 1.5, MILD)
        assert [(span.low, span.high) for span in found.ranges] == [
            pytest.approx(p) for p in ((0.35, 0.8), (0.0, 0.25), (0.85, 1.25))
        ]
        held = world_sampler(adapted(go2, {"dry_friction_nm": 0.5, "motor_strength": 1.0}, knobs), go2, 0.0, MILD)
        assert all(span.low == span.high for span in held.ranges)

    @pytest.mark.parametrize("flag", ["not identifiable", "no effect"])
    def test_what_the_log_did_not_tell_is_drawn_from_a_plausible_range(self, go2, flag):
        joints = go2.contract.joints
        knobs = [
            knob("dry_friction_nm", joints[:1], 1.0, 0.0, 4.0, flag=flag),
            knob("armature_kgm2", joints[:1], 0.03, 0.001, 0.2, flag=flag),
        ]
        found = world_sampler(adapted(go2, {"dry_friction_nm": 1.0, "armature_kgm2": 0.03}, knobs), go2, 1.5, MILD)
        assert all(span.cut for span in found.ranges)
        assert (found.ranges[0].low, found.ranges[0].high) == pytest.approx((0.75, 1.25))
        assert (found.ranges[1].low, found.ranges[1].high) == pytest.approx((0.02, 0.045))

    def test_every_world_is_another_robot_within_the_spans(self, robot):
        adaptation = by_type(robot)
        found = world_sampler(adaptation, robot, 1.5, MILD)
        worlds, rng = Worlds(robot, 32), np.random.default_rng(0)
        for _ in range(3):  # drawing again does not pile up
            seen = found.draw(worlds, rng)
        assert np.abs(seen).max() <= 1
        friction = worlds.get("dry_friction_nm")
        for span, places in zip(found.ranges, joint_types(robot).values(), strict=False):
            values = friction[:, list(places)]
            assert (values == values[:, :1]).all()  # joints of one knob together
            assert len(np.unique(values[:, 0])) == 32
            assert ((values >= span.low) & (values <= span.high)).all()
        assert (worlds.get("delay_s") == worlds.get("delay_s")[:, :1]).all()

    def test_what_the_fit_set_and_what_it_trades_against_is_not_drawn_from_the_table(self, go2):
        rest = {spread.name for spread in world_sampler(by_type(go2), go2, 1.5, MILD).rest.spreads}
        assert {"floor_friction", "base_mass_kg", "encoder_bias_rad", "gyro_noise_rad_s"} <= rest
        assert not rest & {"dry_friction_nm", "delay_s", "kp_nm_per_rad", "kd_nms_per_rad", "motor_strength"}
        only_mass = world_sampler(
            adapted(go2, {"link_mass_kg": [1.0] * len(Worlds(go2, 1).names("link_mass_kg"))}), go2, 1.5, MILD
        )
        rest = {spread.name for spread in only_mass.rest.spreads}
        assert "base_mass_kg" not in rest
        assert "kp_nm_per_rad" in rest

    def test_torque_noise_shakes_as_much_at_another_rate(self, go2):
        """At larger steps the same white noise is a smaller number: impulses of noise add up like its square root."""
        found = world_sampler(
            adapted(go2, {"torque_noise_nm": 2.0}, physics_hz=500.0), go2, 1.5, load_randomization("none")
        )
        speeds = []
        for hz in (500.0, 250.0):
            worlds = Worlds(go2, 256, physics_hz=hz, hang=True)
            found.draw(worlds, np.random.default_rng(0))
            for _ in range(5):
                worlds.step(np.zeros((256, 12)))
            speeds.append(worlds.joint_velocity_rad_s.std())
        assert worlds.get("torque_noise_nm")[0, 0] == pytest.approx(2 / np.sqrt(2))
        assert speeds[1] == pytest.approx(speeds[0], rel=0.1)

    def test_a_knob_of_a_joint_that_is_not_there(self, go2):
        lost = adapted(go2, {"dry_friction_nm": 0.3}, [knob("dry_friction_nm", ["tail"], 0.3, 0.2, 0.4)])
        with pytest.raises(FitError, match="'tail', which go2 does not have"):
            world_sampler(lost, go2, 1.5, MILD)


class TestSymmetry:
    def reason(self, robot, adaptation) -> str:
        return asymmetry(adaptation, world_sampler(adaptation, robot, 1.5, MILD), robot)

    def test_equal_left_and_right_is_symmetric(self, robot):
        assert self.reason(robot, by_type(robot)) == ""

    def test_one_joint_is_enough_to_be_asymmetric(self, robot):
        first = robot.contract.joints[0]
        said = self.reason(robot, one_sided(robot))
        assert first in said
        assert robot.contract.joints[robot.mirror.index[0]] in said

    def test_angles_turn_in_the_mirror(self, go2):
        hips = np.zeros(12)
        hips[[0, 3]] = 0.02, 0.02
        said = self.reason(go2, adapted(go2, {"encoder_bias_rad": hips.tolist()}))
        assert "encoder_bias_rad differs" in said
        assert "FR_hip_joint 0.02 rad, which is -0.02 in a mirror" in said
        hips[[0, 3]] = 0.02, -0.02
        assert self.reason(go2, adapted(go2, {"encoder_bias_rad": hips.tolist()})) == ""
        assert self.reason(go2, adapted(go2, {"dry_friction_nm": np.abs(hips).tolist()})) == ""

    def test_a_weight_to_the_side(self, go2):
        assert "to the side" in self.reason(go2, adapted(go2, {"base_com_offset_m": [0.0, 0.01, 0.0]}))
        assert self.reason(go2, adapted(go2, {"base_com_offset_m": [0.02, 0.0, -0.01]})) == ""

    def test_ranges_that_differ(self, go2):
        joints = go2.contract.joints
        both = [
            knob("dry_friction_nm", [joints[2]], 0.3, 0.2, 0.4),
            knob("dry_friction_nm", [joints[5]], 0.3, 0.2, 0.4),
        ]
        settings = {"dry_friction_nm": [0.3] * 12}
        assert self.reason(go2, adapted(go2, settings, both)) == ""
        both[1] = replace(both[1], interval=(0.1, 0.4))
        assert "range of dry_friction_nm" in self.reason(go2, adapted(go2, settings, both))

    @pytest.mark.parametrize(("turned", "symmetric"), [(False, False), (True, True)])
    def test_added_functions_are_tried(self, go2, turned, symmetric, monkeypatch):
        """A torque that pushes all hips the same way is not its own image; one that follows the joint is."""
        adaptation = by_type(go2)
        found = world_sampler(adaptation, go2, 1.5, MILD)
        apply = type(found.physics).apply

        def and_more(physics, worlds):
            apply(physics, worlds)
            worlds.residual = (lambda e, p, v: np.tanh(e)) if turned else (lambda e, p, v: np.full(e.shape, 0.5))

        monkeypatch.setattr(type(found.physics), "apply", and_more)
        assert (asymmetry(adaptation, found, go2) == "") is symmetric

    def test_a_robot_without_a_mirror(self, go2):
        assert "declares no left-right symmetry" in self.reason(replace(go2, mirror=None), by_type(go2))

    def test_twice_mirrored_is_the_same(self, robot):
        task = walk(robot)
        found = world_sampler(by_type(robot), robot, 1.5, task.randomization)
        env = WalkEnv(robot, replace(task, randomization=found.rest), 4, draws=found)
        mirror = SymmetryAugmentation(robot, env.mirror_parts())
        obs = env.get_observations()
        once, _ = mirror(None, obs, None)
        twice, _ = mirror(None, once[4:], None)
        torch.testing.assert_close(twice["critic"][4:], obs["critic"])
        knobs = len(found.ranges)
        torch.testing.assert_close(
            once["critic"][4:, -knobs:], obs["critic"][:, -knobs:]
        )  # joints of a kind: the same on both sides
