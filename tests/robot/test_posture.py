"""Postures: the frame that is level in one, how a policy's file says that it means one, and logs of one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from support.postures import HIND, pitched

from surefoot.errors import GapError, PolicyError, SurefootError
from surefoot.gap import schedule_of
from surefoot.logs import RobotLog
from surefoot.logs.doctor import check_log
from surefoot.policy import OnnxPolicy, attach, with_policy_posture, write_mlp
from surefoot.robot import LEVEL
from surefoot.robot.posture import POSTURE_KEY, read_posture
from surefoot.sim.frames import in_heading_frame, yaw_of
from surefoot.sim.sensing import gravity_in_base


class TestFrame:
    @pytest.mark.parametrize("yaw", [0.0, 1.0, -2.5])
    def test_is_level_and_heads_ahead_in_the_posture(self, yaw):
        frame = HIND.frame(pitched(np.pi / 2, yaw))
        np.testing.assert_allclose(gravity_in_base(frame), [[0, 0, -1]], atol=1e-12)
        np.testing.assert_allclose(yaw_of(frame), [yaw], atol=1e-12)

    def test_on_hind_legs_the_nose_is_up_and_the_belly_ahead(self):
        np.testing.assert_allclose(HIND.turned(np.eye(3)), [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-12)

    def test_of_gravity_is_gravity_in_the_frame(self):
        quaternion = np.random.default_rng(0).normal(size=(20, 4))
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
        np.testing.assert_allclose(
            HIND.turned(gravity_in_base(quaternion)), gravity_in_base(HIND.frame(quaternion)), atol=1e-12
        )

    def test_walking_where_it_looks_is_forward(self):
        velocity = np.array([[np.cos(0.7), np.sin(0.7), 0.0]])
        np.testing.assert_allclose(
            in_heading_frame(velocity, HIND.frame(pitched(np.pi / 2, 0.7))), [[1, 0, 0]], atol=1e-12
        )

    def test_level_changes_nothing(self):
        quaternion = pitched(0.3, 0.5)
        assert LEVEL.frame(quaternion) is quaternion
        assert LEVEL.turned(quaternion[:, :3]) is not None
        np.testing.assert_array_equal(LEVEL.turned(quaternion[:, :3]), quaternion[:, :3])


class TestInAPolicyFile:
    def write(self, path, robot, metadata, forward=(-0.1, 0.1)):
        contract = replace(robot.contract, command_range=(forward, (0.0, 0.0), (0.0, 0.0)))
        write_mlp(
            path,
            contract,
            [(np.zeros((contract.observation_size, contract.n_joints)), np.zeros(contract.n_joints))],
            metadata=metadata,
        )
        return with_policy_posture(robot, path)

    def test_is_read_back_to_the_last_bit(self, robot, tmp_path):
        said = replace(
            HIND,
            pose_rad=tuple(np.random.default_rng(0).normal(size=robot.contract.n_joints).tolist()),
            feet=robot.feet[:2],
        )
        meant = self.write(tmp_path / "up.onnx", robot, {POSTURE_KEY: said.to_json()})
        assert meant.posture == said
        assert meant.contract.command_range[0] == (-0.1, 0.1)
        assert meant.hash == robot.hash
        assert meant.contract_hash == robot.contract_hash == robot.contract.hash != meant.contract.hash

    def test_attaching_the_contract_again_keeps_its_commands(self, robot, tmp_path):
        for name, metadata, kept in (
            ("up", {POSTURE_KEY: HIND.to_json()}, (-0.1, 0.1)),
            ("plain", {}, robot.contract.command_range[0]),
        ):
            self.write(tmp_path / f"{name}.onnx", robot, metadata)
            attach(tmp_path / f"{name}.onnx", robot, tmp_path / "again.onnx")
            assert OnnxPolicy.load(tmp_path / "again.onnx").contract.command_range[0] == kept

    def test_a_file_that_says_nothing_means_the_robot_as_it_is(self, robot, tmp_path):
        assert self.write(tmp_path / "plain.onnx", robot, {}) is robot
        assert with_policy_posture(robot, "zero") is robot

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("pitch_rad", 3.2),
            ("pitch_rad", float("nan")),
            ("pitch_rad", "1"),
            ("pitch_rad", 10**400),
            ("height_m", -1),
            ("height_m", 1e6),
            ("height_m", None),
            ("rise_s", -1.0),
            ("rise_s", 61.0),
            ("rise_s", 1e300),
            ("rise_s", True),
            ("rise_s", 0),
            ("pose_rad", [1.0]),
            ("pose_rad", "1" * 12),
            ("pose_rad", [1e300] * 12),
            ("pose_rad", [[0.0]] * 12),
            ("pose_rad", {}),
            ("feet", "FL"),
            ("feet", ["hand"]),
            ("feet", [["FL"]]),
            ("name", ""),
            ("name", "x" * 41),
            ("name", "a\nb"),
            ("name", "\x1b[2J"),
            ("name", 7),
        ],
    )
    def test_what_no_robot_can_do_is_named(self, field, value):
        text = json.dumps(json.loads(HIND.to_json()) | {field: value})
        with pytest.raises(
            PolicyError, match=rf"posture inside walk.onnx .*: {field} is .*; it must be .* export the policy again"
        ) as said:
            read_posture(text, "walk.onnx", 12, ("FL", "FR"), 0.3)
        assert len(str(said.value)) < 400
        assert str(said.value).isprintable()

    @pytest.mark.parametrize(
        "text", ["{", "[]", "null", '{"name": "x"}', "[" * 100_000, '{"pitch_rad": 1' + "0" * 5000 + "}"]
    )
    def test_what_is_no_posture_is_one_sentence(self, text):
        with pytest.raises(
            PolicyError, match=r"posture inside walk.onnx .* is not a mapping with feet.* export the policy again"
        ):
            read_posture(text, "walk.onnx", 12, ("FL", "FR"), 0.3)

    @pytest.mark.parametrize("forward", [(0.5, -0.5), (-11.0, 0.5), (0.0, 50.0)])
    def test_commands_that_nobody_can_give_are_refused(self, robot, tmp_path, forward):
        with pytest.raises(PolicyError, match=r"command_range \(forward m/s\) is .* export the policy again"):
            self.write(tmp_path / "up.onnx", robot, {POSTURE_KEY: HIND.to_json()}, forward)

    def test_a_robot_needs_time_to_rise(self):
        with pytest.raises(SurefootError, match=r"pitch of 1.5708 rad and a rise_s of 0"):
            replace(HIND, rise_s=0.0)


def log_of(robot, episode_s, metadata=None):
    """A log of episodes of these lengths, in which little happens."""
    sizes = [round(s * robot.contract.control_hz) for s in episode_s]
    rows, joints = sum(sizes), robot.contract.n_joints
    moving = np.random.default_rng(0).normal(size=(3, rows, joints))
    return RobotLog(
        joints=robot.contract.joints,
        metadata={} if metadata is None else metadata,
        episode=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        time_s=np.concatenate([np.arange(size) * robot.contract.control_dt_s for size in sizes]),
        command=np.zeros((rows, 3)),
        joint_position_rad=moving[0],
        joint_velocity_rad_s=moving[1],
        action=moving[2],
    )


class TestSchedule:
    """The simulator starts level, so that a robot that rises can be followed from the start of an episode only."""

    def test_a_long_walk_counts_from_its_start_only(self, robot):
        log = log_of(robot, (20.0, 6.0))
        own = [0, round(20 * robot.contract.control_hz)]
        assert [rows.start for rows in schedule_of(log, replace(robot, posture=HIND)).rows] == own
        level = [rows.start for rows in schedule_of(log, robot).rows]
        assert len(level) == 4
        assert set(own) < set(level)

    def test_what_was_cut_at_the_start_does_not_count(self, robot):
        log = log_of(robot, (6.0, 6.0, 6.0))
        usable = np.ones(len(log.time_s), dtype=bool)
        usable[:5] = False
        assert schedule_of(log, replace(robot, posture=HIND), usable).episode.tolist() == [1, 2]
        assert schedule_of(log, robot, usable).episode.tolist() == [0, 1, 2]

    def test_no_start_at_all_is_one_sentence(self, robot):
        log = log_of(robot, (6.0, 6.0))
        usable = log.time_s > 0.5
        with pytest.raises(GapError, match=r"from its own start.*'hind legs'.*the doctor's report") as caught:
            schedule_of(log, replace(robot, posture=HIND), usable)
        assert caught.value.verb == "doctor"

    def test_a_log_of_another_posture_asks_for_its_policy(self, robot):
        log = log_of(robot, (6.0, 6.0), {"posture": "hind legs"})
        with pytest.raises(GapError, match=r"in the posture 'hind legs', and not 'level'; give its policy$") as caught:
            schedule_of(log, robot)
        assert caught.value.argument == "policy"
        assert schedule_of(log, replace(robot, posture=HIND)).n == 2


class TestDoctor:
    def codes(self, robot, metadata):
        return [finding.code for finding in check_log(log_of(robot, (6.0, 6.0), metadata), robot).findings]

    def test_a_log_of_another_posture_asks_for_its_policy(self, robot):
        metadata = {"posture": "hind legs"}
        finding = check_log(log_of(robot, (6.0, 6.0), metadata), robot).findings[0]
        assert (finding.code, finding.severity) == ("posture", "error")
        assert finding.title == "the log is of a robot in the posture 'hind legs'; give its policy"
        assert "posture" not in self.codes(replace(robot, posture=HIND), metadata)
        assert "posture" not in self.codes(robot, {})

    def test_an_upright_robot_has_a_contract_too(self, robot):
        """The commands are its policy's own; the rest is still robot.yaml's."""
        narrowed = replace(robot.contract, command_range=((-0.1, 0.1), (0.0, 0.0), (0.0, 0.0)))
        meant = replace(robot, posture=HIND, contract=narrowed, own_contract_hash=robot.contract.hash)
        assert "other-contract" not in self.codes(meant, {"contract_hash": robot.contract.hash})
        assert "other-contract" in self.codes(meant, {"contract_hash": "0" * 64})
