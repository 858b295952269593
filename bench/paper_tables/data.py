"""How much data it takes: our fit and the policy that comes of it, over the number of rollouts and their length.

A search on more data may simulate longer: with one budget for all, the table would measure where the budget
cuts, and not what data give.
"""

from typing import Any

from paper_tables.cells import Cell, Settings, Table
from paper_tables.fits import (
    PUBLISHED_FREE,
    budgeted,
    climbed,
    closed,
    effort,
    errors,
    hidden,
    original,
    scaled,
    walked,
)
from paper_tables.walks import kept_training, on_twin, tuned
from surefoot.fit.family import STATIC
from surefoot.gap import schedule_of
from surefoot.robot import load_robot

CASE = "2.5"  # N·m of torque noise
NO_DATA = "0"
SIZES = (
    ("8", "4"),
    ("16", "4"),
    ("32", "4"),
    ("64", "4"),
    ("128", "4"),
    ("64", "2"),
    ("16", "8"),
)  # rollouts and their seconds


def enough(cell: Cell, settings: Settings) -> dict[str, Any]:
    """Fit with so much data, fine-tune, and walk on the virtual robot."""
    robot = load_robot("go2")
    twin = hidden(robot, CASE, cell.seed)
    if cell.row == NO_DATA:
        return on_twin(original(robot), twin)
    log = walked(twin, int(cell.row), cell.seed, float(cell.column))
    schedule = schedule_of(log, robot)
    folder = settings.folder("data", cell)
    budget_s = scaled(settings.simulated_s, int(cell.row), float(cell.column))
    asked = budgeted(budget_s, held_out=0.0, free=PUBLISHED_FREE, seed=cell.seed)
    result = climbed(log, schedule, robot, asked, (STATIC,), folder)
    minutes = int(cell.row) * float(cell.column) / 60
    found = {**errors(result, twin), **closed(result), **effort(result), "budget_s": budget_s, "data_min": minutes}
    if settings.iterations > 0:
        policy = tuned(folder, result.adaptation, settings.iterations, cell.seed)
        found |= on_twin(policy, twin) | kept_training(policy)
    return found


DATA = Table(
    "data", ((NO_DATA, "4"), *SIZES), enough, figure="error", quick=("8", "4"), uses=("simulated_s", "iterations")
)
