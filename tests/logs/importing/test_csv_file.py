"""CSV files as people have them: compressed, with decimal commas, in UTF-16, with remarks above, and long ones."""

import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
import pytest
from support.log_files import joint_columns, write_csv, write_long
from support.recordings import brought_in, columns, mapped, motion, refused

from surefoot.limits import raised
from surefoot.logs.importing.csv_file import read_csv


def packed(way: str, content: bytes) -> bytes:
    if way in ("zst", "lz4"):
        return pa.Codec({"zst": "zstd", "lz4": "lz4"}[way]).compress(content, asbytes=True)
    return gzip.compress(content) if way == "gz" else bz2.compress(content) if way == "bz2" else lzma.compress(content)


class TestCompressed:
    @pytest.mark.parametrize("way", ["gz", "bz2", "xz", "zst", "lz4"])
    def test_all_kinds(self, robot, tmp_path, way) -> None:
        plain = write_csv(tmp_path / "run.csv", columns(robot))
        path = tmp_path / f"run.csv.{way}"
        path.write_bytes(packed(way, plain.read_bytes()))
        np.testing.assert_array_equal(brought_in(robot, path).joint_position_rad, motion(robot)[1])

    @pytest.mark.parametrize("way", ["gz", "bz2", "xz", "zst"])
    def test_a_file_that_breaks_off_gives_what_came_before(self, go2, tmp_path, way) -> None:
        content = write_csv(tmp_path / "run.csv", columns(go2, rows=2_000)).read_bytes()
        path = tmp_path / f"run.csv.{way}"
        whole = packed(way, content)
        path.write_bytes(whole[: 3 * len(whole) // 4])
        log = brought_in(go2, path)
        assert 500 < len(log.time_s) < 2_000
        assert any("breaks off" in note for note in log.metadata["notes"])

    def test_several_members(self, go2, tmp_path) -> None:
        content = write_csv(tmp_path / "run.csv", columns(go2)).read_bytes()
        (tmp_path / "run.csv.gz").write_bytes(gzip.compress(content[:5000]) + gzip.compress(content[5000:]))
        assert len(brought_in(go2, tmp_path / "run.csv.gz").time_s) == 100

    def test_bombs_and_other_contents(self, go2, tmp_path) -> None:
        for way in ("gz", "xz", "zst"):
            (tmp_path / f"run.csv.{way}").write_bytes(packed(way, b"0,0\n" * 5_000_000))
            with raised(0.05):
                refused(go2, tmp_path / f"run.csv.{way}", "unpacked, needs about")
        (tmp_path / "run.npz.gz").write_bytes(gzip.compress(b"PK"))
        refused(go2, tmp_path / "run.npz.gz", "is compressed; CSV and JSON files are read so", "a .npz file")
        (tmp_path / "run.csv.gz").write_bytes(b"\x1f\x8bnothing")
        refused(go2, tmp_path / "run.csv.gz", "is no whole gzip file")


class TestText:
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "latin-1"])
    def test_encodings(self, robot, tmp_path, encoding) -> None:
        text = write_csv(tmp_path / "run.csv", columns(robot) | {"größe": np.zeros(100)}).read_text()
        (tmp_path / "run.csv").write_bytes(text.encode(encoding))
        log = brought_in(robot, tmp_path / "run.csv")
        np.testing.assert_array_equal(log.joint_position_rad, motion(robot)[1])

    @pytest.mark.parametrize(("separator", "quote"), [(";", ""), ("\t", ""), (",", '"'), (";", '"')])
    def test_decimal_commas(self, robot, tmp_path, separator, quote) -> None:
        data = columns(robot)
        data["t_s"] = np.round(data["t_s"], 2)  # 0, 0,02, ...: whole numbers among them
        lines = [separator.join(data)]
        for row in zip(*data.values(), strict=True):
            cells = [f"{v:.9f}".rstrip("0").rstrip(".").replace(".", ",") for v in row]
            lines.append(separator.join(f"{quote}{cell}{quote}" for cell in cells))
        (tmp_path / "run.csv").write_text("\n".join(lines))
        log = brought_in(robot, tmp_path / "run.csv")
        np.testing.assert_allclose(log.joint_position_rad, motion(robot)[1], atol=1e-9)
        np.testing.assert_allclose(log.time_s, data["t_s"], atol=1e-9)
        assert any("decimal commas" in guess for guess in read_csv(tmp_path / "run.csv").guesses)

    def test_remarks_and_a_separator_line_above_the_header(self, go2, tmp_path) -> None:
        text = write_csv(tmp_path / "run.csv", columns(go2), separator=";").read_text()
        for above in ("sep=;\n", "# recorded on monday\n# by hand\n", "\n\n# one remark\n"):
            (tmp_path / "run.csv").write_text(above + text)
            assert len(brought_in(go2, tmp_path / "run.csv").time_s) == 100
        (tmp_path / "run.csv").write_text("# " + text)  # as numpy.savetxt marks its header
        assert len(brought_in(go2, tmp_path / "run.csv").time_s) == 100


class TestTime:
    @pytest.mark.parametrize(("name", "factor"), [("time_ms", 1e3), ("t_us", 1e6), ("stamp_ns", 1e9), ("time", 1e3)])
    def test_units_by_name_or_by_rate(self, robot, tmp_path, name, factor) -> None:
        data = columns(robot)
        data = {name: data.pop("t_s") * factor} | data
        np.testing.assert_allclose(brought_in(robot, write_csv(tmp_path / "run.csv", data)).time_s, motion(robot)[0])

    def test_seconds_and_nanoseconds_in_two_columns(self, robot, tmp_path) -> None:
        data = columns(robot)
        stamps = 1_700_000_000_900_000_000 + np.round(data.pop("t_s") * 1e9).astype(np.int64)
        lines = write_csv(tmp_path / "run.csv", data).read_text().splitlines()
        parts = ["header.stamp.sec,header.stamp.nanosec", *(f"{t // 10**9},{t % 10**9}" for t in stamps)]
        joined = [f"{a},{b}" for a, b in zip(parts, lines, strict=True)]
        (tmp_path / "run.csv").write_text("\n".join(joined))
        np.testing.assert_allclose(brought_in(robot, tmp_path / "run.csv").time_s, motion(robot)[0], atol=1e-9)

    def test_two_clocks_that_agree_are_one(self, go2, tmp_path) -> None:
        data = columns(go2)
        stamps = {"timestamp_ms": 1e3 * data["t_s"] + 5}
        assert len(brought_in(go2, write_csv(tmp_path / "run.csv", data | stamps)).time_s) == 100
        other = {"timestamp": 2 * data["t_s"]}
        refused(go2, write_csv(tmp_path / "run.csv", data | other), "t_s and timestamp could each be the time")


class TestLongTables:
    def test_a_row_for_each_joint(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        joints = robot.contract.joints
        write_long(tmp_path / "run.csv", joints, time, position=position, velocity=velocity, target_position=target)
        log = brought_in(robot, tmp_path / "run.csv")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target, atol=1e-12)

    def test_joints_at_moments_of_their_own(self, go2, tmp_path) -> None:
        lines = ["time,joint_name,q,q_des"]
        for row in range(200):
            for i, joint in enumerate(go2.contract.joints):
                t = row / 50 + i * 1e-3
                lines.append(f"{t!r},{joint},{float(np.sin(t + i))!r},{i}")
        (tmp_path / "run.csv").write_text("\n".join(lines))
        log = brought_in(go2, tmp_path / "run.csv")
        assert len(log.time_s) >= 198
        assert np.abs(np.diff(log.joint_position_rad, axis=0)).max() < 0.025
        targets = go2.contract.pose_rad + log.action * go2.contract.action_scale_rad
        np.testing.assert_allclose(targets, np.tile(np.arange(12.0), (len(targets), 1)), atol=1e-12)

    def test_numbered_joints(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        n = robot.contract.n_joints
        stacked = {
            "t": np.repeat(time, n),
            "joint_id": np.tile(np.arange(1, n + 1), len(time)),
            "q": position.ravel(),
            "q_des": target.ravel(),
        }
        log = brought_in(robot, write_csv(tmp_path / "run.csv", stacked))
        np.testing.assert_array_equal(log.joint_position_rad, position)

    def test_a_missing_joint_is_named(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        write_long(tmp_path / "run.csv", go2.contract.joints[:-1], time, q=position[:, :-1], q_des=target[:, :-1])
        refused(go2, tmp_path / "run.csv", "lacks the joints RR_calf_joint")


class TestMotorsOff:
    @pytest.mark.parametrize("name", ["torque_enable", "motor_enabled", "servo_on"])
    def test_one_flag(self, robot, tmp_path, name) -> None:
        flag = np.ones(100)
        flag[30:50] = 0
        path = write_csv(tmp_path / "run.csv", columns(robot) | {name: flag})
        log = brought_in(robot, path)
        assert [rows.stop - rows.start for rows in log.episodes()] == [30, 50]
        np.testing.assert_array_equal(log.joint_position_rad[30:], motion(robot)[1][50:])
        said = f"run.csv: 1 phase with motors off was cut out, 20 of 100 samples, by {name}"
        assert said in log.metadata["notes"]
        kept = brought_in(robot, path, map_file=mapped(tmp_path, enabled="none"))
        assert len(kept.time_s) == 100

    def test_a_flag_for_each_joint(self, robot, tmp_path) -> None:
        flags = np.ones((100, robot.contract.n_joints))
        flags[:10, 3] = 0
        data = columns(robot) | joint_columns("torque_enable_", robot.contract.joints, flags)
        assert len(brought_in(robot, write_csv(tmp_path / "run.csv", data)).time_s) == 90

    def test_modes_in_words(self, go2, tmp_path) -> None:
        lines = write_csv(tmp_path / "run.csv", columns(go2)).read_text().splitlines()
        words = ["mode", *["idle"] * 20, *["walk"] * 50, *["damping"] * 30]
        (tmp_path / "run.csv").write_text("\n".join(f"{a},{b}" for a, b in zip(words, lines, strict=True)))
        log = brought_in(go2, tmp_path / "run.csv")
        assert len(log.time_s) == 50
        assert any("2 phases with motors off were cut out, 50 of 100" in note for note in log.metadata["notes"])

    def test_a_flag_that_is_never_on_is_not_used(self, go2, tmp_path) -> None:
        log = brought_in(go2, write_csv(tmp_path / "run.csv", columns(go2) | {"torque_enable": np.zeros(100)}))
        assert len(log.time_s) == 100
        assert any("never on" in note for note in log.metadata["notes"])
