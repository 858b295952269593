"""A policy that observes the velocity of its base, with each kind of estimator that a contract can name."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.layouts import linear_policy, observed, varied

from surefoot.errors import PolicyError, RobotError
from surefoot.policy import PolicyAgent
from surefoot.policy.agents import make_agent
from surefoot.robot import Robot
from surefoot.sim import Worlds

N = 4


def with_estimator(robot: Robot, folder, **spec) -> Robot:
    return varied(robot, folder, observation=["base_velocity"], estimators={"base_velocity": spec})


def seen_and_true(made: Robot, folder, ticks: int = 60, reset_at: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """What the policy sees while the robot trots, and the truth in the frame of the base, (ticks, N, 3) each."""
    policy = linear_policy(made, folder / "p.onnx")
    agent, trot = PolicyAgent(policy, made, N), make_agent("trot", made, N)
    inputs, worlds = observed(policy), Worlds(made, N, seed=2, threads=1)
    command, truth = np.tile([0.3, 0.0, 0.2], (N, 1)), []
    for k in range(ticks):
        if k == reset_at:
            worlds.reset(np.array([1]))
            agent.reset(np.array([1]))
        agent.act(worlds.sensors, command)
        w, x, y, z = worlds.base_quaternion.T
        turn = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        truth.append(np.einsum("ijn,ni->nj", turn, worlds.base_velocity[:, :3]))
        worlds.step(trot.act(worlds.sensors, command))
    return np.array([given[0] for given in inputs]), np.array(truth)


def test_the_truth_is_the_truth(robot, tmp_path) -> None:
    seen, truth = seen_and_true(with_estimator(robot, tmp_path, kind="truth"), tmp_path, reset_at=30)
    assert np.abs(truth).max() > 0.05
    np.testing.assert_allclose(seen, truth, atol=1e-6)


def test_noise_is_as_large_as_it_says(robot, tmp_path) -> None:
    seen, truth = seen_and_true(with_estimator(robot, tmp_path, kind="truth", noise_m_s=0.2), tmp_path)
    assert (seen - truth).std() == pytest.approx(0.2, rel=0.1)
    assert abs((seen - truth).mean()) < 0.03


def test_lag_is_a_first_order_filter(robot, tmp_path) -> None:
    made = with_estimator(robot, tmp_path, kind="truth", lag_s=0.1)
    seen, truth = seen_and_true(made, tmp_path)
    share, expected = 1 - np.exp(-made.contract.control_dt_s / 0.1), [truth[0]]
    for value in truth[1:]:
        expected.append(expected[-1] + share * (value - expected[-1]))
    np.testing.assert_allclose(seen, np.array(expected), atol=1e-6)


def test_leg_odometry_is_near_the_truth(robot, tmp_path) -> None:
    seen, truth = seen_and_true(with_estimator(robot, tmp_path, kind="odometry"), tmp_path, ticks=100)
    error = np.sqrt(np.square(seen[25:] - truth[25:])[..., :2].mean())
    assert error < 0.5 * np.sqrt(np.square(truth[25:])[..., :2].mean())


class TestNetwork:
    def network(self, path, size: int) -> None:
        """Velocity = the first three entries of the observation, doubled."""
        matrix = np.zeros((size, 3), np.float32)
        matrix[:3] = 2 * np.eye(3)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["obs", "w"], ["velocity"])],
            "g",
            [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", size])],
            [helper.make_tensor_value_info("velocity", TensorProto.FLOAT, ["batch", 3])],
            [numpy_helper.from_array(matrix, "w")],
        )
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    def robot_with(self, robot: Robot, folder) -> Robot:
        return with_estimator(robot, folder, kind="onnx", file="velocity.onnx", observation=["gyro", "gravity"])

    def test_a_network_of_the_users_own(self, robot, tmp_path) -> None:
        self.network(tmp_path / "velocity.onnx", 6)
        made = self.robot_with(robot, tmp_path)
        policy = linear_policy(made, tmp_path / "p.onnx")
        agent, worlds, inputs = PolicyAgent(policy, made, N), Worlds(made, N, threads=1), observed(policy)
        worlds.kick(np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.3]))
        worlds.step(np.zeros((N, made.contract.n_joints)))
        agent.act(worlds.sensors, np.zeros((N, 3)))
        np.testing.assert_allclose(inputs[0][0], 2 * worlds.sensors.gyro_rad_s, atol=1e-6)

    def test_another_file_than_the_policy_was_attached_with(self, robot, tmp_path) -> None:
        self.network(tmp_path / "velocity.onnx", 6)
        made = self.robot_with(robot, tmp_path)
        policy = linear_policy(made, tmp_path / "p.onnx")
        (tmp_path / "velocity.onnx").write_bytes((tmp_path / "velocity.onnx").read_bytes() + b"\x32\x00")
        with pytest.raises(PolicyError, match="another file than the estimator"):
            PolicyAgent(policy, made, N)

    def test_a_file_that_is_missing(self, robot, tmp_path) -> None:
        with pytest.raises(RobotError, match=r"velocity\.onnx"):
            self.robot_with(robot, tmp_path)
