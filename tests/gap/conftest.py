import pytest
from support.walks import walked

from surefoot.logs import RobotLog


@pytest.fixture(scope="session")
def log(robot) -> RobotLog:
    """The nominal robot's own log: there is no gap in it."""
    return walked(robot, rollouts=8)
