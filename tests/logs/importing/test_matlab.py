"""MATLAB files, written by SciPy."""

import sys

import numpy as np
import pytest
import scipy.io
from support.recordings import brought_in, motion, refused

from surefoot.limits import raised


class TestMatlab:
    @pytest.mark.parametrize("compressed", [True, False])
    def test_arrays_and_structs(self, robot, tmp_path, compressed) -> None:
        time, position, velocity, target = motion(robot)
        order = np.random.default_rng(1).permutation(robot.contract.n_joints)
        names = np.array([robot.contract.joints[i] for i in order], dtype=object)
        content = {
            "time": time[:, None],
            "state": {"q": position[:, order].T, "dq": velocity[:, order]},
            "q_des": target[:, order],
            "joint_names": names,
        }
        scipy.io.savemat(tmp_path / "run.mat", content, do_compression=compressed)
        log = brought_in(robot, tmp_path / "run.mat")
        np.testing.assert_array_equal(log.joint_position_rad, position)
        np.testing.assert_array_equal(log.joint_velocity_rad_s, velocity)

    def test_refusals(self, go2, tmp_path, monkeypatch) -> None:
        scipy.io.savemat(tmp_path / "run.mat", {"cells": np.array([np.zeros(3), np.zeros((2, 2)), "x"], dtype=object)})
        refused(go2, tmp_path / "run.mat", "holds no arrays with rows", "cells is an object", "writetable")
        scipy.io.savemat(tmp_path / "run.mat", {"time": np.zeros(20_000_000)}, do_compression=True)
        with raised(0.1):
            refused(go2, tmp_path / "run.mat", "needs about")
        whole = (tmp_path / "run.mat").read_bytes()
        (tmp_path / "run.mat").write_bytes(whole[:200])
        refused(go2, tmp_path / "run.mat", "is not a readable MATLAB file")
        (tmp_path / "run.mat").write_bytes(whole)
        monkeypatch.setitem(sys.modules, "scipy.io", None)
        refused(go2, tmp_path / "run.mat", "pip install 'surefoot[mat]'")
