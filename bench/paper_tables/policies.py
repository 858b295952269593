"""What a family, and what a cost, does to the gap and to the policy that is fine-tuned in the fitted simulator."""

from typing import Any

from paper_tables.cells import Cell, Settings, Table
from paper_tables.fits import budgeted, climbed, closed, effort, original, published, shifted, walked
from paper_tables.walks import kept_training, on_twin, tuned
from surefoot.fit.family import STATIC, Family
from surefoot.fit.ladder import NETWORK, RUNGS, TYPE
from surefoot.fit.result import FitResult
from surefoot.gap import schedule_of
from surefoot.logs import RobotLog
from surefoot.robot import load_robot
from surefoot.sim.twin import Twin

ORIGINAL = "original policy"
SHIFT, SPRING = "parameter shift", "spring joint"
ACTION = Family("action")
FAMILIES = {"static": (STATIC,), "action-delta": (ACTION, Family("action", curved=True)), "residual": (TYPE, NETWORK)}
NETWORK_COSTS = ("match-s-1", "match-s-20", "match-s", "wasserstein")
OURS = "ours"
ROLLOUTS = {"families": 32, "horizon": 10}  # a fifth is held out; CMA-ES gets more generations out of fewer rollouts


def _robot(cell: Cell, table: str) -> tuple[Twin, RobotLog | None]:
    twin = shifted(load_robot("go2"), cell.seed, spring=cell.column == SPRING)
    return twin, None if cell.row == ORIGINAL else walked(twin, ROLLOUTS[table], cell.seed)


def _with_policy(cell: Cell, settings: Settings, table: str, twin: Twin, result: FitResult) -> dict[str, Any]:
    """The gap that is left, and the policy that comes of it."""
    found = {**closed(result), **effort(result)}
    if settings.iterations > 0:
        policy = tuned(settings.folder(table, cell), result.adaptation, settings.iterations, cell.seed)
        found |= on_twin(policy, twin) | kept_training(policy)
    return found


def family(cell: Cell, settings: Settings) -> dict[str, Any]:
    """One family on one virtual robot, by our search; its rungs share the budget."""
    twin, log = _robot(cell, "families")
    if log is None:
        return on_twin(original(twin.robot), twin)
    rungs, schedule = FAMILIES[cell.row], schedule_of(log, twin.robot)
    asked = budgeted(settings.simulated_s / len(rungs), tie="type", seed=cell.seed)
    result = climbed(log, schedule, twin.robot, asked, rungs, settings.folder("families", cell))
    return _with_policy(cell, settings, "families", twin, result)


def horizon(cell: Cell, settings: Settings) -> dict[str, Any]:
    """A network alone, by one cost with CMA-ES; beside it our own way, with the same budget.

    CMA-ES searches the curves that the network is then taught, since that is what the product fits; the paper searches weights.
    """
    twin, log = _robot(cell, "horizon")
    if log is None:
        return on_twin(original(twin.robot), twin)
    schedule, folder = schedule_of(log, twin.robot), settings.folder("horizon", cell)
    if cell.row == OURS:
        rungs = tuple(rung for rung in RUNGS if not rung.per_joint)
        asked = budgeted(settings.simulated_s / len(rungs), tie="type", seed=cell.seed)
        result = climbed(log, schedule, twin.robot, asked, rungs, folder)
    else:
        asked = published(cell.row, settings.simulated_s, free=(), seed=cell.seed)
        result = climbed(log, schedule, twin.robot, asked, (NETWORK,), folder)
    return _with_policy(cell, settings, "horizon", twin, result)


USES = ("simulated_s", "iterations")
FAMILY_TABLE = Table(
    "families", tuple((row, column) for row in (ORIGINAL, *FAMILIES) for column in (SHIFT, SPRING)), family, figure="gap", quick=("static", SHIFT), uses=USES,
)  # fmt: skip
HORIZON_TABLE = Table(
    "horizon", tuple((row, SPRING) for row in (ORIGINAL, *NETWORK_COSTS, OURS)), horizon, figure="gap", quick=(OURS, SPRING), uses=USES
)
