"""What may change in the simulator: parameters as knobs with names, units and bounds, applied to worlds, saved, exported.

Names and values in, changed `Worlds` out. It must not know search and costs.
"""

from surefoot.adapt.knobs import Knob, Prior, Static, make_knobs, read_priors

__all__ = ["Knob", "Prior", "Static", "make_knobs", "read_priors"]
