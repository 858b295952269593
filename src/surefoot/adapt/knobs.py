"""Knobs: the numbers that a search turns, each one parameter of the simulator for one joint or for several together.

A search sees a vector, one entry a knob, in units of the knob's step and relative to its start ("turns"): all entries
are of order one, whatever the units. Knobs that are positive by nature and known only to a factor turn on a log scale.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.errors import FitError, nearest, shown
from surefoot.files import is_number, read_yaml
from surefoot.robot import Robot
from surefoot.robot.legs import joint_types
from surefoot.sim.actuation import TORQUE_SPEED
from surefoot.sim.floor import Flat
from surefoot.sim.network import Network
from surefoot.sim.parameters import PARAMETERS, nominal, parameter
from surefoot.sim.scene import build_scene
from surefoot.sim.worlds import Worlds

PRIORS = Path(__file__).parent / "priors.yaml"
ALWAYS_TIED = ("delay_s", "torque_noise_nm", "encoder_noise_rad", "velocity_noise_rad_s")  # one bus, one kind of motor and encoder
TIES = ("none", "mirror", "type", "all")
KEYS = {"start", "low", "high", "step", "log", "source"}


@dataclass(frozen=True)
class Prior:
    """Where a parameter may lie."""

    start: float | None  # None: the robot's own value
    low: float
    high: float
    step: float  # a factor where `log`
    log: bool
    source: str


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
        """The start, away from zero where a logarithm is taken."""
        return max(self.start, self.low) if self.log else self.start

    def value(self, turns: np.ndarray) -> np.ndarray:
        """Values for positions of the knob."""
        moved = self.origin * self.step ** np.asarray(turns, float) if self.log else self.origin + self.step * np.asarray(turns, float)
        return np.clip(moved, self.low, self.high)

    def turns(self, value: float) -> float:
        """The position that gives a value."""
        value = min(max(value, self.low), self.high)
        return float(np.log(value / self.origin) / np.log(self.step)) if self.log else (value - self.origin) / self.step


@dataclass(frozen=True, eq=False)
class Static:
    """Parameters as a family of changes: knobs, and what is fixed beside them."""

    robot: Robot
    knobs: tuple[Knob, ...]
    fixed: dict[str, Any]  # parameter -> value, as Worlds.set takes it
    network: Network | None = None  # of an earlier fit: what it adds to every candidate

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        return bool(TORQUE_SPEED & ({knob.parameter for knob in self.knobs} | set(self.fixed)))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest position of each knob."""
        low, high = (np.array([knob.turns(getattr(knob, end)) for knob in self.knobs]) for end in ("low", "high"))
        return low, high

    def values(self, turns: np.ndarray) -> np.ndarray:
        """Values of candidates, (n, n_knobs) -> (n, n_knobs), in the parameters' units."""
        turns = np.atleast_2d(turns)
        if not self.knobs:
            return np.zeros((len(turns), 0))
        return np.stack([knob.value(turns[:, k]) for k, knob in enumerate(self.knobs)], axis=1)

    def apply(self, worlds: Worlds, candidates: np.ndarray, pieces: int) -> None:
        """Set up worlds[c * pieces : (c + 1) * pieces] as candidate c."""
        for name, value in self.fixed.items():
            worlds.set(name, value)
        if self.network is not None:
            self.network.attach(worlds)
        values = np.repeat(self.values(candidates), pieces, axis=0)
        for name in dict.fromkeys(knob.parameter for knob in self.knobs):
            array = np.array(worlds.get(name))
            for k, knob in enumerate(self.knobs):
                if knob.parameter != name:
                    continue
                if array.ndim == 1:
                    array[:] = values[:, k]
                else:
                    array[:, list(knob.entries)] = values[:, k : k + 1]
            worlds.set(name, array)

    def worlds(self, n: int, seed: int = 0, threads: int = 0, noise_period: int | None = None) -> Worlds:
        """n robots with what is fixed, at the full rate of the physics; of a change that leaves nothing to search."""
        made = Worlds(self.robot, n, seed=seed, threads=threads, noise_period=noise_period, torque_speed=self.torque_speed)
        self.apply(made, np.zeros((1, 0)), n)
        return made

    def settings(self, turns: np.ndarray) -> dict[str, Any]:
        """One candidate as values for `Worlds.set`, full vectors in policy order."""
        worlds = Worlds(self.robot, 1, threads=1, torque_speed=self.torque_speed)
        self.apply(worlds, np.atleast_2d(turns), 1)
        names = dict.fromkeys([*self.fixed, *(knob.parameter for knob in self.knobs)])
        return {name: worlds.get(name)[0].tolist() for name in names}


def read_priors(path: Path | None = None) -> dict[str, Prior]:
    """The shipped priors, with those of a user's file on top."""
    found = {name: _prior(name, entry, PRIORS) for name, entry in read_yaml(PRIORS, FitError).items()}
    if path is not None:
        for name, entry in read_yaml(path, FitError).items():
            parameter(str(name), FitError)
            found[str(name)] = _prior(str(name), entry, path)
    return found


def make_knobs(robot: Robot, names: tuple[str, ...], tie: str = "none", priors: dict[str, Prior] | None = None) -> tuple[Knob, ...]:
    """Knobs for parameters ("dry_friction_nm", or "dry_friction_nm[*_calf_joint]" for some joints), tied as asked."""
    if tie not in TIES:
        raise FitError(f"tie is {shown(tie)}; it must be one of {', '.join(TIES)}")
    priors = read_priors() if priors is None else priors
    scene = build_scene(robot, Flat(), None, torque_speed=False)
    found: list[Knob] = []
    for asked in names:
        name, _, pattern = asked.partition("[")
        spec = parameter(name, FitError)
        if name not in priors:
            raise FitError(f"{name} has no prior{nearest(name, list(priors))}; give it one in a priors file: start, low, high, step")
        own = nominal(name, robot, scene)
        for label, entries in _groups(robot, name, tie, pattern.rstrip("]") or "*"):
            start = priors[name].start
            value = start if start is not None else float(np.mean(own[list(entries)] if own.ndim else own))
            if not np.isfinite(value):
                raise FitError(f"{name} has no nominal value to start from; give it a start in a priors file")
            prior = priors[name]
            low, high = max(prior.low, spec.low), min(prior.high, spec.high)
            found.append(Knob(name, entries, label, float(np.clip(value, low, high)), low, high, prior.step, prior.log))
    if len({(knob.parameter, entry) for knob in found for entry in knob.entries or (-1,)}) != sum(len(knob.entries) or 1 for knob in found):
        raise FitError("a parameter is free twice; name each joint's parameter once")
    return tuple(found)


def _groups(robot: Robot, name: str, tie: str, pattern: str) -> list[tuple[str, tuple[int, ...]]]:
    """Which entries of a parameter move together, with a label."""
    per, joints = PARAMETERS[name].per, robot.contract.joints
    if per == "world":
        return [("", ())]
    if per == "axis":
        return [(axis, (k,)) for k, axis in enumerate("xyz") if fnmatchcase(axis, pattern)]
    if per == "body":
        raise FitError(f"{name} is one value for each body, which joint data cannot tell apart; fit base_mass_kg instead")
    chosen = [k for k, joint in enumerate(joints) if fnmatchcase(joint, pattern)]
    if not chosen:
        raise FitError(f"{name}[{pattern}] names no joint; the robot has {', '.join(joints)}")
    if tie == "all" or name in ALWAYS_TIED:
        return [("" if len(chosen) == len(joints) else pattern, tuple(chosen))]
    if tie == "type":
        groups = [(label, tuple(k for k in entries if k in chosen)) for label, entries in joint_types(robot).items()]
        return [(label, entries) for label, entries in groups if entries]
    if tie == "mirror":
        if robot.mirror is None:
            raise FitError(
                f"{robot.name} declares no left-right symmetry, so left and right cannot be tied; add `mirror` to its robot.yaml"
            )
        pairs = {tuple(sorted({k, robot.mirror.index[k]} & set(chosen))) for k in chosen}
        return [(" = ".join(joints[k] for k in pair), pair) for pair in sorted(pairs)]
    return [(joints[k], (k,)) for k in chosen]


def _prior(name: str, entry: Any, path: Path) -> Prior:
    if not isinstance(entry, dict) or not {"low", "high", "step"} <= set(entry) or set(entry) - KEYS:
        raise FitError(
            f"{path}: the prior of {name} is {shown(entry)}; it takes start (a number or 'nominal'), low, high, step, log and source"
        )
    start = entry.get("start", "nominal")
    log = bool(entry.get("log", False))
    numbers = [entry[key] for key in ("low", "high", "step")] + ([] if start == "nominal" else [start])
    if not all(is_number(value) for value in numbers):
        raise FitError(f"{path}: low, high, step and start of {name} must be finite numbers")
    low, high, step = (float(entry[key]) for key in ("low", "high", "step"))
    if not low < high or (step <= 1 if log else step <= 0) or (log and low <= 0):
        raise FitError(
            f"{path}: the prior of {name} needs low < high and a step above {'1, and low above 0, on a log scale' if log else '0'}"
        )
    return Prior(None if start == "nominal" else float(start), low, high, step, log, str(entry.get("source", "")))
