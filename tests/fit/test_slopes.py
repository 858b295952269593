"""Slopes of residuals along knobs, and their noise."""

import numpy as np
import pytest
from support.metrics import parallel_slopes, plain_metric

from surefoot.fit.linear import design_around
from surefoot.fit.slopes import Design, Slopes, slopes_at


class TestSlopes:
    @staticmethod
    def design(slopes: np.ndarray, at: np.ndarray, noise: float, rng: np.random.Generator) -> Design:
        knobs = slopes.shape[1]
        candidates = design_around(at, np.full(knobs, -9.0), np.full(knobs, 9.0), 0.5)
        return Design.of(candidates, candidates @ slopes.T + noise * rng.normal(size=(len(candidates), len(slopes))))

    def test_without_noise_a_design_shows_the_slopes_exactly(self):
        rng = np.random.default_rng(0)
        slopes, at = rng.normal(size=(30, 5)), rng.normal(size=5)
        found = self.design(slopes, at, 0.0, rng)
        np.testing.assert_allclose(found.slopes, slopes, atol=1e-10)
        np.testing.assert_allclose(found.where, at, atol=1e-12)
        np.testing.assert_allclose(found.unexplained, 0.0, atol=1e-10)
        assert found.degrees == len(found.unexplained[0]) - 6

    def test_the_noise_of_a_slope_is_what_many_designs_scatter_by(self):
        rng = np.random.default_rng(1)
        slopes = rng.normal(size=(50, 4))
        designs = [self.design(slopes, np.zeros(4), 0.3, rng) for _ in range(300)]
        scatter = np.var([design.slopes for design in designs], axis=0).sum(axis=0)  # over the residuals, for each knob
        said = np.mean([slopes_at([design], np.zeros(4), plain_metric(50)).noise for design in designs], axis=0)
        assert said == pytest.approx(scatter, rel=0.1)

    def test_several_designs_are_less_noisy_than_one(self):
        rng = np.random.default_rng(2)
        designs = [self.design(rng.normal(size=(50, 4)), np.zeros(4), 0.3, rng) for _ in range(4)]
        one, all_four = (slopes_at(some, np.zeros(4), plain_metric(50)).noise for some in (designs[:1], designs))
        assert all_four.mean() == pytest.approx(one.mean() / 4, rel=0.3)

    def test_the_corrected_steepness_is_much_nearer_to_the_truth(self):
        rng = np.random.default_rng(3)
        slopes = parallel_slopes(rng)
        true, free = slopes.T @ slopes, np.ones(6, dtype=bool)
        flat = np.linalg.eigh(true)[1][:, 0]  # one of the parallel knobs up, the other down
        made = [
            slopes_at([self.design(slopes, np.zeros(6), 1.0, rng)], np.zeros(6), plain_metric(200)) for _ in range(40)
        ]
        corrected, plain = [found.normal(free) for found in made], [found.white.T @ found.white for found in made]
        assert np.mean([np.linalg.norm(one - true) for one in corrected]) < 0.5 * np.mean(
            [np.linalg.norm(one - true) for one in plain]
        )
        close, far, truth = (flat @ np.mean(some, axis=0) @ flat for some in (corrected, plain, [true]))
        assert far > 8 * truth  # the noise makes the flat direction look steep
        assert abs(close - truth) < 0.35 * (far - truth)

    def test_steepness_stays_positive_however_noisy(self):
        rng = np.random.default_rng(4)
        white = rng.normal(size=(20, 3))
        normal = Slopes(white, white, np.full(3, 1e6)).normal(np.ones(3, dtype=bool))
        assert (np.linalg.eigvalsh(normal) > 0).all()

    def test_some_of_the_knobs(self):
        rng = np.random.default_rng(5)
        white = rng.normal(size=(20, 3))
        normal = Slopes(white, white, np.zeros(3)).normal(np.array([True, False, True]))
        np.testing.assert_allclose(normal, (white.T @ white)[np.ix_([0, 2], [0, 2])], rtol=1e-6)

    def test_designs_that_were_taken_far_away_count_less(self):
        rng = np.random.default_rng(6)
        near, far = rng.normal(size=(30, 3)), rng.normal(size=(30, 3))
        designs = [self.design(near, np.zeros(3), 0.0, rng), self.design(far, np.full(3, 0.5), 0.0, rng)]
        found = slopes_at(designs, np.zeros(3), plain_metric(30)).plain
        weight = np.linalg.lstsq((far - near).reshape(-1, 1), (found - near).ravel(), rcond=None)[0][0]
        assert weight == pytest.approx(1 / (1 + np.e), rel=1e-6)  # a third of what the near one counts
        beyond = [designs[0], self.design(far, np.full(3, 4.0), 0.0, rng)]
        np.testing.assert_allclose(slopes_at(beyond, np.zeros(3), plain_metric(30)).plain, near, atol=1e-9)
