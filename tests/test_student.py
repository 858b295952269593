"""Student's t distribution against SciPy's."""

import math

import pytest
from scipy import stats

from surefoot.student import student_half_width


class TestStudent:
    @pytest.mark.parametrize(("level", "right_to"), [(0.9, 1e-3), (0.975, 5e-3), (0.99, 1e-2)])
    @pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 39, 10_000])
    def test_is_scipys(self, level, right_to, degrees) -> None:
        expected = stats.t.ppf(0.5 + level / 2, degrees)
        assert student_half_width(level, degrees) == pytest.approx(expected, rel=right_to)

    def test_one_sample_tells_nothing(self) -> None:
        assert student_half_width(0.9, 0) == math.inf
