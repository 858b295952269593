"""Walking on the hind legs: what a policy does in its own simulator, on another robot, and there after one
round of the loop.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from paper_tables.cells import FOLDER, Cell, Refused, Settings, Table
from paper_tables.failures import usable_rows
from paper_tables.fits import budgeted, climbed, closed, effort, shifted, walked
from paper_tables.walks import kept_training, measured_on, tuned
from surefoot.adapt import Adaptation
from surefoot.errors import GapError, SurefootError
from surefoot.fit.family import STATIC
from surefoot.gap import schedule_of
from surefoot.policy.agents import with_policy_posture
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin

ORIGINAL, NO_FIT, AFTER = "original policy", "no fit, fine-tuned in the nominal simulator", "after the loop"
NOMINAL, SHIFTED, UNEVEN = "nominal simulator", "other robot", "uneven robot"
ROLLOUTS = {
    SHIFTED: 32,
    UNEVEN: 16,
}  # joint by joint a search has three times as many numbers, and of fewer rollouts its budget makes more steps
SECONDS = 8.0  # the robot rises in the first 3 s of a rollout
TIES = {SHIFTED: "type", UNEVEN: "none"}  # as the robots are drawn
WAYS = ("+x", "-x")


def policy_of(robot: Robot) -> Path:
    """The shipped policy; where none is good enough to be shipped, the best that there is."""
    places = (robot.path.parent / "policies" / "biped.onnx", FOLDER / "biped.onnx")
    found = next((path for path in places if path.exists()), None)
    if found is None:
        raise SurefootError(
            f"no policy walks on the hind legs of {robot.name}; train one with `surefoot train biped --out runs/biped"
            f" --iterations 8000`, and copy it to {places[1]}"
        )
    return found


def walk_upright(cell: Cell, settings: Settings) -> dict[str, Any]:
    """One policy on one robot."""
    robot = load_robot("go2")
    policy = policy_of(robot)
    twin = (
        Twin("nominal", Physics(robot, {}))
        if cell.column == NOMINAL
        else shifted(robot, cell.seed, uneven=cell.column == UNEVEN)
    )
    if cell.row == ORIGINAL:
        return upright_figures(policy, twin, cell.seed)
    if cell.row == NO_FIT:  # one training for both robots, of which it knows nothing
        nominal = Adaptation(robot.name, robot.hash, "static", (), {})
        after = tuned(
            settings.folder("biped", replace(cell, column=NOMINAL)),
            nominal,
            settings.iterations,
            cell.seed,
            policy=policy,
        )
        return upright_figures(after, twin, cell.seed) | kept_training(after)
    rollouts = ROLLOUTS[cell.column]
    log = walked(twin, rollouts, cell.seed, SECONDS, policy=str(policy))
    meant, folder = with_policy_posture(robot, policy), settings.folder("biped", cell)
    usable = usable_rows(log, meant, policy)
    asked = budgeted(settings.simulated_s, tie=TIES[cell.column], seed=cell.seed)
    try:
        result = climbed(log, schedule_of(log, meant, usable), meant, asked, (STATIC,), folder, policy=str(policy))
    except GapError as reason:  # of a policy that falls in the simulator too, nothing is left to compare
        raise Refused(str(reason)) from None
    found = {
        **closed(result),
        **effort(result),
        "data_min": rollouts * SECONDS / 60,
        "fallen_episodes": log.metadata["fallen_episodes"],
    }
    if settings.iterations > 0:
        after = tuned(folder, result.adaptation, settings.iterations, cell.seed, policy=policy)
        found |= upright_figures(after, twin, cell.seed) | kept_training(after)
    return found


def upright_figures(policy: Path, twin: Twin, seed: int) -> dict[str, Any]:
    """Who stands, who falls, and where those that walk end up after 4 s at full speed; lateral drift is
    what is published.
    """
    found = measured_on(policy, twin, seed)
    if found.stand is None:
        raise SurefootError(f"{policy} means to walk on all its legs; this table takes one that rises on its hind legs")
    ways = [found.directions[name] for name in WAYS]
    return {
        "stood": found.stand.stood,
        "rose": found.stand.rose,
        "velocity_error_m_s": found.walk.velocity_error_m_s,
        "falls": found.walk.falls,
        "falls_straight": sum(way.falls for way in ways),
        "lateral_m": sum(way.lateral_abs_m for way in ways) / len(ways),
        "drift_m": sum(way.off_m for way in ways) / len(ways),
        "heading_rad": sum(way.heading_abs_rad for way in ways) / len(ways),
    }


def depends() -> dict[str, Any]:
    """Cells of different policies are no spread over seeds."""
    return {"policy": OnnxPolicy.load(policy_of(load_robot("go2"))).hash[:12]}


BIPED = Table(
    "biped",
    ((ORIGINAL, NOMINAL), *((row, robot) for robot in (SHIFTED, UNEVEN) for row in (ORIGINAL, NO_FIT, AFTER))),
    walk_upright,
    figure="gap",
    quick=(AFTER, SHIFTED),
    uses=("simulated_s", "iterations"),
    depends=depends,
)
