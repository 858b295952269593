"""Models as people have them: frames in odd places, loops, rods, meshes that are not there."""

import shutil
from pathlib import Path

import mujoco
import numpy as np
import yaml

from surefoot.robot import Robot, load_robot
from surefoot.robot.model import load_spec


def reframed(folder: Path, robot: Robot, up_m: float, ahead_m: float = 0.0) -> Robot:
    """The same robot with the frame of its base elsewhere: this much higher, and further ahead."""
    spec = load_spec(robot.model_path)
    spec.compile()
    base = spec.body(robot.base)
    assert not spec.meshes
    for part in (*base.geoms, *base.sites, *base.bodies):
        if part.parent == base:
            if isinstance(part, mujoco.MjsGeom) and not np.isnan(part.fromto[0]):
                part.fromto = part.fromto - [ahead_m, 0.0, up_m, ahead_m, 0.0, up_m]
            else:
                part.pos = part.pos - [ahead_m, 0.0, up_m]
    base.ipos = base.ipos - [ahead_m, 0.0, up_m]
    base.explicitinertial = True
    for key in list(spec.keys):
        spec.delete(key)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "model.xml").write_text(spec.to_xml())
    content = yaml.safe_load(robot.path.read_text()) | {"model": "model.xml", "name": f"{robot.name} reframed"}
    content.pop("base_height_m", None)
    (folder / "robot.yaml").write_text(yaml.safe_dump(content))
    return load_robot(folder)


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
