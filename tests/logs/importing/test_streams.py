"""Files that are streams of one recording are joined by their time stamps; recordings of their own stay apart."""

import numpy as np
import pytest
from support.log_files import joint_columns, joint_state, write_bag, write_csv
from support.recordings import brought_in, columns, mapped, motion, refused

from surefoot.cli.main import run


def list_cells(path, name, stamps, **lists):
    """A file as robots' loggers write it: a type, a stamp, and lists in cells."""
    lines = [",".join(["type", "timestamp", *lists])]
    for row, stamp in enumerate(stamps):
        cells = [f'"{list(map(float, values[row]))}"' for values in lists.values()]
        lines.append(",".join([name, repr(float(stamp)), *cells]))
    path.write_text("\n".join(lines) + "\n")
    return path


def control_and_state(robot, folder, rows=100, late_s=0.0, seed=0):
    """control.csv and state_motor.csv, in microseconds; the control is stamped later."""
    folder.mkdir(exist_ok=True)
    time, position, velocity, target = motion(robot, rows, seed=seed)
    control = list_cells(folder / "control.csv", "CONTROL", 1e6 * (5 + time + late_s), positions=target)
    state = list_cells(
        folder / "state_motor.csv", "STATE", 1e6 * (5 + time), positions=position, velocities=velocity, torques=target
    )
    return control, state


def targets(robot, log):
    return robot.contract.pose_rad + log.action * robot.contract.action_scale_rad


class TestControlAndState:
    def test_list_cells_in_microseconds(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        log = brought_in(robot, *control_and_state(robot, tmp_path / "run"))
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(targets(robot, log), target, atol=1e-12)
        assert log.n_episodes == 1
        channels = log.metadata["source"]["channels"]
        assert channels["target"] == "control.csv: positions"
        assert channels["joint_position"] == "state_motor.csv: positions"
        assert [file["file"] for file in log.metadata["source"]["files"]] == ["control.csv", "state_motor.csv"]

    def test_a_folder_is_its_files(self, robot, tmp_path) -> None:
        given = brought_in(robot, *control_and_state(robot, tmp_path / "run"))
        whole = brought_in(robot, tmp_path / "run")
        np.testing.assert_array_equal(whole.joint_position_rad, given.joint_position_rad)
        np.testing.assert_array_equal(whole.action, given.action)

    def test_a_folder_of_folders_is_one_episode_each(self, robot, tmp_path) -> None:
        for i in range(3):
            control_and_state(robot, tmp_path / f"motion{i}", rows=40 + i, seed=i)
        log = brought_in(robot, tmp_path)
        assert [rows.stop - rows.start for rows in log.episodes()] == [40, 41, 42]
        np.testing.assert_array_equal(log.joint_position_rad[40:81], motion(robot, 41, seed=1)[1])

    def test_each_stream_has_its_own_clock(self, robot, tmp_path) -> None:
        """Targets that are stamped 3 ms after the states they were made from belong to the rows of those."""
        time, position, _, target = motion(robot)
        log = brought_in(robot, *control_and_state(robot, tmp_path / "run", late_s=0.003))
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_allclose(targets(robot, log), target, atol=1e-12)
        np.testing.assert_allclose(log.time_s, time, atol=1e-9)

    def test_the_stream_that_starts_later_is_not_shifted(self, robot, tmp_path) -> None:
        """The control starts 10 rows after the states: these rows have no action, and go."""
        time, position, _, target = motion(robot)
        write_csv(tmp_path / "state.csv", {"t": time} | joint_columns("q_", robot.contract.joints, position))
        write_csv(tmp_path / "cmd.csv", {"t": time[10:]} | joint_columns("q_", robot.contract.joints, target[10:]))
        log = brought_in(robot, tmp_path / "state.csv", tmp_path / "cmd.csv")
        np.testing.assert_array_equal(log.joint_position_rad, position[10:])
        np.testing.assert_allclose(targets(robot, log), target[10:], atol=1e-12)

    def test_an_imu_beside_a_whole_log(self, go2, tmp_path) -> None:
        time, position, _, _ = motion(go2)
        write_csv(tmp_path / "run.csv", columns(go2))
        fast = np.arange(1000) / 500
        write_csv(tmp_path / "imu.csv", {"t_s": fast} | {f"gyro_{a}": k * fast for k, a in enumerate("xyz", start=1)})
        log = brought_in(go2, tmp_path / "run.csv", tmp_path / "imu.csv")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_allclose(log.gyro_rad_s, np.outer(time, [1, 2, 3]), atol=1e-9)

    def test_a_slow_stream_has_the_unit_of_the_others(self, go2, tmp_path) -> None:
        """One voltage a second, in microseconds, would look like a kilohertz in nanoseconds."""
        folder = tmp_path / "run"
        control_and_state(go2, folder)
        write_csv(
            folder / "battery.csv",
            {"timestamp": 1e6 * np.array([5.0, 6.0, 7.0]), "voltage": np.array([30.0, 29.0, 28.0])},
        )
        log = brought_in(go2, folder)
        np.testing.assert_allclose(log.battery_v[:, 0], 30 - log.time_s, atol=1e-6)

    def test_events_cut_and_name_what_is_off(self, go2, tmp_path) -> None:
        folder = tmp_path / "run"
        control_and_state(go2, folder)
        events = [
            "type,timestamp,event",
            "E,5000000,START",
            "E,6000000,MOTION",
            "E,6500000,DISABLE",
            "E,6800000,ENABLE",
        ]
        (folder / "event.csv").write_text("\n".join(events) + "\n")
        log = brought_in(go2, folder)
        assert [rows.stop - rows.start for rows in log.episodes()] == [50, 25, 10]
        (note,) = [note for note in log.metadata["notes"] if "phase" in note]
        assert "1 phase with motors off was cut out, 15 of 100 samples, by event.csv: event is 'DISABLE'" in note

    def test_pairs_by_name_in_one_folder(self, robot, tmp_path) -> None:
        for i in range(2):
            time, position, _, target = motion(robot, 50 + i, seed=i)
            write_csv(
                tmp_path / f"run{i}_state.csv", {"t": time} | joint_columns("q_", robot.contract.joints, position)
            )
            write_csv(tmp_path / f"run{i}_cmd.csv", {"t": time} | joint_columns("q_", robot.contract.joints, target))
        log = brought_in(robot, tmp_path)
        assert [rows.stop - rows.start for rows in log.episodes()] == [50, 51]

    def test_bare_joint_columns_are_what_the_file_is_called(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        for name, values in (("positions", position), ("velocities", velocity), ("targets", target)):
            write_csv(tmp_path / f"{name}.csv", {"time": time} | joint_columns("", robot.contract.joints, values))
        log = brought_in(robot, tmp_path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(targets(robot, log), target, atol=1e-12)


class TestOneFileForEachJoint:
    def test_on_one_clock(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        for i, joint in enumerate(robot.contract.joints):
            write_csv(
                tmp_path / f"{joint}.csv",
                {"time": time, "q": position[:, i], "dq": velocity[:, i], "q_des": target[:, i]},
            )
        log = brought_in(robot, tmp_path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(targets(robot, log), target, atol=1e-12)

    def test_on_clocks_of_their_own(self, go2, tmp_path) -> None:
        """Each joint is read 0.3 ms after the one before, as on a bus: put onto the first one's clock."""
        time = np.arange(200) / 50
        for i, joint in enumerate(go2.contract.joints):
            own = time + 3e-4 * i
            write_csv(tmp_path / f"{joint}.csv", {"time": own, "q": np.sin(own + i), "q_des": np.full(200, float(i))})
        log = brought_in(go2, tmp_path)
        expected = np.sin(log.time_s[:, None] + 3e-4 * 11 + np.arange(12))
        assert len(log.time_s) >= 198
        offset = np.abs(log.joint_position_rad - np.sin((log.time_s + 0.02)[:, None] + np.arange(12))).max()
        assert min(offset, np.abs(log.joint_position_rad - expected).max()) < 5e-3
        np.testing.assert_allclose(targets(go2, log)[5], np.arange(12.0), atol=1e-12)

    def test_a_missing_joint_is_named(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        for i, joint in enumerate(go2.contract.joints[:-1]):
            write_csv(tmp_path / f"{joint}.csv", {"time": time, "q": position[:, i], "q_des": target[:, i]})
        refused(go2, tmp_path, "lacks the joints RR_calf_joint")


class TestRefusals:
    def test_joint_states_that_are_missing(self, go2, tmp_path) -> None:
        folder = tmp_path / "run"
        _, state = control_and_state(go2, folder)
        state.unlink()
        fast = np.arange(1000) / 500
        list_cells(folder / "state_base.csv", "B", 1e6 * (5 + fast), imu_gyro=np.zeros((1000, 3)))
        refused(
            go2,
            folder,
            "run (control.csv + state_base.csv) has no joint positions",
            "control.csv: positions holds what was asked of the joints, and nothing tells what they did",
            "state_base.csv: imu_gyro (3 columns)",
        )

    def test_targets_of_another_robot_are_no_joint_positions(self, go2, tmp_path) -> None:
        time, _, _, _ = motion(go2)
        list_cells(tmp_path / "control.csv", "C", 1e6 * time, positions=np.zeros((100, 23)))
        refused(go2, tmp_path / "control.csv", "no joint positions: positions (23 columns) holds what was asked")

    def test_clocks_that_do_not_meet(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        write_csv(tmp_path / "state.csv", {"t": time} | joint_columns("q_", go2.contract.joints, position))
        write_csv(tmp_path / "cmd.csv", {"t": time + 1000} | joint_columns("q_", go2.contract.joints, target))
        refused(go2, tmp_path, "their clocks begin at different times", "shift_s")
        shifted = mapped(tmp_path, target={"from": "q_*", "file": "cmd.csv", "shift_s": -1000.0})
        np.testing.assert_allclose(targets(go2, brought_in(go2, tmp_path, map_file=shifted)), target, atol=1e-9)

    def test_two_files_that_could_both_be_it(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        for name, values in (("left_state", position), ("right_state", position + 1), ("cmd", target)):
            write_csv(tmp_path / f"{name}.csv", {"t": time} | joint_columns("q_", go2.contract.joints, values))
        refused(
            go2, tmp_path, "left_state.csv: q_* and right_state.csv: q_*", "could each be the joint_position", "file:"
        )
        chosen = mapped(tmp_path, joint_position={"from": "q_*", "file": "right*"})
        np.testing.assert_array_equal(brought_in(go2, tmp_path, map_file=chosen).joint_position_rad, position + 1)

    def test_recordings_that_lack_something_are_named_one_by_one(self, go2, tmp_path) -> None:
        time, position, _, _ = motion(go2)
        paths = [
            write_csv(tmp_path / f"{day}.csv", {"t": time} | joint_columns("q_", go2.contract.joints, position))
            for day in ("monday", "tuesday")
        ]
        with pytest.raises(Exception, match=r"monday\.csv has no actions.*tuesday\.csv has no actions"):
            brought_in(go2, *paths)
        whole = write_csv(tmp_path / "friday.csv", columns(go2))
        with pytest.raises(Exception, match=r"^monday\.csv has no actions"):
            brought_in(go2, whole, paths[0])

    def test_a_column_that_the_map_file_names_and_no_file_has(self, go2, tmp_path) -> None:
        control_and_state(go2, tmp_path / "run")
        refused(
            go2, tmp_path / "run", "target is 'wanted'", "no such column", map_file=mapped(tmp_path, target="wanted")
        )
        other = mapped(tmp_path, target={"from": "positions", "file": "orders.csv"})
        refused(go2, tmp_path / "run", "target is in 'orders.csv'", map_file=other)

    def test_a_folder_without_logs_and_with_odd_files(self, go2, tmp_path) -> None:
        (tmp_path / "notes.md").write_text("hello")
        refused(go2, tmp_path, "holds no log", "CSV")
        write_csv(tmp_path / "run.csv", columns(go2))
        (tmp_path / "README.txt").write_text("how this was recorded\nby hand\n")
        log = brought_in(go2, tmp_path)
        assert len(log.time_s) == 100
        assert any("README.txt" in note for note in log.metadata["notes"])


class TestTopics:
    def test_legs_in_topics_of_their_own(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        joints = list(robot.contract.joints)
        half = len(joints) // 2
        found = []
        for i, t in enumerate(time):
            found.append(("/left/joint_states", t, joint_state(joints[:half], position[i, :half], time_s=t)))
            found.append(("/right/joint_states", t, joint_state(joints[half:], position[i, half:], time_s=t)))
            found.append(("/command", t, joint_state(joints, target[i], time_s=t)))
        log = brought_in(robot, write_bag(tmp_path / "bag", found))
        np.testing.assert_allclose(log.joint_position_rad, position, atol=1e-9)
        np.testing.assert_allclose(targets(robot, log), target, atol=1e-9)

    def test_joints_in_messages_of_their_own(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        joints = list(go2.contract.joints)
        found = []
        for i, t in enumerate(time):
            found += [("/joint_states", t, joint_state([j], [position[i, k]], time_s=t)) for k, j in enumerate(joints)]
            found.append(("/command", t, joint_state(joints, target[i], time_s=t)))
        log = brought_in(go2, write_bag(tmp_path / "bag", found))
        np.testing.assert_allclose(log.joint_position_rad, position, atol=1e-9)
        assert any("about some joints each and were put together" in note for note in log.metadata["notes"])


def test_the_command_line_prints_the_story(robot, tmp_path, capsys) -> None:
    control, state = control_and_state(robot, tmp_path / "run")
    place = str(tmp_path / "log.parquet")
    described = "go2" if robot.name == "go2" else str(robot.path)
    assert run(["log", "import", str(control), str(state), "--robot", described, "--out", place]) == 0
    told = capsys.readouterr().out
    assert "target <- control.csv: positions" in told
    assert "joint_position <- state_motor.csv: positions" in told
    assert "time <- state_motor.csv: timestamp (in us)" in told
    assert "1 episode" in told
