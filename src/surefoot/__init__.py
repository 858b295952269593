"""Surefoot makes a legged robot's simulator agree with the robot, from ordinary joint logs.

Data flows in one direction: robot, policy, sim, logs, gap, adapt, fit, learn, verify, pipeline, report, cli. Each
package imports from its left only and says in its own docstring what it must not know. The names below are imported
when they are first used: `import surefoot` loads no simulator.
"""

import os
from typing import TYPE_CHECKING

from surefoot.lazy import lazy_names

if TYPE_CHECKING:
    from surefoot.api import check_log, evaluate_policy, finetune, fit_physics, measure_gap, run_loop, verdict
    from surefoot.errors import SurefootError
    from surefoot.gap.case import Case
    from surefoot.logs import RobotLog, read_log, record, write_log
    from surefoot.report.pages import write_report
    from surefoot.robot import Robot, load_robot
    from surefoot.sim.physics import Physics
    from surefoot.sim.twin import load_twin

# Cores belong to the simulator's own threads. Those of BLAS wait by spinning: beside a busy process they made small
# matrix products 25 times slower, and alone they gain nothing at our sizes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

__version__ = "0.1.0"

__all__ = [
    "Case",
    "Physics",
    "Robot",
    "RobotLog",
    "SurefootError",
    "check_log",
    "evaluate_policy",
    "finetune",
    "fit_physics",
    "load_robot",
    "load_twin",
    "measure_gap",
    "read_log",
    "record",
    "run_loop",
    "verdict",
    "write_log",
    "write_report",
]

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(
            ("check_log", "evaluate_policy", "finetune", "fit_physics", "measure_gap", "run_loop", "verdict"),
            "surefoot.api",
        ),
        "SurefootError": "surefoot.errors",
        "Case": "surefoot.gap.case",
        **dict.fromkeys(("RobotLog", "read_log", "record", "write_log"), "surefoot.logs"),
        "write_report": "surefoot.report.pages",
        **dict.fromkeys(("Robot", "load_robot"), "surefoot.robot"),
        "Physics": "surefoot.sim.physics",
        "load_twin": "surefoot.sim.twin",
    },
)
