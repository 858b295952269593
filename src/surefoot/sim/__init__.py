"""The simulator: a `Robot` and parameters by name in, many simulated robots and their sensors out.

`Worlds` steps them on `mujoco.batch`; `Twin` is a robot with hidden physics; `rollout` puts an agent in the loop.
It must not know costs, logs or learning.
"""

from surefoot.sim.floor import Flat, Floor, HeightField
from surefoot.sim.parameters import PARAMETERS, Parameter
from surefoot.sim.rollout import Rollout, rollout
from surefoot.sim.twin import Twin, load_twin
from surefoot.sim.worlds import Failure, Worlds

__all__ = [
    "PARAMETERS",
    "Failure",
    "Flat",
    "Floor",
    "HeightField",
    "Parameter",
    "Rollout",
    "Twin",
    "Worlds",
    "load_twin",
    "rollout",
]
