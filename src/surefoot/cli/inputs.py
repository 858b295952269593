"""What verbs have in common: where to look after a log was refused, and simulators that a file changes."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.adapt import ADAPTATION, read_adaptation
from surefoot.errors import GapError, UnusableLog
from surefoot.files import path_of
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import load_twin


def doctor_line(log: Path, robot: str) -> str:
    """The command that shows all that the doctor finds."""
    return f"surefoot doctor {shlex.join([str(log), '--robot', robot])}"


@contextmanager
def doctor_hint(log: Path, robot: str) -> Iterator[None]:
    """Tell how to see more of what makes a log unusable."""
    try:
        yield
    except UnusableLog as reason:
        raise UnusableLog(f"{reason}; `{doctor_line(log, robot)}` shows why, and what to do") from None


def changed_simulator(adaptation: str, robot: Robot) -> Physics:
    """The simulator of a fit's folder or adaptation.json, or of a virtual robot's file without what only its
    recordings have.
    """
    place = path_of(adaptation)
    if place.suffix == ".json" or (place / ADAPTATION).is_file():
        return read_adaptation(place, robot).physics(robot)
    twin = load_twin(adaptation)
    if twin.robot.hash != robot.hash:
        raise GapError(
            f"{adaptation} is of {twin.robot.name}, and not of the {robot.name} that --robot gives; give both of one"
            " robot"
        )
    if twin.physics.curves:
        raise GapError(
            f"{adaptation} has torque_curves, which belong to a virtual robot; compare with the log that it recorded"
        )
    return Physics(robot, twin.physics.parameters, twin.physics.network)
