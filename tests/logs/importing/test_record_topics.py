"""MCAP files with JSON and Protobuf messages, written by the mcap packages."""

import json

import numpy as np
import pytest
from mcap.writer import Writer as McapWriter
from support.log_files import START_NS, STORE, joint_state, write_protobuf_mcap, write_record_mcap
from support.recordings import brought_in, mapped, motion, refused


def found_targets(robot, log):
    return robot.contract.pose_rad + log.action * robot.contract.action_scale_rad


class TestJson:
    def test_topics_with_and_without_names(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        names = [robot.contract.joints[i] for i in order]
        found: list[tuple[str, float, object]] = []
        for i, t in enumerate(time):
            state = {"name": names, "position": list(position[i, order]), "velocity": list(velocity[i, order])}
            found.append(("/joint_states", t, state))
            found.append(("/joint_command", t, {"position": list(target[i])}))
            found.append(("/log", t, {"text": "hello"}))
        log = brought_in(robot, write_record_mcap(tmp_path / "run.mcap", found))
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)
        assert log.metadata["source"]["channels"]["target"] == "/joint_command: position"

    @pytest.mark.parametrize("stamp", ["seconds", "float"])
    def test_stamps_inside_the_messages_are_the_better_clock(self, robot, tmp_path, stamp) -> None:
        """Messages were recorded up to 15 ms late; they tell when they were made, and 'clock: log' when recorded."""
        time, position, _, target = motion(robot)
        late = 0.015 * np.random.default_rng(0).uniform(size=len(time))
        found = []
        for i, t in enumerate(time):
            ns = START_NS + round(t * 1e9)
            made = {"sec": ns // 10**9, "nsec": ns % 10**9} if stamp == "seconds" else ns / 1e9
            record = {"timestamp": made, "q": list(position[i]), "q_des": list(target[i])}
            found.append(("/state", t + late[i], record))
        path = write_record_mcap(tmp_path / "run.mcap", found)
        np.testing.assert_allclose(brought_in(robot, path).time_s, time, atol=1e-6)
        recorded = brought_in(robot, path, map_file=mapped(tmp_path, clock="log"))
        np.testing.assert_allclose(recorded.time_s, (time + late) - late[0], atol=1e-6)

    def test_beside_topics_of_ros(self, robot, tmp_path) -> None:
        """Joint states of ROS 2, and targets as JSON."""
        time, position, _, target = motion(robot)
        with open(tmp_path / "run.mcap", "wb") as file:
            writer = McapWriter(file)
            writer.start()
            ros = writer.register_schema("sensor_msgs/msg/JointState", "ros2msg", b"")
            states = writer.register_channel("/joint_states", "cdr", ros)
            own = writer.register_schema("target", "jsonschema", b"{}")
            targets = writer.register_channel("/target", "json", own)
            for i, t in enumerate(time):
                stamp = START_NS + round(t * 1e9)
                state = joint_state(robot.contract.joints, position[i], time_s=t)
                writer.add_message(states, stamp, bytes(STORE.serialize_cdr(state, state.__msgtype__)), stamp)
                writer.add_message(targets, stamp, json.dumps({"q": list(target[i])}).encode(), stamp)
            writer.finish()
        log = brought_in(robot, tmp_path / "run.mcap")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)

    def test_a_file_that_breaks_off(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2, 500)
        found = [("/s", t, {"q": list(position[i]), "q_des": list(target[i])}) for i, t in enumerate(time)]
        path = write_record_mcap(tmp_path / "run.mcap", found, chunk_size=10_000)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        log = brought_in(go2, path)
        assert 100 < len(log.time_s) < 500
        assert any("breaks off" in note for note in log.metadata["notes"])

    def test_messages_that_are_no_records(self, go2, tmp_path) -> None:
        path = write_record_mcap(tmp_path / "run.mcap", [("/a", i / 50, [1, 2]) for i in range(10)])
        refused(go2, path, "has no topic that is known here", "10 of 10 messages of /a could not be decoded (json)")


class TestProtobuf:
    def test_a_robots_own_messages(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        position[3, 0] = 0.0  # proto3 does not write zeros
        path = write_protobuf_mcap(tmp_path / "run.mcap", robot.contract.joints, time, position, velocity, target)
        log = brought_in(robot, path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)

    def test_a_schema_that_is_none(self, go2, tmp_path) -> None:
        with open(tmp_path / "run.mcap", "wb") as file:
            writer = McapWriter(file)
            writer.start()
            schema = writer.register_schema("robot.State", "protobuf", b"\xff\xff\xff nothing")
            channel = writer.register_channel("/state", "protobuf", schema)
            writer.add_message(channel, START_NS, b"\x0a\x01", START_NS)
            writer.finish()
        refused(go2, tmp_path / "run.mcap", "1 of 1 messages of /state could not be decoded (protobuf)")
