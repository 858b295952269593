"""JSON and JSON lines become logs: records, columns, streams by name, and names inside records."""

import gzip
import json

import numpy as np
import pytest
from support.recordings import brought_in, motion, refused


def found_targets(robot, log):
    return robot.contract.pose_rad + log.action * robot.contract.action_scale_rad


class TestLines:
    @pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json", "jsonl.gz"])
    def test_nested_records(self, robot, tmp_path, suffix) -> None:
        time, position, velocity, target = motion(robot, 3000)
        lines = [
            json.dumps({"t": t, "state": {"q": list(q), "dq": list(v)}, "cmd": {"q": list(d)}, "note": "x"})
            for t, q, v, d in zip(time, position, velocity, target, strict=True)
        ]
        content = "\n".join(lines).encode()
        path = tmp_path / f"run.{suffix}"
        path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
        log = brought_in(robot, path)
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)

    def test_names_inside_records(self, robot, tmp_path) -> None:
        """As ROS writes joint states, in another order, and as objects with a name."""
        time, position, _, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        names = [robot.contract.joints[i] for i in order]
        lines = []
        for t, q, d in zip(time, position, target, strict=True):
            joints = [{"name": name, "target": float(d[i])} for name, i in zip(names, order, strict=True)]
            lines.append(
                json.dumps({"time": t, "state": {"name": names, "position": list(q[order])}, "joints": joints})
            )
        (tmp_path / "run.jsonl").write_text("\n".join(lines))
        log = brought_in(robot, tmp_path / "run.jsonl")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)

    def test_nanoseconds_since_1970_keep_their_microseconds(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2, 3000)
        start = 1_700_000_000_000_000_000
        lines = [
            json.dumps({"timestamp": start + round(t * 1e9), "q": list(q), "q_des": list(d)})
            for t, q, d in zip(time, position, target, strict=True)
        ]
        (tmp_path / "run.jsonl").write_text("\n".join(lines))
        np.testing.assert_allclose(brought_in(go2, tmp_path / "run.jsonl").time_s, time, atol=1e-9)

    def test_damaged_lines_are_left_out_and_counted(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        lines = [
            json.dumps({"t": t, "q": list(q), "q_des": list(d)}) for t, q, d in zip(time, position, target, strict=True)
        ]
        lines[20], lines[-1] = "[1, 2]", lines[-1][:100]
        (tmp_path / "run.jsonl").write_text("\n".join(lines))
        log = brought_in(go2, tmp_path / "run.jsonl")
        assert len(log.time_s) == 98
        assert any("2 lines are no JSON objects" in note for note in log.metadata["notes"])


class TestWhole:
    def test_columns_with_joint_names(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        content = {
            "joint_names": [robot.contract.joints[i] for i in order],
            "data": {"time": time.tolist(), "q": position[:, order].tolist(), "q_des": target[:, order].tolist()},
        }
        (tmp_path / "run.json").write_text(json.dumps(content, indent=1))
        log = brought_in(robot, tmp_path / "run.json")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        assert "joint order" not in log.metadata["assumed"]

    def test_a_list_of_records_and_streams_by_name(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        state = [{"t": t, "positions": list(q)} for t, q in zip(time, position, strict=True)]
        control = [{"t": t, "positions": list(d)} for t, d in zip(time, target, strict=True)]
        (tmp_path / "run.json").write_text(json.dumps({"robot": "x", "state": state, "control": control}))
        log = brought_in(robot, tmp_path / "run.json")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_allclose(found_targets(robot, log), target, atol=1e-12)
        records = [{**s, "q_des": c["positions"]} for s, c in zip(state, control, strict=True)]
        (tmp_path / "run.json").write_text(json.dumps(records))
        np.testing.assert_array_equal(brought_in(robot, tmp_path / "run.json").joint_position_rad, position)

    @pytest.mark.parametrize(
        ("content", "parts"),
        [
            ("", ("is empty",)),
            ("[[1, 2], [3, 4]]", ("list of 2 values without names",)),
            ('{"a": 1}', ("holds no rows",)),
            ('{"time": [0, 1', ("is not valid JSON", "line 1")),
            ("[" * 100_000, ("is not valid JSON",)),
            ('[{"time": 0}, {"time": 1}]', ("no joint positions",)),
        ],
    )
    def test_refusals(self, go2, tmp_path, content, parts) -> None:
        (tmp_path / "run.json").write_text(content)
        refused(go2, tmp_path / "run.json", "run.json", *parts)

    def test_what_it_would_take_is_counted(self, go2, tmp_path) -> None:
        (tmp_path / "run.json").write_text('{"time": [' + "[]," * 15_000_000 + "0]}")
        refused(go2, tmp_path / "run.json", "needs about")
        (tmp_path / "run.jsonl").write_text('{"time": 0, "q": [' + "0," * 1_000_000 + '0]}\n{"time": 1}\n' * 2000)
        refused(go2, tmp_path / "run.jsonl", "needs about")
