"""`surefoot doctor` as it is typed."""

import json
from pathlib import Path

import pytest
from support import plant

from surefoot.cli.main import run
from surefoot.logs import RobotLog, record, write_log
from surefoot.sim import load_twin


@pytest.fixture(scope="module")
def go2_log() -> RobotLog:
    return record(load_twin("go2-identified"), "trot", rollouts=20, seconds=4.0, seed=1)


class TestCommandLine:
    @pytest.fixture
    def written(self, go2_log, tmp_path) -> Path:
        write_log(go2_log, tmp_path / "log.parquet")
        return tmp_path / "log.parquet"

    def test_exit_codes(self, written, go2_log, capsys) -> None:
        assert run(["doctor", str(written), "--needed-s", "60"]) == 0
        out = capsys.readouterr().out
        assert out.splitlines()[-1].startswith("usable: 1.3 of 1.0 minutes")
        assert "actions act after" in out
        assert run(["doctor", str(written), "--needed-s", "130"]) == 1
        write_log(plant.flipped(go2_log, "FL_calf_joint").log, written)
        assert run(["doctor", str(written), "--needed-s", "60"]) == 2
        out = capsys.readouterr().out
        assert "FL_calf_joint has the wrong sign" in " ".join(out.split())
        assert "fix: turn the sign" in " ".join(out.split())

    def test_json(self, written, capsys) -> None:
        assert run(["doctor", str(written), "--needed-s", "60", "--json"]) == 0
        content = json.loads(capsys.readouterr().out)
        assert content["exit_code"] == 0
        assert content["usable_rows"] <= content["rows"]
        assert content["delay"]["low_s"] <= content["delay"]["seconds"]

    def test_page(self, written, tmp_path) -> None:
        assert run(["doctor", str(written), "--needed-s", "60", "--html", str(tmp_path / "page.html")]) == 0
        assert "<html" in (tmp_path / "page.html").read_text()[:200].lower()

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            (["--policy", "trot"], "built in"),
            (["--policy", "wlak"], "no policy 'wlak'"),
            (["--robot", "nobody"], "no robot"),
        ],
    )
    def test_refusals(self, written, capsys, arguments, part) -> None:
        assert run(["doctor", str(written), *arguments]) == 2
        error = capsys.readouterr().err
        assert part in error
        assert "Traceback" not in error

    def test_what_is_no_log(self, tmp_path, capsys) -> None:
        (tmp_path / "no.parquet").write_text("no")
        assert run(["doctor", str(tmp_path / "no.parquet")]) == 2
        assert "not a readable Parquet file" in capsys.readouterr().err
