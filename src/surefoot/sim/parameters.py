"""The parameters of a world: everything that is known about each, in one place.

The same names serve `Worlds.set`, the YAML file of a virtual robot, every search, every export and domain
randomization. A new parameter is one entry here; where its value acts is written in `sim/fields.py` (the model),
`sim/actuation.py` (the motors) or `sim/sensing.py` (the sensors). CONTRIBUTING.md goes through an example.
"""

from dataclasses import dataclass
from typing import Literal

from surefoot.errors import SurefootError, WorldsError, nearest
from surefoot.sim.residual import SLOW_RAD_S

INF = float("inf")
MOST = 1e15  # no quantity of a robot is larger, in these units, and products of two stay finite

Per = Literal["joint", "body", "world", "axis"]


@dataclass(frozen=True)
class Prior:
    """Where a search begins, how far it may go, and how far it moves a parameter to see what that does."""

    low: float
    high: float
    step: float  # about the size of what is not known; a factor where `log`
    source: str = ""
    start: float | None = None  # None: the robot's own value
    log: bool = False  # for what is positive by nature and known only to a factor


@dataclass(frozen=True)
class Parameter:
    """One thing that may differ from world to world."""

    unit: str
    per: Per  # one value per policy joint, body of the model, world, or x-y-z axis
    meaning: str
    low: float = 0.0  # what the simulator accepts
    high: float = MOST
    default: float | None = None  # None: the nominal value comes from the robot
    prior: Prior | None = None  # None: it can be set, but is not searched without a prior of the user's
    shared: bool = False  # a search gives all joints one value: there is one bus, one kind of motor and encoder
    turns_in_mirror: bool = False  # it has a direction, which a mirror turns round on joints that turn round
    torque_speed: bool = False  # needs motors whose torque falls with speed
    block: Literal["", "motor", "battery"] = ""  # where it stands in the file of a virtual robot
    excitation: str = "more episodes, with commands over the robot's whole range"  # which recording would identify it
    export_hint: str = ""  # what to do with it in a framework that has no field for it


PARAMETERS: dict[str, Parameter] = {
    # the joint
    "armature_kgm2": Parameter(
        "kg·m²",
        "joint",
        "inertia of the rotor, seen at the joint",
        prior=Prior(0.001, 0.2, 1.5, "rotor inertia times gear ratio squared; 0.017-0.039 measured on a Go2", log=True),
        excitation="quick changes of command and faster gaits accelerate the rotors more",
    ),
    "dry_friction_nm": Parameter(
        "N·m",
        "joint",
        "Coulomb friction of the joint (MuJoCo: frictionloss)",
        prior=Prior(0.0, 4.0, 0.25, "0.17-1.0 N·m measured on a Go2"),
        excitation=(
            "slow motion shows dry friction: slow walking and standing on the spot, or legs in the air with slow"
            " sweeps; shaking (torque noise) hides it"
        ),
    ),
    "viscous_friction_nms": Parameter(
        "N·m·s/rad",
        "joint",
        "torque against velocity, the joint's whole passive damping (MuJoCo: damping)",
        prior=Prior(0.0, 2.0, 0.1, "0.2-0.47 N·m·s/rad measured on a Go2"),
        excitation="fast motion shows viscous friction: the highest commands the robot can follow",
    ),
    "spring_stiffness_nm_per_rad": Parameter(
        "N·m/rad",
        "joint",
        "spring in parallel with the joint",
        prior=Prior(0.0, 100.0, 4.0, "springs, belts and cables across the joint"),
    ),
    "spring_rest_rad": Parameter(
        "rad", "joint", "angle at which that spring is at rest", low=-MOST, turns_in_mirror=True
    ),
    # the motor
    "kp_nm_per_rad": Parameter(
        "N·m/rad",
        "joint",
        "position gain",
        prior=Prior(
            0.1, 1000.0, 1.15, "trades against inertia and damping; free it only when those are known", log=True
        ),
        excitation="known loads on a stand: gains trade against inertia and friction in every walk",
    ),
    "kd_nms_per_rad": Parameter(
        "N·m·s/rad",
        "joint",
        "velocity gain",
        prior=Prior(0.001, 100.0, 1.25, "trades against viscous friction; free it only when that is known", log=True),
        excitation="known loads on a stand: it trades against viscous friction in every walk",
    ),
    "torque_limit_nm": Parameter(
        "N·m",
        "joint",
        "largest torque of the motor",
        prior=Prior(0.5, 500.0, 1.2, "the maker's peak torque, less what battery and driver give", log=True),
        block="motor",
        excitation="hard work that reaches the limit: a payload, jumps, the fastest gait",
    ),
    "motor_strength": Parameter(
        "1",
        "joint",
        "delivered torque over commanded torque; scales the limit too",
        default=1.0,
        prior=Prior(0.4, 1.5, 0.1, "±20 % between motors and over temperature"),
        block="motor",
        excitation="hard work: a payload, a slope, the fastest gait, so that torque and not inertia decides",
    ),
    "stall_torque_nm": Parameter(
        "N·m",
        "joint",
        "torque that the full battery gives at standstill; needs no_load_speed_rad_s",
        low=1e-3,
        default=INF,
        torque_speed=True,
        block="motor",
    ),
    "no_load_speed_rad_s": Parameter(
        "rad/s",
        "joint",
        "speed at which back-EMF leaves no torque; needs stall_torque_nm",
        low=1e-3,
        default=INF,
        torque_speed=True,
        block="motor",
    ),
    "backlash_rad": Parameter(
        "rad",
        "joint",
        "play between motor and joint: the servo's gains and the encoder see the angle and speed of the motor's side,"
        " which rests until the joint takes it along (a play operator); that side has no inertia, and its torque"
        " reaches the joint within the play too",
        default=0.0,
        prior=Prior(0.0, 0.1, 0.01, "gears: 0.001-0.02 rad", start=0.0),
        block="motor",
    ),
    "torque_noise_nm": Parameter(
        "N·m",
        "joint",
        "standard deviation of white torque noise, drawn at each physics step",
        default=0.0,
        prior=Prior(0.0, 12.0, 0.5, "what is not modelled shakes the joints as noise does", start=0.2),
        shared=True,
        excitation="more episodes of the same commands",
        export_hint="white noise, drawn anew at each physics step",
    ),
    # torque that the model has no part for, as a sum of plain terms
    "residual_constant_nm": Parameter(
        "N·m",
        "joint",
        "torque on the joint, whatever it does",
        low=-MOST,
        default=0.0,
        prior=Prior(-20.0, 20.0, 2.0, "a spring's rest, a cable, a bent link: some N·m", start=0.0),
        turns_in_mirror=True,
        export_hint="torque on the joint",
    ),
    "residual_position_nm_per_rad": Parameter(
        "N·m/rad",
        "joint",
        "torque per radian away from the usual pose, the mean default pose of the joint's type; a spring has a"
        " negative one",
        low=-MOST,
        default=0.0,
        prior=Prior(-100.0, 50.0, 8.0, "springs, belts and cables: 5-30 N·m/rad", start=0.0),
        export_hint="torque += it * (position - usual pose)",
    ),
    "residual_velocity_nms": Parameter(
        "N·m·s/rad",
        "joint",
        "torque per speed of the joint; damping has a negative one",
        low=-MOST,
        default=0.0,
        prior=Prior(-5.0, 5.0, 0.1, "beyond what viscous friction stands for", start=0.0),
        export_hint="torque += it * velocity",
    ),
    "residual_direction_nm": Parameter(
        "N·m",
        "joint",
        "torque along the direction of motion; dry friction has a negative one",
        low=-MOST,
        default=0.0,
        prior=Prior(-10.0, 10.0, 0.25, "beyond what dry friction stands for", start=0.0),
        export_hint=f"torque += it * tanh(velocity / {SLOW_RAD_S:g} rad/s)",
    ),
    "residual_error_nm_per_rad": Parameter(
        "N·m/rad",
        "joint",
        "torque per radian of tracking error, beyond the motor's limit too",
        low=-MOST,
        default=0.0,
        prior=Prior(-50.0, 50.0, 4.0, "gains that are not what the robot was told", start=0.0),
        export_hint="torque += it * (target - position)",
    ),
    # heat: a first-order winding temperature per joint
    "start_temperature_c": Parameter(
        "°C",
        "joint",
        "winding temperature after a reset",
        low=-50,
        high=300,
        default=25.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    "ambient_temperature_c": Parameter(
        "°C",
        "joint",
        "temperature that a resting winding falls to",
        low=-50,
        high=300,
        default=25.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    "thermal_rise_c_per_nm2": Parameter(
        "°C/(N·m)²",
        "joint",
        "rise of temperature held by a constant torque of 1 N·m, growing with its square",
        default=0.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    "thermal_time_s": Parameter(
        "s",
        "joint",
        "time constant of the winding's temperature",
        low=1e-3,
        default=60.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    "derate_start_c": Parameter(
        "°C",
        "joint",
        "temperature above which torque falls",
        low=-50,
        high=300,
        default=80.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    "derate_per_c": Parameter(
        "1/°C",
        "joint",
        "share of torque lost per degree above that; never more than 90 % in all",
        high=1,
        default=0.0,
        block="motor",
        export_hint="gains and limits are those at the start temperature, warming up is not modelled",
    ),
    # the battery: voltage as a share of the full battery's
    "battery_level": Parameter(
        "1",
        "world",
        "voltage at rest; scales stall torque and no-load speed",
        low=0.1,
        high=2,
        default=1.0,
        torque_speed=True,
        block="battery",
    ),
    "battery_sag_per_kw": Parameter(
        "1/kW",
        "world",
        "voltage lost per kilowatt that the motors draw",
        default=0.0,
        torque_speed=True,
        block="battery",
        export_hint="the limits are those of the battery at rest",
    ),
    # the command
    "action_scale_rad": Parameter(
        "rad", "joint", "joint target per unit of action", low=-MOST, export_hint="in the scale of your action term"
    ),
    "action_offset_rad": Parameter(
        "rad",
        "joint",
        "added to every joint target",
        low=-MOST,
        default=0.0,
        prior=Prior(-0.5, 0.5, 0.05, "a constant torque, as a target offset by torque / kp", start=0.0),
        turns_in_mirror=True,
        export_hint="add it to the servo's target",
    ),
    "delta_position_rad_per_rad": Parameter(
        "rad/rad",
        "joint",
        "added to the target per radian of measured position away from the usual pose, the mean default pose of the"
        " joint's type",
        low=-MOST,
        default=0.0,
        prior=Prior(-3.0, 3.0, 0.12, "as a spring of 3 N·m/rad behind a gain of 25", start=0.0),
        export_hint="at the policy's rate, target += it * (measured position - usual pose)",
    ),
    "delta_velocity_s": Parameter(
        "s",
        "joint",
        "added to the target per measured speed, rad for rad/s",
        low=-MOST,
        default=0.0,
        prior=Prior(-0.2, 0.2, 0.004, "as 0.1 N·m·s/rad behind a gain of 25", start=0.0),
        export_hint="at the policy's rate, target += it * measured velocity",
    ),
    "delta_error_rad_per_rad": Parameter(
        "rad/rad",
        "joint",
        "added to the target per radian between it and the measured position",
        low=-MOST,
        default=0.0,
        prior=Prior(-1.5, 3.0, 0.08, "as a gain that is off by 8 %", start=0.0),
        export_hint="at the policy's rate, target += it * (target - measured position)",
    ),
    "delay_s": Parameter(
        "s",
        "joint",
        "from the policy's command to the motor",
        high=1.0,
        default=0.0,
        prior=Prior(0.0, 0.06, 0.004, "bus and driver: 5-20 ms", start=0.002),
        shared=True,
        excitation="sudden changes of command, recorded with exact time stamps",
    ),
    # the sensors
    "encoder_noise_rad": Parameter(
        "rad",
        "joint",
        "standard deviation of measured position",
        default=0.0,
        prior=Prior(0.0, 0.02, 0.001, "0.1-0.5 degrees", start=0.0005),
        shared=True,
        excitation="standing still for some seconds in each episode",
    ),
    "encoder_bias_rad": Parameter(
        "rad",
        "joint",
        "measured minus true position (the motor's own loop sees it too)",
        low=-MOST,
        default=0.0,
        prior=Prior(-0.1, 0.1, 0.02, "calibration of the zero position", start=0.0),
        turns_in_mirror=True,
        excitation="standing and walking on level ground, with orientation recorded",
        export_hint="subtract it from the servo's target, add it to the measured position",
    ),
    "velocity_noise_rad_s": Parameter(
        "rad/s",
        "joint",
        "standard deviation of measured velocity",
        default=0.0,
        prior=Prior(0.0, 1.0, 0.05, "differentiated encoders", start=0.02),
        shared=True,
        excitation="standing still for some seconds in each episode",
    ),
    "gyro_noise_rad_s": Parameter("rad/s", "world", "standard deviation of the gyro", default=0.0),
    "gyro_drift_rad_s_per_sqrt_s": Parameter("rad/s/√s", "world", "random walk of the gyro's bias", default=0.0),
    "gravity_noise": Parameter(
        "1", "world", "standard deviation of each entry of the measured gravity direction", high=1, default=0.0
    ),
    "observation_delay_s": Parameter(
        "s",
        "world",
        "age of all sensor readings when the policy sees them",
        high=0.5,
        default=0.0,
        prior=Prior(0.0, 0.05, 0.004, "bus: 1-5 ms", start=0.0),
        export_hint="delay what the policy observes",
    ),
    # the body and the ground
    "base_mass_kg": Parameter(
        "kg",
        "world",
        "mass of the base body; its inertia scales along",
        low=1e-3,
        prior=Prior(0.5, 200.0, 1.1, "payload and cables: ±25 %", log=True),
        excitation="squats and a changing stance; orientation and gyro recorded",
    ),
    "base_com_offset_m": Parameter(
        "m",
        "axis",
        "shift of the base's centre of mass, base frame",
        low=-1,
        high=1,
        default=0.0,
        prior=Prior(-0.1, 0.1, 0.015, "±3-5 cm", start=0.0),
        excitation="standing and slow turns on the spot, with orientation recorded",
    ),
    "link_mass_kg": Parameter("kg", "body", "mass of each body; its inertia scales along", low=1e-6),
    "floor_friction": Parameter(
        "1",
        "world",
        "sliding friction of every contact with the ground (below 0.001, contacts become unstable)",
        low=1e-3,
        prior=Prior(0.05, 2.0, 1.5, "wet 0.2, wood 0.4, carpet 0.8", log=True),
        excitation="hard starts, stops and turns, so that feet slip; feet that never slip say nothing of friction",
        export_hint="give it to your floor, with a contact priority above the robot's shapes",
    ),
}
TORQUE_SPEED = frozenset(name for name, one in PARAMETERS.items() if one.torque_speed)


def parameter(name: str, error: type[SurefootError] = WorldsError) -> Parameter:
    """Look a parameter up; an unknown name is answered with the nearest right one."""
    if name not in PARAMETERS:
        raise error(f"unknown parameter {name!r}{nearest(name, PARAMETERS)}")
    return PARAMETERS[name]
