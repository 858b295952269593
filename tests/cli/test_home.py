"""A '~' that the shell did not expand, as in --out '~/x.parquet', is the home folder."""

import pytest

from surefoot.logs import record, write_log
from surefoot.sim.twin import load_twin


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_outputs_and_inputs(surefoot, here, home) -> None:
    write_log(record(load_twin("go2-identified"), "trot", rollouts=1, seconds=0.4, seed=0), home / "log.parquet")
    assert surefoot("log", "plot", "~/log.parquet", "--out", "~/x.html")[0] == 0
    assert surefoot("log", "import", "~/log.parquet", "--out=~/new/y.parquet")[0] == 0
    assert (home / "x.html").is_file()
    assert (home / "new" / "y.parquet").is_file()
    assert not (here / "~").exists()


def test_a_folder(surefoot, here, home) -> None:
    code, _, error = surefoot("gap", "~/nothing.parquet", "--out", "~/gap")
    assert code == 2
    assert str(home / "nothing.parquet") in error
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("robot", "check", "~nobody-here/r"),
        ("record", "--twin", "~nobody-here/t", "--out", "a.parquet"),
        ("evaluate", "~nobody-here/p"),
        ("train", "~nobody-here/t.py", "--out", "o"),
        ("train", "walk", "--randomization", "~nobody-here/r", "--out", "o"),
    ],
)
def test_a_user_that_does_not_exist(surefoot, words) -> None:
    code, _, error = surefoot(*words)
    assert code == 2
    assert "~nobody-here" in error


def test_a_name_that_only_begins_so(surefoot, here, home) -> None:
    """No user is called so: it is a file like any other."""
    write_log(record(load_twin("go2-identified"), "trot", rollouts=1, seconds=0.4, seed=0), here / "log.parquet")
    assert surefoot("log", "plot", "log.parquet", "--out", "~nobody-of-this-name.html")[0] == 0
    assert (here / "~nobody-of-this-name.html").is_file()
