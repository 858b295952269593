"""Where parameters live in the MuJoCo model: reading the robot's own values, and writing those of each world.

A field becomes per-world only when a parameter that needs it is first set: what is never set costs nothing.
"""

from collections.abc import Callable

import mujoco
import numpy as np
from mujoco.batch import Batch

from surefoot.robot.contract import POSITION, VELOCITY
from surefoot.robot.load import Robot
from surefoot.robot.targets import is_kind
from surefoot.sim.scene import DC_CONSTANT, DC_KD, DC_KP, DC_RESISTANCE, DC_VOLTAGE, Scene

# Parameters whose model fields MuJoCo derives other constants from (MjModel._setconst_inputs).
NEEDS_SET_CONST = frozenset({"armature_kgm2", "spring_rest_rad", "base_com_offset_m", "base_mass_kg", "link_mass_kg"})


def joint_ids(model: mujoco.MjModel, robot: Robot) -> list[int]:
    """Of the policy joints."""
    return [model.joint(name).id for name in robot.contract.joints]


# The robot's own value of what only its model knows.
IN_MODEL: dict[str, Callable[[Robot, Scene], np.ndarray]] = {
    "armature_kgm2": lambda robot, scene: scene.model.dof_armature[scene.joint_dof],
    "dry_friction_nm": lambda robot, scene: scene.model.dof_frictionloss[scene.joint_dof],
    "viscous_friction_nms": lambda robot, scene: scene.model.dof_damping[scene.joint_dof],
    "spring_stiffness_nm_per_rad": lambda robot, scene: scene.model.jnt_stiffness[joint_ids(scene.model, robot)],
    "spring_rest_rad": lambda robot, scene: scene.model.qpos_spring[scene.joint_qpos],
    "base_mass_kg": lambda robot, scene: scene.model.body_mass[scene.base_body],
    "link_mass_kg": lambda robot, scene: scene.model.body_mass[1:],
    "floor_friction": lambda robot, scene: scene.model.geom_friction[scene.floor_geom, 0],
}


class Fields:
    """The model fields of a batch of worlds, written by physical meaning."""

    def __init__(self, batch: Batch, robot: Robot, scene: Scene):
        self._batch = batch
        self._robot = robot
        self._scene = scene
        self._model = scene.model

    def write(self, name: str, values: np.ndarray) -> bool:
        """Write one parameter of all worlds; whether the derived constants must follow (set_const)."""
        scene, model, batch = self._scene, self._model, self._batch
        if name == "armature_kgm2":
            batch.expand("dof_armature")[:, scene.joint_dof] = values
        elif name == "dry_friction_nm":
            batch.expand("dof_frictionloss")[:, scene.joint_dof] = values
        elif name == "viscous_friction_nms":
            batch.expand("dof_damping")[:, scene.joint_dof] = values
        elif name == "spring_stiffness_nm_per_rad":
            batch.expand("jnt_stiffness")[:, joint_ids(model, self._robot)] = values
        elif name == "spring_rest_rad":
            batch.expand("qpos_spring")[:, scene.joint_qpos] = values
        elif name == "floor_friction":
            batch.expand("geom_friction")[:, scene.floor_geom, 0] = values
        elif name == "base_com_offset_m":
            batch.expand("body_ipos")[:, scene.base_body] = model.body_ipos[scene.base_body] + values
        elif name == "base_mass_kg":
            self._mass(slice(scene.base_body, scene.base_body + 1), values[:, None])
        elif name == "link_mass_kg":
            self._mass(slice(1, model.nbody), values)
        else:
            return False
        return name in NEEDS_SET_CONST

    def write_motors(self, kp: np.ndarray, kd: np.ndarray, limit: np.ndarray, strength: np.ndarray) -> None:
        """Gains and torque limits of all worlds, and the share of its torque that a motor still has, each
        (n, n_joints).
        """
        gain = self._batch.expand("actuator_gainprm")
        if self._scene.torque_speed:
            gain[:, :, DC_KP], gain[:, :, DC_KD] = kp, kd
        else:
            bias = self._batch.expand("actuator_biasprm")
            if self._robot.contract.action_kind:
                position, velocity = (is_kind(self._robot.contract, kind) for kind in (POSITION, VELOCITY))
                gain[:, :, 0] = np.where(position, kp, np.where(velocity, kd, strength))
                bias[:, :, 1], bias[:, :, 2] = np.where(position, -kp, 0.0), -kd
            else:
                gain[:, :, 0], bias[:, :, 1], bias[:, :, 2] = kp, -kp, -kd
        force = self._batch.expand("actuator_forcerange")
        force[:, :, 0], force[:, :, 1] = -limit, limit

    def write_torque_speed(self, stall: np.ndarray, no_load: np.ndarray, voltage: np.ndarray) -> None:
        """Torque-speed limit: stall torque and no-load speed at full voltage, (n, n_joints), and voltage share (n, 1).

        With the motor constant K = 1 the back-EMF at speed w is w volts, so the no-load speed is the full
        voltage V, and the stall torque K V / R gives R. Infinite values mean no limit, which MuJoCo writes as V = 0.
        """
        gain = self._batch.expand("actuator_gainprm")
        limited = np.isfinite(stall) & np.isfinite(no_load)
        ratio = np.divide(no_load, stall, out=np.ones_like(stall), where=limited)
        gain[:, :, DC_CONSTANT] = 1.0
        gain[:, :, DC_RESISTANCE] = ratio
        gain[:, :, DC_VOLTAGE] = np.where(limited, no_load * voltage, 0.0)

    def _mass(self, bodies: slice, mass: np.ndarray) -> None:
        own = self._model.body_mass[bodies]
        scale = np.divide(mass, own, out=np.ones_like(mass), where=own > 0)
        self._batch.expand("body_mass")[:, bodies] = mass
        self._batch.expand("body_inertia")[:, bodies] = self._model.body_inertia[bodies] * scale[:, :, None]
