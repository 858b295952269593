"""MCAP files and ROS 2 bags, written by the real library: exact numbers, chosen topics, clocks, and files
that break off.
"""

import dataclasses

import numpy as np
import pytest
import yaml
from support.log_files import STORE, header, imu, joint_state, mcap_of, message, twist, write_bag
from support.robot_files import HEXAPOD

from surefoot.cli.main import run
from surefoot.errors import LogError
from surefoot.logs import read_log
from surefoot.logs.importing import MapFile, assemble, read_map, read_recording
from surefoot.logs.importing.cdr import decode
from surefoot.logs.importing.messages import KNOWN
from surefoot.logs.importing.unitree import motor_joints
from surefoot.robot import load_robot

ROWS = 100


def brought_in(robot, path, map_file: MapFile | None = None):
    map_file = map_file or MapFile()
    return assemble([read_recording(path, robot.contract, map_file)], robot, map_file)


def mapped(tmp_path, **content) -> MapFile:
    path = tmp_path / "map.yaml"
    path.write_text(yaml.safe_dump(content))
    return read_map(path)


def walk(robot, rows=ROWS, hz=50.0):
    """Position, velocity, torque and target of each row, all different."""
    rng = np.random.default_rng(0)
    shape = (rows, robot.contract.n_joints)
    return np.arange(rows) / hz, *(rng.uniform(-1, 1, shape) for _ in range(4))


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


def low_state(q, dq, tau, time_s):
    motors = [
        (
            message(
                "unitree_go/msg/MotorState",
                mode=1,
                q=float(q[i]),
                dq=float(dq[i]),
                tau_est=float(tau[i]),
                temperature=30 + i,
                lost=i,
            )
            if i < 12
            else message("unitree_go/msg/MotorState")
        )
        for i in range(20)
    ]
    about = message(
        "unitree_go/msg/IMUState",
        quaternion=np.array([1, 0, 0, 0], np.float32),
        gyroscope=np.array([time_s, 0.5, 0.25], np.float32),
    )
    return message(
        "unitree_go/msg/LowState",
        motor_state=motors,
        imu_state=about,
        foot_force=np.array([1, 2, 3, 4], np.int16),
        power_v=28.5,
        tick=round(time_s * 1e3),
    )


def low_cmd(q, kp=25.0, kd=0.5):
    motors = [
        (
            message("unitree_go/msg/MotorCmd", mode=1, q=float(q[i]), kp=kp, kd=kd)
            if i < 12
            else message("unitree_go/msg/MotorCmd", q=2.146e9)
        )
        for i in range(20)
    ]
    return message("unitree_go/msg/LowCmd", motor_cmd=motors)


def unitree_order(robot):
    """Place of each Unitree motor in the policy's order."""
    return [
        robot.contract.joints.index(f"{leg}_{part}_joint")
        for leg in ("FR", "FL", "RR", "RL")
        for part in ("hip", "thigh", "calf")
    ]


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
        late = brought_in(go2, bag, mapped(tmp_path, clock="log"))
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
            brought_in(robot, path, map_file)
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
        assert brought_in(go2, bag, mapped(tmp_path, command="/teleop/twist")).command.max() == 9
        self.refused(go2, bag, "no such topic", "did you mean", map_file=mapped(tmp_path, command="/nav/twists"))
        self.refused(go2, bag, "hold no command", map_file=mapped(tmp_path, command="/joint_states"))

    def test_missing_joints_are_named_and_can_be_renamed(self, go2, tmp_path) -> None:
        theirs = [f"motor{i}" for i in range(12)]
        time, position, _, _, target = walk(go2)
        found = [("/joint_states", t, joint_state(theirs, position[i])) for i, t in enumerate(time)]
        found += [("/target", t, joint_state(theirs, target[i])) for i, t in enumerate(time)]
        bag = write_bag(tmp_path / "bag", found)
        self.refused(go2, bag, "lacks the joints FL_hip_joint", "it names motor0", "joints: {theirs: ours}")
        log = brought_in(go2, bag, mapped(tmp_path, joints=dict(zip(theirs, go2.contract.joints, strict=True))))
        np.testing.assert_array_equal(log.joint_position_rad, position)


class TestUnitree:
    def bag(self, go2, tmp_path, storage="mcap", hz=500.0):
        time, position, velocity, torque, target = walk(go2, 500, hz)
        order = unitree_order(go2)
        found = []
        for i, t in enumerate(time):
            found.append(("/lowstate", t, low_state(position[i, order], velocity[i, order], torque[i, order], t)))
            (
                found.append(("/lf/lowstate", t, low_state(0 * position[i], velocity[i], torque[i], t)))
                if i % 25 == 0
                else None
            )
            if i % 10 == 0:
                found.append(("/lowcmd", t + 1e-4, low_cmd(target[i, order])))
        return write_bag(tmp_path / "bag", found, storage)

    @pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
    def test_motors_go_to_their_joints(self, go2, tmp_path, storage) -> None:
        time, position, velocity, torque, target = walk(go2, 500, 500.0)
        log = brought_in(go2, self.bag(go2, tmp_path, storage))
        every = np.arange(0, 500, 10)
        np.testing.assert_array_equal(log.joint_position_rad, position[every].astype(np.float32))
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity[every].astype(np.float32))
        np.testing.assert_array_equal(log.torque_nm, torque[every].astype(np.float32))
        found = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
        np.testing.assert_allclose(found, target[every].astype(np.float32), atol=1e-9)
        np.testing.assert_array_equal(log.motor_temperature_c[0, go2.contract.joints.index("FR_hip_joint")], 30)
        np.testing.assert_array_equal(log.motor_temperature_c[0, go2.contract.joints.index("RL_calf_joint")], 41)
        np.testing.assert_array_equal(log.gyro_rad_s[:, 0], time[every].astype(np.float32))
        np.testing.assert_array_equal(log.foot_contact[0], [1, 2, 3, 4])
        assert log.metadata["feet"] == ["FR", "FL", "RR", "RL"]
        np.testing.assert_allclose(log.battery_v, 28.5)
        assert log.metadata["recorded_gains"] == {"kp": [25.0] * 12, "kd": [0.5] * 12}
        assert "command" in log.metadata["assumed"]

    def test_the_file_keeps_it(self, go2, tmp_path, capsys) -> None:
        bag = self.bag(go2, tmp_path)
        assert run(["log", "import", str(mcap_of(bag)), "--robot", "go2", "--out", str(tmp_path / "log.parquet")]) == 0
        assert "joint_position <- /lowstate (LowState)" in capsys.readouterr().out
        back = read_log(tmp_path / "log.parquet")
        assert back.foot_contact.shape == (50, 4)
        assert run(["log", "show", str(tmp_path / "log.parquet")]) == 0
        assert "foot_contact" in capsys.readouterr().out

    def test_uncontrolled_motors_are_no_targets(self, go2, tmp_path) -> None:
        """While the motors are switched off there is no action: those rows go, and the rest is two episodes."""
        time, position, velocity, torque, target = walk(go2)
        found = []
        for i, t in enumerate(time):
            found.append(("/lowstate", t, low_state(position[i], velocity[i], torque[i], t)))
            found.append(("/lowcmd", t, low_cmd(target[i] if not 40 <= i < 60 else np.full(12, 2.146e9))))
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        assert log.n_episodes == 2
        assert np.abs(log.action).max() < 10
        assert any("hold no target" in note for note in log.metadata["notes"])

    def test_other_robots_list_their_motors(self, tmp_path, go2) -> None:
        hexapod = load_robot(HEXAPOD)
        bag = self.bag(go2, tmp_path)
        with pytest.raises(LogError, match="list the joint of motor 0, 1, 2") as caught:
            brought_in(hexapod, bag)
        assert "motors: [...]" in str(caught.value)
        motors = [None, *hexapod.contract.joints, None]
        assert motor_joints(hexapod.contract.joints, MapFile(motors=tuple(motors)), "unitree_go") == motors
        with pytest.raises(LogError, match="'knee'"):
            motor_joints(hexapod.contract.joints, MapFile(motors=("knee",)), "unitree_go")

    def test_humanoid_messages(self, robot, tmp_path) -> None:
        n = robot.contract.n_joints
        found = []
        for i in range(30):
            state = [
                message(
                    "unitree_hg/msg/MotorState", q=i + j / 100, dq=float(j), temperature=np.array([j, 99], np.int16)
                )
                for j in range(35)
            ]
            order = [message("unitree_hg/msg/MotorCmd", q=float(j)) for j in range(35)]
            found += [
                ("/lowstate", i / 50, message("unitree_hg/msg/LowState", motor_state=state)),
                ("/lowcmd", i / 50, message("unitree_hg/msg/LowCmd", motor_cmd=order)),
            ]
        log = brought_in(
            robot, write_bag(tmp_path / "bag", found), mapped(tmp_path, motors=list(robot.contract.joints)[::-1])
        )
        np.testing.assert_allclose(log.joint_position_rad[7], 7 + np.arange(n)[::-1] / 100, rtol=1e-6)
        np.testing.assert_array_equal(log.motor_temperature_c[0], np.arange(n)[::-1])


class TestDecoding:
    @pytest.mark.parametrize("kind", KNOWN)
    @pytest.mark.parametrize("little", [True, False])
    def test_as_the_library_decodes_it(self, kind, little) -> None:
        """The fast way against rosbags, field by field, for messages full of random numbers."""
        rng = np.random.default_rng(0)

        def shaken(content, length):
            for name, (node, inner) in STORE.fielddefs[content.__msgtype__][1]:
                value = getattr(content, name)
                if node.name == "NAME":
                    shaken(value, length)
                elif node.name == "BASE":
                    setattr(content, name, "x" * length if inner[0] == "string" else type(value)(rng.integers(0, 100)))
                elif inner[0][0].name == "NAME":
                    if node.name == "SEQUENCE":
                        setattr(content, name, [message(inner[0][1]) for _ in range(2)])
                    for item in getattr(content, name):
                        shaken(item, length)
                elif inner[0][1][0] == "string":
                    setattr(content, name, [f"name {i}" * length for i in range(length)])
                else:
                    count = len(value) if node.name == "ARRAY" else 3
                    setattr(content, name, rng.integers(0, 100, count).astype(inner[0][1][0].replace("byte", "uint8")))
            return content

        originals = [shaken(message(kind), length) for length in (1, 2, 2, 5, 2)]
        raw = [bytes(STORE.serialize_cdr(content, kind, little_endian=little)) for content in originals]
        blocks, broken = decode(raw, kind)
        assert broken == 0
        assert sorted(i for block in blocks for i in block.rows) == [0, 1, 2, 3, 4]
        assert len(blocks) <= 3

        def compare(content, block, row, path):
            for name, (node, _) in STORE.fielddefs[content.__msgtype__][1]:
                value, here = getattr(content, name), f"{path}.{name}" if path else name
                if node.name == "NAME":
                    compare(value, block, row, here)
                elif isinstance(value, str):
                    assert block.layout.texts[here] == (value,)
                elif isinstance(value, list) and value and dataclasses.is_dataclass(value[0]):
                    for i, item in enumerate(value):
                        compare(item, block, row, f"{here}.{i}")
                elif isinstance(value, list) and value and isinstance(value[0], str):
                    assert block.layout.texts[here] == tuple(value)
                else:
                    np.testing.assert_array_equal(block.numbers(here)[row], np.atleast_1d(value))

        for block in blocks:
            for row, i in enumerate(block.rows):
                compare(STORE.deserialize_cdr(raw[i], kind), block, row, "")

    def test_many_layouts_are_all_decoded(self) -> None:
        raw = [
            bytes(STORE.serialize_cdr(joint_state([f"{i:03d}"], [float(i)]), "sensor_msgs/msg/JointState"))
            for i in range(100)
        ]
        blocks, broken = decode(raw, "sensor_msgs/msg/JointState")
        assert broken == 0
        assert sorted(
            (int(block.rows[0]), block.numbers("position")[0, 0], block.layout.texts["name"]) for block in blocks
        ) == [(i, i, (f"{i:03d}",)) for i in range(100)]

    @pytest.mark.parametrize(
        "raw",
        [b"", b"\x00", b"\x07\x01\x00\x00" + bytes(100), bytes(4) + b"\xff" * 100, b"\x00\x01\x00\x00" + b"\xff" * 100],
    )
    def test_what_is_no_message_is_counted(self, raw) -> None:
        assert decode([raw, raw], "sensor_msgs/msg/JointState") == ([], 2)


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
