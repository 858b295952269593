"""A network taught from curves says the same where the robot was."""

import numpy as np
import pytest

from surefoot.fit.distill import distill
from surefoot.sim.network import JointGroup, Network


class TestDistill:
    @pytest.mark.parametrize(
        "function",
        [
            lambda x: 20 * np.maximum(-1.7 - x[:, 1], 0),
            lambda x: 4 * np.interp(x[:, 0], [-0.3, -0.1, 0.1, 0.3], [-1, 0, 0, 1]) + 0.2 * x[:, 2],
            lambda x: np.zeros(len(x)),
        ],
        ids=["a spring past an angle", "a dead band", "nothing"],
    )
    def test_it_says_the_same_where_the_robot_was(self, function) -> None:
        rng = np.random.default_rng(0)
        inputs = np.stack([rng.normal(0, 0.15, 3000), rng.normal(-1.6, 0.25, 3000), rng.normal(0, 3, 3000)], axis=1)
        layers, off = distill(function, inputs, 11.8)
        size = float(np.sqrt(np.square(function(inputs)).mean()))
        assert off < 0.1 * size + 1e-3
        assert [weight.shape for weight, _ in layers] == [(8, 3), (4, 8), (1, 4)]

    def test_the_same_twice(self) -> None:
        inputs = np.random.default_rng(0).normal(0, 1, (500, 3))
        first, second = (distill(lambda x: np.sin(x[:, 1]), inputs, 5.0, seed=4)[0] for _ in range(2))
        for (a, b), (c, d) in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)

    def test_bounded_whatever_is_asked(self, go2) -> None:
        inputs = np.random.default_rng(0).normal(0, 1, (500, 3))
        layers, _ = distill(lambda x: 100.0 * x[:, 1], inputs, 5.0)
        joint = go2.contract.joints[3]
        net = Network("torque", (JointGroup((joint,), layers, 5.0),)).net(go2)
        torque = net(*(np.repeat(column[:, None], 12, axis=1) for column in inputs.T))
        assert 4.0 < np.abs(torque[:, 3]).max() <= 5.0
        assert not np.delete(torque, 3, axis=1).any()
