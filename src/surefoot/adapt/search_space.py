"""`SearchSpace`: a box of knobs in normalized coordinates, whose points are `Physics`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.adapt.knobs import Knob
from surefoot.robot import Robot
from surefoot.sim.parameters import TORQUE_SPEED
from surefoot.sim.physics import Physics
from surefoot.sim.worlds import Worlds


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """Knobs around one physics."""

    base: Physics  # what every point has beside its knobs
    knobs: tuple[Knob, ...]

    @property
    def robot(self) -> Robot:
        """Whose physics is searched."""
        return self.base.robot

    @property
    def torque_speed(self) -> bool:
        """Whether motors need a torque that falls with speed."""
        return self.base.torque_speed or bool(TORQUE_SPEED & {knob.parameter for knob in self.knobs})

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest coordinate of each knob."""
        low, high = (np.array([knob.coordinate(getattr(knob, end)) for knob in self.knobs]) for end in ("low", "high"))
        return low, high

    def values(self, coordinates: np.ndarray) -> np.ndarray:
        """Values of points, (n, n_knobs) -> (n, n_knobs), in the parameters' units."""
        coordinates = np.atleast_2d(coordinates)
        if not self.knobs:
            return np.zeros((len(coordinates), 0))
        return np.stack([knob.value(coordinates[:, k]) for k, knob in enumerate(self.knobs)], axis=1)

    def apply(self, worlds: Worlds, points: np.ndarray, pieces: int) -> None:
        """Set up worlds[p * pieces : (p + 1) * pieces] as point p of `points`, (n, n_knobs)."""
        self.base.apply(worlds)
        values = np.repeat(self.values(points), pieces, axis=0)
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

    def at(self, point: np.ndarray) -> Physics:
        """One point, (n_knobs,), as a physics; parameters are whole vectors in policy order."""
        values = self.values(point)[0]
        parameters: dict[str, Any] = {name: self.base.value(name).tolist() for name in self.base.parameters}
        for k, knob in enumerate(self.knobs):
            whole = np.array(parameters.get(knob.parameter, self.base.value(knob.parameter)))
            if whole.ndim:
                whole[list(knob.entries)] = values[k]
            else:
                whole = np.array(values[k])
            parameters[knob.parameter] = whole.tolist()
        return replace(self.base, parameters=parameters)

    def without(self, dropped: tuple[Knob, ...]) -> "SearchSpace":
        """The same without some of its knobs."""
        return replace(self, knobs=tuple(knob for knob in self.knobs if knob not in dropped))
