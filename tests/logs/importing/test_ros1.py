"""ROS 1 bags, written by rosbags: the same messages without alignment, and headers with a number."""

import numpy as np
import pytest
from mcap.writer import Writer as McapWriter
from rosbags.rosbag1 import Writer as Ros1Writer
from support.log_files import START_NS, STORE1, joint_state1, write_ros1_bag
from support.recordings import ROWS, brought_in, refused, walk

from surefoot.logs.importing.cdr import decode


def joint_messages(robot):
    """Joint states in another order than the policy's, targets, and velocity commands."""
    time, position, velocity, torque, target = walk(robot)
    order = np.random.default_rng(5).permutation(robot.contract.n_joints)
    names = [robot.contract.joints[i] for i in order]
    kinds = STORE1.types
    found = []
    for i, t in enumerate(time):
        state = joint_state1(names, position[i, order], velocity[i, order], torque[i, order], time_s=t)
        found.append(("/joint_states", t, state))
        found.append(("/command", t, joint_state1(names, target[i, order], time_s=t)))
        vector = kinds["geometry_msgs/msg/Vector3"]
        twist = kinds["geometry_msgs/msg/Twist"](
            linear=vector(x=0.5, y=0.0, z=0.0), angular=vector(x=0.0, y=0.0, z=0.1)
        )
        found.append(("/cmd_vel", t, twist))
        found.append(("/chatter", t, kinds["std_msgs/msg/String"](data="hello")))
    return found


class TestRos1:
    @pytest.mark.parametrize("compression", [None, "BZ2", "LZ4"])
    def test_a_bag_becomes_a_log(self, robot, tmp_path, compression) -> None:
        time, position, velocity, torque, target = walk(robot)
        log = brought_in(robot, write_ros1_bag(tmp_path / "run.bag", joint_messages(robot), compression))
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_array_equal(log.torque_nm, torque)
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target, atol=1e-12)
        np.testing.assert_array_equal(log.command, np.tile([0.5, 0.0, 0.1], (ROWS, 1)))
        assert log.metadata["source"]["kind"] == "ROS 1 bag"

    def test_in_an_mcap_file(self, robot, tmp_path) -> None:
        _, position, _, _, _ = walk(robot)
        with open(tmp_path / "run.mcap", "wb") as file:
            writer = McapWriter(file)
            writer.start()
            channels = {}
            for topic, t, content in joint_messages(robot):
                kind = content.__msgtype__
                if topic not in channels:
                    schema = writer.register_schema(kind.replace("/msg", ""), "ros1msg", b"float64 x")
                    channels[topic] = writer.register_channel(topic, "ros1", schema)
                stamp = START_NS + round(t * 1e9)
                writer.add_message(channels[topic], stamp, bytes(STORE1.serialize_ros1(content, kind)), stamp)
            writer.finish()
        np.testing.assert_array_equal(brought_in(robot, tmp_path / "run.mcap").joint_position_rad, position)

    def test_numbers_equal_those_of_rosbags(self) -> None:
        state = joint_state1(["a", "bcd", ""], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], time_s=1.5)
        raw = bytes(STORE1.serialize_ros1(state, state.__msgtype__))
        ((block,), broken) = decode([raw, raw], state.__msgtype__, ros1=True)
        assert broken == 0
        assert block.layout.texts["name"] == ("a", "bcd", "")
        np.testing.assert_array_equal(block.numbers("position"), [[1.0, 2.0, 3.0]] * 2)
        np.testing.assert_array_equal(block.integers("header.seq"), [7, 7])
        assert decode([raw[:-3]], state.__msgtype__, ros1=True) == ([], 1)

    def test_refusals(self, go2, tmp_path) -> None:
        path = write_ros1_bag(tmp_path / "run.bag", joint_messages(go2))
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        refused(go2, path, "run.bag")
        index = whole.index(b"index_pos=") + len("index_pos=")
        path.write_bytes(whole[:index] + bytes(8) + whole[index + 8 :])
        refused(go2, path, "was not closed when it was recorded", "rosbag reindex run.bag")
        with Ros1Writer(tmp_path / "empty.bag"):
            pass
        refused(go2, tmp_path / "empty.bag", "has no topic that is known here")
