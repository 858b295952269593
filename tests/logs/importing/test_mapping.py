"""A map file: names, units, signs and orders that a user gives."""

import re

import numpy as np
import pytest
from support.log_files import joint_columns, write_csv
from support.paths import ROOT
from support.recordings import brought_in, columns, mapped, motion

from surefoot.errors import LogError
from surefoot.logs.importing import MapFile, assemble, read_map, read_recording
from surefoot.logs.importing.mapping import OTHERS, RULE_KEYS
from surefoot.logs.importing.names import JointNames
from surefoot.logs.importing.recording import ROLES
from surefoot.logs.robot_log import OPTIONAL, REQUIRED


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
        format_text, text = (
            (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("log-format.md", "log-import.md")
        )
        examples = re.findall(r"^```yaml\n(.*?)^```", text, flags=re.M | re.S)
        assert len(examples) == 3
        for example in examples:
            (tmp_path / "map.yaml").write_text(example)
            JointNames(go2.contract.joints, read_map(tmp_path / "map.yaml"))
        for key in (*ROLES, *OTHERS, *RULE_KEYS):
            assert f"`{key}`" in text
        for key in (*REQUIRED, *OPTIONAL, "derived", "assumed", "notes", "recorded_gains"):
            assert f"`{key}`" in format_text
