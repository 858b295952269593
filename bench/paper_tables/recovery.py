"""Known parameters, recovered with every cost under noise. All see the same virtual robots, logs, free numbers and budget.

One row is our fit as a user runs it, with more rollouts and a budget that grows with them.
"""

from typing import Any

from recover import CASES, draw

from paper_tables.cells import Cell, Settings, Table
from paper_tables.fits import budgeted, closed, effort, errors, fitted, published, scaled, walked
from surefoot.gap import schedule_of
from surefoot.robot import load_robot

COSTS = ("wasserstein", "match-s-20", "match-s-1", "match-s", "match-o", "mmd")
OURS, OURS_WHOLE = "ours", "ours, 64 rollouts"
METHODS = (*COSTS, OURS, OURS_WHOLE)
ROLLOUTS, PUBLISHED_ROLLOUTS = 16, 64


def recovered(cell: Cell, settings: Settings) -> dict[str, Any]:
    """Fit one virtual robot by one method."""
    rollouts = PUBLISHED_ROLLOUTS if cell.row == OURS_WHOLE else ROLLOUTS
    robot = load_robot("go2")
    twin = draw(robot, *CASES[cell.column], cell.seed)
    log = walked(twin, rollouts, cell.seed)
    schedule = schedule_of(log, robot)
    budget_s = scaled(settings.simulated_s, rollouts)
    if cell.row in COSTS:
        asked = published(cell.row, budget_s, held_out=0.0, seed=cell.seed)
    else:
        asked = budgeted(budget_s, held_out=0.0, seed=cell.seed)
    result = fitted(log, schedule, robot, asked)
    return {**errors(result, twin), **closed(result), **effort(result), "budget_s": budget_s, "rollouts": rollouts}


RECOVERY = Table(
    "recovery", tuple((method, case) for method in METHODS for case in CASES), recovered, figure="error", quick=(OURS, "2.5")
)  # fmt: skip
