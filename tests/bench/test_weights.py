"""Weights of a network, searched directly."""

import numpy as np
import pytest
import weights
from paper_tables import fits, policies
from weights import Weights

from surefoot.sim.worlds import Worlds


class TestWeights:
    def test_candidates_get_the_networks_that_are_written(self, go2):
        family = Weights(go2, {"delay_s": 0.004})
        rng = np.random.default_rng(0)
        candidates = rng.uniform(-1, 1, (3, family.n))
        worlds = Worlds(go2, 6, threads=1)
        family.apply(worlds, candidates, 2)
        assert family.n == 3 * (
            8 * (3 + 1) + 4 * (8 + 1) + 1 * (4 + 1)
        )  # types of joints, and layers with their biases
        error, position, velocity = rng.standard_normal((3, 6, 12))
        each = [family.network(one).net(go2) for one in candidates]
        expected = [
            net(*(values[2 * k : 2 * k + 2] for values in (error, position, velocity))) for k, net in enumerate(each)
        ]
        np.testing.assert_allclose(worlds.residual(error, position, velocity), np.concatenate(expected), rtol=1e-5)
        assert worlds.get("delay_s") == pytest.approx(0.004)
        family.apply(worlds, np.zeros((1, family.n)), 6)
        assert not worlds.residual(error, position, velocity).any()

    @pytest.mark.parametrize("cost", ["match-s-1", "wasserstein"])
    def test_a_search_that_was_stopped_does_not_simulate_again(self, go2, tmp_path, cost, monkeypatch):
        log = fits.walked(fits.shifted(go2, 0, spring=True), 6, 0, 1.4)
        adaptation, found = policies.weights(log, go2, cost, 400.0, 0, tmp_path)
        assert found["generations"] == len(list((tmp_path / "journal" / "weights").glob("*.npz")))
        assert found["simulated_s"] >= 400
        assert "before it settled" in found["stopped"]
        assert adaptation.network is not None
        monkeypatch.setattr(weights.Problem, "evaluate", lambda *_, **__: pytest.fail("simulated again"))
        again, same = policies.weights(log, go2, cost, 400.0, 0, tmp_path)
        assert same == found
        assert again.network.to_dict() == adaptation.network.to_dict()
