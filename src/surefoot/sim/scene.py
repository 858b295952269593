"""From a `Robot` to a compiled MuJoCo model with a floor and one motor per policy joint, and where things are in it."""

from dataclasses import dataclass

import mujoco
import numpy as np

from surefoot.errors import WorldsError
from surefoot.robot.contract import POSITION, VELOCITY
from surefoot.robot.imu import imu_rotation
from surefoot.robot.load import Robot, foot_geoms, joint_addresses, upright
from surefoot.robot.model import compile_spec
from surefoot.sim.floor import NAME as FLOOR_NAME
from surefoot.sim.floor import Floor, add_floor

# Places of a DC motor's constants in actuator_gainprm, as MuJoCo's compiler lays them out.
DC_RESISTANCE, DC_CONSTANT, DC_KP, DC_KD, DC_VOLTAGE = 0, 1, 4, 6, 7

PINNED = 1e9  # kg and kg·m² on top of a hanging base's own: it sinks by micrometres, and no constraint has to hold it

Index = np.ndarray | slice


@dataclass(frozen=True, eq=False)
class Scene:
    """A compiled model and the addresses that stepping and sensing need; joints are in policy order."""

    model: mujoco.MjModel
    substeps: int
    joint_qpos: Index
    joint_dof: Index
    base_qpos: slice  # position and quaternion of the free joint
    base_dof: slice
    base_body: int
    floor_geom: int
    imu_rotation: np.ndarray | None  # (3, 3) of the IMU site in the base frame; None where it is the identity
    torque_speed: bool
    feet: "FootSensors | None"  # where the feet's sensors are in sensordata, if they were asked for
    trunk_m: np.ndarray | None  # (3,) in the base frame, whose height tells who stands; None: the base's origin
    reach_m: float  # all feet of the default pose are within this distance of the base's origin, seen from above


@dataclass(frozen=True, eq=False)
class FootSensors:
    """Addresses in sensordata, one per foot."""

    contact: np.ndarray  # number of contacts with the floor
    position: np.ndarray  # (n_feet, 3)
    velocity: np.ndarray  # (n_feet, 3)
    floor: int  # number of contacts of the floor with anything


def build_scene(
    robot: Robot, floor: Floor, physics_hz: float | None, torque_speed: bool, feet: bool = False, hang: bool = False
) -> Scene:
    """Compile the robot on a floor with a PD motor on each policy joint.

    With `torque_speed` the motors are MuJoCo DC motors, whose voltage limit makes torque fall with speed;
    without, they are affine servos, which step a little faster. With `feet`, the feet get sensors.
    With `hang`, the base stays where it is put, and the legs swing free.
    """
    spec = robot.spec()
    substeps = robot.substeps(physics_hz)
    spec.option.timestep = 1.0 / (robot.contract.control_hz * substeps)
    # What is only seen need not be moved along: some 7 % of a step's time on a Go2, and no bit of its result. Masses
    # that come from it stay.
    spec.compiler.discardvisual = (
        spec.compiler.inertiafromgeom != mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    )  # a model that takes every mass from its shapes needs them all
    # A robot on a floor is one island, and its bodies have few shapes: looking for more of either is some 15 % of a
    # step, and no bit of its result.
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_ISLAND | mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    add_floor(spec, floor, robot.feet)
    contract = robot.contract
    for i, joint in enumerate(contract.joints):
        kp, kd, limit = contract.kp_nm_per_rad[i], contract.kd_nms_per_rad[i], contract.torque_limit_nm[i]
        motor = spec.add_actuator(name=f"surefoot_{joint}", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        kind = contract.action_kind[i] if contract.action_kind else POSITION
        if torque_speed and kind != POSITION:
            raise WorldsError(
                f"{joint} takes {kind} targets, and a torque that falls with speed is modelled for position targets only;"
                " leave the motors' stall torque and no-load speed unset"
            )
        if torque_speed:
            _dc_motor(motor, kp, kd)
        elif kind == POSITION:
            motor.set_to_position(kp=kp, kv=kd)
        else:
            _damped_motor(motor, kd if kind == VELOCITY else 1.0, kd)
        motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
        motor.forcerange = [-limit, limit]
    if feet:
        _add_foot_sensors(spec, robot)
    model = compile_spec(spec, robot.model_path)
    qpos, dof = joint_addresses(model, contract.joints)
    free = int(model.body(robot.base).jntadr[0])
    base_dof = slice(int(model.jnt_dofadr[free]), int(model.jnt_dofadr[free]) + 6)
    if hang:
        _pin(model, base_dof)
    return Scene(
        model=model,
        substeps=substeps,
        joint_qpos=_compact(qpos),
        joint_dof=_compact(dof),
        base_qpos=slice(int(model.jnt_qposadr[free]), int(model.jnt_qposadr[free]) + 7),
        base_dof=base_dof,
        base_body=model.body(robot.base).id,
        floor_geom=model.geom(FLOOR_NAME).id,
        imu_rotation=_imu_rotation(robot, model),
        torque_speed=torque_speed,
        feet=_foot_sensors(robot, model) if feet else None,
        trunk_m=np.array(robot.trunk_m) if any(robot.trunk_m) else None,
        reach_m=_reach(robot, model),
    )


def _pin(model: mujoco.MjModel, base_dof: slice) -> None:
    """Give the base an inertia that nothing moves; unlike mass, armature has no weight.

    MuJoCo's solver takes an improvement that is small beside the mean inertia for the end. The mean is now the base's,
    so the tolerance shrinks by as much, or dry friction and joint limits would not be solved at all.
    """
    joints = np.delete(model.dof_M0, np.r_[base_dof]).mean()
    model.dof_armature[base_dof] = PINNED
    mujoco.mj_setConst(model, mujoco.MjData(model))
    model.opt.tolerance *= joints / model.dof_M0.mean()


def _damped_motor(motor: mujoco.MjsActuator, gain: float, kd: float) -> None:
    """torque = gain * target - kd * velocity: a velocity servo with gain kd, or a torque with damping."""
    motor.gaintype, motor.biastype = mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_AFFINE
    motor.gainprm[0], motor.biasprm[2] = gain, -kd


def _dc_motor(motor: mujoco.MjsActuator, kp: float, kd: float) -> None:
    """A DC motor with PD control and, until a no-load speed is set, no voltage limit (0 turns it off)."""
    motor.set_to_dcmotor(
        motorconst=[1.0, 1.0],
        resistance=1.0,
        controller=[kp, 0.0, kd, 0.0, 0.0, 0.0],
        ctrlspec=int(mujoco.mjtCtrlInput.mjINPUT_POS),
    )


def _add_foot_sensors(spec: mujoco.MjSpec, robot: Robot) -> None:
    found = 1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND)
    geom, body = mujoco.mjtObj.mjOBJ_GEOM, mujoco.mjtObj.mjOBJ_BODY
    for i, foot in enumerate(robot.feet):
        kind = geom if spec.geom(foot) is not None else body
        spec.add_sensor(
            name=f"surefoot_contact_{i}",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=kind,
            reftype=geom,
            refname=FLOOR_NAME,
            objname=foot,
            intprm=[found, 0, 1],
        )
        place = geom if kind == geom else mujoco.mjtObj.mjOBJ_XBODY
        spec.add_sensor(
            name=f"surefoot_position_{i}", type=mujoco.mjtSensor.mjSENS_FRAMEPOS, objtype=place, objname=foot
        )
        spec.add_sensor(
            name=f"surefoot_velocity_{i}", type=mujoco.mjtSensor.mjSENS_FRAMELINVEL, objtype=place, objname=foot
        )
    spec.add_sensor(
        name="surefoot_floor_contact",
        type=mujoco.mjtSensor.mjSENS_CONTACT,
        objtype=geom,
        objname=FLOOR_NAME,
        intprm=[found, 0, 1],
    )


def _foot_sensors(robot: Robot, model: mujoco.MjModel) -> FootSensors:
    def address(what: str) -> np.ndarray:
        return np.array([int(model.sensor(f"surefoot_{what}_{i}").adr[0]) for i in range(len(robot.feet))])

    return FootSensors(
        address("contact"),
        address("position")[:, None] + np.arange(3),
        address("velocity")[:, None] + np.arange(3),
        int(model.sensor("surefoot_floor_contact").adr[0]),
    )


def _imu_rotation(robot: Robot, model: mujoco.MjModel) -> np.ndarray | None:
    if robot.imu is None:
        return None
    rotation = imu_rotation(model, robot.imu, robot.base)
    return None if np.array_equal(rotation, np.eye(3)) else rotation


def _reach(robot: Robot, model: mujoco.MjModel) -> float:
    data = upright(model, robot.contract, robot.base)
    geoms = [geom for foot in robot.feet for geom in foot_geoms(model, foot)]
    return float((np.linalg.norm(data.geom_xpos[geoms, :2], axis=1) + model.geom_rbound[geoms]).max())


def _compact(addresses: np.ndarray) -> Index:
    """A slice where the addresses are consecutive: then reading joints is a view, not a copy."""
    start = int(addresses[0])
    if np.array_equal(addresses, np.arange(start, start + len(addresses))):
        return slice(start, start + len(addresses))
    return addresses
