"""The parameters of a world: names with units, what they mean, and how values reach the simulator.

The same names serve `Worlds.set`, the YAML file of a virtual robot and every later search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import mujoco
import numpy as np

from surefoot.errors import SurefootError, WorldsError, nearest, shown
from surefoot.robot.load import Robot
from surefoot.robot.values import per_name
from surefoot.sim.scene import Scene

INF = float("inf")
MOST = 1e15  # no quantity of a robot is larger, in these units, and products of two stay finite


@dataclass(frozen=True)
class Parameter:
    """One thing that may differ from world to world."""

    unit: str
    per: Literal["joint", "body", "world", "axis"]  # one value per policy joint, body of the model, world, or x-y-z axis
    low: float
    high: float
    meaning: str
    default: float | None = None  # None: the nominal value comes from the robot


PARAMETERS: dict[str, Parameter] = {
    # the joint
    "armature_kgm2": Parameter("kg·m²", "joint", 0, MOST, "inertia of the rotor, seen at the joint"),
    "dry_friction_nm": Parameter("N·m", "joint", 0, MOST, "Coulomb friction of the joint (MuJoCo: frictionloss)"),
    "viscous_friction_nms": Parameter("N·m·s/rad", "joint", 0, MOST, "torque against velocity, the joint's whole passive damping (MuJoCo: damping)"),
    "spring_stiffness_nm_per_rad": Parameter("N·m/rad", "joint", 0, MOST, "spring in parallel with the joint"),
    "spring_rest_rad": Parameter("rad", "joint", -MOST, MOST, "angle at which that spring is at rest"),
    # the motor
    "kp_nm_per_rad": Parameter("N·m/rad", "joint", 0, MOST, "position gain"),
    "kd_nms_per_rad": Parameter("N·m·s/rad", "joint", 0, MOST, "velocity gain"),
    "torque_limit_nm": Parameter("N·m", "joint", 0, MOST, "largest torque of the motor"),
    "motor_strength": Parameter("1", "joint", 0, MOST, "delivered torque over commanded torque; scales the limit too", 1.0),
    "stall_torque_nm": Parameter("N·m", "joint", 1e-3, MOST, "torque that the full battery gives at standstill; needs no_load_speed_rad_s", INF),
    "no_load_speed_rad_s": Parameter("rad/s", "joint", 1e-3, MOST, "speed at which back-EMF leaves no torque; needs stall_torque_nm", INF),
    "backlash_rad": Parameter("rad", "joint", 0, MOST, "play between motor and joint: the servo's gains and the encoder see the angle and speed of the motor's side, which rests until the joint takes it along (a play operator); that side has no inertia, and its torque reaches the joint within the play too", 0.0),
    "torque_noise_nm": Parameter("N·m", "joint", 0, MOST, "standard deviation of white torque noise, drawn at each physics step", 0.0),
    # torque that the model has no part for, as a sum of plain terms
    "residual_constant_nm": Parameter("N·m", "joint", -MOST, MOST, "torque on the joint, whatever it does", 0.0),
    "residual_position_nm_per_rad": Parameter("N·m/rad", "joint", -MOST, MOST, "torque per radian away from the usual pose, the mean default pose of the joint's type; a spring has a negative one", 0.0),
    "residual_velocity_nms": Parameter("N·m·s/rad", "joint", -MOST, MOST, "torque per speed of the joint; damping has a negative one", 0.0),
    "residual_direction_nm": Parameter("N·m", "joint", -MOST, MOST, "torque along the direction of motion; dry friction has a negative one", 0.0),
    "residual_error_nm_per_rad": Parameter("N·m/rad", "joint", -MOST, MOST, "torque per radian of tracking error, beyond the motor's limit too", 0.0),
    # heat: a first-order winding temperature per joint
    "start_temperature_c": Parameter("°C", "joint", -50, 300, "winding temperature after a reset", 25.0),
    "ambient_temperature_c": Parameter("°C", "joint", -50, 300, "temperature that a resting winding falls to", 25.0),
    "thermal_rise_c_per_nm2": Parameter("°C/(N·m)²", "joint", 0, MOST, "rise of temperature held by a constant torque of 1 N·m, growing with its square", 0.0),
    "thermal_time_s": Parameter("s", "joint", 1e-3, MOST, "time constant of the winding's temperature", 60.0),
    "derate_start_c": Parameter("°C", "joint", -50, 300, "temperature above which torque falls", 80.0),
    "derate_per_c": Parameter("1/°C", "joint", 0, 1, "share of torque lost per degree above that; never more than 90 % in all", 0.0),
    # the battery: voltage as a share of the full battery's
    "battery_level": Parameter("1", "world", 0.1, 2, "voltage at rest; scales stall torque and no-load speed", 1.0),
    "battery_sag_per_kw": Parameter("1/kW", "world", 0, MOST, "voltage lost per kilowatt that the motors draw", 0.0),
    # the command
    "action_scale_rad": Parameter("rad", "joint", -MOST, MOST, "joint target per unit of action"),
    "action_offset_rad": Parameter("rad", "joint", -MOST, MOST, "added to every joint target", 0.0),
    "delta_position_rad_per_rad": Parameter("rad/rad", "joint", -MOST, MOST, "added to the target per radian of measured position away from the usual pose", 0.0),
    "delta_velocity_s": Parameter("s", "joint", -MOST, MOST, "added to the target per measured speed, rad for rad/s", 0.0),
    "delta_error_rad_per_rad": Parameter("rad/rad", "joint", -MOST, MOST, "added to the target per radian between it and the measured position", 0.0),
    "delay_s": Parameter("s", "joint", 0, 1.0, "from the policy's command to the motor", 0.0),
    # the sensors
    "encoder_noise_rad": Parameter("rad", "joint", 0, MOST, "standard deviation of measured position", 0.0),
    "encoder_bias_rad": Parameter("rad", "joint", -MOST, MOST, "measured minus true position (the motor's own loop sees it too)", 0.0),
    "velocity_noise_rad_s": Parameter("rad/s", "joint", 0, MOST, "standard deviation of measured velocity", 0.0),
    "gyro_noise_rad_s": Parameter("rad/s", "world", 0, MOST, "standard deviation of the gyro", 0.0),
    "gyro_drift_rad_s_per_sqrt_s": Parameter("rad/s/√s", "world", 0, MOST, "random walk of the gyro's bias", 0.0),
    "gravity_noise": Parameter("1", "world", 0, 1, "standard deviation of each entry of the measured gravity direction", 0.0),
    "observation_delay_s": Parameter("s", "world", 0, 0.5, "age of all sensor readings when the policy sees them", 0.0),
    # the body and the floor
    "base_mass_kg": Parameter("kg", "world", 1e-3, MOST, "mass of the base body; its inertia scales along"),
    "base_com_offset_m": Parameter("m", "axis", -1, 1, "shift of the base's centre of mass, base frame", 0.0),
    "link_mass_kg": Parameter("kg", "body", 1e-6, MOST, "mass of each body; its inertia scales along"),
    "floor_friction": Parameter("1", "world", 1e-3, MOST, "sliding friction of every contact with the floor (below, contacts become unstable)"),
}  # fmt: skip


def parameter(name: str, error: type[SurefootError] = WorldsError) -> Parameter:
    """Look a parameter up; an unknown name is answered with the nearest right one."""
    if name not in PARAMETERS:
        raise error(f"unknown parameter {name!r}{nearest(name, PARAMETERS)}")
    return PARAMETERS[name]


def names_of(name: str, robot: Robot, model: mujoco.MjModel) -> tuple[str, ...]:
    """What the entries of a parameter are called: joints, bodies, axes, or nothing for one value per world."""
    per = parameter(name).per
    if per == "joint":
        return robot.contract.joints
    if per == "body":
        return tuple(model.body(b).name or f"body {b}" for b in range(1, model.nbody))
    return ("x", "y", "z") if per == "axis" else ()


def nominal(name: str, robot: Robot, scene: Scene) -> np.ndarray:
    """The robot's own value: (n_entries,), or () for one value per world."""
    model, contract = scene.model, robot.contract
    shape = len(names_of(name, robot, model))
    default = PARAMETERS[name].default
    if default is not None:
        return np.full(shape, default) if shape else np.array(default)
    if hasattr(contract, name):
        return np.array(getattr(contract, name))
    stiffness, _ = spring_of(model, robot)
    return np.array(
        {
            "armature_kgm2": model.dof_armature[scene.joint_dof],
            "dry_friction_nm": model.dof_frictionloss[scene.joint_dof],
            "viscous_friction_nms": model.dof_damping[scene.joint_dof],
            "spring_stiffness_nm_per_rad": stiffness,
            "spring_rest_rad": model.qpos_spring[scene.joint_qpos],
            "base_mass_kg": model.body_mass[scene.base_body],
            "link_mass_kg": model.body_mass[1:],
            "floor_friction": model.geom_friction[scene.floor_geom, 0],
        }[name]
    )


def spring_of(model: mujoco.MjModel, robot: Robot) -> tuple[np.ndarray, list[int]]:
    """Stiffness of the policy joints' own springs, and the joints' ids."""
    ids = [model.joint(name).id for name in robot.contract.joints]
    return model.jnt_stiffness[ids], ids


def resolve(name: str, value: Any, robot: Robot, scene: Scene, n: int, error: type[SurefootError] = WorldsError) -> np.ndarray:
    """A value as the user may write it, as an array (n, n_entries) or (n,).

    One number holds for all. A mapping goes by name or pattern, and what it leaves out keeps the nominal value.
    A list or a one-dimensional array is one value per entry in policy order, or one per world where the parameter
    has one value per world. A two-dimensional array is (n worlds or 1, n_entries or 1).
    """
    entry = parameter(name, error)
    names = names_of(name, robot, scene.model)
    shape = (n, len(names)) if names else (n,)
    if isinstance(value, Mapping):
        if not names:
            raise error(f"{name} has one value per world; a mapping by name does not fit it")
        value = per_name(dict(value), names, name, error, default=nominal(name, robot, scene).tolist())
    resolved = _broadcast(value, shape)
    if isinstance(resolved, str):
        expected = (
            f"one number, {len(names)} numbers ({', '.join(names)}), or an array {shape}" if names else f"one number, or an array {shape}"
        )
        raise error(f"{name} has {resolved}; it takes {expected}{'' if entry.unit == '1' else f', in {entry.unit}'}")
    bad = ~((resolved >= entry.low) & (resolved <= entry.high))
    if bad.any():
        bad &= resolved != nominal(name, robot, scene)  # a frame without mass, and no limit at all, may stay as they are
    if bad.any():
        where = np.argwhere(bad)[0]
        of = f" of {names[where[1]]}" if names else ""
        unit = "" if entry.unit == "1" else f" {entry.unit}"
        raise error(f"{name}{of} is {resolved[tuple(where)]:g}{unit}; it must be finite and between {entry.low:g} and {entry.high:g}")
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
        """Set the worlds `rows`; the values of all worlds. The base's mass is one of the link masses, by another name."""
        given = resolve(name, value, self._robot, self._scene, len(rows))
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
