"""Policies that give infinity: a clip must not make an ordinary action of it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.policy_files import layers, sensors_of

from surefoot.adapt.adaptation import Adaptation, Fitted, write_adaptation
from surefoot.errors import PolicyError
from surefoot.policy import write_mlp
from surefoot.policy.agents import PolicyAgent, clipped
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.sim.nonfinite import FINITE, first_nonfinite
from surefoot.sim.worlds import Worlds

SAYS = "gave actions that are not finite numbers"


def giving(path: Path, go2, value: float) -> Path:
    """A policy whose actions are all this number."""
    write_mlp(path, go2.contract, layers(go2.contract))
    model = onnx.load(path)
    for node in model.graph.node:
        node.output[:] = ["inner" if name == "action" else name for name in node.output]
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([value], dtype=np.float32), "much"))
    model.graph.node.append(onnx.helper.make_node("Add", ["inner", "much"], ["action"]))
    onnx.save(model, path)
    return path


@pytest.fixture
def infinite(here, go2) -> Path:
    return giving(here / "inf.onnx", go2, np.inf)


@pytest.fixture
def adaptation(here, go2) -> Path:
    knob = Fitted("delay_s", "delay_s", (), "s", 0.0, 0.004, (0.003, 0.005), (0.0, 0.06))
    (here / "fit").mkdir()
    write_adaptation(
        here / "fit" / "adaptation.json", Adaptation(go2.name, go2.hash, "static", (knob,), {"delay_s": 0.004})
    )
    return here / "fit"


def flat(text: str) -> str:
    return " ".join(text.split())


def test_a_row_with_infinity_is_no_action(go2) -> None:
    contract = replace(go2.contract, action_clip=100.0)
    given = np.array([[1.0, 200.0], [np.inf, 0.0], [-np.inf, 0.0], [0.0, np.nan]], dtype=np.float32)
    action = clipped(given, contract)
    assert np.array_equal(action[0], [1.0, 100.0])
    assert np.isnan(action[1:]).all()
    assert given[1, 0] == np.inf  # what the policy gave is left as it is


def test_an_agent_says_nan(infinite, go2) -> None:
    agent = PolicyAgent(OnnxPolicy.load(infinite), go2, 2)
    assert np.isnan(agent.act(sensors_of(np.random.default_rng(0), 2), np.zeros((2, 3)))).all()


def test_the_first_of_a_recording() -> None:
    action, command = np.zeros((2, 4, 3)), np.arange(24.0).reshape(2, 4, 3)
    action[1, 2, 0] = np.inf
    record = first_nonfinite(action, command)
    assert record.first_tick.tolist() == [FINITE, 2]
    assert record.command[1].tolist() == [18.0, 19.0, 20.0]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_evaluate(surefoot, here, go2, value) -> None:
    policy = giving(here / "inf.onnx", go2, value)
    code, out, _ = surefoot("evaluate", policy, "--episodes", 2, "--straight-episodes", 1, "--out", "e.json")
    assert code == 0
    assert f"the policy {SAYS} in" in flat(out)
    assert "first after 0.00 s under the command" in flat(out)
    figures = json.loads((here / "e.json").read_text())["nonfinite"]
    assert figures["episodes"] == figures["of"]
    assert figures["first_s"] == 0.0


def test_verdict(surefoot, here, infinite, adaptation) -> None:
    small = ("--candidates", 0, "--episodes", 2, "--straight-episodes", 1, "--candidate-episodes", 1, "--seconds", 1)
    code, out, _ = surefoot("verdict", "--before", "walk", "--after", infinite, "--adaptation", adaptation, *small)
    assert code == 3
    assert SAYS in flat(out)


def test_record(surefoot, here, infinite) -> None:
    words = ("record", "--twin", "go2-identified", "--policy", infinite, "--rollouts", 2, "--seconds", 1)
    code, _, error = surefoot(*words, "--out", "log.parquet")
    assert code == 2
    assert f"inf.onnx: the policy {SAYS} in 2 of 2 episodes, first after 0.00 s under the command" in flat(error)
    assert not (here / "log.parquet").exists()


def test_play(surefoot, here, infinite, monkeypatch) -> None:
    monkeypatch.delenv("MUJOCO_GL")
    words = ("play", infinite, "--seconds", 0.3, "--width", 64, "--height", 64, "--out", "a.gif")
    code, out, error = surefoot(*words)
    assert code == 0, error
    assert f"the policy {SAYS}" in flat(out)
    assert "under the command" in flat(out)


def test_finetune_names_the_policy(surefoot, here, infinite, adaptation) -> None:
    pytest.importorskip("torch")
    words = ("finetune", infinite, "--adaptation", adaptation, "--out", "tuned", "--iterations", 1, "--worlds", 8)
    code, _, error = surefoot(*words, "--episodes", 2)
    assert code == 2
    assert "inf.onnx cannot be trained on: the policy gave actions that are not finite numbers" in flat(error)
    assert "action_rate" not in error
    assert not (here / "tuned" / "policy.onnx").exists()


def test_finetune_without_a_measurement(surefoot, here, infinite, adaptation) -> None:
    pytest.importorskip("torch")
    words = ("finetune", infinite, "--adaptation", adaptation, "--out", "tuned", "--iterations", 1, "--worlds", 8)
    code, _, error = surefoot(*words, "--episodes", 0)
    assert code == 2
    assert f"inf.onnx {SAYS}" in flat(error)


def test_the_trim_names_it_too(infinite, go2) -> None:
    pytest.importorskip("torch")
    from surefoot.learn.mean_velocity import velocities

    with pytest.raises(PolicyError, match=r"inf\.onnx: the policy gave actions that are not finite"):
        velocities(
            go2, OnnxPolicy.load(infinite), Worlds(go2, 2, threads=1), np.zeros((2, 3)), np.zeros((1, 2, 3)), 0.1
        )
