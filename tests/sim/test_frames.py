"""The frame that is level and heads where the robot does."""

import numpy as np
import pytest

from surefoot.sim.frames import in_heading_frame, yaw_of


def test_heading_frame():
    quarter_left = np.array([[np.cos(np.pi / 4), 0, 0, np.sin(np.pi / 4)]])
    assert yaw_of(quarter_left) == pytest.approx(np.pi / 2)
    np.testing.assert_allclose(in_heading_frame(np.array([[0.0, 2.0, 1.0]]), quarter_left), [[2, 0, 1]], atol=1e-12)
