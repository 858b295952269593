"""The gap: a log and a simulator in, distances with their noise floor out, by joint and channel.

It runs the policy in the loop under the log's own commands. It must not know search.
"""

from surefoot.gap.case import Case
from surefoot.gap.costs import COSTS, Cost, make_cost
from surefoot.gap.measure import Gap, Measured, measure, robot_side
from surefoot.gap.schedule import Schedule, schedule_of
from surefoot.gap.scores import Score, score, scores
from surefoot.gap.simulate import Candidates, Simulated, Simulator

__all__ = [
    "COSTS",
    "Candidates",
    "Case",
    "Cost",
    "Gap",
    "Measured",
    "Schedule",
    "Score",
    "Simulated",
    "Simulator",
    "make_cost",
    "measure",
    "robot_side",
    "schedule_of",
    "score",
    "scores",
]
