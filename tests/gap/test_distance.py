"""Distances between samples to the last digit, and means of quantiles."""

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from surefoot.gap.distance import quantile_means, sort_channels, w1_sorted, wasserstein


class TestDistance:
    @pytest.mark.parametrize(
        ("n", "m"), [(500, 500), (500, 499), (500, 250), (500, 333), (7, 1000), (1, 1), (1, 9), (2, 3)]
    )
    def test_equals_scipy(self, n, m) -> None:
        rng = np.random.default_rng([n, m])
        a, b = rng.normal(size=(n, 4)), rng.normal(0.3, 2.0, (m, 4))
        expected = [wasserstein_distance(a[:, i], b[:, i]) for i in range(4)]
        np.testing.assert_allclose(wasserstein(a, b), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize(("n", "m"), [(300, 300), (300, 200)])
    def test_equals_scipy_with_ties_and_constants(self, n, m) -> None:
        rng = np.random.default_rng(3)
        a, b = rng.integers(0, 4, (n, 3)).astype(float), rng.integers(0, 4, (m, 3)).astype(float)
        a[:, 2] = b[:, 2] = 1.5
        expected = [wasserstein_distance(a[:, i], b[:, i]) for i in range(3)]
        np.testing.assert_allclose(wasserstein(a, b), expected, rtol=0, atol=1e-9)
        assert wasserstein(a, b)[2] == 0.0

    def test_leading_shapes_broadcast(self) -> None:
        rng = np.random.default_rng(4)
        many, one = rng.normal(size=(5, 40, 3)), rng.normal(size=(30, 3))
        together = w1_sorted(sort_channels(many), sort_channels(one))
        np.testing.assert_array_equal(together, [wasserstein(a, one) for a in many])

    def test_sorting_leaves_the_samples_alone(self) -> None:
        samples = np.random.default_rng(5).normal(size=(20, 1))  # one channel: its transpose is contiguous already
        before = samples.copy()
        sort_channels(samples)
        np.testing.assert_array_equal(samples, before)


class TestQuantileMeans:
    def test_blocks_of_whole_samples_are_plain_means(self) -> None:
        rows = np.sort(np.random.default_rng(0).normal(size=(3, 60)))
        np.testing.assert_allclose(quantile_means(rows, 12), rows.reshape(3, 12, 5).mean(axis=2), atol=1e-12)

    @pytest.mark.parametrize("n", [1, 7, 50, 53, 997])
    def test_the_mean_of_the_blocks_is_the_mean(self, n) -> None:
        rows = np.sort(np.random.default_rng(n).normal(size=(2, n)))
        blocks = quantile_means(rows, 50)
        np.testing.assert_allclose(blocks.mean(axis=1), rows.mean(axis=1), atol=1e-12)
        assert (np.diff(blocks, axis=1) >= -1e-12).all()

    def test_a_sample_across_an_edge_counts_by_its_parts(self) -> None:
        np.testing.assert_allclose(quantile_means(np.array([[0.0, 3.0, 6.0]]), 2), [[1.0, 5.0]])

    def test_single_precision_is_summed_in_double(self) -> None:
        rows = np.sort(np.random.default_rng(1).normal(1000.0, 1.0, (1, 20_000)).astype(np.float32))
        np.testing.assert_allclose(quantile_means(rows, 50), quantile_means(rows.astype(float), 50), atol=1e-7)
