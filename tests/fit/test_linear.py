"""Designs with two levels, and least squares within bounds."""

import numpy as np
import pytest

from surefoot.fit.linear import bounded_least_squares, two_level_design


class TestDesign:
    @pytest.mark.parametrize("knobs", [1, 3, 7, 12, 27, 38])
    def test_columns_are_orthogonal(self, knobs):
        made = two_level_design(knobs)
        assert set(np.unique(made)) <= {-1.0, 1.0}
        assert len(made) <= knobs + 12
        np.testing.assert_allclose(made.T @ made, len(made) * np.eye(knobs), atol=1e-9)
        np.testing.assert_allclose(made.sum(axis=0), 0.0, atol=1e-9)


class TestBoundedLeastSquares:
    def test_inside_it_is_plain_least_squares(self):
        rng = np.random.default_rng(0)
        a, x = rng.normal(size=(20, 4)), np.array([0.1, -0.2, 0.3, 0.0])
        np.testing.assert_allclose(bounded_least_squares(a, a @ x, np.full(4, -1.0), np.full(4, 1.0)), x, atol=1e-9)

    def test_what_leaves_its_bounds_is_held_and_the_rest_makes_up_for_it(self):
        a = np.array([[1.0, 1.0], [0.0, 0.1]])
        found = bounded_least_squares(a, a @ np.array([3.0, 0.0]), np.array([-1.0, -5.0]), np.array([1.0, 5.0]))
        assert found[0] == 1.0
        assert found[1] == pytest.approx(2 * 1 / 1.01, rel=1e-6)
