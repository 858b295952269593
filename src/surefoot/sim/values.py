"""Values of parameters: the robot's own, those that a user writes, and those of n worlds."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, WorldsError, shown
from surefoot.robot.load import Robot
from surefoot.robot.values import per_name
from surefoot.sim.fields import IN_MODEL
from surefoot.sim.floor import Flat
from surefoot.sim.parameters import PARAMETERS, parameter
from surefoot.sim.scene import Scene, build_scene


@lru_cache(maxsize=8)
def own_scene(robot: Robot) -> Scene:
    """The robot on a flat floor with its own values, compiled once; only to be read."""
    return build_scene(robot, Flat(), None, torque_speed=False)


def names_of(name: str, robot: Robot, scene: Scene | None = None) -> tuple[str, ...]:
    """What the entries of a parameter are called: joints, bodies, axes, or nothing for one value per world."""
    per = parameter(name).per
    if per == "joint":
        return robot.contract.joints
    if per == "body":
        model = (scene or own_scene(robot)).model
        return tuple(model.body(b).name or f"body {b}" for b in range(1, model.nbody))
    return ("x", "y", "z") if per == "axis" else ()


def nominal(name: str, robot: Robot, scene: Scene | None = None) -> np.ndarray:
    """The robot's own value: (n_entries,), or () for one value per world."""
    count = len(names_of(name, robot, scene))
    default = PARAMETERS[name].default
    if default is not None:
        return np.full(count, default) if count else np.array(default)
    if name in IN_MODEL:
        return np.array(IN_MODEL[name](robot, scene or own_scene(robot)))
    return np.array(getattr(robot.contract, name))


def resolve(
    name: str,
    value: Any,
    robot: Robot,
    n: int = 1,
    error: type[SurefootError] = WorldsError,
    scene: Scene | None = None,
) -> np.ndarray:
    """A value as the user may write it, as an array (n, n_entries) or (n,).

    One number holds for all. A mapping goes by name or pattern, and what it leaves out keeps the nominal value.
    A list or a one-dimensional array is one value per entry in policy order, or one per world where the parameter
    has one value per world. A two-dimensional array is (n worlds or 1, n_entries or 1).
    """
    entry = parameter(name, error)
    names = names_of(name, robot, scene)
    shape = (n, len(names)) if names else (n,)
    if isinstance(value, Mapping):
        if not names:
            raise error(f"{name} has one value per world; a mapping by name does not fit it")
        value = per_name(dict(value), names, name, error, default=nominal(name, robot, scene).tolist())
    resolved = _broadcast(value, shape)
    if isinstance(resolved, str):
        expected = f"one number, or an array {shape}"
        if names:
            expected = f"one number, {len(names)} numbers ({', '.join(names)}), or an array {shape}"
        raise error(f"{name} has {resolved}; it takes {expected}{'' if entry.unit == '1' else f', in {entry.unit}'}")
    bad = ~((resolved >= entry.low) & (resolved <= entry.high))
    if bad.any():
        bad &= resolved != nominal(
            name, robot, scene
        )  # a frame without mass, and no limit at all, may stay as they are
    if bad.any():
        where = np.argwhere(bad)[0]
        of = f" of {names[where[1]]}" if names else ""
        unit = "" if entry.unit == "1" else f" {entry.unit}"
        raise error(
            f"{name}{of} is {resolved[tuple(where)]:g}{unit}; it must be finite and between {entry.low:g} and"
            f" {entry.high:g}"
        )
    return resolved


def _broadcast(value: Any, shape: tuple[int, ...]) -> np.ndarray | str:
    """The value as floats of this shape, or what it is instead."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return shown(value)
    if array.dtype.kind not in "iuf":  # NumPy would take "0.5" and True for numbers
        return shown(value)
    try:
        return np.broadcast_to(array.astype(float), shape).copy()
    except ValueError:
        return f"the shape {array.shape}"


class Values:
    """The parameters of n worlds: nominal until set."""

    def __init__(self, robot: Robot, scene: Scene, n: int):
        self._robot, self._scene, self._n = robot, scene, n
        self._set: dict[str, np.ndarray] = {}
        self._nominal: dict[str, np.ndarray] = {}

    def set(self, name: str, value: Any, rows: np.ndarray) -> np.ndarray:
        """Set the worlds `rows`; the values of all worlds. The base's mass is one of the link masses, by
        another name.
        """
        given = resolve(name, value, self._robot, len(rows), scene=self._scene)
        if name == "base_mass_kg":
            masses = self["link_mass_kg"].copy()
            masses[rows, self._scene.base_body - 1] = given
            self._set["link_mass_kg"] = masses
            return self[name]
        if name not in self._set:
            self._set[name] = self[name].copy()
        self._set[name][rows] = given
        return self._set[name]

    def has(self, name: str) -> bool:
        """Whether a parameter was ever set; what was not costs nothing."""
        return ("link_mass_kg" if name == "base_mass_kg" else name) in self._set

    def __getitem__(self, name: str) -> np.ndarray:
        """Values of all worlds, (n, n_entries) or (n,); read-only where never set."""
        if name == "base_mass_kg":
            return self["link_mass_kg"][:, self._scene.base_body - 1]
        if name in self._set:
            return self._set[name]
        if name not in self._nominal:
            parameter(name)
            own = nominal(name, self._robot, self._scene)
            self._nominal[name] = np.broadcast_to(own, (self._n, *own.shape))
        return self._nominal[name]
