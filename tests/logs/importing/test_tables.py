"""Tables that people have become logs: right columns, right joints, right units, nothing invented, every guess said."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.log_files import joint_columns, write_csv
from support.recordings import brought_in, columns, mapped, motion, refused


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
        (tmp_path / "what.bin").write_bytes(b"hello")
        refused(go2, tmp_path / "what.bin", "CSV (also compressed), JSON, NPZ", "LeRobot folders")
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
