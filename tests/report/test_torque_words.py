"""Torque that the model has no part for, in words."""

import re
from dataclasses import replace

import numpy as np
import pytest

from surefoot.adapt import Fitted
from surefoot.fit.result import Point
from surefoot.report.torque_words import torque_words
from surefoot.sim.residual import SLOW_RAD_S

CALVES = tuple(f"{leg}_calf_joint" for leg in ("FL", "FR", "RL", "RR"))


def knob(parameter: str, value: float, half: float) -> Fitted:
    interval = (value - half, value + half)
    return Fitted(f"{parameter}[calf_joint]", parameter, CALVES, "", 0.0, value, interval, (-100.0, 100.0))


class TestTorqueWords:
    def test_words(self, go2) -> None:
        spring = (knob("residual_position_nm_per_rad", -12.1, 0.8), knob("residual_constant_nm", -3.63, 0.3))
        assert torque_words(spring, go2) == [
            "At calf_joint it looks like a spring of 12.1 ± 0.8 N·m/rad at rest at -1.80 rad."
        ]
        unsure = (knob("residual_position_nm_per_rad", -1.0, 0.8), knob("residual_constant_nm", 0.1, 0.3))
        assert torque_words(unsure, go2) == []
        assert torque_words((replace(spring[0], value=0.1), knob("residual_constant_nm", 2.0, 0.1)), go2) == [
            "At calf_joint it looks like a constant pull of +2.00 N·m."
        ]

    @pytest.mark.parametrize(
        ("parameter", "says"),
        [
            ("residual_velocity_nms", "a torque of -0.500 N·m per rad/s of speed"),
            ("residual_direction_nm", "a torque of -0.50 N·m along the motion"),
            ("residual_error_nm_per_rad", "a position gain that is off by -0.5 N·m/rad"),
            ("delta_velocity_s", "a target that leads by -0.5000 rad per rad/s of speed"),
        ],
    )
    def test_every_term_has_words(self, go2, parameter, says) -> None:
        assert torque_words((knob(parameter, -0.5, 0.01),), go2) == [f"At calf_joint it looks like {says}."]

    @pytest.mark.parametrize(
        ("kind", "parameter", "weight"),
        [
            ("error", "residual_error_nm_per_rad", lambda x: x),
            ("error", "delta_error_rad_per_rad", lambda x: x),
            ("velocity", "residual_velocity_nms", lambda x: x),
            ("velocity", "residual_direction_nm", lambda x: np.tanh(x / SLOW_RAD_S)),
            ("velocity", "delta_velocity_s", lambda x: x),
            ("position", "residual_position_nm_per_rad", lambda x: x + 1.5),
            ("position", "action_offset_rad", lambda x: 1.0),
            ("velocity", "residual_constant_nm", lambda x: 0.0),
        ],
    )
    def test_curves_hold_the_terms_that_they_were_added_to(self, go2, kind, parameter, weight) -> None:
        knots = tuple(Point(CALVES, kind, at, at**2, 1e-3) for at in (-2.0, 1.0, 3.0))
        (sentence,) = torque_words((knob(parameter, -0.5, 0.01),), go2, knots)
        told = [(float(at), float(value)) for value, at in re.findall(r"([+-][\d.]+) at (-?[\d.]+)", sentence)]
        assert told == [(x, pytest.approx(x**2 - 0.5 * weight(x), abs=6e-3)) for x in (-2.0, 1.0, 3.0)]
