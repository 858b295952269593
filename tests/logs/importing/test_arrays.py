"""NPY and NPZ files: structured arrays are read, arrays without names refused with what to do, streams by their lengths."""

import subprocess
import sys
import zipfile

import numpy as np
import pytest
from support.recordings import brought_in, motion, refused

from surefoot.errors import LogError
from surefoot.logs.importing.arrays import pickled


class TestNpy:
    def test_a_structured_array(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        n = robot.contract.n_joints
        records = np.zeros(100, dtype=[("time", "f8"), ("q", "f4", (n,)), ("q_des", "f4", (n,))])
        records["time"], records["q"], records["q_des"] = time, position, target
        np.save(tmp_path / "run.npy", records)
        log = brought_in(robot, tmp_path / "run.npy")
        np.testing.assert_array_equal(log.joint_position_rad, position.astype(np.float32))

    def test_an_array_without_names(self, robot, tmp_path) -> None:
        np.save(tmp_path / "run.npy", np.zeros((100, 25)))
        refused(robot, tmp_path / "run.npy", "one array of shape (100, 25) without names", "numpy.savez('log.npz'")

    def test_a_pickled_dictionary(self, go2, tmp_path) -> None:
        np.save(tmp_path / "run.npy", np.array({"time": np.arange(5.0)}), allow_pickle=True)
        refused(go2, tmp_path / "run.npy", "pickled objects", "in the environment that wrote it", "allow_pickle=True")


class TestNpz:
    def test_streams_of_two_lengths(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        np.savez(
            tmp_path / "run.npz",
            state_time=time,
            q=position,
            t=time[::2],
            q_target=target[::2],
            note=np.array("hello"),
        )
        refused(
            robot, tmp_path / "run.npz", "run.npz has no joint positions"
        )  # 'state_time' may be the time in a state
        np.savez(tmp_path / "run.npz", time=time, q=position, cmd_rows=np.arange(7), t=time[::2], q_target=target[::2])
        log = brought_in(robot, tmp_path / "run.npz")
        np.testing.assert_array_equal(log.joint_position_rad, position[: len(log.time_s)])
        assert any("cmd_rows has shape (7,)" in note for note in log.metadata["notes"])

    def test_joint_names_beside_the_arrays(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        names = np.array([robot.contract.joints[i] for i in order])
        np.savez(tmp_path / "run.npz", time=time, q=position[:, order], q_des=target[:, order], joint_names=names)
        log = brought_in(robot, tmp_path / "run.npz")
        np.testing.assert_array_equal(log.joint_position_rad, position)

    def test_arrays_that_lie_on_their_side(self, robot, tmp_path) -> None:
        time, position, _, target = motion(robot)
        np.savez(tmp_path / "run.npz", time=time, q=position.T, q_des=target.T)
        np.testing.assert_array_equal(brought_in(robot, tmp_path / "run.npz").joint_position_rad, position)

    def test_other_zip_files(self, go2, tmp_path) -> None:
        for name, inside, said in (
            ("table.xlsx", "[Content_Types].xml", "save its table as CSV"),
            ("logs.zip", "run.csv", "unpack it, and give the folder"),
        ):
            with zipfile.ZipFile(tmp_path / name, "w") as file:
                file.writestr(inside, "x")
            refused(go2, tmp_path / name, said)


class TestConversions:
    """The lines that convert a pickled file do what they say, in the user's own environment."""

    @pytest.mark.parametrize("suffix", [".pt", ".pkl", ".npy", ".npz"])
    def test_the_line_makes_a_log(self, go2, tmp_path, suffix) -> None:
        time, position, _, target = motion(go2)
        arrays = {"time": time, "dof_pos": position, "des_dof_pos": target}
        path = tmp_path / f"run{suffix}"
        self._write(path, arrays)
        with pytest.raises(LogError) as caught:
            brought_in(go2, path)
        assert str(caught.value) == pickled(path)
        line = str(caught.value).split("wrote it: ")[1]
        assert line.startswith("python -c ")
        subprocess.run(line.replace("python", sys.executable, 1), shell=True, cwd=tmp_path, check=True, timeout=60)
        np.testing.assert_allclose(brought_in(go2, tmp_path / "log.npz").joint_position_rad, position, atol=1e-6)

    def _write(self, path, arrays) -> None:
        if path.suffix == ".pt":
            torch = pytest.importorskip("torch")
            torch.save({name: torch.from_numpy(array) for name, array in arrays.items()}, path)
        elif path.suffix == ".pkl":
            import pickle

            path.write_bytes(pickle.dumps(arrays))
        elif path.suffix == ".npy":
            np.save(path, np.array(arrays), allow_pickle=True)
        else:
            np.savez(path, **{name: array.astype(object) for name, array in arrays.items()})
