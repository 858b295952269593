from pathlib import Path

import pytest

from surefoot.cli.main import run
from surefoot.robot import Robot, load_robot

ROBOTS = {"go2": "go2", "hexapod": Path(__file__).parent / "robots" / "hexapod" / "robot.yaml"}


@pytest.fixture(scope="session", params=list(ROBOTS))
def robot(request) -> Robot:
    """Each test that takes `robot` runs on the Go2 and on a robot that is not one."""
    return load_robot(ROBOTS[request.param])


@pytest.fixture(scope="session")
def go2() -> Robot:
    return load_robot("go2")


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty current folder; pictures, which take their time, are off unless a test turns them on."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MUJOCO_GL", "off")
    return folder


@pytest.fixture
def surefoot(here, capsys):
    """Run a command line inside this process: exit code, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return call
