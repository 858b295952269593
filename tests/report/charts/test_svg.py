"""Numbers, ticks and paths of figures."""

import math
import re

import numpy as np
import pytest

from surefoot.report.charts import number
from surefoot.report.charts.svg import Scale, limits, path, thinned


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "−1.5"),
            (0.012345, "0.0123"),
            (123.456, "123"),
            (1234.5, "1234"),
            (99999.0, "99999"),
            (1e5, "1e5"),
            (1.5e-5, "1.5e−5"),
            (0.9996, "1"),
            (100.0, "100"),
            (math.nan, "–"),
            (math.inf, "∞"),
            (-math.inf, "−∞"),
            (5e-324, "4.94e−324"),
            (1.7e308, "1.7e308"),
        ],
    )
    def test_short(self, value, shown) -> None:
        assert number(value) == shown

    @pytest.mark.parametrize(
        ("low", "high"), [(0, 1), (-3, 17), (0.1999, 0.2001), (1e6, 1e6 + 0.01), (-1e-7, 2e-7), (0, 5e99), (-4.2, 4.3)]
    )
    @pytest.mark.parametrize("most", [2, 3, 5, 12])
    def test_ticks_are_few_distinct_and_inside(self, low, high, most) -> None:
        ticks = Scale(low, high, 0, 100).ticks(most)
        assert 2 <= len(ticks) <= 2.6 * most + 1
        assert all(low - 1e-6 * (high - low) <= value <= high + 1e-6 * (high - low) for value, _ in ticks)
        assert len({shown for _, shown in ticks}) == len(ticks)
        for value, shown in ticks:
            assert float(shown.replace("−", "-")) == pytest.approx(value, rel=1e-9, abs=1e-9 * (high - low))

    def test_logarithmic_ticks(self) -> None:
        assert [shown for _, shown in Scale(0.012, 3.0, 0, 100, log=True).ticks(4)] == ["0.03", "0.1", "0.3", "1", "3"]
        assert len(Scale(1e-12, 1e12, 0, 100, log=True).ticks(5)) <= 6

    def test_limits_are_never_empty(self) -> None:
        assert limits(np.array([])) is None
        assert limits(np.array([np.nan, np.inf])) is None
        for values in ([0.0], [5.0, 5.0], [-1e-300], [1e9, 1e9 + 1e-6], [np.nan, 2.0], [1e300, 3.0]):
            low, high = limits(np.array(values))
            assert low < high
        assert limits(np.array([0.0, 10.0])) == (-0.5, 10.5)

    def test_values_outside_are_put_on_the_edge(self) -> None:
        np.testing.assert_allclose(Scale(0, 10, 100, 200)([-5, 0, 5, 20]), [100, 100, 150, 200])


class TestPaths:
    def test_relative_steps_lead_back_to_the_points(self) -> None:
        """Rounding must not add up along a line."""
        rng = np.random.default_rng(0)
        x, y = np.sort(rng.uniform(0, 800, 2000)), rng.uniform(0, 200, 2000)
        places = re.findall(r"([Ml])(-?[\d.]+),(-?[\d.]+)", path(x, y))
        assert [kind for kind, _, _ in places] == ["M"] + ["l"] * 1999
        drawn = np.cumsum([(float(a), float(b)) for _, a, b in places], axis=0)
        np.testing.assert_allclose(drawn, np.stack([x, y], axis=1), atol=0.051)

    def test_nan_breaks_the_line(self) -> None:
        assert path(np.array([0, 1, 2, 3.0]), np.array([0, np.nan, 5, 6.0])).count("M") == 2
        assert path(np.array([np.nan]), np.array([1.0])) == ""

    def test_thinning_keeps_spikes_ends_of_gaps_and_order(self) -> None:
        x, y = np.arange(100_000.0), np.sin(np.arange(100_000) / 50)
        y[31_415], y[77_777] = 40.0, -40.0
        y[50_000:52_000] = np.nan
        few_x, few_y = thinned(x, y, 300)
        assert len(few_x) <= 600
        assert np.nanmax(few_y) == 40
        assert np.nanmin(few_y) == -40
        assert (np.diff(few_x) > 0).all()
        assert np.isnan(few_y[(few_x > 50_400) & (few_x < 51_600)]).all()
        assert np.isnan(few_y).any()

    def test_short_series_stay_whole_and_backward_time_is_kept(self) -> None:
        x = np.array([0, 1, 2, 1.5, 1.6, 3.0])
        assert thinned(x, x, 300)[0] is x
