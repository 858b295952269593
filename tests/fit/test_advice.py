"""Each knob that the log did not tell gets an advice."""

import numpy as np
import pytest

from surefoot.adapt import make_knobs
from surefoot.fit.advice import flag_of
from surefoot.sim.parameters import PARAMETERS, Parameter


class TestAdvice:
    def test_every_parameter_that_walks_are_fitted_with_has_an_advice(self):
        from surefoot.fit.family import STAND, WALKING

        assert all(PARAMETERS[name].excitation != Parameter.excitation for name in {*WALKING, *STAND})

    @pytest.mark.parametrize(
        ("value", "half_width", "data_share", "flag", "says"),
        [
            (0.5, 0.3, 1.0, "", ""),
            (4.0, 0.3, 1.0, "at its bound", "upper bound, 4 N·m"),
            (0.0, 0.3, 1.0, "", ""),
            (0.0, 2.0, 1.0, "at its bound", "lower bound, 0 N·m"),
            (0.5, 2.0, 1.0, "not identifiable", "slow motion"),
            (0.5, 0.3, 0.4, "not identifiable", "slow motion"),
            (0.5, np.inf, 0.0, "not identifiable", "slow motion"),
        ],
    )
    def test_flags(self, robot, value, half_width, data_share, flag, says):
        knob = make_knobs(robot, ("dry_friction_nm",), "all")[0]
        knob = type(knob)(**{**vars(knob), "start": 0.0})
        found, why = flag_of(knob, knob.coordinate(value), half_width, data_share)
        assert found == flag
        assert says in why
        assert bool(why) == bool(flag)
