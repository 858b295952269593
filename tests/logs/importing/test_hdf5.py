"""HDF5 and MATLAB 7.3 files, written by h5py: datasets in groups, episodes, and what points elsewhere."""

import sys

import h5py
import numpy as np
import pytest
from support.recordings import brought_in, mapped, motion, refused


class TestHdf5:
    def test_groups_share_the_time_around_them(self, robot, tmp_path) -> None:
        time, position, velocity, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        with h5py.File(tmp_path / "run.h5", "w") as file:
            file["time"] = time
            file["observations/qpos"] = position[:, order]
            file["observations/qvel"] = velocity[:, order]
            file.create_dataset("command/q", data=target[:, order], compression="gzip", chunks=True)
            file["joint_names"] = [robot.contract.joints[i] for i in order]
        log = brought_in(robot, tmp_path / "run.h5")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)
        found = robot.contract.pose_rad + log.action * robot.contract.action_scale_rad
        np.testing.assert_allclose(found, target, atol=1e-12)

    def test_groups_with_clocks_of_their_own_are_streams(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        with h5py.File(tmp_path / "run.hdf5", "w") as file:
            file["state/timestamp"], file["state/positions"] = (1e6 * time).astype(np.int64), position
            file["control/timestamp"], file["control/positions"] = (1e6 * time[::2]).astype(np.int64), target[::2]
        log = brought_in(robot, tmp_path / "run.hdf5")
        np.testing.assert_array_equal(log.joint_position_rad, position[: len(log.time_s)])
        assert log.metadata["source"]["channels"]["target"] == "control: positions"

    def test_episodes_without_time(self, robot, tmp_path) -> None:
        with h5py.File(tmp_path / "demos.hdf5", "w") as file:
            for i, rows in enumerate((60, 60, 80)):
                _, position, _, target = motion(robot, rows, seed=i)
                file[f"data/demo_{i}/obs/joint_pos"] = position
                file[f"data/demo_{i}/actions"] = target
        refused(robot, tmp_path / "demos.hdf5", "no column is called time", "rate_hz")
        log = brought_in(robot, tmp_path / "demos.hdf5", map_file=mapped(tmp_path, time={"rate_hz": 50}))
        assert [rows.stop - rows.start for rows in log.episodes()] == [60, 60, 80]
        np.testing.assert_array_equal(log.joint_position_rad[60:120], motion(robot, 60, seed=1)[1])

    def test_what_points_to_other_files_is_left_out(self, go2, tmp_path) -> None:
        time, position, _, target = motion(go2)
        with h5py.File(tmp_path / "other.h5", "w") as file:
            file["q"] = position
        with h5py.File(tmp_path / "run.h5", "w") as file:
            file["time"], file["q_des"] = time, target
            file["q"] = h5py.ExternalLink("other.h5", "/q")
            file["loop"] = file["/"]  # a hard link to the group around it
        refused(go2, tmp_path / "run.h5", "no joint positions")
        with h5py.File(tmp_path / "run.h5", "a") as file:
            del file["q"]
            layout = h5py.VirtualLayout(shape=position.shape, dtype="f8")
            layout[:] = h5py.VirtualSource("other.h5", "q", shape=position.shape)
            file.create_virtual_dataset("q", layout)
        refused(go2, tmp_path / "run.h5", "no joint positions")

    def test_claims_of_a_size_are_not_believed(self, go2, tmp_path) -> None:
        with h5py.File(tmp_path / "run.h5", "w") as file:
            file.create_dataset("time", (10**9,), "f8", chunks=(1000,))
        assert (tmp_path / "run.h5").stat().st_size < 20_000
        refused(go2, tmp_path / "run.h5", "needs about")
        (tmp_path / "run.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
        refused(go2, tmp_path / "run.h5", "is not a readable HDF5 file")

    def test_the_extra_is_named_where_it_is_missing(self, go2, tmp_path, monkeypatch) -> None:
        with h5py.File(tmp_path / "run.h5", "w") as file:
            file["time"] = np.arange(10.0)
        monkeypatch.setitem(sys.modules, "h5py", None)
        refused(go2, tmp_path / "run.h5", "needs h5py, which is not installed", "pip install 'surefoot[hdf5]'")


@pytest.mark.parametrize("name", ["run.mat", "run.h5"])
def test_matlab_73_is_hdf5_with_columns_first(robot, tmp_path, name) -> None:
    time, position, _, target = motion(robot)
    with h5py.File(tmp_path / name, "w", userblock_size=512) as file:
        file["time"], file["q"], file["q_des"] = time[None], position.T, target.T
    with open(tmp_path / name, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    log = brought_in(robot, tmp_path / name)
    np.testing.assert_array_equal(log.joint_position_rad, position)
    assert log.metadata["source"]["kind"] == "MATLAB"
