"""What a fit added, drawn as curves and told in words."""

import re
from dataclasses import replace

import numpy as np
from support.fit_results import made, measured

from surefoot.adapt import Adaptation, Fitted
from surefoot.fit.family import Family
from surefoot.fit.result import FitResult, Point
from surefoot.report.added_figures import added, support
from surefoot.report.fit_page import fit_page
from surefoot.report.torque_words import torque_words
from surefoot.robot.legs import joint_types, usual_pose


def spring(robot, half: float = 0.8) -> FitResult:
    """A fit that found a spring on one type of joint."""
    label, places = list(joint_types(robot).items())[-1]
    joints = tuple(robot.contract.joints[k] for k in places)
    knobs = tuple(
        Fitted(f"{name}[{label}]", name, joints, unit, 0.0, value, (value - half, value + half), (-100.0, 100.0))
        for name, unit, value in (
            ("residual_constant_nm", "N·m", -3.0),
            ("residual_position_nm_per_rad", "N·m/rad", -12.0),
        )
    )
    settings = {}
    for knob in knobs:
        values = np.zeros(robot.contract.n_joints)
        values[list(places)] = knob.value
        settings[knob.parameter] = values.tolist()
    gap = measured(robot, 0.05, 0.04, 0.06)
    result = made(robot, gap, gap, None, None)
    adaptation = Adaptation(robot.name, robot.hash, "residual", knobs, settings)
    steps = tuple(replace(step, values=(-3.0, -12.0)) for step in result.steps)
    return replace(result, adaptation=adaptation, correlation=np.eye(2), steps=steps)


class TestShown:
    def test_a_spring_is_a_line_with_a_band(self, robot) -> None:
        result = spring(robot)
        (over, velocity), *rest = added(result, robot)
        assert not rest
        pose = usual_pose(robot)[robot.contract.joints.index(result.adaptation.knobs[0].where[0])]
        np.testing.assert_allclose(over.total, -3.0 - 12.0 * (over.x - pose), atol=1e-9)
        np.testing.assert_allclose(over.half_width, 0.8 * np.hypot(1.0, over.x - pose), atol=1e-9)
        np.testing.assert_allclose(velocity.total, -3.0, atol=1e-9)
        assert over.support == support(result, result.adaptation.knobs[0].where, "position")
        assert over.x[0] < over.support[0] < over.support[1] < over.x[-1]

    def test_the_page_draws_it_and_hatches_the_rest(self, robot) -> None:
        page = fit_page(spring(robot), robot, {"command": "surefoot fit x"}, "A fit")
        assert "it looks like a spring of 12" in page
        assert "over position" in page
        assert "nothing is claimed" in page
        assert len(re.findall(r"over velocity", page)) >= 1

    def test_terms_and_network_are_told_as_one_curve(self, go2) -> None:
        joints = tuple(joint for joint in go2.contract.joints if "calf" in joint)
        knots = tuple(
            Point(joints, "position", at, value, 0.1) for at, value in ((-2.0, 4.0), (-1.5, 0.0), (-1.0, 2.0))
        )
        slope = Fitted(
            "x[calf_joint]", "residual_position_nm_per_rad", joints, "N·m/rad", 0.0, -2.0, (-2.1, -1.9), (-100.0, 100.0)
        )
        assert torque_words((slope,), go2, knots) == [
            "At calf_joint over position, N·m at rad: +5.00 at -2.00, +0.00 at -1.50, +1.00 at -1.00; not linear."
        ]
        straight = tuple(replace(point, value=2 * (point.at + 1.5)) for point in knots)  # takes the slope away again
        assert torque_words((slope,), go2, straight) == []
        assert torque_words((), go2, tuple(replace(point, half_width=5.0) for point in knots)) == []


class TestWords:
    def test_names(self) -> None:
        names = [Family("action").name, Family("torque", per_joint=True, curved=True).name]
        assert names == ["action-delta by type", "residual network by joint"]
