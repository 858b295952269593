"""Figures of a fit: parameters in words."""

import pytest

from surefoot.adapt.curves import CURVE
from surefoot.report.fit_figures import plain_parameter
from surefoot.sim.parameters import PARAMETERS

UNITS = {"kgm2", "nm", "nms", "nm2", "rad", "per", "c", "kw", "kg", "s", "m", "sqrt"}


class TestPlainParameter:
    @pytest.mark.parametrize("name", [*PARAMETERS, *CURVE.values()])
    def test_no_part_of_a_unit_is_left(self, name) -> None:
        words = plain_parameter(name).split()
        assert words
        assert not UNITS & set(words)
        assert name.startswith("_".join(words))

    def test_no_two_are_called_the_same(self) -> None:
        assert len({plain_parameter(name) for name in PARAMETERS}) == len(PARAMETERS)

    @pytest.mark.parametrize(
        ("name", "plain"),
        [
            ("dry_friction_nm", "dry friction"),
            ("delta_position_rad_per_rad", "delta position"),
            ("gyro_drift_rad_s_per_sqrt_s", "gyro drift"),
            ("motor_strength", "motor strength"),
        ],
    )
    def test_in_words(self, name, plain) -> None:
        assert plain_parameter(name) == plain
