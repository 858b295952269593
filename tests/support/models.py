"""Models as people have them: frames in odd places, loops, rods, meshes that are not there."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import yaml

from surefoot.robot import Robot, load_robot
from surefoot.robot.model import load_spec


def edited(folder: Path, robot: Robot, edit: Callable[[mujoco.MjSpec], None], **keys: Any) -> Robot:
    """A robot whose model was edited, and some keys of its robot.yaml, saved as MJCF."""
    spec = load_spec(robot.model_path)
    spec.compile()
    edit(spec)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    spec.compile()
    (folder / "model.xml").write_text(spec.to_xml())
    content = yaml.safe_load(robot.path.read_text()) | {"model": "model.xml"} | keys
    (folder / "robot.yaml").write_text(yaml.safe_dump({key: v for key, v in content.items() if v is not None}))
    return load_robot(folder)


def reframed(folder: Path, robot: Robot, up_m: float, ahead_m: float = 0.0) -> Robot:
    """The same robot with the frame of its base elsewhere: this much higher, and further ahead."""
    shift = np.array([ahead_m, 0.0, up_m])

    def move(spec: mujoco.MjSpec) -> None:
        base = spec.body(robot.base)
        for part in (*base.geoms, *base.sites, *base.bodies):
            if part.parent == base:
                if isinstance(part, mujoco.MjsGeom) and not np.isnan(part.fromto[0]):
                    part.fromto = part.fromto - np.tile(shift, 2)
                else:
                    part.pos = part.pos - shift
        base.ipos = base.ipos - shift
        base.explicitinertial = True
        for key in list(spec.keys):
            spec.delete(key)

    return edited(folder, robot, move, name=f"{robot.name} reframed", base_height_m=None)


def without_shapes(robot: Robot) -> mujoco.MjSpec:
    """The robot with the same masses, and no shape but its feet."""
    spec = robot.spec()
    model = spec.compile()
    for body in spec.bodies[1:]:
        own = model.body(body.name)
        body.explicitinertial = True
        body.mass, body.ipos, body.iquat, body.inertia = own.mass[0], own.ipos, own.iquat, own.inertia
        body.fullinertia = [float("nan")] * 6
    for geom in [geom for geom in spec.geoms if not {geom.name, geom.parent.name} & set(robot.feet)]:
        spec.delete(geom)
    return spec
