"""How far a fitted number may be off, for those who draw robots around a fit: to train on, and to judge a policy on."""

from surefoot.adapt.adaptation import Fitted
from surefoot.sim.parameters import PARAMETERS, Prior

OPEN = ("not identifiable", "no effect")  # flags of knobs whose intervals say no more than what was known before
SHARE = 0.25  # of its value, how far such a knob is drawn where no prior says how far one may be off


def plausible(knob: Fitted, prior: Prior | None, spread: float = 1.0) -> tuple[float, float, bool]:
    """Lowest and highest value, and whether the interval was cut to what is plausible.

    The interval widened `spread` times around the value; where the log told nothing, one step of the prior
    on both sides.
    """
    of, value = PARAMETERS[knob.parameter], knob.value
    low = value - spread * (value - min(*knob.interval, value))
    high = value + spread * (max(*knob.interval, value) - value)
    cut = False
    if knob.flag in OPEN:
        if prior is None:
            least, most = value - SHARE * abs(value), value + SHARE * abs(value)
        elif prior.log:
            least, most = value / prior.step, value * prior.step
        else:
            least, most = value - prior.step, value + prior.step
        cut = low < least or high > most
        low, high = max(low, least), min(high, most)
    return max(low, min(knob.bounds[0], value), of.low), min(high, max(knob.bounds[1], value), of.high), cut
