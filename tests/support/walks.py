"""Short walks, recorded with a policy that each robot of the tests has."""

from pathlib import Path
from typing import Any

import yaml
from support.robot_files import HEXAPOD

from surefoot.gap import Case, schedule_of
from surefoot.gap.schedule import SETTLE_S
from surefoot.logs import RobotLog, record
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin, load_twin

POLICIES = {"go2": "walk", "hexapod": "trot"}


def built_in(robot: Robot) -> str:
    """The built-in agent with which a robot walks: on two legs it has to balance."""
    return "step" if len(robot.feet) == 2 else "trot"


def whole_case(robot: Robot, log: RobotLog, settle_s: float = SETTLE_S) -> Case:
    """A case with all rows of its log, whatever the doctor would say."""
    return Case(robot, POLICIES[robot.name], log, schedule=schedule_of(log, robot, settle_s=settle_s))


def walked(robot: Robot, rollouts: int = 6, seconds: float = 2.5, seed: int = 1, **parameters: Any) -> RobotLog:
    """A log of a robot whose simulator would need these parameters."""
    return record(
        Twin("made", Physics(robot, parameters)),
        POLICIES[robot.name],
        rollouts=rollouts,
        seconds=seconds,
        seed=seed,
        threads=1,
    )


def walked_twin(robot: Robot, folder: Path) -> RobotLog:
    """A log of a virtual robot with noise: a shipped one of the Go2, and one made here of the hexapod."""
    if robot.name == "go2":
        return record(load_twin("go2-identified"), "trot", rollouts=8, seconds=4.0, threads=1)
    path = folder / "six.yaml"
    path.write_text(yaml.safe_dump({"robot": str(HEXAPOD), "time_jitter_s": 0.001}))
    return record(load_twin(path), "trot", rollouts=4, seconds=2.0, threads=1)
