from pathlib import Path

import pytest

from surefoot.robot import Robot, load_robot

ROBOTS = {"go2": "go2", "hexapod": Path(__file__).parent / "robots" / "hexapod" / "robot.yaml"}


@pytest.fixture(scope="session", params=list(ROBOTS))
def robot(request) -> Robot:
    """Each test that takes `robot` runs on the Go2 and on a robot that is not one."""
    return load_robot(ROBOTS[request.param])


@pytest.fixture(scope="session")
def go2() -> Robot:
    return load_robot("go2")
