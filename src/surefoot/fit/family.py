"""Families of changes: which knobs are free for each, from the simplest to the richest."""

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from surefoot.adapt import SearchSpace, make_knobs, read_priors
from surefoot.errors import FitError
from surefoot.fit.cma import CmaSettings
from surefoot.fit.quantile import QuantileSettings
from surefoot.gap.channels import BASE, MECHANICAL, PUBLISHED, Kind
from surefoot.gap.costs import check_cost
from surefoot.robot import Robot
from surefoot.sim.physics import Physics
from surefoot.sim.residual import Adds
from surefoot.sim.values import names_of, resolve

WALKING = (
    "armature_kgm2",
    "dry_friction_nm",
    "viscous_friction_nms",
    "delay_s",
    "torque_noise_nm",
)  # what a walk can tell
STAND = (
    "armature_kgm2",
    "dry_friction_nm",
    "viscous_friction_nms",
    "delay_s",
)  # and legs in the air, which nothing shakes
MISSING: dict[Adds, tuple[str, ...]] = {  # beyond what friction stands for
    "torque": ("residual_constant_nm", "residual_position_nm_per_rad", "residual_error_nm_per_rad"),
    "action": ("action_offset_rad", "delta_position_rad_per_rad", "delta_velocity_s", "delta_error_rad_per_rad"),
}
WORDS: dict[Adds, str] = {"torque": "residual", "action": "action-delta"}
SearchName = Literal["quantile", "cma", "sep-cma"]
FIT_KINDS: tuple[Kind, ...] = (*PUBLISHED, *MECHANICAL, *BASE)


@dataclass(frozen=True)
class Family:
    """What is searched beside the numbers of the model."""

    adds: Adds | None = None  # None: nothing, the static family
    per_joint: bool = False  # else joints of one type share it
    curved: bool = False  # a network, found by its curves; else plain terms

    @property
    def name(self) -> str:
        """For tables and folders."""
        if self.adds is None:
            return "static"
        return f"{WORDS[self.adds]}{' network' if self.curved else ''} by {'joint' if self.per_joint else 'type'}"


STATIC = Family()


@dataclass(frozen=True)
class FitSettings:
    """What is searched, and how."""

    free: tuple[str, ...] = WALKING
    fix: dict[str, Any] = field(default_factory=dict)  # parameter -> value, as Worlds.set takes it
    tie: str = "none"
    family: Family = STATIC
    priors: Path | None = None
    search: SearchName = "quantile"
    cost: str = "wasserstein"  # what CMA-ES minimizes
    kinds: tuple[Kind, ...] = FIT_KINDS  # of channels that the quantile search compares, of those that the log has
    held_out: float = 0.2  # share of the episodes
    seed: int = 0
    most_evaluations: int = 2000
    most_falling: float = 0.5  # share of the episodes: an answer that falls more, where the robot did not, is refused
    # a search that comes no nearer ends where held-out episodes leave this many times what is measurable
    give_up: float | None = None
    most_simulated_s: float | None = None  # None: as many as the evaluations take
    quantile: QuantileSettings = field(default_factory=QuantileSettings)
    cma: CmaSettings = field(
        default_factory=CmaSettings
    )  # of "cma" and "sep-cma", which is separable whatever this says

    def __post_init__(self) -> None:
        """Refuse what cannot be searched."""
        check_cost(self.cost)
        if self.cost != "wasserstein" and self.search == "quantile":
            raise FitError(
                f"the quantile search closes the Wasserstein distance; to minimize {self.cost}, give the search 'cma'",
                argument="search",
            )
        if self.most_simulated_s is not None and not self.most_simulated_s > 0:
            raise FitError(f"most_simulated_s is {self.most_simulated_s:g}; it must be a time above 0 s")


def make_space(robot: Robot, settings: FitSettings) -> SearchSpace:
    """The knobs that are free, without what is fixed; curves come with the log that they lie over."""
    for name, value in settings.fix.items():
        resolve(name, value, robot, error=FitError)
    priors = read_priors(settings.priors)
    knobs = make_knobs(robot, settings.free, settings.tie, priors)
    if settings.family.adds is not None and not settings.family.curved:
        free = {name.partition("[")[0] for name in settings.free}
        named = tuple(name for name in MISSING[settings.family.adds] if name not in free)
        knobs += make_knobs(robot, named, "none" if settings.family.per_joint else "type", priors)
    free_knobs = []
    for knob in knobs:
        held = settings.fix.get(knob.parameter)
        if isinstance(held, dict):  # some joints are held, the others stay free
            names = names_of(knob.parameter, robot)
            knob = replace(
                knob,
                entries=tuple(k for k in knob.entries if not any(fnmatchcase(names[k], pattern) for pattern in held)),
            )
        if held is None or (isinstance(held, dict) and knob.entries):
            free_knobs.append(knob)
    if not free_knobs and not settings.family.curved:
        raise FitError("everything is fixed; leave at least one parameter free")
    return SearchSpace(Physics(robot, dict(settings.fix)), tuple(free_knobs))
