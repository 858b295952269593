"""What may change in the simulator: parameters as knobs with names, units and bounds, saved and exported.

Names and values in, a `SearchSpace` whose points are `Physics` out. It must not know search and costs.
"""

from surefoot.adapt.adaptation import ADAPTATION, Adaptation, Fitted, Flag, read_adaptation, write_adaptation
from surefoot.adapt.curves import CurvedSpace, Knot, with_curves
from surefoot.adapt.knobs import Knob, make_knobs
from surefoot.adapt.priors import read_priors
from surefoot.adapt.search_space import SearchSpace
from surefoot.sim.parameters import Prior

__all__ = [
    "ADAPTATION",
    "Adaptation",
    "CurvedSpace",
    "Fitted",
    "Flag",
    "Knob",
    "Knot",
    "Prior",
    "SearchSpace",
    "make_knobs",
    "read_adaptation",
    "read_priors",
    "with_curves",
    "write_adaptation",
]
