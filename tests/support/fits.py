"""Small logs, and fits of them that are soon done."""

from collections.abc import Callable
from typing import Any

from support import walks

from surefoot.fit.family import FitSettings
from surefoot.fit.quantile import QuantileSettings
from surefoot.fit.result import FitResult
from surefoot.fit.run import Fit, FitProgress
from surefoot.journal import Journal
from surefoot.logs import RobotLog
from surefoot.robot import Robot

QUICK = QuantileSettings(polish_runs=3, polish_rounds=1, most_iterations=5)
SETTLE_S = 0.2


def walked(robot: Robot, rollouts: int = 6, seconds: float = 1.2, seed: int = 3, **parameters: Any) -> RobotLog:
    return walks.walked(robot, rollouts, seconds, seed, **parameters)


def make_fit(
    robot: Robot,
    log: RobotLog,
    free: tuple[str, ...] = ("dry_friction_nm",),
    journal: Journal | None = None,
    progress: Callable[[FitProgress], None] | None = None,
    **settings: Any,
) -> Fit:
    usual: dict[str, Any] = {"tie": "all", "quantile": QUICK}
    asked = FitSettings(free=free, **(usual | settings))
    return Fit(
        walks.whole_case(robot, log, SETTLE_S),
        asked,
        journal,
        threads=1,
        progress=progress,
    )


def value_of(result: FitResult, name: str) -> float:
    return next(knob.value for knob in result.adaptation.knobs if knob.name == name)
