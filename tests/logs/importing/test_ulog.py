"""ULog files, written by pyulog: topics are streams with microseconds."""

import sys

import numpy as np
from support.log_files import write_ulog
from support.recordings import brought_in, motion, refused


def topics(robot):
    time, position, velocity, target = motion(robot)
    n = robot.contract.n_joints
    state = {"timestamp": (1e6 * (7 + time)).astype(np.int64)}
    state |= {f"position[{i}]": position[:, i] for i in range(n)} | {f"velocity[{i}]": velocity[:, i] for i in range(n)}
    command = {"timestamp": (1e6 * (7 + time[::2]) + 300).astype(np.int64)}
    command |= {f"position[{i}]": target[::2, i] for i in range(n)}
    return {"joint_state": state, "joint_setpoint": command}


class TestULog:
    def test_topics_are_joined(self, robot, tmp_path) -> None:
        _, position, velocity, _ = motion(robot)
        log = brought_in(robot, write_ulog(tmp_path / "run.ulg", topics(robot)))
        rows = len(log.time_s)
        assert rows >= 98
        np.testing.assert_array_equal(log.joint_position_rad, position.astype(np.float32)[:rows])
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity.astype(np.float32)[:rows])
        assert log.metadata["source"]["channels"]["target"] == "joint_setpoint: position[*]"

    def test_refusals(self, go2, tmp_path, monkeypatch, capsys) -> None:
        path = write_ulog(tmp_path / "run.ulg", topics(go2))
        whole = path.read_bytes()
        path.write_bytes(whole[:300])
        refused(go2, path, "run.ulg")
        assert capsys.readouterr().out == ""
        path.write_bytes(whole[: len(whole) // 2])
        assert 20 < len(brought_in(go2, path).time_s) < 80
        path.write_bytes(whole)
        monkeypatch.setitem(sys.modules, "pyulog", None)
        refused(go2, path, "pip install 'surefoot[ulog]'")
