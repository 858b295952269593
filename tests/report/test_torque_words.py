"""Torque that the model has no part for, in words."""

from dataclasses import replace

from surefoot.adapt import Fitted
from surefoot.report.torque_words import torque_words


class TestTorqueWords:
    def test_words(self, go2) -> None:
        where = tuple(joint for joint in go2.contract.joints if joint.endswith("calf_joint"))

        def knob(parameter: str, value: float, half: float) -> Fitted:
            return Fitted(
                f"{parameter}[calf_joint]",
                parameter,
                where,
                "",
                0.0,
                value,
                (value - half, value + half),
                (-100.0, 100.0),
            )

        spring = (knob("residual_position_nm_per_rad", -12.1, 0.8), knob("residual_constant_nm", -3.63, 0.3))
        assert torque_words(spring, go2) == [
            "At calf_joint it looks like a spring of 12.1 ± 0.8 N·m/rad at rest at -1.80 rad."
        ]
        unsure = (knob("residual_position_nm_per_rad", -1.0, 0.8), knob("residual_constant_nm", 0.1, 0.3))
        assert torque_words(unsure, go2) == []
        assert torque_words((replace(spring[0], value=0.1), knob("residual_constant_nm", 2.0, 0.1)), go2) == [
            "At calf_joint it looks like a constant pull of +2.00 N·m."
        ]
