"""Adaptations with a value for everything that a model can hold, and the models that they give."""

import mujoco
import numpy as np

from surefoot.adapt.adaptation import Adaptation, Fitted
from surefoot.robot import Robot
from surefoot.sim import Worlds
from surefoot.sim.parameters import PARAMETERS

FIELDS = (
    "dof_armature",
    "dof_frictionloss",
    "dof_damping",
    "jnt_stiffness",
    "qpos_spring",
    "body_mass",
    "body_inertia",
    "body_ipos",
)
PER_JOINT = {
    "armature_kgm2": (0.01, 0.04), "dry_friction_nm": (0.05, 0.5), "viscous_friction_nms": (0.05, 0.4),
    "spring_stiffness_nm_per_rad": (0.5, 5.0), "spring_rest_rad": (-1.0, 1.0), "kp_nm_per_rad": (10.0, 40.0),
    "kd_nms_per_rad": (0.3, 0.9), "torque_limit_nm": (3.0, 30.0), "motor_strength": (0.8, 1.1),
}  # fmt: skip


def physical(robot: Robot, seed: int = 0) -> dict:
    """Another value for everything that a model can hold, none of them round."""
    rng = np.random.default_rng(seed)
    found = {name: rng.uniform(*span, robot.contract.n_joints).tolist() for name, span in PER_JOINT.items()}
    mass = float(Worlds(robot, 1, threads=1).nominal("base_mass_kg"))
    return {**found, "base_mass_kg": mass * 1.1234567890123, "base_com_offset_m": [0.01 / 3, -0.02 / 7, 0.001 / 9]}


def knob(parameter: str, where: tuple[str, ...], value: float, low: float, high: float, **more) -> Fitted:
    name = f"{parameter}[{' = '.join(where)}]" if where else parameter
    return Fitted(
        name, parameter, where, PARAMETERS[parameter].unit, value / 2, value, (low, high), (0.0, 100.0), **more
    )


def adaptation(robot: Robot, settings: dict, knobs: tuple[Fitted, ...] = (), **provenance) -> Adaptation:
    return Adaptation(robot.name, robot.hash, "static", knobs, settings, provenance=provenance)


def simulated(robot: Robot, settings: dict) -> mujoco.MjModel:
    worlds = Worlds(robot, 1, threads=1, torque_speed="stall_torque_nm" in settings)
    for name, value in settings.items():
        worlds.set(name, value)
    return worlds.model_of(0)


def agree(found: mujoco.MjModel, wanted: mujoco.MjModel, fields: tuple[str, ...]) -> None:
    for field in fields:
        np.testing.assert_allclose(getattr(found, field), getattr(wanted, field), rtol=1e-13, atol=1e-16, err_msg=field)


def knobs_of(robot: Robot, settings: dict) -> tuple[Fitted, ...]:
    """Armature of each joint, one delay for all, the base's mass and one axis of its balance."""
    joints = robot.contract.joints
    armature = tuple(
        knob("armature_kgm2", (name,), v, v * 0.9, v * 1.2)
        for name, v in zip(joints, settings["armature_kgm2"], strict=True)
    )
    mass = settings["base_mass_kg"]
    rest = (knob("delay_s", joints, 0.00675, 0.0061, 0.0081), knob("base_mass_kg", (), mass, mass - 0.1, mass + 0.3))
    return (*armature, *rest, knob("base_com_offset_m", ("x",), settings["base_com_offset_m"][0], -0.001, 0.01))
