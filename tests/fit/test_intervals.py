"""Intervals hold the truth as often as they say. No simulator."""

import numpy as np
import pytest
from scipy import stats
from support.metrics import parallel_slopes, plain_metric

from surefoot.fit.intervals import gain_of, uncertainty
from surefoot.fit.quantile import QuantileSearch
from surefoot.fit.slopes import Slopes


class TestUncertainty:
    @staticmethod
    def covered(pieces: int, logs: int) -> np.ndarray:
        """Share of the 90 % intervals that hold the truth, for each knob: a linear problem, its slopes seen
        with noise, many logs.

        Residuals as of a robot with 30 channels: neighbouring blocks go together, and all channels share
        what an episode was like.
        """
        rng = np.random.default_rng(17)
        knobs, channels, blocks = 4, 30, 20
        m = channels * blocks
        slopes = 0.2 * rng.normal(size=(channels, blocks, knobs)).cumsum(axis=1).reshape(m, knobs)
        truth = np.array([0.7, -0.4, 0.0, 0.3])
        neighbours = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks))))
        shared = rng.normal(size=(20, m)) / np.sqrt(20)
        held = []
        for _ in range(logs):
            own = (rng.normal(size=(pieces, channels, blocks)) @ neighbours.T).reshape(pieces, m)
            pulls = 0.5 * (own + rng.normal(size=(pieces, 20)) @ shared) / pieces
            search = QuantileSearch(np.full(knobs, -9.0), np.full(knobs, 9.0), np.arange(channels) % 5)
            for kind in ("look", "design"):
                ask = search.ask()
                assert ask.kind == kind
                residuals = (
                    (ask.candidates - truth) @ slopes.T
                    + pulls.sum(axis=0)
                    + 0.01 * rng.normal(size=(len(ask.candidates), m))
                )
                unused = np.zeros(len(residuals))
                search.tell(
                    ask, residuals, unused, unused, pulls - pulls.mean(axis=0) if ask.influence_function else None
                )
            held.append(np.abs(search.at + search.step() - truth) <= search.uncertainty().half_width)
        return np.mean(held, axis=0)

    @pytest.mark.parametrize("pieces", [6, 12, 50])
    def test_90_percent_intervals_hold_the_truth_about_as_often(self, pieces):
        assert 0.80 < self.covered(pieces, 60).mean() < 0.97

    def test_what_is_held_at_its_bound_neither_moves_nor_takes_part(self):
        rng = np.random.default_rng(0)
        white = rng.normal(size=(20, 3))
        slopes, influence = Slopes(white, white, np.zeros(3)), rng.normal(size=(10, 20))
        free = np.array([True, False, True])
        found = uncertainty(plain_metric(20), slopes, 0.0, free, influence)
        assert found.error[1] == found.half_width[1] == found.data_share[1] == 0.0
        assert (found.error[free] > 0).all()
        only = white[:, free]
        expected = np.linalg.solve(only.T @ only, only.T)
        np.testing.assert_allclose(gain_of(plain_metric(20), slopes, 0.0, free)[free], expected, rtol=1e-6)

    def test_all_at_their_bounds(self):
        white = np.random.default_rng(0).normal(size=(20, 2))
        found = uncertainty(
            plain_metric(20), Slopes(white, white, np.zeros(2)), 0.1, np.zeros(2, dtype=bool), np.ones((5, 20))
        )
        assert not found.error.any()
        assert not found.half_width.any()

    def test_knobs_that_do_the_same_have_errors_that_go_together(self):
        rng = np.random.default_rng(8)
        white = parallel_slopes(rng, knobs=3)
        found = uncertainty(
            plain_metric(200),
            Slopes(white, white, np.zeros(3)),
            0.0,
            np.ones(3, dtype=bool),
            rng.normal(size=(50, 200)),
        )
        assert found.correlation[0, 1] < -0.95
        assert abs(found.correlation[0, 2]) < 0.5
        np.testing.assert_allclose(np.diag(found.correlation), 1.0)
        assert found.error[0] > 3 * found.error[2]

    @pytest.mark.parametrize("pieces", [2, 3, 5, 30])
    def test_half_widths_are_students_with_the_number_of_pieces(self, pieces):
        """Of two pieces too, where it is nearly four times as wide as that of many."""
        rng = np.random.default_rng(9)
        white = rng.normal(size=(20, 3))
        found = uncertainty(
            plain_metric(20),
            Slopes(white, white, np.zeros(3)),
            0.0,
            np.ones(3, dtype=bool),
            rng.normal(size=(pieces, 20)),
        )
        np.testing.assert_allclose(found.half_width, stats.t.ppf(0.95, pieces - 1) * found.error, rtol=1e-3)

    def test_told_is_the_share_that_comes_from_the_log(self):
        white = np.eye(3) * np.array([10.0, 1.0, 0.0])
        found = uncertainty(
            plain_metric(3), Slopes(white, white, np.zeros(3)), 1.0, np.ones(3, dtype=bool), np.ones((5, 3))
        )
        np.testing.assert_allclose(found.data_share, [100 / 101, 0.5, 0.0], atol=1e-3)
