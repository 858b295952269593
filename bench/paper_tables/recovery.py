"""The published problem, solved with every cost under noise. All see the same virtual robots, logs, free
numbers and budget.

One row of ours compares no more channels than the published costs do; one has as many rollouts as the paper.
"""

from typing import Any

from paper_tables.cells import Cell, Settings, Table
from paper_tables.fits import PUBLISHED_FREE, aimed, budgeted, closed, effort, errors, fitted, hidden, published, walked
from surefoot.gap import schedule_of
from surefoot.gap.channels import PUBLISHED
from surefoot.robot import load_robot

COSTS = ("wasserstein", "match-s-20", "match-s-1", "match-s", "match-o", "mmd")
OURS, OURS_NARROW, OURS_WHOLE = "ours", "ours, published channels", "ours, 64 rollouts"
METHODS = (*COSTS, OURS, OURS_NARROW, OURS_WHOLE)
ROLLOUTS, PUBLISHED_ROLLOUTS = 8, 64


def recovered(cell: Cell, settings: Settings) -> dict[str, Any]:
    """Fit one virtual robot by one method."""
    rollouts = PUBLISHED_ROLLOUTS if cell.row == OURS_WHOLE else ROLLOUTS
    robot = load_robot("go2")
    twin = hidden(robot, cell.column, cell.seed)
    log = walked(twin, rollouts, cell.seed)
    schedule = schedule_of(log, robot)
    how = {"held_out": 0.0, "free": PUBLISHED_FREE, "seed": cell.seed} | (
        {"kinds": PUBLISHED} if cell.row == OURS_NARROW else {}
    )
    asked = (
        published(cell.row, settings.simulated_s, **how) if cell.row in COSTS else budgeted(settings.simulated_s, **how)
    )
    result = fitted(log, schedule, robot, asked)
    found = {**errors(result, twin), **closed(result), **effort(result), "rollouts": rollouts}
    return found | (aimed(result, twin, log, schedule, asked) if cell.row in COSTS else {})


PLACES = tuple(
    (method, case) for case in ("2.5", "5.0", "0.0") for method in METHODS
)  # what the paper is about comes first
RECOVERY = Table("recovery", PLACES, recovered, figure="error", quick=(OURS, "2.5"))
