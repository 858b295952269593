"""What a family, and what a cost, does to the gap and to the policy that is fine-tuned in the fitted simulator."""

from pathlib import Path
from typing import Any

from weights import OF_ORDER_ONE, Weights, search_weights

from paper_tables.cells import Cell, Settings, Table
from paper_tables.fits import POLICY, budgeted, climbed, closed, effort, left, original, published, shifted, walked
from paper_tables.walks import kept_training, on_twin, tuned
from surefoot.adapt import Adaptation
from surefoot.fit.family import STATIC, WORDS, Family
from surefoot.fit.ladder import NETWORK, RUNGS, TYPE
from surefoot.fit.run import split
from surefoot.gap import Case, measure, schedule_of
from surefoot.journal import Journal
from surefoot.logs import RobotLog
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

ORIGINAL = "original policy"
SHIFT, SPRING = "parameter shift", "spring joint"
ACTION = Family("action")
FAMILIES = {"static": (STATIC,), "action-delta": (ACTION, Family("action", curved=True)), "residual": (TYPE, NETWORK)}
NETWORK_COSTS = ("match-s-1", "match-s-20", "match-s", "wasserstein")
WEIGHT_COSTS = {f"{cost}, weights": cost for cost in ("match-s-1", "wasserstein")}  # a row and its cost
OURS = "ours"
NO_FIT = "no fit"
HORIZON_ROWS = {  # and what they are called in a sentence or a plot
    ORIGINAL: ORIGINAL,
    NO_FIT: NO_FIT,
    **{row: f"weights by {cost}" for row, cost in WEIGHT_COSTS.items()},
    **{cost: f"curves by {cost}" for cost in NETWORK_COSTS},
    OURS: OURS,
}
ROLLOUTS = {"families": 32, "horizon": 10}  # a fifth is held out; CMA-ES gets more generations out of fewer rollouts
HELD_OUT = 0.2


def _robot(cell: Cell, table: str) -> tuple[Twin, RobotLog | None]:
    twin = shifted(load_robot("go2"), cell.seed, spring=cell.column == SPRING)
    return twin, None if cell.row == ORIGINAL else walked(twin, ROLLOUTS[table], cell.seed)


def _with_policy(
    cell: Cell, settings: Settings, table: str, twin: Twin, adaptation: Adaptation, found: dict[str, Any]
) -> dict[str, Any]:
    """What was found, and the policy that comes of it."""
    if settings.iterations > 0:
        policy = tuned(settings.folder(table, cell), adaptation, settings.iterations, cell.seed)
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
    return _with_policy(cell, settings, "families", twin, result.adaptation, {**closed(result), **effort(result)})


def horizon(cell: Cell, settings: Settings) -> dict[str, Any]:
    """A network alone, by one cost with CMA-ES; beside it our own way, with the same budget.

    CMA-ES searches the curves that the network is then taught, since that is what the product fits, or the
    weights, as the paper does.
    """
    twin, log = _robot(cell, "horizon")
    if log is None:
        return on_twin(original(twin.robot), twin)
    folder = settings.folder("horizon", cell)
    if cell.row == NO_FIT:  # what training alone does, which a network must beat to be worth anything
        nominal = Adaptation(twin.robot.name, twin.robot.hash, "static", (), {})
        return _with_policy(cell, settings, "horizon", twin, nominal, {})
    if cell.row in WEIGHT_COSTS:
        adaptation, found = weights(log, twin.robot, WEIGHT_COSTS[cell.row], settings.simulated_s, cell.seed, folder)
        return _with_policy(cell, settings, "horizon", twin, adaptation, found)
    schedule = schedule_of(log, twin.robot)
    if cell.row == OURS:
        rungs = tuple(rung for rung in RUNGS if not rung.per_joint)
        asked = budgeted(settings.simulated_s / len(rungs), tie="type", seed=cell.seed)
        result = climbed(log, schedule, twin.robot, asked, rungs, folder)
    else:
        asked = published(cell.row, settings.simulated_s, free=(), seed=cell.seed)
        result = climbed(log, schedule, twin.robot, asked, (NETWORK,), folder)
    return _with_policy(cell, settings, "horizon", twin, result.adaptation, {**closed(result), **effort(result)})


def weights(
    log: RobotLog, robot: Robot, cost: str, simulated_s: float, seed: int, folder: Path
) -> tuple[Adaptation, dict[str, Any]]:
    """The published way: CMA-ES on the weights of the network, between -1 and 1; what it found, and the figures that
    the other searches have.
    """
    fitted, held = split(schedule_of(log, robot), HELD_OUT, seed)
    assert held is not None
    family, case = Weights(robot, {}), Case(robot, POLICY, log, schedule=fitted)
    identity: dict[str, object] = {
        "log": log.metadata,
        "cost": cost,
        "simulated_s": simulated_s,
        "seed": seed,
        "scales": [family.share, *OF_ORDER_ONE],
    }
    journal = Journal(folder / "journal" / "weights", identity)
    answer = search_weights(family, case, cost, simulated_s, seed, journal)
    adaptation = Adaptation(robot.name, robot.hash, WORDS["torque"], (), {}, family.network(answer.weights))
    before, after = (
        measure(case.on(held), physics=physics, seed=seed + 7, may_fall=True).gap
        for physics in (Physics(robot), adaptation.physics(robot))
    )
    return adaptation, {
        **left(before, after),
        "simulated_s": answer.simulated_s,
        "evaluations": answer.evaluations,
        "stopped": answer.stopped,
        "generations": answer.generations,
    }


USES = ("simulated_s", "iterations")
FAMILY_TABLE = Table(
    "families",
    tuple((row, column) for row in (ORIGINAL, *FAMILIES) for column in (SHIFT, SPRING)),
    family,
    figure="gap",
    quick=("static", SHIFT),
    uses=USES,
)
HORIZON_TABLE = Table(
    "horizon",
    tuple((row, SPRING) for row in HORIZON_ROWS),
    horizon,
    figure="gap",
    quick=(OURS, SPRING),
    uses=USES,
)
