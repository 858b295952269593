"""Tables that people have become logs: right columns, right joints, right units, nothing invented, every guess said."""

import hashlib
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.log_files import joint_columns, write_csv, write_lerobot
from support.paths import ROOT

from surefoot.cli.main import run
from surefoot.errors import LogError
from surefoot.logs import RobotLog, read_log
from surefoot.logs.importing import MapFile, assemble, read_map, read_recording
from surefoot.logs.importing.mapping import OTHERS, RULE_KEYS
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ROLES
from surefoot.logs.importing.resample import control_ticks, differentiate, hold, interpolate
from surefoot.logs.robot_log import OPTIONAL, REQUIRED
from surefoot.robot import Robot


def brought_in(robot: Robot, *paths, map_file: MapFile | None = None) -> RobotLog:
    map_file = map_file or MapFile()
    return assemble([read_recording(path, robot.contract, map_file) for path in paths], robot, map_file)


def mapped(tmp_path, **content) -> MapFile:
    path = tmp_path / "map.yaml"
    path.write_text(yaml.safe_dump(content))
    return read_map(path)


def motion(robot: Robot, rows: int = 100, hz: float = 50.0, seed: int = 0):
    """Time, position, velocity, target: smooth, and different for each joint."""
    contract = robot.contract
    rng = np.random.default_rng(seed)
    time = np.arange(rows) / hz
    phase, rate = rng.uniform(0, 6, contract.n_joints), rng.uniform(2, 6, contract.n_joints)
    angle = time[:, None] * rate + phase
    return (
        time,
        contract.pose_rad + 0.2 * np.sin(angle),
        0.2 * rate * np.cos(angle),
        contract.pose_rad + 0.2 * np.sin(angle + 0.3),
    )


def columns(robot: Robot, rows: int = 100, hz: float = 50.0, seed: int = 0) -> dict[str, np.ndarray]:
    time, position, velocity, target = motion(robot, rows, hz, seed)
    joints = robot.contract.joints
    return {
        "t_s": time,
        **joint_columns("q_", joints, position),
        **joint_columns("qd_", joints, velocity),
        **joint_columns("q_des_", joints, target),
    }


def refused(robot: Robot, path, *parts: str, map_file: MapFile | None = None) -> None:
    with pytest.raises(LogError) as caught:
        brought_in(robot, path, map_file=map_file)
    for part in parts:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


class TestCsv:
    def test_rows_at_the_control_rate_are_kept_as_they_are(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        log = brought_in(robot, write_csv(tmp_path / "run.csv", columns(robot)))
        contract = robot.contract
        np.testing.assert_array_equal(log.time_s, time)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(contract.pose_rad + log.action * contract.action_scale_rad, target, atol=1e-12)
        assert (log.command == 0).all()
        assert log.joints == contract.joints
        assert log.n_episodes == 1

    def test_the_log_says_where_it_comes_from(self, robot, tmp_path) -> None:
        path = write_csv(tmp_path / "run.csv", columns(robot))
        about = brought_in(robot, path).metadata
        assert (about["robot"], about["robot_hash"], about["contract_hash"]) == (
            robot.name,
            robot.hash,
            robot.contract.hash,
        )
        (file,) = about["source"]["files"]
        assert (file["file"], file["kind"], file["rate_hz"]) == ("run.csv", "CSV", 50.0)
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert about["source"]["channels"] == {"joint_position": "q_*", "joint_velocity": "qd_*", "target": "q_des_*"}
        assert set(about["derived"]) == {"action"}
        assert "zero" in about["assumed"]["command"]
        assert str(tmp_path) not in json.dumps(about)

    def test_columns_in_any_order_and_without_the_word_joint(self, go2, tmp_path) -> None:
        time, position, velocity, target = motion(go2)
        short = [name.removesuffix("_joint").upper() for name in go2.contract.joints]
        mixed = {f"{name}.pos": position[:, i] for i, name in enumerate(short)}
        mixed |= {f"{name}.vel": velocity[:, i] for i, name in enumerate(short)} | {
            f"{name}.target_pos": target[:, i] for i, name in enumerate(short)
        }
        names = list(mixed)
        np.random.default_rng(1).shuffle(names)
        path = write_csv(
            tmp_path / "run.csv", {name: mixed[name] for name in names} | {"timestamp": time * 1e6}, separator=";"
        )
        log = brought_in(go2, path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)

    def test_numbered_columns_are_taken_in_policy_order_and_it_is_said(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        n = robot.contract.n_joints
        path = write_csv(
            tmp_path / "run.csv",
            {"time": time}
            | {f"dof_pos_{i}": position[:, i] for i in range(n)}
            | {f"action[{i}]": target[:, i] for i in range(n)},
        )
        log = brought_in(robot, path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.action, target)  # actions are not targets: they are kept
        assert "order of robot.yaml" in log.metadata["assumed"]["joint order"]
        assert "action" not in log.metadata["derived"]

    def test_other_channels(self, go2, tmp_path) -> None:
        data = columns(go2)
        tilt = 0.1 * np.sin(data["t_s"])
        data |= {"gyro_x": tilt, "gyro_y": 2 * tilt, "gyro_z": 3 * tilt}
        data |= {"quat_w": np.cos(tilt / 2), "quat_x": np.sin(tilt / 2), "quat_y": 0 * tilt, "quat_z": 0 * tilt}
        data |= {"cmd_vx": tilt, "cmd_vy": -tilt, "cmd_yaw": 5 * tilt, "battery_voltage": 30 - tilt}
        data |= joint_columns("tau_", go2.contract.joints, np.tile(tilt, (12, 1)).T)
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.gyro_rad_s, np.stack([tilt, 2 * tilt, 3 * tilt], axis=1))
        np.testing.assert_array_equal(log.command, np.stack([tilt, -tilt, 5 * tilt], axis=1))
        np.testing.assert_array_equal(log.torque_nm[:, 3], tilt)
        np.testing.assert_array_equal(log.battery_v[:, 0], 30 - tilt)
        np.testing.assert_allclose(log.quaternion[:, :2], np.stack([np.cos(tilt / 2), np.sin(tilt / 2)], axis=1))
        np.testing.assert_allclose(log.gravity, np.stack([0 * tilt, -np.sin(tilt), -np.cos(tilt)], axis=1), atol=1e-12)
        assert "command" not in log.metadata["assumed"]
        assert "gravity" in log.metadata["derived"]

    def test_axes_before_and_after_the_word(self, go2, tmp_path) -> None:
        data = columns(go2)
        data |= {"vx_cmd": data["t_s"], "vy_cmd": 2 * data["t_s"], "wz_cmd": 3 * data["t_s"]}
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.command, np.outer(data["t_s"], [1, 2, 3]))

    def test_numbers_beyond_all_bounds_take_their_rows_only(self, go2, tmp_path) -> None:
        data = columns(go2)
        data["q_FL_hip_joint"] = data["q_FL_hip_joint"].copy()
        data["q_FL_hip_joint"][[10, 50]] = [1e300, -1e39]
        path = write_csv(tmp_path / "run.csv", data)
        log = brought_in(go2, path)
        assert len(log.time_s) == 98
        assert log.n_episodes == 1
        assert any("2 rows with numbers that are not finite" in note for note in log.metadata["notes"])

    def test_lists_in_cells(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        lines = ["stamp,q,q_target"]
        lines += [
            f'{t!r},"{list(map(float, p))}","{list(map(float, d))}"'
            for t, p, d in zip(map(float, time), position, target, strict=True)
        ]
        (tmp_path / "run.csv").write_text("\n".join(lines))
        np.testing.assert_array_equal(brought_in(go2, tmp_path / "run.csv").joint_position_rad, position)

    def test_a_file_cut_in_its_last_line_and_a_damaged_cell(self, go2, tmp_path) -> None:
        path = write_csv(tmp_path / "run.csv", columns(go2))
        lines = path.read_text().splitlines()
        lines[40] = lines[40].replace(lines[40].split(",")[5], "x#!", 1)
        path.write_text("\n".join(lines)[:-700])
        log = brought_in(go2, path)
        assert len(log.time_s) in (98, 97)  # without the damaged row and the cut one
        assert log.n_episodes == 1
        assert any("another number of cells" in note for note in log.metadata["notes"])
        assert any("empty in 1 of" in note for note in log.metadata["notes"])

    @pytest.mark.parametrize(
        ("drop", "parts"),
        [
            ("q_", ("run.csv has no joint positions", "joint_position: COLUMNS", "qd_*")),
            ("q_des_", ("no actions or joint targets beside q_*", "target: COLUMNS")),
            ("t_s", ("no column is called time", "'time: COLUMN'", "rate_hz")),
        ],
    )
    def test_what_is_missing_is_said(self, go2, tmp_path, drop, parts) -> None:
        data = {
            name: values
            for name, values in columns(go2).items()
            if not (name.startswith(drop) and (drop != "q_" or "des" not in name))
        }
        refused(go2, write_csv(tmp_path / "run.csv", data), *parts)

    def test_a_missing_joint_is_named(self, go2, tmp_path) -> None:
        data = columns(go2)
        del data["q_RL_calf_joint"]
        refused(go2, write_csv(tmp_path / "run.csv", data), "q_*", "joint_position", "lacks the joints RL_calf_joint")

    def test_two_candidates_are_not_decided_by_chance(self, go2, tmp_path) -> None:
        data = columns(go2) | joint_columns("position_", go2.contract.joints, motion(go2)[1])
        path = write_csv(tmp_path / "run.csv", data)
        refused(go2, path, "q_* and position_* could each be the joint_position", "'joint_position: \"q_*\"'")
        log = brought_in(go2, path, map_file=mapped(tmp_path, joint_position="q_*"))
        np.testing.assert_array_equal(log.joint_position_rad, motion(go2)[1])

    @pytest.mark.parametrize(
        "content", ["", "\n", "1,2,3\n4,5,6\n", "a\n", "time,q\n", "\x00\x01\x02", "time;q\n1;2\n"]
    )
    def test_text_that_is_no_log(self, go2, tmp_path, content) -> None:
        (tmp_path / "run.csv").write_text(content)
        refused(go2, tmp_path / "run.csv", "run.csv")


class TestMapFile:
    def test_names_units_signs_and_order(self, go2, tmp_path) -> None:
        """A log in degrees and rpm, with its own joint names, mirrored hips, and targets that are offsets
        from another pose.
        """
        time, position, velocity, target = motion(go2)
        joints = go2.contract.joints
        theirs = [f"m{i + 10}" for i in range(12)]
        sign = np.array([-1.0 if "hip" in joint else 1.0 for joint in joints])
        degrees, rpm = np.degrees(position * sign), velocity * sign * 30 / np.pi
        stance = np.arange(12) / 10
        data = (
            {"clock": time * 1e3}
            | joint_columns("", theirs, degrees)
            | joint_columns("v", theirs, rpm)
            | joint_columns("u", theirs, (target - stance) / 0.5)
        )
        map_file = mapped(
            tmp_path,
            time={"from": "clock", "unit": "ms"},
            joints=dict(zip(theirs, joints, strict=True)),
            joint_position={"from": "m*", "unit": "deg", "sign": {"*_hip_joint": -1}},
            joint_velocity={"from": "vm*", "unit": "rpm", "sign": {"*_hip_joint": -1}},
            target={"from": [f"u{name}" for name in theirs], "scale": 0.5, "offset": [float(v) for v in stance]},
            command=[0.5, 0.0, -0.25],
        )
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data), map_file=map_file)
        np.testing.assert_allclose(log.joint_position_rad, position, atol=1e-12)
        np.testing.assert_allclose(log.joint_velocity_rad_s, velocity, atol=1e-12)
        np.testing.assert_allclose(
            go2.contract.pose_rad + log.action * go2.contract.action_scale_rad, target, atol=1e-12
        )
        np.testing.assert_array_equal(log.command, np.tile([0.5, 0.0, -0.25], (100, 1)))
        assert "command" not in log.metadata["assumed"]

    def test_degrees_are_seen_in_a_column_name(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        joints = go2.contract.joints
        path = write_csv(
            tmp_path / "run.csv",
            {"t": time}
            | joint_columns("pos_deg_", joints, np.degrees(position))
            | joint_columns("target_", joints, target),
        )
        recording = read_recording(path, go2.contract)
        assert "joint_position <- pos_deg_* (in deg)" in recording.guesses
        np.testing.assert_allclose(assemble([recording], go2, MapFile()).joint_position_rad, position, atol=1e-12)

    def test_joint_order_of_arrays(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        order = np.random.default_rng(2).permutation(12)
        np.savez(tmp_path / "run.npz", time=time, dof_pos=position[:, order], des_dof_pos=target[:, order])
        map_file = mapped(tmp_path, joints=[go2.contract.joints[i] for i in order])
        log = brought_in(go2, tmp_path / "run.npz", map_file=map_file)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        assert "joint order" not in log.metadata["assumed"]

    def test_a_shifted_action(self, go2, tmp_path) -> None:
        """Actions stamped one tick late are moved back by shift_s."""
        time, position, _, target = motion(go2)
        joints = go2.contract.joints
        late = np.concatenate([target[:1], target[:-1]])
        path = write_csv(
            tmp_path / "run.csv",
            {"t": time} | joint_columns("q_", joints, position) | joint_columns("q_des_", joints, late),
        )
        log = brought_in(go2, path, map_file=mapped(tmp_path, target={"shift_s": -0.02}))
        found = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
        np.testing.assert_allclose(found[1:99], target[1:99], atol=1e-12)

    def test_quaternion_order_rate_and_channels_left_out(self, go2, tmp_path) -> None:
        time, position, velocity, target = motion(go2)
        quat = np.tile([0.1, 0.2, 0.3, np.sqrt(1 - 0.14)], (100, 1))
        np.savez(tmp_path / "run.npz", q=position, dq=velocity, q_des=target, imu_quat=quat, clock=time)
        map_file = mapped(
            tmp_path, time={"rate_hz": 50}, quaternion={"from": "imu_quat", "order": "xyzw"}, joint_velocity=None
        )
        log = brought_in(go2, tmp_path / "run.npz", map_file=map_file)
        np.testing.assert_allclose(log.quaternion[5], [np.sqrt(1 - 0.14), 0.1, 0.2, 0.3])
        np.testing.assert_allclose(log.time_s, time)
        assert "joint_velocity_rad_s" in log.metadata["derived"]
        assert "rows are 50 a second" in log.metadata["assumed"]["time"]

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            ({"joint_positon": "q_*"}, "did you mean 'joint_position'"),
            ({"joint_position": "p_*"}, "no column of run.csv matches"),
            ({"joint_position": "q_FL"}, "no such column"),
            ({"joint_position": {"from": "q_*", "unit": "grad"}}, "unit of joint_position is 'grad' (known: rad, deg)"),
            ({"joint_position": {"from": "q_*", "sgn": 1}}, "unknown key 'sgn'"),
            ({"joint_position": {"from": "q_*", "sign": "left"}}, "sign of joint_position"),
            ({"joint_position": {"from": "q_*", "scale": {"*_knee": 2}}}, "matches none of"),
            ({"joint_position": 3}, "joint_position is 3"),
            ({"action": [1.0, 2.0]}, "can be constant"),
            ({"command": [1.0, 2.0]}, "can be constant"),
            ({"time": {"rate_hz": 0}}, "time is {'rate_hz': 0}"),
            ({"time": {"from": "t_s", "unit": "h"}}, "unit of time is 'h'"),
            ({"joints": {"a": "b"}}, "not a joint of the robot"),
            ({"joints": 3}, "joints is 3"),
            ({"clock": "gps"}, "clock is 'gps'"),
            ({"motors": "FL"}, "motors is 'FL'"),
            ({"quaternion": {"from": "q_*", "order": "zyxw"}}, "must be wxyz or xyzw"),
            ({"target": {"shift_s": "late"}}, "shift_s of target"),
        ],
    )
    def test_mistakes_in_it(self, go2, tmp_path, content, says) -> None:
        path = write_csv(tmp_path / "run.csv", columns(go2))
        with pytest.raises(LogError) as caught:
            brought_in(go2, path, map_file=mapped(tmp_path, **content))
        assert says in str(caught.value)
        assert "map.yaml" in str(caught.value)

    def test_the_documents_examples_are_right(self, go2, tmp_path) -> None:
        """They load, and every key that the reader knows is in the document."""
        text = (ROOT / "docs" / "log-format.md").read_text(encoding="utf-8")
        examples = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.M | re.S)
        assert len(examples) == 2
        for example in examples:
            (tmp_path / "map.yaml").write_text(example)
            JointNames(go2.contract.joints, read_map(tmp_path / "map.yaml"))
        for key in (*ROLES, *OTHERS, *RULE_KEYS, *REQUIRED, *OPTIONAL, "derived", "assumed", "notes", "recorded_gains"):
            assert f"`{key}`" in text


class TestNpz:
    def test_pace_log_is_thinned_to_control_ticks(self, robot, tmp_path) -> None:
        """300 Hz, no velocity: every sixth sample, exactly; velocity from the full rate."""
        time, position, velocity, target = motion(robot, rows=1800, hz=300.0)
        np.savez(tmp_path / "run.npz", time=time, dof_pos=position, des_dof_pos=target)
        log = brought_in(robot, tmp_path / "run.npz")
        np.testing.assert_array_equal(log.joint_position_rad, position[::6])
        np.testing.assert_allclose(log.time_s, time[::6], atol=1e-12)
        np.testing.assert_allclose(log.joint_velocity_rad_s, velocity[::6], atol=2e-3)
        assert "5 samples" in log.metadata["derived"]["joint_velocity_rad_s"]
        assert any("recorded at 300 Hz" in note for note in log.metadata["notes"])

    def test_ticks_follow_the_changes_of_the_action(self, go2, tmp_path) -> None:
        """500 Hz rows, a policy that acts every 20.2 ms from 7 ms on: each action appears once, with the
        state of that moment.
        """
        time, position, _, _ = motion(go2, rows=2000, hz=500.0)
        acted_s = 0.007 + 0.0202 * np.arange(200)
        number = np.searchsorted(acted_s, time, side="right")
        np.savez(tmp_path / "run.npz", time=time, q=position, action=np.tile(number[:, None], (1, 12)).astype(float))
        log = brought_in(go2, tmp_path / "run.npz")
        seen = log.action[:, 0].astype(int)
        np.testing.assert_array_equal(np.diff(seen), 1)
        first = np.array([np.flatnonzero(number == value)[0] for value in seen])
        np.testing.assert_array_equal(log.joint_position_rad, position[first])

    def test_a_rate_in_between_is_interpolated(self, go2, tmp_path) -> None:
        time, position, velocity, target = motion(go2, rows=240, hz=120.0)
        np.savez(tmp_path / "run.npz", time=time, q=position, dq=velocity, action=target)
        log = brought_in(go2, tmp_path / "run.npz")
        at = log.time_s
        np.testing.assert_allclose(np.diff(at), 0.02, atol=1e-12)
        np.testing.assert_allclose(log.joint_position_rad[:, 3], np.interp(at, time, position[:, 3]), atol=1e-12)
        before = np.searchsorted(time, at + 1e-12, side="right") - 1
        np.testing.assert_array_equal(log.action, target[before])

    def test_arrays_of_another_robot(self, go2, tmp_path) -> None:
        np.savez(
            tmp_path / "run.npz", time=np.arange(50) / 50, dof_pos=np.zeros((50, 14)), des_dof_pos=np.zeros((50, 14))
        )
        refused(go2, tmp_path / "run.npz", "dof_pos (14 columns)", "for 12 joints")
        refused(
            go2,
            tmp_path / "run.npz",
            "14 columns without names for 12 joints",
            map_file=mapped(tmp_path, joint_position="dof_pos", target="des_dof_pos"),
        )
        with_others = ["neck", *go2.contract.joints, "tail"]
        assert brought_in(
            go2, tmp_path / "run.npz", map_file=mapped(tmp_path, joints=with_others)
        ).joint_position_rad.shape == (50, 12)

    def test_pickled_objects_are_refused_with_the_way_out(self, go2, tmp_path) -> None:
        np.savez(tmp_path / "run.npz", time=np.arange(5.0), q=np.array([{"a": 1}] * 5, dtype=object))
        refused(go2, tmp_path / "run.npz", "pickled objects", "numpy as n", "savez")
        for name in ("log.pkl", "log.pt"):
            (tmp_path / name).write_bytes(b"\x80\x04]q\x00.")
            refused(go2, tmp_path / name, "pickled objects", "savez", name)

    def test_a_header_that_claims_more_than_there_is(self, go2, tmp_path) -> None:
        path = tmp_path / "run.npz"
        np.savez(path, time=np.arange(5.0))
        whole = path.read_bytes()
        assert b"'shape': (5,), }      " in whole
        path.write_bytes(whole.replace(b"'shape': (5,), }      ", b"'shape': (5000000000,)}"[:22]))
        refused(go2, path, "run.npz")

    def test_other_kinds_are_named(self, go2, tmp_path) -> None:
        np.save(tmp_path / "run.npy", np.zeros(3))
        refused(go2, tmp_path / "run.npy", "a single array", "savez")
        (tmp_path / "old.bag").write_bytes(b"#ROSBAG V2.0\n")
        refused(go2, tmp_path / "old.bag", "ROS 1 bag", "rosbags-convert")
        (tmp_path / "what.bin").write_bytes(b"hello")
        refused(go2, tmp_path / "what.bin", "CSV, NPZ and Parquet")
        refused(go2, tmp_path / "none.csv", "does not exist")
        refused(go2, tmp_path, "neither a ROS 2 bag")


class TestTime:
    def test_gaps_split_and_are_not_filled(self, go2, tmp_path) -> None:
        data = columns(go2, rows=120)
        keep = np.r_[0:40, 43:80, 90:120]  # three rows lost is a dropout for the doctor; ten rows lost ends the episode
        log = brought_in(go2, write_csv(tmp_path / "run.csv", {name: values[keep] for name, values in data.items()}))
        assert [rows.stop - rows.start for rows in log.episodes()] == [77, 30]
        assert np.diff(log.time_s[log.episodes()[0]]).max() == pytest.approx(0.08)
        assert log.time_s[log.episodes()[1].start] == 0
        np.testing.assert_array_equal(log.joint_position_rad, motion(go2, 120)[1][keep])

    @pytest.mark.parametrize("hz", [120.0, 500.0])
    def test_gaps_of_faster_recordings_stay_gaps(self, go2, tmp_path, hz) -> None:
        time, position, velocity, target = motion(go2, rows=int(4 * hz), hz=hz)
        keep = (time < 1.0) | (time > 1.07)
        keep &= (time < 2.0) | (time > 2.5)
        np.savez(tmp_path / "run.npz", time=time[keep], q=position[keep], dq=velocity[keep], action=target[keep])
        log = brought_in(go2, tmp_path / "run.npz")
        assert log.n_episodes == 2
        first = log.time_s[log.episodes()[0]]
        assert not ((first > 1.01) & (first < 1.06)).any()
        assert first[-1] < 2.02

    def test_backward_and_repeated_stamps_are_kept_for_the_doctor(self, go2, tmp_path) -> None:
        data = columns(go2)
        data["t_s"] = data["t_s"].copy()
        data["t_s"][50] = data["t_s"][49]
        data["t_s"][70] = data["t_s"][69] - 0.01
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        np.testing.assert_array_equal(log.time_s, data["t_s"])
        assert any("1 time stamps go back and 1 repeat" in note for note in log.metadata["notes"])

    def test_a_clock_that_restarts_begins_an_episode(self, go2, tmp_path) -> None:
        data = columns(go2)
        data["t_s"] = np.concatenate([data["t_s"][:60], data["t_s"][:40]])
        assert [
            rows.stop - rows.start for rows in brought_in(go2, write_csv(tmp_path / "run.csv", data)).episodes()
        ] == [60, 40]

    def test_modes_and_episodes_split(self, go2, tmp_path) -> None:
        data = columns(go2) | {"episode_index": np.repeat([0, 1], 50), "mode": np.r_[np.zeros(30), np.ones(70)]}
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        assert [rows.stop - rows.start for rows in log.episodes()] == [30, 20, 50]

    def test_modes_in_words(self, go2, tmp_path) -> None:
        path = write_csv(tmp_path / "run.csv", columns(go2))
        lines = path.read_text().splitlines()
        words = ["mode", *["stand"] * 45, *["walk"] * 55]
        path.write_text("\n".join(f"{word},{line}" for word, line in zip(words, lines, strict=True)))
        assert [rows.stop - rows.start for rows in brought_in(go2, path).episodes()] == [45, 55]

    def test_files_are_episodes_of_their_own(self, go2, tmp_path) -> None:
        paths = [write_csv(tmp_path / f"{i}.csv", columns(go2, rows=20 + i, seed=i)) for i in range(3)]
        log = brought_in(go2, *paths)
        assert [rows.stop - rows.start for rows in log.episodes()] == [20, 21, 22]
        np.testing.assert_array_equal(log.joint_position_rad[20:41], motion(go2, 21, seed=1)[1])

    def test_nanoseconds_since_1970_keep_their_microseconds(self, go2, tmp_path) -> None:
        data = columns(go2)
        time = data.pop("t_s")
        path = write_csv(tmp_path / "run.csv", data)
        stamps = [1_700_000_000_000_000_000 + round(t * 1e9) + 1234 for t in time]
        path.write_text(
            "\n".join(f"{a},{b}" for a, b in zip(["timestamp", *stamps], path.read_text().splitlines(), strict=True))
        )
        np.testing.assert_allclose(brought_in(go2, path).time_s, time, atol=1e-9)

    def test_a_channel_with_fewer_samples_is_interpolated_and_a_held_one_held(self, go2, tmp_path) -> None:
        """Every fifth row has a command and a gyro, as tables joined from several topics do."""
        data = columns(go2)
        sparse = np.where(np.arange(100) % 5 == 0, np.arange(100.0), np.nan)
        data |= {f"gyro_{a}": sparse for a in "xyz"} | {f"cmd_{a}": sparse for a in ("vx", "vy", "wz")}
        log = brought_in(go2, write_csv(tmp_path / "run.csv", data))
        assert len(log.time_s) == 100
        np.testing.assert_allclose(
            log.gyro_rad_s[:, 0], np.minimum(np.arange(100.0), 95)
        )  # one period past its last sample, not more
        np.testing.assert_array_equal(log.command[:, 0], np.arange(100) // 5 * 5)

    def test_time_in_a_wrong_unit(self, go2, tmp_path) -> None:
        data = columns(go2)
        data["t_s"] = data["t_s"] * 1e3  # milliseconds that say they are seconds
        refused(go2, write_csv(tmp_path / "run.csv", data), "rows are 20 s apart", "unit: ms")

    def test_time_that_stands_still(self, go2, tmp_path) -> None:
        refused(go2, write_csv(tmp_path / "run.csv", columns(go2) | {"t_s": np.zeros(100)}), "time never advances")


class TestLeRobot:
    def test_v3_folder(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot, 100)
        joints = robot.contract.joints
        state = np.concatenate([position, velocity], axis=1)
        names = [f"{j}.pos" for j in joints] + [f"{j}.vel" for j in joints]
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (state, names), "action": (target, {"motors": [f"{j}.pos" for j in joints]})},
            np.repeat([0, 1], [60, 40]),
            50.0,
        )
        log = brought_in(robot, folder)
        assert [rows.stop - rows.start for rows in log.episodes()] == [60, 40]
        np.testing.assert_array_equal(log.joint_position_rad, position.astype(np.float32))
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity.astype(np.float32))
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target.astype(np.float32), atol=1e-9)
        np.testing.assert_allclose(log.time_s[:60], time[:60], atol=1e-6)

    def test_what_action_means_is_asked(self, go2, tmp_path) -> None:
        _, position, _, target = motion(go2)
        joints = list(go2.contract.joints)
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (position, joints), "action": (target, joints)},
            np.zeros(100, int),
            50.0,
        )
        refused(go2, folder, "may hold joint targets or a policy's output", "'target: action/*'")
        log = brought_in(go2, folder, map_file=mapped(tmp_path, action="action/*"))
        np.testing.assert_array_equal(log.action, target.astype(np.float32))

    def test_damaged_folders(self, go2, tmp_path) -> None:
        _, position, _, target = motion(go2)
        folder = write_lerobot(
            tmp_path / "set",
            {"observation.state": (position, None), "action": (target, None)},
            np.zeros(100, int),
            50.0,
        )
        (folder / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"PAR1")
        refused(go2, folder, "not a readable Parquet file")
        (folder / "data" / "chunk-000" / "file-000.parquet").unlink()
        refused(go2, folder, "no data/chunk-*")
        (folder / "meta" / "info.json").write_text("[1]")
        refused(go2, folder, "does not describe features")
        (folder / "meta" / "info.json").write_text("{")
        refused(go2, folder, "is not valid JSON")


class TestParquetTable:
    def test_a_table_of_columns_and_lists(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        table = pa.table(
            {
                "time": time,
                "qpos": pa.array(list(position)),
                "qdes": pa.FixedSizeListArray.from_arrays(pa.array(target.ravel()), 12),
            }
        )
        pq.write_table(table, tmp_path / "run.parquet")
        np.testing.assert_array_equal(brought_in(go2, tmp_path / "run.parquet").joint_position_rad, position)


class TestResampling:
    def test_slope_of_a_parabola_is_exact_at_any_stamps(self) -> None:
        rng = np.random.default_rng(0)
        time = np.cumsum(rng.uniform(0.5, 1.5, 50)) * 0.003
        values = np.stack([3 + 2 * time - 5 * time**2, time**2], axis=1)
        np.testing.assert_allclose(
            differentiate(time, values), np.stack([2 - 10 * time, 2 * time], axis=1), rtol=1e-8, atol=1e-9
        )

    @pytest.mark.parametrize("n", [1, 2, 3, 4])
    def test_slope_of_very_few_samples(self, n) -> None:
        found = differentiate(np.arange(n) * 0.1, np.arange(n, dtype=float)[:, None])
        np.testing.assert_allclose(found[:, 0], 0 if n == 1 else 10)

    def test_slope_over_repeated_stamps_is_finite(self) -> None:
        time = np.array([0, 0.01, 0.01, 0.03, 0.04, 0.05, 0.06])
        np.testing.assert_allclose(differentiate(time, np.arange(7.0)[:, None])[:, 0], 100, rtol=0.3)

    def test_interpolation_and_hold_know_what_they_do_not_know(self) -> None:
        time, values = np.array([0.0, 1.0, 5.0, 6.0]), np.array([[0.0], [10.0], [50.0], [60.0]])
        at = np.array([-3.0, 0.0, 0.5, 3.0, 5.5, 6.0, 9.0])
        found, covered = interpolate(time, values, at, 2.0)
        np.testing.assert_array_equal(covered, [False, True, True, False, True, True, False])
        np.testing.assert_array_equal(found[covered, 0], [0, 5, 55, 60])
        held, there = hold(time, values, at, 2.0)
        np.testing.assert_array_equal(there, [False, True, True, True, True, True, False])
        np.testing.assert_array_equal(held[there, 0], [0, 0, 10, 50, 60])

    def test_ticks_fill_in_where_the_action_does_not_change(self) -> None:
        stamps = np.arange(0, 10, 0.002)
        number = np.floor(stamps / 0.02 + 1e-9)
        number[(stamps > 3) & (stamps < 4)] = 150
        ticks, what = control_ticks(stamps, stamps, number[:, None], 50.0)
        assert what == "the changes of the actions"
        np.testing.assert_allclose(ticks, np.arange(len(ticks)) * 0.02, atol=1e-9)
        assert len(ticks) == 500

    def test_ticks_go_on_where_the_action_stops_changing(self) -> None:
        """A robot that stands before and after it walks is still recorded."""
        stamps = np.arange(0, 10, 0.002)
        number = np.clip(np.floor(stamps / 0.02 + 1e-9), 100, 400)
        ticks, what = control_ticks(stamps, stamps, number[:, None], 50.0)
        assert what == "the changes of the actions"
        np.testing.assert_allclose(ticks, np.arange(500) * 0.02, atol=1e-9)


class TestCommandLine:
    def test_import_prints_every_guess_and_writes_the_log(self, go2, tmp_path, capsys) -> None:
        path = write_csv(tmp_path / "run.csv", columns(go2))
        assert run(["log", "import", str(path), "--robot", "go2", "--out", str(tmp_path / "log.parquet")]) == 0
        shown = capsys.readouterr().out
        for line in (
            "time <- t_s (in s)",
            "joint_position <- q_*",
            "target <- q_des_*",
            "assumed: command",
            "derived: action",
            "1 episode, 2.0 s, 100 rows",
        ):
            assert line in shown
        np.testing.assert_array_equal(
            read_log(tmp_path / "log.parquet").joint_position_rad, motion(go2)[1].astype(np.float32)
        )
        assert run(["log", "show", str(tmp_path / "log.parquet")]) == 0
        shown = capsys.readouterr().out
        for part in (
            "1 episode, 2.0 s, 100 rows, 50 Hz, 12 joints",
            "joint_velocity_rad_s",
            "FL_hip_joint",
            "run.csv",
            "assumed: command",
            "derived: action",
        ):
            assert part in shown

    def test_mistakes_are_one_sentence(self, go2, tmp_path, capsys) -> None:
        out = ["--out", str(tmp_path / "log.parquet")]
        assert run(["log", "import", str(tmp_path / "none.csv"), *out]) == 2
        assert run(["log", "show", str(tmp_path / "none.parquet")]) == 2
        path = write_csv(tmp_path / "run.csv", columns(go2))
        assert run(["log", "import", str(path), *out, "--map", str(tmp_path / "none.yaml")]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("surefoot: ") for line in lines)
        assert not (tmp_path / "log.parquet").exists()
