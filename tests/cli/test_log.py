"""`surefoot log import` as it is typed."""

import numpy as np
from support.log_files import write_csv
from support.recordings import columns, motion

from surefoot.cli.main import run
from surefoot.logs import read_log


class TestCommandLine:
    def test_import_prints_every_guess_and_writes_the_log(self, go2, tmp_path, capsys) -> None:
        path = write_csv(tmp_path / "run.csv", columns(go2))
        assert run(["log", "import", str(path), "--robot", "go2", "--out", str(tmp_path / "log.parquet")]) == 0
        shown = capsys.readouterr().out
        for line in (
            "time <- t_s (in s)",
            "joint_position <- q_*",
            "target <- q_des_*",
            "assumed: command",
            "derived: action",
            "1 episode, 2.0 s, 100 rows",
        ):
            assert line in shown
        np.testing.assert_array_equal(
            read_log(tmp_path / "log.parquet").joint_position_rad, motion(go2)[1].astype(np.float32)
        )
        assert run(["log", "show", str(tmp_path / "log.parquet")]) == 0
        shown = capsys.readouterr().out
        for part in (
            "1 episode, 2.0 s, 100 rows, 50 Hz, 12 joints",
            "joint_velocity_rad_s",
            "FL_hip_joint",
            "run.csv",
            "assumed: command",
            "derived: action",
        ):
            assert part in shown

    def test_mistakes_are_one_sentence(self, go2, tmp_path, capsys) -> None:
        out = ["--out", str(tmp_path / "log.parquet")]
        assert run(["log", "import", str(tmp_path / "none.csv"), *out]) == 2
        assert run(["log", "show", str(tmp_path / "none.parquet")]) == 2
        path = write_csv(tmp_path / "run.csv", columns(go2))
        assert run(["log", "import", str(path), *out, "--map", str(tmp_path / "none.yaml")]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("surefoot: ") for line in lines)
        assert not (tmp_path / "log.parquet").exists()
