"""Spreads over seeds, and methods that are told apart."""

import numpy as np
import pytest
from paper_tables import spread
from paper_tables.spread import Spread, apart, judge, shared
from scipy import stats


class TestSpread:
    def test_student(self):
        assert pytest.approx([stats.t.ppf(0.975, n) for n in range(1, 11)], abs=6e-4) == spread.STUDENT

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_another_seed_is_inside_19_times_of_20(self, n):
        drawn = np.random.default_rng(n).normal(3.0, 0.5, (4000, n + 1))
        inside = [judge(row[-1], Spread(tuple(row[:-1])))[0] for row in drawn]
        assert np.mean(inside) == pytest.approx(0.95, abs=0.012)

    def test_methods_are_compared_robot_by_robot(self):
        """A robot that is hard for both methods does not hide that one is better on each of them."""
        low = Spread((1.0, 2.0, 9.0))
        assert apart(low, Spread((1.4, 2.5, 9.4)))
        assert not apart(Spread((1.4, 2.5, 9.4)), low)
        assert not apart(low, Spread((1.4, 1.5, 9.4)))
        assert not apart(low, Spread((1.4, 2.5, 9.4), of_seeds=(2, 0, 1)))  # the same values, of other robots
        assert not apart(Spread((1.0,)), Spread((9.0, 9.1)))

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_equal_methods_are_told_apart_one_time_in_twenty(self, n):
        drawn = np.random.default_rng(n).normal(0.0, 1.0, (4000, 2, n))
        pairs = [(Spread(tuple(one)), Spread(tuple(other))) for one, other in drawn]
        assert np.mean([apart(*pair) or apart(*pair[::-1]) for pair in pairs]) == pytest.approx(0.05, abs=0.012)

    def test_means_are_compared_over_the_same_robots(self):
        few, many = shared(Spread((1.0, 2.0), of_seeds=(0, 2)), Spread((5.0, 50.0, 7.0)))
        assert (few.values, many.values, many.by_seed) == ((1.0, 2.0), (5.0, 7.0), {0: 5.0, 2: 7.0})
        apart_from = Spread((1.0,), of_seeds=(4,)), Spread((5.0,))
        assert shared(*apart_from) == apart_from
