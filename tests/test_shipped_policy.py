"""The policy that ships with the Go2: what it was trained as, what torch said, and that it walks."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from surefoot.policy import OnnxPolicy
from surefoot.policy.agents import make_agent
from surefoot.sim import Worlds
from surefoot.sim.twin import load_twin, shipped_twins
from surefoot.verify.evaluate import evaluate

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def folder(go2):
    return go2.path.parent / "policies"


def walked(go2, make_worlds):
    return evaluate(go2, make_worlds, lambda n: make_agent("walk", go2, n), episodes=6, straight_episodes=2)


class TestWalk:
    def test_is_small_and_fits_the_robot(self, go2, folder):
        assert (folder / "walk.onnx").stat().st_size < 400_000
        OnnxPolicy.load(folder / "walk.onnx").refuse_mismatch(go2.contract)

    def test_onnx_says_what_torch_said(self, go2, folder):
        """The actions that the trained torch network gave to these 1,000 observations, kept when it was exported."""
        obs = np.random.default_rng(0).normal(size=(1000, go2.contract.observation_size)).astype(np.float32)
        np.testing.assert_allclose(OnnxPolicy.load(folder / "walk.onnx").run(obs), np.load(GOLDEN / "walk_actions.npy"), atol=1e-5)

    def test_config_and_figures_belong_to_it(self, go2, folder):
        inside = {entry.key: entry.value for entry in onnx.load(folder / "walk.onnx").metadata_props}
        config = json.loads((folder / "walk.config.json").read_text())
        assert json.loads(inside["surefoot.training"]) == config
        assert config["robot_hash"] == go2.hash
        figures = json.loads((folder / "walk.eval.json").read_text())
        assert figures["provenance"]["policy_hash"] == OnnxPolicy.load(folder / "walk.onnx").hash
        assert figures["gate"]["failures"] == []

    def test_walks_on_the_nominal_robot(self, go2):
        result = walked(go2, lambda n: Worlds(go2, n))
        assert result.failures() == []

    @pytest.mark.parametrize("name", sorted(shipped_twins()))
    def test_walks_worse_on_virtual_robots(self, go2, name):
        """They are the gap to close: it stays up on most, and follows its commands visibly worse."""
        nominal, twin = walked(go2, lambda n: Worlds(go2, n)), walked(go2, load_twin(name).worlds)
        assert twin.walk.falls <= 3
        assert twin.walk.velocity_error_m_s > 1.2 * nominal.walk.velocity_error_m_s
