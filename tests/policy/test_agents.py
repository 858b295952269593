"""What drives a robot: agents by name, seeds, and a policy that sees its own output."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from support.policy_files import layers, sensors_of

from surefoot.errors import PolicyError
from surefoot.policy import Observer, OnnxPolicy, PolicyAgent, RandomAgent, TrotAgent, ZeroAgent, make_agent, write_mlp
from surefoot.robot import Robot


@pytest.fixture
def walk(go2: Robot, tmp_path: Path) -> Path:
    path = tmp_path / "walk.onnx"
    write_mlp(path, go2.contract, layers(go2.contract))
    return path


class TestAgents:
    def test_names(self, go2: Robot, walk: Path) -> None:
        kinds = {"zero": ZeroAgent, "random": RandomAgent, "trot": TrotAgent, str(walk): PolicyAgent}
        agents = {name: make_agent(name, go2, 2) for name in kinds}
        assert all(isinstance(agents[name], kind) for name, kind in kinds.items())
        assert [agent.label for agent in agents.values()] == ["zero", "random", "trot", "walk"]
        assert len({agent.hash for agent in agents.values()}) == 4
        assert make_agent("random", go2, 2, seed=1).hash != agents["random"].hash
        assert make_agent("trot", go2, 2).hash == agents["trot"].hash

    def test_a_policy_beside_the_robot_goes_by_its_name(self, go2: Robot, walk: Path, tmp_path: Path) -> None:
        (tmp_path / "policies").mkdir()
        walk.rename(tmp_path / "policies" / "stroll.onnx")
        moved = dataclasses.replace(go2, path=tmp_path / "robot.yaml")
        assert make_agent("stroll", moved, 1).label == "stroll"
        with pytest.raises(PolicyError, match=r"did you mean 'stroll'.*zero, random, trot, step, stroll, or the path"):
            make_agent("strol", moved, 1)
        with pytest.raises(PolicyError, match="does not exist"):
            make_agent("none.onnx", moved, 1)

    def test_same_seed_same_actions(self, go2: Robot, random: np.random.Generator) -> None:
        seen = sensors_of(random, 4)
        one, two, other = (make_agent("random", go2, 4, seed) for seed in (7, 7, 8))
        for _ in range(3):
            action = one.act(seen, np.zeros((4, 3)))
            assert action.shape == (4, 12)
            assert np.array_equal(action, two.act(seen, np.zeros((4, 3))))
            assert not np.array_equal(action, other.act(seen, np.zeros((4, 3))))
        assert not make_agent("zero", go2, 4).act(seen, np.zeros((4, 3))).any()

    def test_a_policy_sees_its_own_clipped_output(
        self, go2: Robot, tmp_path: Path, random: np.random.Generator
    ) -> None:
        contract = dataclasses.replace(go2.contract, action_clip=0.3)
        write_mlp(tmp_path / "p.onnx", contract, layers(contract))
        policy = OnnxPolicy.load(tmp_path / "p.onnx")
        agent = PolicyAgent(policy, dataclasses.replace(go2, contract=contract), 3)
        observer = Observer(contract, 3)
        last, command = np.zeros((3, 12)), random.standard_normal((3, 3))
        for k in range(4):
            if k == 2:
                agent.reset(np.array([0, 2]))
                last[[0, 2]] = 0.0
            seen = sensors_of(random, 3)
            action = agent.act(seen, command)
            raw = policy.run(observer.observe(seen, command, last))
            assert action.dtype == np.float64
            assert np.abs(raw).max() > 0.3
            assert np.array_equal(action, np.clip(raw.astype(float), -0.3, 0.3))
            last = action.copy()
            action[:] = 9.0  # what the caller does with its array is no concern of the agent
