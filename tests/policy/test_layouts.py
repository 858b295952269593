"""Every layout that a contract can describe, stepped in the simulator and compared with an observation made by hand."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from support.layouts import linear_policy, observed, varied

from surefoot.errors import PolicyError
from surefoot.policy import PolicyAgent
from surefoot.robot import Robot, Sensors
from surefoot.sim import Worlds

N, TICKS = 3, 12


@dataclass
class Past:
    """All that a hand-written observation may look at: everything since the reset, the newest last."""

    robot: Robot
    sensors: list[Sensors] = field(default_factory=list)
    command: list[np.ndarray] = field(default_factory=list)
    action: list[np.ndarray] = field(default_factory=list)  # of the tick before

    def at(self, back: int) -> int:
        """The tick so many ticks ago; the first, where that was before the reset."""
        return max(len(self.sensors) - 1 - back, 0)


ByHand = Callable[[Past], list[np.ndarray]]


@dataclass(frozen=True)
class Layout:
    keys: dict[str, Any]
    by_hand: ByHand


def now(function: Callable[[Past, int], np.ndarray]) -> ByHand:
    """An observation of the present tick alone."""
    return lambda past: [function(past, past.at(0))]


def pose(past: Past) -> np.ndarray:
    return np.array(past.robot.contract.pose_rad)


def history(function: Callable[[Past, int], np.ndarray], backs: list[int]) -> ByHand:
    return lambda past: [np.concatenate([function(past, past.at(back)) for back in backs], axis=1)]


def frame(past: Past, k: int) -> np.ndarray:
    s = past.sensors[k]
    return np.concatenate(
        [2.0 * past.command[k], 0.25 * s.gyro_rad_s, s.joint_position_rad - pose(past), past.action[k]], axis=1
    )


FRAME = [{"name": "command", "scale": 2.0}, {"name": "gyro", "scale": 0.25}, "joint_position", "last_action"]


def phases(past: Past, k: int, offsets: list[float], hz: float) -> np.ndarray:
    return (np.array(offsets) + k * hz * past.robot.contract.control_dt_s) % 1.0


def rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def angles(past: Past, k: int) -> np.ndarray:
    rows = []
    for quaternion in past.sensors[k].quaternion:
        r = rotation(quaternion)
        rows.append([np.arctan2(r[2, 1], r[2, 2]), -np.arcsin(r[2, 0]), np.arctan2(r[1, 0], r[0, 0])])
    return np.array(rows)


LAYOUTS: dict[str, Layout] = {
    "a scale for each entry": Layout(
        {"observation": [{"name": "command", "scale": [2, 2, 0.25]}, "gravity"]},
        now(lambda p, k: np.concatenate([p.command[k] * [2, 2, 0.25], p.sensors[k].gravity], axis=1)),
    ),
    "offset and clip": Layout(
        {"observation": [{"name": "joint_velocity", "offset": 0.1, "clip": [-0.5, 0.4], "scale": 3.0}]},
        now(lambda p, k: 3.0 * np.clip(p.sensors[k].joint_velocity_rad_s - 0.1, -0.5, 0.4)),
    ),
    "clip of the whole": Layout(
        {"observation": [{"name": "joint_velocity", "scale": 5.0}], "observation_clip": 0.7},
        now(lambda p, k: np.clip(5.0 * p.sensors[k].joint_velocity_rad_s, -0.7, 0.7)),
    ),
    "normalizer outside the graph": Layout(
        {
            "observation": ["gyro"],
            "observation_normalizer": {"mean": [0.1, 0.2, 0.3], "std": [0.5, 1.0, 2.0], "clip": 1.5},
        },
        now(lambda p, k: np.clip((p.sensors[k].gyro_rad_s - [0.1, 0.2, 0.3]) / [0.5, 1.0, 2.0], -1.5, 1.5)),
    ),
    "absolute joint positions": Layout(
        {"observation": [{"name": "joint_position", "relative": False}]},
        now(lambda p, k: p.sensors[k].joint_position_rad),
    ),
    "previous targets": Layout(
        {"observation": ["last_target"]},
        now(lambda p, k: np.array(p.robot.contract.action_scale_rad) * p.action[k]),
    ),
    "a constant": Layout(
        {"observation": ["gyro", {"name": "constant", "value": [1.0, -2.0]}]},
        now(lambda p, k: np.concatenate([p.sensors[k].gyro_rad_s, np.tile([1.0, -2.0], (N, 1))], axis=1)),
    ),
    "quaternion, w last": Layout(
        {"observation": [{"name": "quaternion", "order": "xyzw"}]},
        now(lambda p, k: p.sensors[k].quaternion[:, [1, 2, 3, 0]]),
    ),
    "roll, pitch and yaw": Layout({"observation": ["roll_pitch_yaw"]}, now(angles)),
    "foot contacts": Layout({"observation": ["foot_contact"]}, now(lambda p, k: p.sensors[k].foot_contact)),
    "base velocity": Layout(
        {"observation": ["base_velocity"], "estimators": {"base_velocity": {"kind": "truth"}}},
        now(lambda p, k: p.sensors[k].base_velocity_m_s),
    ),
    "gait phase, all sines first": Layout(
        {"observation": [{"name": "gait_phase", "frequency_hz": 1.5, "offsets": [0, 0.5], "form": "sin_then_cos"}]},
        now(
            lambda p, k: np.tile(
                np.concatenate([f(2 * np.pi * phases(p, k, [0, 0.5], 1.5)) for f in (np.sin, np.cos)]), (N, 1)
            )
        ),
    ),
    "gait phase, foot by foot": Layout(
        {"observation": [{"name": "gait_phase", "frequency_hz": 2.0, "offsets": [0.25, 0.75], "form": "cos_sin"}]},
        now(
            lambda p, k: np.tile(
                [f(2 * np.pi * phase) for phase in phases(p, k, [0.25, 0.75], 2.0) for f in (np.cos, np.sin)], (N, 1)
            )
        ),
    ),
    "further commands": Layout(
        {
            "observation": [
                {"name": "command", "entries": ["height_m", "vx_m_s"]},
                {"name": "gait_phase", "frequency_command": "gait_hz", "form": "phase"},
            ],
            "command_range": {"height_m": [0.2, 0.4], "gait_hz": [1.0, 3.0]},
            "command_default": {"height_m": 0.3, "gait_hz": 2.5},
        },
        now(
            lambda p, k: np.concatenate(
                [np.full((N, 1), 0.3), p.command[k][:, :1], np.tile(phases(p, k, [0.0], 2.5), (N, 1))], axis=1
            )
        ),
    ),
    "history term by term, newest first": Layout(
        {"observation": [{"name": "gyro", "history": 3, "newest_first": True}]},
        history(lambda p, k: p.sensors[k].gyro_rad_s, [0, 1, 2]),
    ),
    "history with a stride": Layout(
        {"observation": [{"name": "gyro", "history": 3, "stride": 2}]},
        history(lambda p, k: p.sensors[k].gyro_rad_s, [4, 2, 0]),
    ),
    "history frame by frame, newest first": Layout(
        {"observation": FRAME, "observation_frames": {"history": 4, "order": "newest_first"}},
        history(frame, [0, 1, 2, 3]),
    ),
    "history frame by frame, oldest first": Layout(
        {"observation": FRAME, "observation_frames": {"history": 4, "order": "oldest_first"}},
        history(frame, [3, 2, 1, 0]),
    ),
    "history frame by frame with a stride": Layout(
        {"observation": FRAME, "observation_frames": {"history": 3, "stride": 3}}, history(frame, [6, 3, 0])
    ),
    "several inputs": Layout(
        {
            "observation": None,
            "inputs": {
                "obs": ["gyro", "gravity"],
                "history": {"terms": FRAME, "frames": {"history": 5}, "shape": "frames"},
            },
        },
        lambda past: [
            np.concatenate([past.sensors[-1].gyro_rad_s, past.sensors[-1].gravity], axis=1),
            np.stack([frame(past, past.at(back)) for back in (4, 3, 2, 1, 0)], axis=1),
        ],
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_what_a_hand_would_write(robot: Robot, tmp_path, name: str) -> None:
    layout = LAYOUTS[name]
    made = varied(robot, tmp_path, **layout.keys)
    policy = linear_policy(made, tmp_path / "p.onnx")
    assert policy.contract == made.contract  # all of it travels in the file
    worlds = Worlds(made, N, seed=1, threads=1)
    worlds.set("velocity_noise_rad_s", 0.02)
    agent = PolicyAgent(policy, made, N)
    seen = observed(policy)
    past, last = Past(made), np.zeros((N, made.contract.n_joints))
    random = np.random.default_rng(0)
    worlds.reset()
    agent.reset()
    for _ in range(TICKS):
        command = random.uniform(-0.4, 0.4, (N, 3))
        past.sensors.append(worlds.sensors)
        past.command.append(command)
        past.action.append(last)
        last = agent.act(worlds.sensors, command)
        for ours, by_hand in zip(seen[-1], layout.by_hand(past), strict=True):
            np.testing.assert_allclose(ours, by_hand, atol=1e-6)
        worlds.step(last)
    assert worlds.alive.all()


CLOCK = {"name": "gait_phase", "frequency_hz": 1.0, "offsets": [0.0, 0.5], "form": "phase"}


class TestStanding:
    def phases_of(self, robot, folder, standing, commands) -> list[list[float]]:
        made = varied(robot, folder, observation=[{**CLOCK, "standing": standing}])
        policy = linear_policy(made, folder / "p.onnx")
        agent, worlds = PolicyAgent(policy, made, 1), Worlds(made, 1, threads=1)
        seen = observed(policy)
        for command in commands:
            agent.act(worlds.sensors, np.array([[command, 0.0, 0.0]]))
        return [given[0][0].tolist() for given in seen]

    def test_the_clocks_are_set_while_the_robot_stands_and_start_again_after_it(self, robot, tmp_path) -> None:
        dt = robot.contract.control_dt_s
        seen = self.phases_of(robot, tmp_path, {"below": 0.1, "phase": 0.5}, [0.5, 0.5, 0.05, 0.0, 0.5, 0.5])
        assert seen == [
            pytest.approx(row) for row in ([0, 0.5], [dt, 0.5 + dt], [0.5, 0.5], [0.5, 0.5], [0, 0.5], [dt, 0.5 + dt])
        ]

    def test_the_clocks_stop(self, robot, tmp_path) -> None:
        dt = robot.contract.control_dt_s
        seen = self.phases_of(robot, tmp_path, {"below": 0.1, "phase": "hold"}, [0.5, 0.5, 0.0, 0.0, 0.5])
        assert [row[0] for row in seen] == pytest.approx([0, dt, 2 * dt, 2 * dt, 2 * dt])

    def test_the_clocks_run_on(self, robot, tmp_path) -> None:
        dt = robot.contract.control_dt_s
        seen = self.phases_of(robot, tmp_path, {}, [0.5, 0.0, 0.0])
        assert [row[0] for row in seen] == pytest.approx([0, dt, 2 * dt])


class TestJoints:
    def half(self, robot: Robot, folder) -> tuple[Robot, list[str]]:
        """The robot with every second joint driven, in reverse order, and the others held."""
        driven = list(reversed(robot.contract.joints[::2]))
        return varied(robot, folder, driven=driven), driven

    def test_a_policy_drives_some_joints_in_its_own_order(self, robot, tmp_path) -> None:
        made, driven = self.half(robot, tmp_path)
        contract = made.contract
        policy = linear_policy(made, tmp_path / "p.onnx")
        agent, worlds = PolicyAgent(policy, made, 2), Worlds(made, 2, threads=1)
        action = agent.act(worlds.sensors, np.array([[0.3, 0.0, 0.0]] * 2))
        assert action.shape == (2, contract.n_joints)
        held = [contract.joints.index(name) for name in contract.held_joints]
        assert not action[:, held].any()
        again = PolicyAgent(policy, made, 2)
        output, _ = policy.advance([self.by_hand(made, worlds.sensors, driven)], [])
        given = observed(policy)
        np.testing.assert_array_equal(again.act(worlds.sensors, np.array([[0.3, 0.0, 0.0]] * 2)), action)
        np.testing.assert_allclose(given[0][0], self.by_hand(made, worlds.sensors, driven), atol=1e-6)
        for k, name in enumerate(driven):
            np.testing.assert_allclose(action[:, contract.joints.index(name)], output[:, k], rtol=1e-6)

    def by_hand(self, robot: Robot, sensors: Sensors, driven: list[str]) -> np.ndarray:
        """The robot's own layout, with the driven joints alone."""
        contract = robot.contract
        places = [contract.joints.index(name) for name in driven]
        values = {
            "gyro": sensors.gyro_rad_s,
            "gravity": sensors.gravity,
            "command": np.array([[0.3, 0.0, 0.0]] * 2),
            "joint_position": (sensors.joint_position_rad - np.array(contract.pose_rad))[:, places],
            "joint_velocity": sensors.joint_velocity_rad_s[:, places],
            "last_action": np.zeros((2, len(driven))),
        }
        parts = [np.tile(values[term.name] * term.scale, (1, term.history)) for term in contract.observation]
        return np.concatenate(parts, axis=1)

    def test_held_joints_stay_at_their_pose(self, robot, tmp_path) -> None:
        made, _ = self.half(robot, tmp_path)
        worlds = Worlds(made, 1, threads=1, hang=True)
        agent = PolicyAgent(linear_policy(made, tmp_path / "p.onnx"), made, 1)
        for _ in range(50):
            worlds.step(agent.act(worlds.sensors, np.array([[0.5, 0.0, 0.0]])))
        held = [made.contract.joints.index(name) for name in made.contract.held_joints]
        assert np.abs(worlds.joint_position_rad[0] - made.contract.pose_rad)[held].max() < 0.15

    def test_a_term_may_see_joints_that_the_policy_does_not_drive(self, robot, tmp_path) -> None:
        driven = list(robot.contract.joints[:4])
        seen = [robot.contract.joints[-1], robot.contract.joints[0]]
        made = varied(robot, tmp_path, driven=driven, observation=[{"name": "joint_velocity", "joints": seen}])
        assert made.contract.observation_size == 2
        policy = linear_policy(made, tmp_path / "p.onnx")
        assert policy.contract.observation[0].joints == tuple(seen)


class TestKinds:
    def spun(self, robot: Robot, folder, kind: str, scale: float, action: float, ticks: int) -> tuple[Worlds, int]:
        """The hanging robot with one joint of another kind, after some ticks of one action."""
        name = robot.contract.joints[-1]
        keys = {"action_kind": {name: kind}, "action_scale_rad": {"*": 0.25, name: scale}}
        made = varied(robot, folder, **keys, kd_nms_per_rad={"*": 1.0})
        worlds = Worlds(made, 1, threads=1, hang=True)
        command = np.zeros((1, made.contract.n_joints))
        command[0, -1] = action
        for _ in range(ticks):
            worlds.step(command)
        return worlds, made.contract.n_joints - 1

    def test_a_velocity_target_is_followed(self, robot, tmp_path) -> None:
        worlds, joint = self.spun(robot, tmp_path, "velocity", 2.0, 0.25, 8)
        assert worlds.joint_velocity_rad_s[0, joint] == pytest.approx(0.5, abs=0.3)

    def test_a_torque_is_the_actions_own(self, robot, tmp_path) -> None:
        worlds, joint = self.spun(robot, tmp_path, "torque", 0.5, 0.4, 1)
        velocity = worlds.joint_velocity_rad_s[0, joint]
        assert worlds.torque_nm[0, joint] == pytest.approx(0.2 - 1.0 * velocity, abs=0.05)

    def test_gains_that_are_set_keep_the_kind(self, robot, tmp_path) -> None:
        worlds, joint = self.spun(robot, tmp_path, "torque", 0.5, 0.0, 1)
        worlds.set("kd_nms_per_rad", 0.5)
        worlds.reset()
        command = np.zeros((1, joint + 1))
        command[0, joint] = 0.4
        worlds.step(command)
        velocity = worlds.joint_velocity_rad_s[0, joint]
        assert worlds.torque_nm[0, joint] == pytest.approx(0.2 - 0.5 * velocity, abs=0.05)


class TestRefused:
    @pytest.mark.parametrize("name", ["height_scan", "motion_reference"])
    def test_what_nothing_can_fill_in_can_be_described_and_not_run(self, robot, tmp_path, name) -> None:
        made = varied(robot, tmp_path, observation=["gyro", {"name": name, "size": 7}])
        policy = linear_policy(made, tmp_path / "p.onnx")
        with pytest.raises(PolicyError, match=rf"observes {name} \(7 entries\).*not run here"):
            PolicyAgent(policy, made, 1)
