"""Domain randomization as a table in a file: parameter names of `sim`, how they are drawn, and pushes.

motor_strength: {scale: [0.9, 1.1]}         # times the nominal value, drawn per joint
floor_friction: {set: [0.4, 1.2]}           # in place of it
base_mass_kg: {scale: [0.9, 1.15]}
delay_s: {set: [0.0, 0.015], together: true}  # one draw for all joints of a world
encoder_noise_rad: 0.01                     # a number: the same in every world
push: {velocity_m_s: 0.5, every_s: 5.0}
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from surefoot.errors import TaskError, nearest, shown
from surefoot.files import is_number, path_of, read_yaml
from surefoot.learn.mirror import Signed
from surefoot.sim.parameters import PARAMETERS
from surefoot.sim.worlds import Worlds

FOLDER = Path(__file__).parent / "randomization"


class Draws(Protocol):
    """What gives worlds their parameters."""

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        ...

    def draw(self, worlds: Worlds, rng: np.random.Generator) -> np.ndarray:
        """Give every world its own parameters; what was drawn, scaled to -1 .. 1, (n, n_drawn), for the
        critic's eyes.
        """
        ...

    def mirror(self, worlds: Worlds, joints: Signed) -> list[Signed]:
        """How what `draw` returns looks in a mirror, block by block; `joints` is the image of one entry per joint."""
        ...


@dataclass(frozen=True)
class Spread:
    """How one parameter differs from world to world: `kind` is 'set', 'scale' or 'add'."""

    name: str
    kind: str
    low: float
    high: float
    together: bool = False  # one draw for all joints of a world


@dataclass(frozen=True)
class Randomization:
    """A table of spreads, and pushes."""

    name: str
    spreads: tuple[Spread, ...] = ()
    push_m_s: float = 0.0  # the base's velocity changes by up to this much, in a random direction
    push_every_s: float = 5.0

    @property
    def torque_speed(self) -> bool:
        """Motors of the robot's own kind: no table can say more."""
        return False

    def draw(self, worlds: Worlds, rng: np.random.Generator) -> np.ndarray:
        """Give every world its own parameters; what was drawn, scaled to -1 .. 1, (n, n_drawn), for the
        critic's eyes.
        """
        seen = []
        for spread in self.spreads:
            nominal = worlds.nominal(spread.name)
            entries = (1,) if spread.together and nominal.ndim else nominal.shape
            drawn = rng.uniform(spread.low, spread.high, (worlds.n, *entries))
            value = {"set": drawn, "scale": nominal * drawn, "add": nominal + drawn}[spread.kind]
            worlds.set(spread.name, value)
            if spread.high > spread.low:
                unit = 2 * (drawn - spread.low) / (spread.high - spread.low) - 1
                seen.append(unit.reshape(worlds.n, -1))
        return np.concatenate(seen, axis=1) if seen else np.zeros((worlds.n, 0))

    def mirror(self, worlds: Worlds, joints: Signed) -> list[Signed]:
        """How what `draw` returns looks in a mirror, block by block; `joints` is the image of one entry per joint."""
        index, signs = joints
        blocks: list[Signed] = []
        for spread in self.spreads:
            if spread.high == spread.low:
                continue
            per = PARAMETERS[spread.name].per
            if spread.together or per == "world":
                blocks.append((np.arange(1), np.ones(1)))
            elif per == "joint":
                blocks.append(
                    (index, signs if spread.name.endswith("_rad") and spread.low < 0 else np.ones(len(index)))
                )
            elif per == "axis":
                blocks.append((np.arange(3), np.array([1.0, -1.0, 1.0])))
            else:
                n = len(worlds.names(spread.name))
                blocks.append((np.arange(n), np.ones(n)))
        return blocks


def load_randomization(name_or_path: str) -> Randomization:
    """A preset (none, mild, seed) or the path of a YAML table."""
    path = path_of(name_or_path)
    presets = {file.stem: file for file in sorted(FOLDER.glob("*.yaml"))}
    if name_or_path in presets:
        path = presets[name_or_path]
    elif not path.is_file():
        raise TaskError(
            f"no randomization {shown(name_or_path)}: give a preset ({', '.join(presets)}) or the path of a YAML file"
        )
    content = read_yaml(path, TaskError)
    push = content.pop("push", {}) or {}
    content.pop("notes", None)
    if (
        not isinstance(push, dict)
        or set(push) - {"velocity_m_s", "every_s"}
        or not all(is_number(v) and v > 0 for v in push.values())
    ):
        raise TaskError(f"{path}: push must give velocity_m_s and every_s, numbers above 0")
    spreads = tuple(_spread(str(name), value, path) for name, value in content.items())
    return Randomization(path.stem, spreads, float(push.get("velocity_m_s", 0.0)), float(push.get("every_s", 5.0)))


def _spread(name: str, value: Any, path: Path) -> Spread:
    if name not in PARAMETERS:
        raise TaskError(f"{path}: unknown parameter {shown(name)}{nearest(name, [*PARAMETERS, 'push'])}")
    if is_number(value):
        return Spread(name, "set", float(value), float(value))
    kinds = ("set", "scale", "add")
    named = [kind for kind in kinds if isinstance(value, dict) and kind in value]
    if len(named) != 1 or set(value) - {named[0], "together"}:
        raise TaskError(
            f"{path}: {name} is {shown(value)}; it must be a number, or one of set, scale, add with [lowest, highest]"
        )
    limits = value[named[0]]
    if (
        not isinstance(limits, list)
        or len(limits) != 2
        or not all(is_number(v) for v in limits)
        or limits[0] > limits[1]
    ):
        raise TaskError(f"{path}: the range of {name} is {shown(limits)}; it must be [lowest, highest]")
    return Spread(name, named[0], float(limits[0]), float(limits[1]), bool(value.get("together", False)))
