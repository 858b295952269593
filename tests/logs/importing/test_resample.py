"""Slopes, ticks and holds: what is between the samples."""

import numpy as np
import pytest

from surefoot.logs.importing.resample import control_ticks, differentiate, hold, interpolate


class TestResampling:
    def test_slope_of_a_parabola_is_exact_at_any_stamps(self) -> None:
        rng = np.random.default_rng(0)
        time = np.cumsum(rng.uniform(0.5, 1.5, 50)) * 0.003
        values = np.stack([3 + 2 * time - 5 * time**2, time**2], axis=1)
        np.testing.assert_allclose(
            differentiate(time, values), np.stack([2 - 10 * time, 2 * time], axis=1), rtol=1e-8, atol=1e-9
        )

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_slope_of_very_few_samples(self, n) -> None:
        found = differentiate(np.arange(n) * 0.1, np.arange(n, dtype=float)[:, None])
        np.testing.assert_allclose(found[:, 0], 0 if n == 1 else 10)

    def test_slope_over_repeated_stamps_is_finite(self) -> None:
        time = np.array([0, 0.01, 0.01, 0.03, 0.04, 0.05, 0.06])
        np.testing.assert_allclose(differentiate(time, np.arange(7.0)[:, None])[:, 0], 100, rtol=0.3)

    def test_interpolation_and_hold_know_what_they_do_not_know(self) -> None:
        time, values = np.array([0.0, 1.0, 5.0, 6.0]), np.array([[0.0], [10.0], [50.0], [60.0]])
        at = np.array([-3.0, 0.0, 0.5, 3.0, 5.5, 6.0, 9.0])
        found, covered = interpolate(time, values, at, 2.0)
        np.testing.assert_array_equal(covered, [False, True, True, False, True, True, False])
        np.testing.assert_array_equal(found[covered, 0], [0, 5, 55, 60])
        held, there = hold(time, values, at, 2.0)
        np.testing.assert_array_equal(there, [False, True, True, True, True, True, False])
        np.testing.assert_array_equal(held[there, 0], [0, 0, 10, 50, 60])

    def test_ticks_fill_in_where_the_action_does_not_change(self) -> None:
        stamps = np.arange(0, 10, 0.002)
        number = np.floor(stamps / 0.02 + 1e-9)
        number[(stamps > 3) & (stamps < 4)] = 150
        ticks, what = control_ticks(stamps, stamps, number[:, None], 50.0)
        assert what == "the changes of the actions"
        np.testing.assert_allclose(ticks, np.arange(len(ticks)) * 0.02, atol=1e-9)
        assert len(ticks) == 500

    def test_ticks_go_on_where_the_action_stops_changing(self) -> None:
        """A robot that stands before and after it walks is still recorded."""
        stamps = np.arange(0, 10, 0.002)
        number = np.clip(np.floor(stamps / 0.02 + 1e-9), 100, 400)
        ticks, what = control_ticks(stamps, stamps, number[:, None], 50.0)
        assert what == "the changes of the actions"
        np.testing.assert_allclose(ticks, np.arange(500) * 0.02, atol=1e-9)
