"""MCAP files and ROS 2 bags, written by the real library: exact numbers, chosen topics, clocks, and files
that break off.
"""

import numpy as np
import pytest
from support.log_files import header, imu, joint_state, mcap_of, message, twist, write_bag
from support.recordings import ROWS, brought_in, mapped, walk

from surefoot.cli.main import run
from surefoot.errors import LogError


def joint_messages(robot, rows=ROWS):
    """A bag of joint states in another order than the policy's, targets, velocity commands and an IMU."""
    time, position, velocity, torque, target = walk(robot, rows)
    order = np.random.default_rng(5).permutation(robot.contract.n_joints)
    names = [robot.contract.joints[i] for i in order]
    found = []
    for i, t in enumerate(time):
        found.append(
            ("/joint_states", t, joint_state(names, position[i, order], velocity[i, order], torque[i, order], time_s=t))
        )
        found.append(("/joint_targets/command", t, joint_state(names, target[i, order], time_s=t)))
        if i % 10 == 0:
            found.append(("/cmd_vel", t, twist(0.01 * i, -0.01 * i, 0.02 * i)))
        found.append(("/imu/data", t, imu([np.cos(t / 2), np.sin(t / 2), 0, 0], [t, 2 * t, 3 * t], t)))
        found.append(("/chatter", t, message("std_msgs/msg/String", data="hello")))
    return found


class TestJointStates:
    @pytest.mark.parametrize(
        ("storage", "compression"),
        [
            ("mcap", None),
            ("mcap", "storage"),
            ("sqlite3", None),
            ("sqlite3", "message"),
            ("sqlite3", "file"),
            ("mcap", "file"),
        ],
    )
    def test_a_bag_becomes_a_log(self, robot, tmp_path, storage, compression) -> None:
        time, position, velocity, torque, target = walk(robot)
        log = brought_in(robot, write_bag(tmp_path / "bag", joint_messages(robot), storage, compression))
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_array_equal(log.torque_nm, torque)
        np.testing.assert_allclose(
            robot.contract.pose_rad + log.action * robot.contract.action_scale_rad, target, atol=1e-12
        )
        held = np.arange(ROWS) // 10 * 10
        np.testing.assert_allclose(log.command, np.stack([0.01 * held, -0.01 * held, 0.02 * held], axis=1), atol=1e-15)
        np.testing.assert_allclose(log.gyro_rad_s, np.outer(time, [1, 2, 3]))
        np.testing.assert_allclose(log.quaternion[:, 1], np.sin(time / 2), atol=1e-12)
        np.testing.assert_allclose(log.gravity, np.stack([0 * time, -np.sin(time), -np.cos(time)], axis=1), atol=1e-12)
        assert log.metadata["source"]["channels"]["joint_position"] == "/joint_states"
        assert log.metadata["source"]["channels"]["target"] == "/joint_targets/command"

    def test_an_mcap_file_alone(self, go2, tmp_path) -> None:
        bag = write_bag(tmp_path / "bag", joint_messages(go2))
        alone, whole = brought_in(go2, mcap_of(bag)), brought_in(go2, bag)
        np.testing.assert_array_equal(alone.joint_position_rad, whole.joint_position_rad)
        assert (alone.metadata["source"]["kind"], whole.metadata["source"]["kind"]) == ("MCAP", "ROS 2 bag")

    def test_a_bag_that_was_never_closed(self, go2, tmp_path) -> None:
        for storage in ("mcap", "sqlite3"):
            bag = write_bag(tmp_path / storage, joint_messages(go2), storage)
            (bag / "metadata.yaml").unlink()
            log = brought_in(go2, bag)
            assert len(log.time_s) == ROWS
            assert any("metadata.yaml is missing" in note for note in log.metadata["notes"])

    def test_targets_as_arrays_and_trajectories(self, go2, tmp_path) -> None:
        time, position, velocity, _, target = walk(go2)
        joints = list(go2.contract.joints)
        states = [
            ("/joint_states", t, joint_state(joints, position[i], velocity[i], time_s=t)) for i, t in enumerate(time)
        ]
        arrays = [
            ("/leg_controller/commands", t, message("std_msgs/msg/Float64MultiArray", data=target[i]))
            for i, t in enumerate(time)
        ]
        log = brought_in(go2, write_bag(tmp_path / "arrays", states + arrays))
        np.testing.assert_allclose(
            go2.contract.pose_rad + log.action * go2.contract.action_scale_rad, target, atol=1e-12
        )
        actions = [
            ("/policy/action", t, message("std_msgs/msg/Float32MultiArray", data=target[i].astype(np.float32)))
            for i, t in enumerate(time)
        ]
        log = brought_in(go2, write_bag(tmp_path / "actions", states + actions))
        np.testing.assert_array_equal(log.action, target.astype(np.float32))
        points = [
            message(
                "trajectory_msgs/msg/JointTrajectory",
                header=header(t),
                joint_names=joints[::-1],
                points=[message("trajectory_msgs/msg/JointTrajectoryPoint", positions=target[i][::-1].copy())],
            )
            for i, t in enumerate(time)
        ]
        log = brought_in(
            go2,
            write_bag(
                tmp_path / "trajectory", states + [("/trajectory", t, m) for t, m in zip(time, points, strict=True)]
            ),
        )
        np.testing.assert_allclose(
            go2.contract.pose_rad + log.action * go2.contract.action_scale_rad, target, atol=1e-12
        )

    def test_faster_states_are_taken_at_the_actions_stamps(self, go2, tmp_path) -> None:
        time, position, velocity, _, _ = walk(go2, rows=1000, hz=500.0)
        joints = list(go2.contract.joints)
        found = [
            ("/joint_states", t, joint_state(joints, position[i], velocity[i], time_s=t)) for i, t in enumerate(time)
        ]
        found += [
            ("/action", 0.0061 + 0.02 * k, message("std_msgs/msg/Float64MultiArray", data=np.full(12, float(k))))
            for k in range(95)
        ]
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        np.testing.assert_array_equal(log.action[:, 0], np.arange(95))
        np.testing.assert_array_equal(log.joint_position_rad, position[3 + 10 * np.arange(95)])  # 6 ms, 26 ms, ...

    @pytest.mark.parametrize("late_s", [0.0, 0.001, 0.008])
    def test_an_action_belongs_to_the_state_it_was_made_from(self, go2, tmp_path, late_s) -> None:
        """Both at 50 Hz with jitter; the action is sent a little after the state."""
        time, position, velocity, _, target = walk(go2)
        joints = list(go2.contract.joints)
        stamps = time + np.random.default_rng(1).uniform(-0.001, 0.001, ROWS)
        found = [
            ("/joint_states", t, joint_state(joints, position[i], velocity[i], time_s=t)) for i, t in enumerate(stamps)
        ]
        found += [
            ("/action", t + late_s, message("std_msgs/msg/Float64MultiArray", data=target[i]))
            for i, t in enumerate(stamps)
        ]
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        np.testing.assert_array_equal(log.action, target)
        np.testing.assert_allclose(log.time_s, stamps - stamps[0], atol=1e-9)  # jitter is for the doctor to see

    def test_the_recorders_clock_where_the_header_has_another(self, go2, tmp_path) -> None:
        time, position, velocity, _, target = walk(go2)
        joints = list(go2.contract.joints)
        found = []
        for i, t in enumerate(time):
            found.append(("/joint_states", t + 0.004, joint_state(joints, position[i], velocity[i], time_s=t)))
            found.append(("/joint_commands", t, joint_state(joints, target[i], time_s=t - 1e6)))
        bag = write_bag(tmp_path / "bag", found)
        log = brought_in(go2, bag)
        np.testing.assert_allclose(np.diff(log.time_s), 0.02, atol=1e-9)
        assert any("off the recorder's clock" in note for note in log.metadata["notes"])
        target_now = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
        np.testing.assert_allclose(target_now, target, atol=1e-12)
        late = brought_in(go2, bag, map_file=mapped(tmp_path, clock="log"))
        np.testing.assert_array_equal(late.joint_position_rad, position)

    def test_imu_without_orientation_gives_the_gyro_only(self, go2, tmp_path) -> None:
        found = [item for item in joint_messages(go2) if item[0] != "/imu/data"]
        found += [
            ("/imu/data", t / 50, imu([0, 0, 0, 0], [1, 2, 3], t / 50, without_orientation=True)) for t in range(ROWS)
        ]
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        assert log.quaternion is None
        assert log.gravity is None
        np.testing.assert_array_equal(log.gyro_rad_s, np.tile([1.0, 2.0, 3.0], (ROWS, 1)))

    def test_messages_of_other_joints_are_left_out(self, go2, tmp_path) -> None:
        found = joint_messages(go2) + [
            ("/joint_states", t / 50 + 0.005, joint_state(["arm_1", "arm_2"], [t, t], time_s=t / 50 + 0.005))
            for t in range(ROWS)
        ]
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        np.testing.assert_array_equal(log.joint_position_rad, walk(go2)[1])
        assert any("100 messages of /joint_states without all joints" in note for note in log.metadata["notes"])


class TestChoosing:
    def refused(self, robot, path, *parts, map_file=None) -> None:
        with pytest.raises(LogError) as caught:
            brought_in(robot, path, map_file=map_file)
        for part in parts:
            assert part in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_what_is_missing(self, go2, tmp_path) -> None:
        found = joint_messages(go2, 20)
        self.refused(
            go2,
            write_bag(tmp_path / "a", [m for m in found if m[0] != "/joint_states"]),
            "no joint positions",
            "/imu/data (Imu)",
        )
        self.refused(
            go2,
            write_bag(tmp_path / "b", [m for m in found if "target" not in m[0]]),
            "no actions or joint targets beside /joint_states",
        )
        self.refused(
            go2,
            write_bag(tmp_path / "c", [m for m in found if m[0] == "/chatter"]),
            "no topic that is known",
            "/chatter (std_msgs/msg/String)",
        )

    def test_two_topics_for_one_role(self, go2, tmp_path) -> None:
        found = [*joint_messages(go2, 20), ("/teleop/twist", 0.1, twist(9, 9, 9))]
        found = [("/nav/twist" if topic == "/cmd_vel" else topic, t, m) for topic, t, m in found]
        bag = write_bag(tmp_path / "bag", found)
        self.refused(go2, bag, "/nav/twist", "/teleop/twist could each be the command", "command: /nav/twist")
        assert brought_in(go2, bag, map_file=mapped(tmp_path, command="/teleop/twist")).command.max() == 9
        self.refused(go2, bag, "no such topic", "did you mean", map_file=mapped(tmp_path, command="/nav/twists"))
        self.refused(go2, bag, "hold no command", map_file=mapped(tmp_path, command="/joint_states"))

    def test_missing_joints_are_named_and_can_be_renamed(self, go2, tmp_path) -> None:
        theirs = [f"motor{i}" for i in range(12)]
        time, position, _, _, target = walk(go2)
        found = [("/joint_states", t, joint_state(theirs, position[i])) for i, t in enumerate(time)]
        found += [("/target", t, joint_state(theirs, target[i])) for i, t in enumerate(time)]
        bag = write_bag(tmp_path / "bag", found)
        self.refused(go2, bag, "lacks the joints FL_hip_joint", "it names motor0", "joints: {theirs: ours}")
        log = brought_in(
            go2, bag, map_file=mapped(tmp_path, joints=dict(zip(theirs, go2.contract.joints, strict=True)))
        )
        np.testing.assert_array_equal(log.joint_position_rad, position)


class TestBrokenFiles:
    @pytest.mark.parametrize("compression", [None, "storage"])
    def test_a_truncated_mcap_gives_what_could_be_read(self, go2, tmp_path, compression) -> None:
        """Two chunks and more: the second is cut in its middle."""
        path = mcap_of(write_bag(tmp_path / "bag", joint_messages(go2, 2500), compression=compression))
        whole = path.read_bytes()
        full = brought_in(go2, path)
        lengths = []
        for share in (0.2, 0.5, 0.8):
            path.write_bytes(whole[: int(share * len(whole))])
            log = brought_in(go2, path)
            n = len(log.time_s)
            lengths.append(n)
            np.testing.assert_array_equal(log.joint_position_rad, full.joint_position_rad[:n])
            assert any("breaks off at byte" in note for note in log.metadata["notes"])
        assert 100 < lengths[0] < lengths[1] < lengths[2] < 2500

    def test_the_command_line_says_it(self, go2, tmp_path, capsys) -> None:
        path = mcap_of(write_bag(tmp_path / "bag", joint_messages(go2)))
        path.write_bytes(path.read_bytes()[:100_000])
        assert run(["log", "import", str(path), "--out", str(tmp_path / "log.parquet")]) == 0
        assert "breaks off at byte 100000" in capsys.readouterr().out

    def test_files_that_are_no_bags(self, go2, tmp_path) -> None:
        for name, content in (
            ("a.mcap", b""),
            ("b.mcap", b"\x89MCAP0\r\n"),
            ("c.db3", b"SQLite format 3\x00" + bytes(100)),
            ("d.mcap", b"nothing of the sort"),
        ):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(LogError, match=name):
                brought_in(go2, tmp_path / name)
        (tmp_path / "bag").mkdir()
        (tmp_path / "bag" / "metadata.yaml").write_text("rosbag2_bagfile_information: 3")
        with pytest.raises(LogError, match="bag"):
            brought_in(go2, tmp_path / "bag")
