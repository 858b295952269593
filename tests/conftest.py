import os
from pathlib import Path

import mujoco
import pytest

from surefoot.cli.main import run
from surefoot.errors import RobotError
from surefoot.pipeline.loop_result import LoopResult
from surefoot.robot import Robot, load_robot
from surefoot.robot.picture import Frames

# The checks in the helpers tell what they compared, as those in the tests do.
pytest.register_assert_rewrite("support")

ROBOTS: dict[str, str | Path] = {"go2": "go2", "hexapod": Path(__file__).parent / "robots" / "hexapod" / "robot.yaml"}


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


@pytest.fixture(scope="module")
def gl() -> None:
    """Skips where nothing can be drawn."""
    try:
        Frames(mujoco.MjModel.from_xml_string("<mujoco/>"), 16, 16).close()
    except RobotError as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def toy_loop(tmp_path_factory) -> LoopResult:
    """A real loop at toy size; each figure in it was measured."""
    from support.toy_loop import shared_toy_loop

    base = tmp_path_factory.getbasetemp()
    return shared_toy_loop(base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base)
