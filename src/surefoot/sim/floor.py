"""What the robot stands on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from surefoot.errors import WorldsError

NAME = "surefoot_floor"
FRICTION = 0.8  # sliding; about a carpet, between wood (0.4) and rubber on concrete (1.0)


@dataclass(frozen=True)
class Flat:
    """An endless flat floor."""

    friction: float = FRICTION

    def around(self, reach_m: float) -> "Flat":
        """The highest floor within `reach_m` of each place: as flat as it is."""
        return self

    def height_at(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Height of the floor at places, (n,)."""
        return np.zeros(np.shape(x_m))


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights on a regular grid, centred on the origin; rows run along y, columns along x."""

    height_m: np.ndarray  # (rows, columns)
    length_m: float  # extent along x
    width_m: float  # extent along y
    friction: float = FRICTION

    def around(self, reach_m: float) -> "HeightField":
        """A field whose height at each place is the highest of this one within a square of half width
        `reach_m` about it.
        """
        raised = _heights(self)
        for axis, extent_m in ((0, self.width_m), (1, self.length_m)):
            # One cell more: the surface between two grid points is as high as the higher of them.
            cells = min(int(np.ceil(reach_m / extent_m * (raised.shape[axis] - 1))) + 1, raised.shape[axis])
            edge = [(cells, cells) if a == axis else (0, 0) for a in range(2)]
            padded = np.pad(raised, edge, constant_values=-np.inf)
            raised = np.lib.stride_tricks.sliding_window_view(padded, 2 * cells + 1, axis=axis).max(axis=-1)
        return HeightField(raised, self.length_m, self.width_m, self.friction)

    def height_at(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """The highest corner of the cell under each place, (n,); beyond the edge, of the nearest cell."""
        heights = np.asarray(self.height_m, dtype=float)
        corners = []
        for place, extent_m, points in ((y_m, self.width_m, heights.shape[0]), (x_m, self.length_m, heights.shape[1])):
            at = np.clip((np.asarray(place, dtype=float) / extent_m + 0.5) * (points - 1), 0, points - 1)
            corners.append((np.floor(at).astype(np.intp), np.ceil(at).astype(np.intp)))
        (south, north), (west, east) = corners
        return np.maximum.reduce([heights[row, column] for row in (south, north) for column in (west, east)])


Floor = Flat | HeightField


def add_floor(spec: mujoco.MjSpec, floor: Floor, feet: tuple[str, ...] = ()) -> None:
    """Put the floor into a spec.

    It has priority over the robot's shapes, so that `floor_friction` is the friction of every contact with it; at equal
    priority MuJoCo takes the larger of the two and a slippery floor could not be had. With priority come the floor's
    contact dimension and softness too; they are taken from the `feet` (geoms or bodies) where these agree, so that
    a robot's soft feet stay soft. The floor collides with all that collides.
    """
    if not np.isfinite(floor.friction) or floor.friction < 0:
        raise WorldsError(f"the floor's friction is {floor.friction!r}; it must be a finite number of at least 0")
    geoms = list(spec.geoms)
    soft = [g for g in geoms if g.name in feet or g.parent.name in feet]
    common: dict[str, Any] = {
        "name": NAME,
        "friction": [floor.friction, 0.005, 0.0001],
        "condim": 3,
        "priority": 1 + max((g.priority for g in geoms), default=0),
        "contype": _bits(g.conaffinity for g in geoms),
        "conaffinity": _bits(g.contype for g in geoms),
    }
    for key in ("condim", "solref", "solimp"):
        values = [np.array(getattr(g, key)) for g in soft if g.contype or g.conaffinity]
        if values and all(np.array_equal(value, values[0]) for value in values):
            common[key] = values[0].tolist()
    if isinstance(floor, Flat):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05], **common)
        return
    heights = _heights(floor)
    low, span = float(heights.min()), float(np.ptp(heights))
    spec.add_hfield(
        name=NAME,
        nrow=heights.shape[0],
        ncol=heights.shape[1],
        size=[floor.length_m / 2, floor.width_m / 2, max(span, 1e-6), 0.1],
        userdata=((heights - low) / (span or 1.0)).ravel(),
    )
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=NAME, pos=[0, 0, low], **common)


def _heights(floor: HeightField) -> np.ndarray:
    heights = np.asarray(floor.height_m, dtype=float)
    if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
        raise WorldsError(f"height_m has the shape {heights.shape}; a height field needs at least 2 × 2 finite heights")
    if not (0 < floor.length_m < np.inf and 0 < floor.width_m < np.inf):
        raise WorldsError(
            f"the height field is {floor.length_m!r} m by {floor.width_m!r} m; both must be finite and above 0"
        )
    return heights


def _bits(masks: Iterable[int]) -> int:
    joined = 1
    for mask in masks:
        joined |= int(mask)
    return joined
