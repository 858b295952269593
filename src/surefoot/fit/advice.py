"""What a log could not tell about a parameter, and which recording would."""

from surefoot.adapt import Flag, Knob
from surefoot.sim.parameters import PARAMETERS

AT_BOUND = 0.02  # nearer to its bound than this, a knob is at it
WIDE = 1.5  # a 90 % interval that reaches this far says no more than the prior did
HALF = 0.5  # of the answer, its data share, at least must come from the log


def flag_of(knob: Knob, coordinate: float, half_width: float, data_share: float) -> tuple[Flag, str]:
    """The flag of an answer and its reason, from its place and the half-width of its interval, both in
    normalized coordinates.
    """
    for bound, end in ((knob.low, "lower"), (knob.high, "upper")):
        if abs(knob.coordinate(bound) - coordinate) < AT_BOUND:
            why = (
                f"it ended at its {end} bound, {bound:g} {knob.unit}: the truth may lie beyond, or something else is"
                " wrong that it makes up for; widen it in a priors file to see"
            )
            return ("at its bound", why) if knob.start != bound or half_width > WIDE else ("", "")
    if half_width > WIDE or data_share < HALF:
        return "not identifiable", f"this log cannot tell; what would: {PARAMETERS[knob.parameter].excitation}"
    return "", ""
