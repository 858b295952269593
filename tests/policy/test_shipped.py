"""The policies that ship with the Go2: what they were trained as, what torch said, and that they walk, on
four legs and on two.
"""

import json

import numpy as np
import onnx
import pytest
from support.paths import GOLDEN

from surefoot.policy import OnnxPolicy
from surefoot.policy.agents import make_agent, with_policy_posture
from surefoot.sim import Worlds
from surefoot.sim.twin import load_twin, shipped_twins
from surefoot.verify.evaluate import evaluate


@pytest.fixture(scope="module")
def folder(go2):
    return go2.path.parent / "policies"


def walked(go2, make_worlds):
    return evaluate(go2, make_worlds, lambda n: make_agent("walk", go2, n), episodes=6, straight_episodes=2)


@pytest.mark.parametrize("name", ["walk", "biped"])
class TestFiles:
    def test_is_small_and_fits_the_robot(self, go2, folder, name):
        assert (folder / f"{name}.onnx").stat().st_size < 400_000
        OnnxPolicy.load(folder / f"{name}.onnx").check(go2)

    def test_onnx_says_what_torch_said(self, go2, folder, name):
        """The actions that the trained torch network gave to these 1,000 observations, kept when it was exported."""
        obs = np.random.default_rng(0).normal(size=(1000, go2.contract.observation_size)).astype(np.float32)
        np.testing.assert_allclose(
            OnnxPolicy.load(folder / f"{name}.onnx").run(obs), np.load(GOLDEN / f"{name}_actions.npy"), atol=1e-5
        )

    def test_config_and_figures_belong_to_it(self, go2, folder, name):
        inside = {entry.key: entry.value for entry in onnx.load(folder / f"{name}.onnx").metadata_props}
        config = json.loads((folder / f"{name}.config.json").read_text())
        assert json.loads(inside["surefoot.training"]) == config
        assert config["robot_hash"] == go2.hash
        figures = json.loads((folder / f"{name}.eval.json").read_text())
        assert figures["provenance"]["policy_hash"] == OnnxPolicy.load(folder / f"{name}.onnx").hash
        assert figures["gate"]["failures"] == []


class TestWalk:
    def test_walks_on_the_nominal_robot(self, go2):
        result = walked(go2, lambda n: Worlds(go2, n))
        assert result.failures() == []

    @pytest.mark.parametrize("name", [name for name in sorted(shipped_twins()) if name.startswith("go2-")])
    def test_walks_worse_on_virtual_robots(self, go2, name):
        """They are the gap to close: it stays up on most, and follows its commands visibly worse."""
        nominal, twin = walked(go2, lambda n: Worlds(go2, n)), walked(go2, load_twin(name).worlds)
        assert twin.walk.falls <= 3
        assert twin.walk.velocity_error_m_s > 1.2 * nominal.walk.velocity_error_m_s


class TestBiped:
    def test_rises_and_stays_up(self, go2):
        meant = with_policy_posture(go2, go2.path.parent / "policies" / "biped.onnx")
        result = evaluate(
            meant, lambda n: Worlds(meant, n), lambda n: make_agent("biped", meant, n), episodes=5, straight_episodes=2
        )
        assert result.stand.stood == 5
        assert result.walk.falls + result.pushed.falls <= 1
        assert result.directions["+x"].way_m > 1.2
