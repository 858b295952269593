"""The simulator: a `Robot` and parameters by name in, many simulated robots and their sensors out.

`Worlds` steps them on `mujoco.batch`; `Twin` is a robot with hidden physics; `walk` puts an agent in the loop, with
probes (`surefoot.sim.probes`) that measure; `rollout` is a walk that keeps all samples.
It must not know costs, logs or learning.
"""

from surefoot.sim.floor import Flat, Floor, HeightField
from surefoot.sim.parameters import PARAMETERS, Parameter
from surefoot.sim.rollout import Rollout, rollout
from surefoot.sim.twin import Twin, load_twin
from surefoot.sim.walk import Probe, Push, Script, planar_push, walk
from surefoot.sim.worlds import Failure, Worlds

__all__ = [
    "PARAMETERS",
    "Failure",
    "Flat",
    "Floor",
    "HeightField",
    "Parameter",
    "Probe",
    "Push",
    "Rollout",
    "Script",
    "Twin",
    "Worlds",
    "load_twin",
    "planar_push",
    "rollout",
    "walk",
]
