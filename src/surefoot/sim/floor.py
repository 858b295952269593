"""What the robot stands on."""

from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import WorldsError

NAME = "surefoot_floor"
FRICTION = 0.8  # sliding; about a carpet, between wood (0.4) and rubber on concrete (1.0)


@dataclass(frozen=True)
class Flat:
    """An endless flat floor."""

    friction: float = FRICTION


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights on a regular grid, centred on the origin; rows run along y, columns along x."""

    height_m: np.ndarray  # (rows, columns)
    length_m: float  # extent along x
    width_m: float  # extent along y
    friction: float = FRICTION


Floor = Flat | HeightField


def add_floor(spec: mujoco.MjSpec, floor: Floor) -> None:
    """Put the floor into a spec.

    It has priority over the robot's shapes, so that `floor_friction` is the friction of every contact
    with it; without priority MuJoCo takes the larger of the two and a slippery floor could not be had.
    """
    common = {"name": NAME, "priority": 1, "condim": 3, "contype": 1, "conaffinity": 1, "friction": [floor.friction, 0.005, 0.0001]}
    if isinstance(floor, Flat):
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05], **common)
        return
    heights = np.asarray(floor.height_m, dtype=float)
    if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
        raise WorldsError(f"height_m has the shape {heights.shape}; a height field needs at least 2 × 2 finite heights")
    low, span = float(heights.min()), float(np.ptp(heights))
    spec.add_hfield(
        name=NAME, nrow=heights.shape[0], ncol=heights.shape[1],
        size=[floor.length_m / 2, floor.width_m / 2, max(span, 1e-6), 0.1],
        userdata=((heights - low) / (span or 1.0)).ravel(),
    )  # fmt: skip
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname=NAME, pos=[0, 0, low], **common)
