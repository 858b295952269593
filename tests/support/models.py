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


KNEE = """
  <body name="{leg}_thigh" pos="{x} {y} 0">
    <joint name="{leg}_hip" axis="0 1 0" range="-1.5 1.5"/>
    <geom type="capsule" size="0.015" fromto="0 0 0 0 0 -0.2" mass="0.5" contype="0" conaffinity="0"/>
    <body name="{leg}_crank" pos="0 0 0">
      <joint name="{leg}_crank" axis="0 1 0" range="-1.5 1.5" armature="0.01"/>
      <geom type="capsule" size="0.008" fromto="0 0 0 0.04 0 0" mass="0.05" contype="0" conaffinity="0"/>
      <body name="{leg}_rod" pos="0.04 0 0" euler="0 {tilt} 0">
        <joint name="{leg}_rod" axis="0 1 0"/>
        <geom type="capsule" size="0.005" fromto="0 0 0 0 0 -{rod}" mass="0.03" contype="0" conaffinity="0"/>
      </body>
    </body>
    <body name="{leg}_shank" pos="0 0 -0.2">
      <joint name="{leg}_knee" axis="0 1 0" range="-2.2 1.5"/>
      <geom type="capsule" size="0.012" fromto="0.05 0 0 0 0 -0.2" mass="0.2" contype="0" conaffinity="0"/>
      <geom name="{leg}_foot" type="sphere" size="0.02" pos="0 0 -0.2" mass="0.05"/>
    </body>
  </body>"""


def four_bar_quadruped(folder: Path, **keys: Any) -> Path:
    """A quadruped whose knees are turned by rods: crank of 0.04 m, lever of 0.05 m; its robot.yaml in motor space."""
    rod, tilt = float(np.hypot(0.2, 0.01)), float(-np.arctan2(0.01, 0.2))
    places = {"FL": (0.2, 0.1), "FR": (0.2, -0.1), "RL": (-0.2, 0.1), "RR": (-0.2, -0.1)}
    legs = "".join(KNEE.format(leg=leg, x=x, y=y, rod=rod, tilt=tilt) for leg, (x, y) in places.items())
    loops = "".join(
        f'<connect name="{leg}_bar" body1="{leg}_rod" body2="{leg}_shank" anchor="0 0 -{rod}" solref="0.005 1"/>'
        for leg in places
    )
    motors = "".join(
        f'<motor joint="{leg}_{joint}" ctrlrange="-30 30"/>' for leg in places for joint in ("hip", "crank")
    )
    return _robot(
        folder,
        f"""<mujoco model="four_bar"><compiler angle="radian"/><option integrator="implicitfast"/><worldbody>
  <body name="trunk" pos="0 0 0.4"><freejoint/><geom type="box" size="0.25 0.1 0.05" mass="6"/>{legs}
  </body></worldbody><equality>{loops}</equality><actuator>{motors}</actuator></mujoco>""",
        {
            "name": "four_bar",
            "base": "trunk",
            "feet": [f"{leg}_foot" for leg in places],
            "joints": [f"{leg}_{joint}" for leg in places for joint in ("hip", "crank")],
            "pose_rad": {"*_hip": 0.4, "*_crank": -1.0},
            "kp_nm_per_rad": 60,
            "kd_nms_per_rad": 2,
            "torque_limit_nm": 30,
        }
        | keys,
    )


ANKLE = """
  <body name="{leg}_shank" pos="0 {y} -0.05">
    <joint name="{leg}_hip" axis="0 1 0" range="-1 1"/>
    <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.3" mass="1.5" contype="0" conaffinity="0"/>
    {motors}
    <body name="{leg}_cross" pos="0 0 -0.32">
      <joint name="{leg}_ankle_pitch" axis="0 1 0" range="-0.8 0.8"/>
      <geom size="0.01" mass="0.05" contype="0" conaffinity="0"/>
      <body name="{leg}_sole">
        <joint name="{leg}_ankle_roll" axis="1 0 0" range="-0.5 0.5"/>
        <geom name="{leg}_foot" type="box" size="0.1 0.05 0.01" pos="0.02 0 -0.03" mass="0.4"/>
      </body>
    </body>
  </body>"""
MOTOR = """<body name="{name}_arm" pos="0 {side} -0.1">
      <joint name="{name}_motor" axis="0 1 0" range="-1 1" armature="0.01"/>
      <geom type="capsule" size="0.006" fromto="0 0 0 -0.05 0 0" mass="0.05" contype="0" conaffinity="0"/>
      <body name="{name}_rod" pos="-0.05 0 0"><joint name="{name}_ball" type="ball" damping="0.001"/>
        <geom type="capsule" size="0.004" fromto="0 0 0 0 0 -0.22" mass="0.03" contype="0" conaffinity="0"/></body>
    </body>"""


def parallel_ankle_biped(folder: Path, **keys: Any) -> Path:
    """A biped whose ankles are turned by two motors in the shank, through rods with ball ends."""
    legs, loops, motors = "", "", []
    for leg, y in (("left", 0.1), ("right", -0.1)):
        arms = ""
        for side, offset in (("in", -0.03), ("out", 0.03)):
            name = f"{leg}_{side}"
            arms += MOTOR.format(name=name, side=offset)
            loops += (
                f'<connect name="{name}" body1="{name}_rod" body2="{leg}_sole" anchor="0 0 -0.22" solref="0.005 1"/>'
            )
        legs += ANKLE.format(leg=leg, y=y, motors=arms)
        motors += [f"{leg}_hip", f"{leg}_in_motor", f"{leg}_out_motor"]
    return _robot(
        folder,
        f"""<mujoco model="parallel_ankle"><compiler angle="radian"/><option integrator="implicitfast"/><worldbody>
  <body name="pelvis" pos="0 0 0.5"><freejoint/><geom type="box" size="0.08 0.12 0.05" mass="5"/>{legs}
  </body></worldbody><equality>{loops}</equality>
  <actuator>{"".join(f'<motor joint="{name}" ctrlrange="-60 60"/>' for name in motors)}</actuator></mujoco>""",
        {
            "name": "parallel_ankle",
            "base": "pelvis",
            "feet": ["left_foot", "right_foot"],
            "joints": motors,
            "pose_rad": {"*_hip": 0.1, "*_motor": -0.15},
            "kp_nm_per_rad": 200,
            "kd_nms_per_rad": 5,
            "torque_limit_nm": 60,
        }
        | keys,
    )


def _robot(folder: Path, model: str, keys: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.xml").write_text(model)
    common = {
        "model": "model.xml",
        "velocity_limit_rad_s": 20,
        "action_scale_rad": 0.25,
        "observation": ["gyro", "gravity", "command", "joint_position", "joint_velocity", "last_action"],
        "control_hz": 50,
    }
    (folder / "robot.yaml").write_text(yaml.safe_dump(common | keys))
    return folder / "robot.yaml"
