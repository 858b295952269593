"""The metric of residuals: of one size, and uncorrelated."""

import numpy as np
import pytest

from surefoot.fit.metric import ALONE, make_metric


def influence_of(covariance: np.ndarray, rng: np.random.Generator, pieces: int) -> np.ndarray:
    """Pieces (pieces, n) whose products add up to the covariance, exactly."""
    n = len(covariance)
    directions = np.linalg.qr(rng.normal(size=(pieces, n)))[0]
    return directions @ np.linalg.cholesky(covariance).T


class TestMetric:
    def test_uncorrelated_residuals_of_any_size_become_one(self):
        rng = np.random.default_rng(0)
        size = np.array([3.0, 2.0, 4.0, 0.02, 0.03, 0.015])
        metric = make_metric(influence_of(np.diag(size**2), rng, 30), np.zeros(6), np.array(["position", "velocity"]))
        white = metric((rng.normal(size=(20_000, 6)) * size).T)
        np.testing.assert_allclose(np.cov(white), np.eye(6), atol=0.05)
        np.testing.assert_allclose(metric.scatter, size, rtol=1e-9)

    def test_draws_from_a_known_covariance_become_unit(self):
        """Known to the metric: each residual's own share of its scatter is taken into account on both sides."""
        rng = np.random.default_rng(1)
        blocks = 5
        correlation = 0.9 ** np.abs(np.subtract.outer(np.arange(blocks), np.arange(blocks)))
        sizes = np.array([[1.0, 2.0, 1.5, 2.5, 1.0], [0.1, 0.1, 0.2, 0.1, 0.2]])
        influence = np.concatenate(
            [influence_of(correlation * np.outer(size, size), rng, 40) for size in sizes], axis=1
        )
        metric = make_metric(influence, np.zeros(2 * blocks), np.array(["position", "position"]))
        root = np.linalg.cholesky((1 - ALONE) * correlation + ALONE * np.eye(blocks))
        draws = np.concatenate([rng.normal(size=(20_000, blocks)) @ root.T * size for size in sizes], axis=1)
        np.testing.assert_allclose(np.cov(metric(draws.T)), np.eye(2 * blocks), atol=0.06)
        plain = draws / np.concatenate(list(sizes))
        assert np.abs(np.cov(plain.T) - np.eye(2 * blocks)).max() > 0.5  # which scaling alone would not do

    def test_of_long_traces_all_residuals_of_a_channel_count_alike_and_each_for_itself(self):
        rng = np.random.default_rng(2)
        influence = rng.normal(size=(5, 1, 300)) * np.array([[1.0], [0.01]]) * rng.uniform(0.2, 3.0, 300)
        metric = make_metric(influence.reshape(5, -1), np.ones(600), np.array(["position", "velocity"]))
        one, two = np.zeros(600), rng.normal(size=600)
        one[[7, 450]] = 1.0
        white = metric(one)
        assert np.flatnonzero(white).tolist() == [7, 450]
        assert white[450] / white[7] == pytest.approx(100.0)
        assert np.unique(metric.scatter).size == 2
        assert np.vdot(metric(one), two) == pytest.approx(np.vdot(one, metric.transposed(two)), rel=1e-12)

    def test_far_from_the_goal_all_residuals_count_alike(self):
        influence = influence_of(np.diag([1.0, 1e-4, 1.0, 1e-4]), np.random.default_rng(3), 10)
        kinds = np.array(["position", "velocity", "action", "error"])
        near, far = (np.diag(make_metric(influence, np.full(4, size), kinds)(np.eye(4))) for size in (0.0, 100.0))
        assert near[1] / near[0] == pytest.approx(100.0)
        assert far[1] / far[0] == pytest.approx(1.0, rel=1e-3)

    def test_a_residual_that_never_moves_does_not_count_without_end(self):
        influence = influence_of(np.diag([1.0, 1.0, 1.0]), np.random.default_rng(4), 10)
        influence[:, 1] = 0.0
        metric = make_metric(influence, np.zeros(3), np.array(["position"]))
        assert np.isfinite(metric.whiten).all()
        assert metric.scatter[1] == pytest.approx(0.5)

    @pytest.mark.parametrize("more", [(), (3,)])
    def test_transposed_is_the_transpose(self, more):
        rng = np.random.default_rng(6)
        covariance = np.cov(rng.normal(size=(8, 30)) + rng.normal(size=30))
        metric = make_metric(influence_of(covariance, rng, 20), rng.normal(size=8), np.array(["position", "velocity"]))
        one, two = rng.normal(size=(8, *more)), rng.normal(size=(8, *more))
        assert np.vdot(metric(one), two) == pytest.approx(np.vdot(one, metric.transposed(two)), rel=1e-12)
        assert np.vdot(metric(one), two) != pytest.approx(np.vdot(one, metric(two)), rel=1e-3)
