"""What exports say about settings that they do not hold."""

import re

import numpy as np
import pytest
from support.adaptations import adaptation

from surefoot.adapt.export.adapted import adapt, described
from surefoot.robot.legs import joint_types


class TestDescribed:
    @pytest.mark.parametrize("name", ["residual_position_nm_per_rad", "delta_position_rad_per_rad"])
    def test_positions_count_from_the_angles_that_the_simulator_uses(self, robot, name):
        """With the angles of the line, what the line says is what the worlds add."""
        n_joints = robot.contract.n_joints
        adapted = adapt(adaptation(robot, {name: np.linspace(-2.0, -1.0, n_joints).tolist()}), robot)
        formula, _, angles = described(adapted, name).partition("; the usual pose, rad, ")
        assert "position - usual pose)" in formula
        assert "default pose" not in formula
        pose = np.full(n_joints, np.nan)
        for label, places in joint_types(robot).items():
            found = re.search(rf"\b{re.escape(label)} (-?[\d.e-]+)", angles)
            assert found, (label, angles)
            pose[list(places)] = float(found[1])
        position = np.array(robot.contract.pose_rad)[None] + 0.1
        worlds, nothing = adapted.worlds, np.zeros((1, n_joints))
        function = worlds._terms if name.startswith("residual") else worlds._delta_terms.function
        np.testing.assert_array_equal(function(nothing, position, nothing), worlds.get(name) * (position - pose))

    def test_the_direction_of_motion_is_blended_as_in_the_simulator(self, robot):
        adapted = adapt(adaptation(robot, {"residual_direction_nm": -1.0}), robot)
        found = re.search(r"tanh\(velocity / (\S+) rad/s\)", described(adapted, "residual_direction_nm"))
        assert found
        nothing = np.zeros((1, robot.contract.n_joints))
        speed = np.full_like(nothing, 0.3)
        np.testing.assert_allclose(adapted.worlds._terms(nothing, nothing, speed), -np.tanh(0.3 / float(found[1])))

    def test_what_does_not_count_from_a_pose_says_nothing_about_one(self, robot):
        adapted = adapt(adaptation(robot, {"residual_velocity_nms": -0.1}), robot)
        assert described(adapted, "residual_velocity_nms").endswith("for all (torque += it * velocity)")
