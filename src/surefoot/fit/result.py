"""What a fit found, with everything that a reader needs to believe it or not."""

from dataclasses import dataclass

import numpy as np

from surefoot.adapt.adaptation import Adaptation
from surefoot.gap.measure import Measured


@dataclass(frozen=True)
class SearchIteration:
    """One iteration of a search."""

    iteration: int
    cost: float  # the gap, in the units of the floor
    evaluations: int  # so far
    simulated_s: float  # so far
    wall_s: float  # so far, over all starts of the command
    values: tuple[float, ...]  # of the knobs, in their units


@dataclass(frozen=True)
class Traces:
    """Root mean square of joint position, simulator minus robot at the same tick, rad."""

    before: float
    after: float


@dataclass(frozen=True)
class Tried:
    """One family that was fitted, and how it does on episodes that no fit saw."""

    family: str  # "static", "residual by type", "residual by joint"
    parameters: int
    gap: float  # on held-out episodes, or on the fitted ones where none were held back
    floor: float
    limit: float  # below, the gap cannot be told from none
    held_out: bool
    evaluations: int
    simulated_s: float
    wall_s: float
    chosen: bool = False


@dataclass(frozen=True)
class Point:
    """A knot of the curves that a network was taught from, beyond the plain terms."""

    joints: tuple[str, ...]
    input: str  # "position", "error", "velocity"
    at: float  # rad, or rad/s
    value: float  # N·m of a torque, rad of a shifted target
    half_width: float  # of its 90 % interval


@dataclass(frozen=True, eq=False)
class FitResult:
    """A finished fit. `before` and `after` are on the fitted episodes, `held_*` on those that the fit never saw."""

    adaptation: Adaptation
    search: str  # "quantile", "cma"
    steps: tuple[SearchIteration, ...]
    before: Measured
    after: Measured
    held_before: Measured | None  # None: the log is too short to hold any back
    held_after: Measured | None
    correlation: (
        np.ndarray
    )  # (n_knobs, n_knobs) of the errors of the estimates; those with the flag "no effect" have zeros
    stopped: str  # why the search ended, one sentence
    remarks: tuple[str, ...] = ()  # falls, down-weighted pieces, dropped knobs: one sentence each
    # of fitted and of held-out episodes, where recorded targets were replayed
    traces: tuple[Traces, Traces | None] | None = None
    cost: str = "wasserstein"  # what `steps` tell
    knots: tuple[Point, ...] = ()
    tried: tuple[Tried, ...] = ()  # families, simplest first, where several were
    gave_up: bool = False  # the search left the rest to a richer family, and was not polished
