"""How near a fit came to the robot, as `surefoot fit` left it beside its adaptation: what is better in that
simulator is worth as much.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.adapt import Adaptation
from surefoot.errors import SurefootError
from surefoot.files import is_number, read_json
from surefoot.gap.measure import Gap

FIT = "fit.json"
EXCLUDED = 0.5  # of the gap before: a fit that leaves less has shown that the robot is elsewhere
UNKNOWN = "how much of the gap the fit closed is not known: no fit.json of this adaptation lies beside it"


@dataclass(frozen=True)
class FitGap:
    """The distance between simulator and robot before and after a fit, on episodes that it never saw where
    there are any.
    """

    before: float
    after: float
    floor: float | None  # None: joint positions compared tick by tick, in rad, have none
    measurable: bool  # whether what is left can be told from none
    nearer: bool  # whether the fit came nearer at all
    held_out: bool

    @property
    def left(self) -> bool:
        """Whether a part of the gap is still there."""
        return self.nearer and self.measurable

    @property
    def excludes_nominal(self) -> bool:
        """Whether episodes that no fit saw say that the robot is not the nominal simulator: the adapted one
        is far nearer to them.
        """
        return self.held_out and self.nearer and self.floor is not None and self.after <= EXCLUDED * self.before

    @property
    def says(self) -> str:
        """One sentence."""
        where = "on held-out episodes" if self.held_out else "on the episodes that were fitted"
        if self.floor is None:
            return (
                f"with the fit, joint positions are {self.after:.3f} rad off the recorded ones instead of"
                f" {self.before:.3f}, {where}"
            )
        floor = f"(floor {self.floor:.3f}) {where}"
        if not self.nearer:
            return (
                f"the fit left a gap of {self.after:.3f} where {self.before:.3f} was before {floor}: what the adapted"
                " simulator shows is not about the robot"
            )
        if self.measurable:
            return (
                f"the fit left {self.after:.3f} of a gap of {self.before:.3f} {floor}: what is better in the adapted"
                " simulator may be less on the robot"
            )
        return f"the fit closed the gap: {self.before:.3f} → {self.after:.3f} {floor}"

    @staticmethod
    def of_gaps(fitted: tuple[Gap, Gap], held_out: tuple[Gap, Gap] | None) -> "FitGap":
        """From the gaps before and after, on the fitted episodes and on held-out ones where there are any."""
        pairs = [fitted] if held_out is None else [held_out, fitted]
        lost = [pair for pair in pairs if pair[1].measurable and pair[1].total >= pair[0].total]
        before, after = (lost or pairs)[0]
        held = held_out is not None and after is held_out[1]
        return FitGap(before.total, after.total, after.total_floor, after.measurable, not lost, held)

    @staticmethod
    def of_traces(before_rad: float, after_rad: float, held_out: bool) -> "FitGap":
        """From how far joint positions are off recorded ones that were played again."""
        nearer = after_rad < before_rad
        return FitGap(before_rad, after_rad, None, not nearer, nearer, held_out)


def fit_gap_of(figures: dict[str, Any]) -> FitGap:
    """From what fit.json holds."""
    if figures.get("traces_rad"):
        fitted, held = figures["traces_rad"]
        shown = held or fitted
        return FitGap.of_traces(float(shown["before"]), float(shown["after"]), bool(held))
    names = ("before", "after", "held_out_before", "held_out_after")
    gaps = [None if figures["gaps"][name] is None else Gap.from_dict(figures["gaps"][name]) for name in names]
    before, after, held_before, held_after = gaps
    if before is None or after is None:
        raise ValueError("a fit has a gap before and after")
    held_out = None if held_before is None or held_after is None else (held_before, held_after)
    return FitGap.of_gaps((before, after), held_out)


def read_fit_gap(place: Path, adaptation: Adaptation) -> FitGap | None:
    """Of the fit that wrote this adaptation, from its folder or from beside its file; None where that is not known."""
    path = (place if place.is_dir() else place.parent) / FIT
    try:
        figures = read_json(path, SurefootError)
        if [(one["name"], one["value"]) for one in figures["knobs"]] != [
            (knob.name, knob.value) for knob in adaptation.knobs
        ]:
            return None  # the files of another fit
        found = fit_gap_of(figures)
    except (SurefootError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None
    numbers = (found.before, found.after, 0.0 if found.floor is None else found.floor)
    return found if all(map(is_number, numbers)) else None
