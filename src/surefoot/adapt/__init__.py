"""What may change in the simulator: parameters as knobs with names, units and bounds, applied to worlds, saved, exported.

Names and values in, changed `Worlds` out. It must not know search and costs.
"""

from surefoot.adapt.adaptation import ADAPTATION, Adaptation, Fitted, Flag, read_adaptation, write_adaptation
from surefoot.adapt.knobs import Knob, Prior, Static, make_knobs, read_priors

__all__ = [
    "ADAPTATION", "Adaptation", "Fitted", "Flag", "Knob", "Prior", "Static", "make_knobs", "read_adaptation", "read_priors", "write_adaptation",
]  # fmt: skip
