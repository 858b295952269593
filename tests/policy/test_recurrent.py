"""Policies with a state: an LSTM through the whole house, bit for bit what stepping the network by hand gives."""

from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from support.layouts import lstm_policy, varied
from support.policy_files import bare

from surefoot.errors import PolicyError
from surefoot.gap import Case, measure, schedule_of
from surefoot.logs import record
from surefoot.policy import PolicyAgent, attach
from surefoot.policy.driver import Driver, make_driver
from surefoot.robot import Robot, Sensors
from surefoot.sim import Worlds
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
from surefoot.verify.evaluate import evaluate

KEYS = {"observation": ["gyro", "gravity", "command", "joint_position", "last_action"]}


class ByHand:
    """The network stepped with onnxruntime alone, with an observation written out."""

    label, hash = "hand", "hand"

    def __init__(self, path, robot: Robot, n: int) -> None:
        self._session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self._contract = robot.contract
        self._state = np.zeros((2, 1, n, 8), np.float32)
        self._last = np.zeros((n, robot.contract.n_joints))

    def reset(self, ids: np.ndarray | None = None) -> None:
        rows = slice(None) if ids is None else ids
        self._state[:, :, rows] = 0.0
        self._last[rows] = 0.0

    def act(self, sensors: Sensors, command: np.ndarray) -> np.ndarray:
        relative = sensors.joint_position_rad - np.array(self._contract.pose_rad)
        obs = np.concatenate([sensors.gyro_rad_s, sensors.gravity, command, relative, self._last], axis=1)
        feed = {"obs": obs.astype(np.float32), "h_in": self._state[0], "c_in": self._state[1]}
        action, self._state[0], self._state[1] = self._session.run(["actions", "h_out", "c_out"], feed)
        self._last = np.clip(action.astype(float), -self._contract.action_clip, self._contract.action_clip)
        return self._last


@pytest.fixture
def made(robot, tmp_path):
    return varied(robot, tmp_path, **KEYS)


@pytest.fixture
def policy(made, tmp_path):
    return lstm_policy(made, tmp_path / "lstm.onnx")


def by_hand(policy, made) -> Driver:
    return replace(make_driver(policy, made), make=lambda n: ByHand(policy.name, made, n))


def test_the_state_is_found_by_names_and_shapes(policy) -> None:
    assert policy.contract.state == (("h_in", "h_out"), ("c_in", "c_out"))
    assert policy.recurrent


def test_a_recording_is_what_stepping_by_hand_gives(policy, made) -> None:
    twin = Twin("hidden", Physics(made, {"velocity_noise_rad_s": 0.05, "delay_s": 0.004}))
    ours = record(twin, make_driver(policy, made), rollouts=3, seconds=1.0)
    theirs = record(twin, by_hand(policy, made), rollouts=3, seconds=1.0)
    assert ours.action.any()
    for name in ("action", "joint_position_rad", "joint_velocity_rad_s"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_a_gap_is_what_stepping_by_hand_gives(policy, made) -> None:
    twin = Twin("hidden", Physics(made, {"dry_friction_nm": 0.4}))
    log = record(twin, make_driver(policy, made), rollouts=8, seconds=2.5)
    totals = [
        measure(Case(made, driver, log, schedule=schedule_of(log, made))).gap.total
        for driver in (make_driver(policy, made), by_hand(policy, made))
    ]
    assert totals[0] == totals[1]
    assert totals[0] > 0


def test_an_evaluation_is_what_stepping_by_hand_gives(policy, made) -> None:
    ours, theirs = (
        evaluate(made, lambda n: Worlds(made, n, seed=3, threads=1), make, episodes=3, straight_episodes=1)
        for make in (make_driver(policy, made).make, by_hand(policy, made).make)
    )
    assert ours.walk == theirs.walk


def test_a_reset_clears_the_state_of_its_robots_alone(policy, made) -> None:
    worlds, command = Worlds(made, 3, threads=1), np.tile([0.5, 0.0, 0.2], (3, 1))
    agent = PolicyAgent(policy, made, 3)
    first = agent.act(worlds.sensors, command).copy()
    second = agent.act(worlds.sensors, command).copy()
    assert (first != second).any()
    agent.reset(np.array([1]))
    third = agent.act(worlds.sensors, command)
    np.testing.assert_array_equal(third[1], first[1])
    assert (third[0] != first[0]).any()


def test_a_file_with_a_batch_of_1_runs_row_by_row(made, tmp_path) -> None:
    dynamic, fixed = (lstm_policy(made, tmp_path / f"{b}.onnx", batch=b) for b in ("batch", 1))
    assert dynamic.batched
    assert not fixed.batched
    worlds, command = Worlds(made, 3, threads=1), np.tile([0.5, 0.0, 0.2], (3, 1))
    agents = [PolicyAgent(policy, made, 3) for policy in (dynamic, fixed)]
    for _ in range(3):
        ours, theirs = (agent.act(worlds.sensors, command) for agent in agents)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        worlds.step(ours)


class TestRefused:
    def test_inputs_that_nothing_feeds_are_named(self, go2, tmp_path) -> None:
        raw = bare(tmp_path / "two.onnx", go2.contract.observation_size, 12, extra=1)
        with pytest.raises(PolicyError, match=r"2 inputs \(obs, h_0\).*describes 1") as refused:
            attach(raw, go2, tmp_path / "out.onnx")
        assert "recurrent" not in str(refused.value)  # an input is no state because it is the second

    def test_a_state_that_the_file_lacks(self, made, tmp_path, policy) -> None:
        other = replace(made, contract=replace(made.contract, state=(("h_in", "h_out"), ("d_in", "c_out"))))
        with pytest.raises(PolicyError, match=r"no input 'd_in' for its state; it has obs, h_in, c_in"):
            attach(tmp_path / "lstm.raw.onnx", other, tmp_path / "out.onnx")

    def test_outputs_that_could_all_be_the_action(self, go2, tmp_path) -> None:
        raw = bare(tmp_path / "many.onnx", go2.contract.observation_size, 12)
        model = onnx.load(raw)
        for name in ("left", "right"):
            model.graph.node.append(onnx.helper.make_node("Identity", ["y"], [name]))
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 12]))
        model.graph.output[0].name = model.graph.node[1].output[0] = "up"
        onnx.save(model, raw)
        with pytest.raises(PolicyError, match=r"outputs up, left, right.*which of them is the action"):
            attach(raw, go2, tmp_path / "out.onnx")
        assert attach(raw, go2, tmp_path / "out.onnx", output="left").output == "left"

    def test_a_torchscript_file_is_named_as_such(self, go2, tmp_path) -> None:
        (tmp_path / "policy.pt").write_bytes(b"PK\x03\x04 and so on")
        with pytest.raises(PolicyError, match=r"PyTorch file, not an ONNX file.*torch\.jit\.load"):
            attach(tmp_path / "policy.pt", go2, tmp_path / "out.onnx")
