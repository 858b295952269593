"""Families of changes: their knobs, and the torque that they add."""

import numpy as np
import pytest

from surefoot.errors import FitError
from surefoot.fit.family import FitSettings, make_space
from surefoot.fit.ladder import JOINT, STATIC, TYPE
from surefoot.robot.legs import joint_types, usual_pose
from surefoot.sim import Worlds


class TestTorque:
    def test_knobs_by_type_and_by_joint(self, robot) -> None:
        families = {"static": STATIC, "type": TYPE, "joint": JOINT}
        counts = {
            name: len(make_space(robot, FitSettings(free=("delay_s",), family=family)).knobs)
            for name, family in families.items()
        }
        assert counts == {
            "static": 1,
            "type": 1 + 3 * len(joint_types(robot)),
            "joint": 1 + 3 * robot.contract.n_joints,
        }

    def test_terms_are_a_spring(self, robot) -> None:
        """A constant and a slope over position move the robot as MuJoCo's own spring does."""
        pose, stiffness, rest = usual_pose(robot), 8.0, 0.3
        worlds = Worlds(robot, 2, threads=1)
        worlds.set("spring_stiffness_nm_per_rad", stiffness, ids=np.array([0]))
        worlds.set("spring_rest_rad", pose + rest, ids=np.array([0]))
        worlds.set("residual_position_nm_per_rad", -stiffness, ids=np.array([1]))
        worlds.set("residual_constant_nm", stiffness * rest, ids=np.array([1]))
        worlds.reset()
        for _ in range(10):
            worlds.step(np.zeros((2, robot.contract.n_joints)))
        own, added = worlds.sensors.joint_position_rad
        assert np.abs(own - np.array(robot.contract.pose_rad)).max() > 0.01  # it pulls
        np.testing.assert_allclose(added, own, atol=2e-3)  # implicit in the one, explicit in the other

    def test_every_term_acts_and_zero_does_not(self, robot) -> None:
        names = (
            "residual_constant_nm",
            "residual_position_nm_per_rad",
            "residual_velocity_nms",
            "residual_direction_nm",
            "residual_error_nm_per_rad",
        )
        rng = np.random.default_rng(0)
        actions = rng.normal(0, 0.3, (5, 1, robot.contract.n_joints))
        worlds = Worlds(robot, len(names) + 2, threads=1)
        for i, name in enumerate(names):
            worlds.set(name, 0.5, ids=np.array([i]))
        worlds.reset()
        for action in actions:
            worlds.step(np.repeat(action, worlds.n, axis=0))
        seen = worlds.sensors.joint_position_rad
        np.testing.assert_array_equal(seen[-1], seen[-2])
        assert all(np.abs(seen[i] - seen[-1]).max() > 1e-4 for i in range(len(names)))


class TestFamily:
    def test_a_fixed_pattern_leaves_the_other_joints_free(self, robot):
        joints = robot.contract.joints
        pattern = "*_calf_joint" if robot.name == "go2" else "*.tibia"
        held = [name for name in joints if name.endswith(pattern[1:])]
        family = make_space(robot, FitSettings(free=("dry_friction_nm",), fix={"dry_friction_nm": {pattern: 0.7}}))
        assert [knob.label for knob in family.knobs] == [name for name in joints if name not in held]
        settings = family.at(np.full(len(family.knobs), 1.0)).parameters["dry_friction_nm"]
        found = dict(zip(joints, settings, strict=True))
        for name in joints:
            expected = 0.7 if name in held else family.knobs[0].start + family.knobs[0].step
            assert found[name] == pytest.approx(expected)

    def test_a_fixed_pattern_within_a_tie(self, go2):
        family = make_space(
            go2, FitSettings(free=("dry_friction_nm",), tie="all", fix={"dry_friction_nm": {"FL_*": 0.7}})
        )
        assert len(family.knobs) == 1
        assert family.knobs[0].entries == tuple(range(3, 12))
        assert family.at(np.array([1.0])).parameters["dry_friction_nm"] == pytest.approx([0.7] * 3 + [0.45] * 9)
        assert family.at(np.array([0.0])).parameters["dry_friction_nm"] == pytest.approx([0.7] * 3 + [0.2] * 9)

    def test_a_fixed_axis_is_not_searched(self, robot):
        family = make_space(robot, FitSettings(free=("base_com_offset_m",), fix={"base_com_offset_m": {"x": 0.02}}))
        assert [knob.label for knob in family.knobs] == ["y", "z"]
        assert family.at(np.array([1.0, 0.0])).parameters["base_com_offset_m"] == pytest.approx([0.02, 0.015, 0.0])

    def test_what_is_fixed_for_all_is_not_searched(self, robot):
        family = make_space(robot, FitSettings(free=("dry_friction_nm", "delay_s"), tie="all", fix={"delay_s": 0.004}))
        assert [knob.name for knob in family.knobs] == ["dry_friction_nm"]
        assert family.at(np.zeros(1)).parameters["delay_s"] == [0.004] * robot.contract.n_joints

    @pytest.mark.parametrize(
        ("fix", "says"),
        [
            ({"dry_friction_nm": 0.1}, "everything is fixed"),
            ({"dry_friction_nm": {"*": 0.1}}, "everything is fixed"),
            ({"dry_friction": 0.1}, "dry_friction_nm"),
            ({"dry_friction_nm": {"*_elbow": 0.1}}, "_elbow"),
            ({"delay_s": -1.0}, "delay_s"),
            ({"delay_s": 2.0}, "delay_s"),
            ({"delay_s": float("nan")}, "delay_s"),
            ({"floor_friction": {"x": 1.0}}, "one value per world"),
        ],
    )
    def test_what_cannot_be_fixed_is_refused(self, go2, fix, says):
        with pytest.raises(FitError, match=says):
            make_space(go2, FitSettings(free=("dry_friction_nm",), fix=fix))
