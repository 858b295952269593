"""Estimates from episodes, and falls counted in pairs."""

import math

import numpy as np
import pytest
from scipy import stats

from surefoot.verify.compare import Estimate, FallCounts, estimate, widened


class TestEstimates:
    def test_an_interval_covers_its_mean_as_often_as_it_says(self) -> None:
        rows = np.random.default_rng(0).normal(3.0, 2.0, (2000, 8))
        inside = [one.low < 3.0 < one.high for one in map(estimate, rows)]
        assert np.mean(inside) == pytest.approx(0.9, abs=0.02)

    def test_widened_for_the_best_of_several(self) -> None:
        values = np.array([1.0, 2.0, 4.0, 4.5])
        found, expected = widened(estimate(values), 4), estimate(values, 1 - 0.1 / 4)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))

    def test_one_episode_tells_no_interval_and_none_tells_nothing(self) -> None:
        assert estimate(np.array([2.0, math.nan])) == Estimate(2.0, -math.inf, math.inf, 1)
        assert math.isnan(estimate(np.array([math.nan])).value)


class TestFalls:
    @pytest.mark.parametrize(("only_before", "only_after"), [(0, 0), (0, 4), (3, 5), (7, 1)])
    def test_chance_is_the_sign_test(self, only_before, only_after) -> None:
        both = 2
        found = FallCounts(50, both + only_before, both + only_after, only_after).chance
        differ = only_before + only_after
        assert found == pytest.approx(
            stats.binomtest(only_after, differ, alternative="greater").pvalue if differ else 1.0
        )

    def test_counted_in_pairs(self) -> None:
        old, new = np.array([1, 1, 0, 0, 0], bool), np.array([1, 0, 1, 1, 0], bool)
        assert FallCounts.of(old, new) == FallCounts(5, 2, 3, 2)
