"""`surefoot log plot` as it is typed."""

import pytest
from support.pages import checked
from support.walks import walked_twin

from surefoot.cli.main import run
from surefoot.logs import RobotLog, write_log


@pytest.fixture(scope="module")
def log(robot, tmp_path_factory) -> RobotLog:
    return walked_twin(robot, tmp_path_factory.mktemp("twin"))


class TestCommand:
    def test_plot(self, log, robot, tmp_path, capsys) -> None:
        write_log(log, tmp_path / "walk.parquet")
        out = tmp_path / "new" / "walk.html"
        assert run(["log", "plot", str(tmp_path / "walk.parquet"), "--out", str(out), "--robot", str(robot.path)]) == 0
        assert f"wrote {out}" in capsys.readouterr().out.replace("\n", "")
        page = out.read_text(encoding="utf-8")
        checked(page)
        assert "<title>walk.parquet</title>" in page
        assert (
            run(
                [
                    "log",
                    "plot",
                    str(tmp_path / "walk.parquet"),
                    "--out",
                    str(out),
                    "--episode",
                    "1",
                    "2",
                    "--title",
                    "Tuesday",
                ]
            )
            == 0
        )
        assert "<title>Tuesday</title>" in out.read_text(encoding="utf-8")
        assert "<h2>Episode 2</h2>" in out.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["none.parquet", "--out", "x.html"], "does not exist"),
            (["walk.parquet", "--out", "."], "is a folder"),
            (["walk.parquet", "--out", "x.html", "--robot", "cat"], "no robot 'cat'"),
            (["walk.parquet", "--out", "x.html", "--episode", "55"], "no episode 55"),
        ],
    )
    def test_mistakes_are_one_sentence(self, log, tmp_path, monkeypatch, capsys, arguments, says) -> None:
        write_log(log, tmp_path / "walk.parquet")
        monkeypatch.chdir(tmp_path)
        assert run(["log", "plot", *arguments]) == 2
        shown = capsys.readouterr().err
        assert says in shown
        assert shown.count("\n") == 1
        assert not (tmp_path / "x.html").exists()
