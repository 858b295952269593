"""Several logs become one."""

import numpy as np
import pytest
from support.made_logs import log_of
from support.robot_files import HEXAPOD

from surefoot.errors import LogError
from surefoot.logs import read_log, write_log
from surefoot.logs.join import join_logs
from surefoot.robot import load_robot


class TestJoin:
    def test_episodes_are_numbered_anew(self, here, go2):
        write_log(log_of(go2), here / "a.parquet")
        write_log(log_of(go2, seed=1, gyro=False), here / "b.parquet")
        joined = join_logs([here / "a.parquet", here / "b.parquet"])
        a, b = read_log(here / "a.parquet"), read_log(here / "b.parquet")
        assert joined.n_episodes == a.n_episodes + b.n_episodes
        assert (np.diff(joined.episode) >= 0).all()
        np.testing.assert_array_equal(joined.action, np.concatenate([a.action, b.action]))
        assert joined.gyro_rad_s is None  # the second file has none
        assert joined.gravity is not None
        assert [one["file"] for one in joined.metadata["source"]["logs"]] == ["a.parquet", "b.parquet"]
        assert joined.metadata["fallen_episodes"] == 2

    def test_mixed_robots_and_policies_are_refused(self, here, go2):
        write_log(log_of(go2, policy_hash="a" * 64), here / "a.parquet")
        write_log(log_of(load_robot(HEXAPOD)), here / "b.parquet")
        write_log(log_of(go2, policy_hash="b" * 64), here / "c.parquet")
        with pytest.raises(LogError, match="different robots"):
            join_logs([here / "a.parquet", here / "b.parquet"])
        with pytest.raises(LogError, match="differ in policy"):
            join_logs([here / "a.parquet", here / "c.parquet"])
