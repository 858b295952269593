"""Knobs: the numbers that a search varies, each one parameter of the simulator for one joint or for several together.

A search sees one normalized coordinate for each knob: 0 is where the knob starts, 1 is one step of its prior away. All
coordinates are then of order one, whatever the units. Knobs that are positive by nature and known only to a factor have
a logarithmic coordinate.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from surefoot.adapt.priors import read_priors
from surefoot.errors import FitError, nearest, shown
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.parameters import PARAMETERS, Prior, parameter
from surefoot.sim.values import nominal

TIES = ("none", "mirror", "type", "all")


@dataclass(frozen=True)
class Knob:
    """One number to search for."""

    parameter: str
    entries: tuple[int, ...]  # joints, axes or bodies that share it; empty for one value per world
    label: str  # what those are called
    start: float
    low: float
    high: float
    step: float
    log: bool

    @property
    def name(self) -> str:
        """For tables and files."""
        return f"{self.parameter}[{self.label}]" if self.label else self.parameter

    @property
    def unit(self) -> str:
        """Of its value."""
        return PARAMETERS[self.parameter].unit

    @property
    def origin(self) -> float:
        """The value at coordinate 0: the start, away from zero where a logarithm is taken."""
        return max(self.start, self.low) if self.log else self.start

    def value(self, coordinate: np.ndarray) -> np.ndarray:
        """Values at coordinates."""
        x = np.asarray(coordinate, float)
        moved = self.origin * self.step**x if self.log else self.origin + self.step * x
        return np.clip(moved, self.low, self.high)

    def coordinate(self, value: float) -> float:
        """The coordinate of a value."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return float(np.log(value / self.origin) / np.log(self.step))
        return (value - self.origin) / self.step


def make_knobs(
    robot: Robot, names: tuple[str, ...], tie: str = "none", priors: dict[str, Prior] | None = None
) -> tuple[Knob, ...]:
    """Knobs for parameters ("dry_friction_nm", or "dry_friction_nm[*_calf_joint]" for some joints), tied as asked."""
    if tie not in TIES:
        raise FitError(f"tie is {shown(tie)}; it must be one of {', '.join(TIES)}")
    priors = read_priors() if priors is None else priors
    knobs: list[Knob] = []
    for selector in names:
        name, _, pattern = selector.partition("[")
        entry = parameter(name, FitError)
        if name not in priors:
            known = nearest(name, list(priors))
            raise FitError(f"{name} has no prior{known}; give it one in a priors file: start, low, high, step")
        own, prior = nominal(name, robot), priors[name]
        for label, entries in _groups(robot, name, tie, pattern.rstrip("]") or "*"):
            value = prior.start
            if value is None:
                value = float(np.mean(own[list(entries)] if own.ndim else own))
            if not np.isfinite(value):
                raise FitError(f"{name} has no nominal value to start from; give it a start in a priors file")
            low, high = max(prior.low, entry.low), min(prior.high, entry.high)
            start = float(np.clip(value, low, high))
            knobs.append(Knob(name, entries, label, start, low, high, prior.step, prior.log))
    places = {(knob.parameter, entry) for knob in knobs for entry in knob.entries or (-1,)}
    if len(places) != sum(len(knob.entries) or 1 for knob in knobs):
        raise FitError("a parameter is free twice; name each joint's parameter once")
    return tuple(knobs)


def _groups(robot: Robot, name: str, tie: str, pattern: str) -> list[tuple[str, tuple[int, ...]]]:
    """Which entries of a parameter move together, with a label."""
    per, joints = PARAMETERS[name].per, robot.contract.joints
    if per == "world":
        return [("", ())]
    if per == "axis":
        return [(axis, (k,)) for k, axis in enumerate("xyz") if fnmatchcase(axis, pattern)]
    if per == "body":
        raise FitError(
            f"{name} is one value for each body, which joint data cannot tell apart; fit base_mass_kg instead"
        )
    chosen = [k for k, joint in enumerate(joints) if fnmatchcase(joint, pattern)]
    if not chosen:
        raise FitError(f"{name}[{pattern}] names no joint; the robot has {', '.join(joints)}")
    if tie == "all" or PARAMETERS[name].shared:
        return [("" if len(chosen) == len(joints) else pattern, tuple(chosen))]
    if tie == "type":
        groups = [(label, tuple(k for k in entries if k in chosen)) for label, entries in joint_types(robot).items()]
        return [(label, entries) for label, entries in groups if entries]
    if tie == "mirror":
        if robot.mirror is None:
            raise FitError(
                f"{robot.name} declares no left-right symmetry, so left and right cannot be tied; add `symmetry` to"
                " its robot.yaml"
            )
        pairs = {tuple(sorted({k, robot.mirror.index[k]} & set(chosen))) for k in chosen}
        return [(" = ".join(joints[k] for k in pair), pair) for pair in sorted(pairs)]
    return [(joints[k], (k,)) for k in chosen]
