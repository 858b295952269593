import pytest
from support.walks import walked_twin

from surefoot.logs import RobotLog


@pytest.fixture(scope="session")
def log(robot, tmp_path_factory) -> RobotLog:
    """A short walk of each robot."""
    return walked_twin(robot, tmp_path_factory.mktemp("twin"))
