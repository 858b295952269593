"""Walking on the hind legs: what a policy does in its own simulator, on another robot, and there after one round of the loop."""

from pathlib import Path
from typing import Any

from paper_tables.cells import FOLDER, Cell, Settings, Table
from paper_tables.fits import budgeted, climbed, closed, effort, shifted, walked
from paper_tables.walks import measured_on, tuned
from surefoot.errors import SurefootError
from surefoot.fit.family import STATIC
from surefoot.gap import schedule_of
from surefoot.policy.agents import as_meant
from surefoot.robot import Robot, load_robot
from surefoot.sim.twin import Twin

ORIGINAL, AFTER = "original policy", "after the loop"
NOMINAL, SHIFTED = "nominal simulator", "other robot"
ROLLOUTS, SECONDS = 32, 8.0  # 4.3 minutes of data; the robot rises in the first 3 s of a rollout
WAYS = ("+x", "-x")


def policy_of(robot: Robot) -> Path:
    """The shipped policy; where none is good enough to be shipped, the best that there is."""
    places = (robot.path.parent / "policies" / "biped.onnx", FOLDER / "biped.onnx")
    found = next((path for path in places if path.exists()), None)
    if found is None:
        raise SurefootError(
            f"no policy walks on the hind legs of {robot.name}; train one with `surefoot train biped --out runs/biped --iterations 4000`, and copy it to {places[1]}"
        )
    return found


def walk_upright(cell: Cell, settings: Settings) -> dict[str, Any]:
    """One policy on one robot."""
    robot, twin = load_robot("go2"), shifted(load_robot("go2"), cell.seed, spring=False)
    policy = policy_of(robot)
    if cell.row == ORIGINAL:
        return upright_figures(policy, twin if cell.column == SHIFTED else Twin("nominal", robot, {}))
    log = walked(twin, ROLLOUTS, cell.seed, SECONDS, policy=str(policy))
    meant, folder = as_meant(robot, policy), settings.folder("biped", cell)
    asked = budgeted(settings.simulated_s, tie="type", seed=cell.seed)
    result = climbed(log, schedule_of(log, meant), meant, asked, (STATIC,), folder, policy=str(policy))
    found = {**closed(result), **effort(result), "data_min": ROLLOUTS * SECONDS / 60}
    if settings.iterations > 0:
        found |= upright_figures(tuned(folder, result.adaptation, settings.iterations, cell.seed, policy=policy), twin)
    return found


def upright_figures(policy: Path, twin: Twin) -> dict[str, Any]:
    """Who stands, who falls, and where those that walk end up after 4 s at full speed; lateral drift is what is published."""
    found = measured_on(policy, twin)
    assert found.stand is not None
    ways = [found.directions[name] for name in WAYS]
    return {
        "stood": found.stand.stood, "rose": found.stand.rose, "velocity_error_m_s": found.walk.velocity_error_m_s, "falls": found.walk.falls,
        "falls_straight": sum(way.falls for way in ways), "lateral_m": sum(way.lateral_abs_m for way in ways) / len(ways),
        "drift_m": sum(way.off_m for way in ways) / len(ways), "heading_rad": sum(way.heading_abs_rad for way in ways) / len(ways),
    }  # fmt: skip


BIPED = Table(
    "biped", ((ORIGINAL, NOMINAL), (ORIGINAL, SHIFTED), (AFTER, SHIFTED)), walk_upright, figure="gap", quick=(AFTER, SHIFTED), uses=("simulated_s", "iterations"),
)  # fmt: skip
