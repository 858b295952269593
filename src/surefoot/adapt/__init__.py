"""What may change in the simulator: parameters as knobs with names, units and bounds, applied to worlds, saved, exported.

Names and values in, changed `Worlds` out. It must not know search and costs.
"""

from surefoot.adapt.adaptation import ADAPTATION, Adaptation, Fitted, Flag, read_adaptation, write_adaptation
from surefoot.adapt.curves import Curved, Knot, with_curves, without
from surefoot.adapt.knobs import Knob, Prior, Static, make_knobs, read_priors

__all__ = [
    "ADAPTATION", "Adaptation", "Curved", "Fitted", "Flag", "Knob", "Knot", "Prior", "Static", "make_knobs", "read_adaptation", "read_priors",
    "with_curves", "without", "write_adaptation",
]  # fmt: skip
