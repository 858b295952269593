"""A Python file for mjlab (written for 1.6): actuator configs, a function that changes the MjSpec,
randomization events.

mjlab is MuJoCo underneath: armature, frictionloss and viscous_damping mean what they mean here. Its delays are whole
physics steps; it draws a delay anew at every step unless told otherwise.
"""

import math

import numpy as np

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.adapted import HEAT, Adapted, adapt, left_out, origin
from surefoot.adapt.export.python_text import STEPS, comments, head, literal, pattern, physics_dt, ranges_table
from surefoot.adapt.export.randomization import ranges_by_entry
from surefoot.robot import Robot
from surefoot.sim.parameters import TORQUE_SPEED

HELD = frozenset(
    {
        "armature_kgm2",
        "dry_friction_nm",
        "viscous_friction_nms",
        "spring_stiffness_nm_per_rad",
        "spring_rest_rad",
        "kp_nm_per_rad",
        "kd_nms_per_rad",
        "torque_limit_nm",
        "motor_strength",
        "delay_s",
        "encoder_bias_rad",
        "base_mass_kg",
        "base_com_offset_m",
        "link_mass_kg",
    }
)
JOINT_EVENTS = {  # parameters whose range one event by joint name sets: mjlab's function
    "armature_kgm2": "joint_armature",
    "dry_friction_nm": "joint_friction",
    "viscous_friction_nms": "joint_damping",
    "spring_stiffness_nm_per_rad": "joint_stiffness",
}
IMPORTS = """
import re

from mjlab.actuator import {actuator}
from mjlab.envs.mdp import dr
from mjlab.managers.event_manager import EventTermCfg
from mjlab.managers.scene_entity_config import SceneEntityCfg

ROBOT = "robot"  # the name of the robot in your scene"""
USE = """Use it so:
EntityCfg(spec_fn=lambda: change_spec(your_spec()), articulation=EntityArticulationInfoCfg(actuators=ACTUATORS)),
and add EVENTS to the events of the environment. Joints without an actuator config keep what the model says.
stiffness, damping and effort_limit include motor_strength. Delays are rounded to whole physics steps.
For a delay drawn from RANGES give delay_min_lag, delay_max_lag, delay_update_period=10**9 and
delay_per_env_phase=False: one draw per episode. With the phase left on, most environments would keep a lag of 0."""


def mjlab_config(adaptation: Adaptation, robot: Robot) -> str:
    """The adaptation as a Python file for mjlab."""
    adapted = adapt(adaptation, robot)
    limited = _torque_speed(adapted)
    held = HELD | (TORQUE_SPEED - {"battery_sag_per_kw"} if limited.all() else set())
    about = [
        *origin(adapted),
        "For mjlab 1.6 and newer; before, a DelayedActuatorCfg around each config held its delay.",
        *USE.splitlines(),
    ]
    lines = head(about, left_out(adapted, held), bool(HEAT & set(adaptation.settings)))
    kind = "DcMotorActuatorCfg" if limited.all() else "BuiltinPositionActuatorCfg"
    lines += [IMPORTS.format(actuator=kind), physics_dt(adapted), STEPS, "", "ACTUATORS = ("]
    for i, _ in enumerate(robot.contract.joints):
        lines += _actuator(adapted, i, kind)
    lines += [")", "", *ranges_table(adapted), "", "", *_change_spec(adapted), "", "", *_events(adapted)]
    return "\n".join(lines) + "\n"


def _torque_speed(adapted: Adapted) -> np.ndarray:
    """For which joints torque falls with speed."""
    return np.isfinite(adapted.value("stall_torque_nm")) & np.isfinite(adapted.value("no_load_speed_rad_s"))


def _actuator(adapted: Adapted, i: int, kind: str) -> list[str]:
    kp, kd, limit = adapted.servos
    model, name = adapted.model, adapted.robot.contract.joints[i]
    dof = model.jnt_dofadr[model.joint(name).id]
    fields = [
        ("stiffness", kp[i], "N·m/rad"),
        ("damping", kd[i], "N·m·s/rad"),
        ("effort_limit", limit[i], "N·m"),
        ("armature", model.dof_armature[dof], "kg·m²"),
        ("frictionloss", model.dof_frictionloss[dof], "N·m"),
        ("viscous_damping", model.dof_damping[dof], "N·m·s/rad"),
    ]
    if kind == "DcMotorActuatorCfg":
        level = adapted.value("battery_level")
        fields += [
            ("saturation_effort", adapted.value("stall_torque_nm")[i] * level, "N·m at standstill"),
            ("velocity_limit", adapted.value("no_load_speed_rad_s")[i] * level, "rad/s without load"),
        ]
    delay = literal(adapted.value("delay_s")[i])
    return [
        f"    {kind}(",
        f"        target_names_expr=({literal(pattern(name))},),",
        *(f"        {field}={literal(value)},  # {unit}" for field, value, unit in fields),
        *(
            (f"        delay_min_lag=steps({delay}),  # s", f"        delay_max_lag=steps({delay}),")
            if float(delay) > 0
            else ()
        ),
        "    ),",
    ]


def _change_spec(adapted: Adapted) -> list[str]:
    """Springs and masses, which no actuator config holds; bodies and joints are those of the robot's own model."""
    model, own, settings = adapted.model, adapted.worlds.model, adapted.adaptation.settings
    lines = [
        "def change_spec(spec):",
        '    """Springs, masses and centres of mass, in a mujoco.MjSpec of the robot."""',
    ]
    for name in adapted.robot.contract.joints:
        index = model.joint(name).id
        stiffness, rest = model.jnt_stiffness[index], model.qpos_spring[model.jnt_qposadr[index]]
        if "spring_stiffness_nm_per_rad" in settings:
            lines.append(f"    spec.joint({literal(name)}).stiffness[0] = {literal(stiffness)}  # N·m/rad")
        if "spring_rest_rad" in settings:
            lines.append(f"    _rest(spec, {literal(name)}, {literal(rest)})  # rad")
    for b in range(1, model.nbody):
        fields = ("body_mass", "body_ipos", "body_iquat", "body_inertia")
        if all(np.array_equal(getattr(model, field)[b], getattr(own, field)[b]) for field in fields):
            continue
        mass, ipos, iquat, inertia = (literal(np.asarray(getattr(model, field)[b]).tolist()) for field in fields)
        where = literal(model.body(b).name) if model.body(b).name else None
        if where is None:
            lines.append(f"    # body {b} of the model has no name; its mass is {mass} kg")
            continue
        lines.append(
            f"    _inertial(spec, {where}, mass={mass}, ipos={ipos}, iquat={iquat}, inertia={inertia})  # kg, m, 1,"
            " kg·m²"
        )
    lines.append("    return spec")
    if any("_rest(" in line for line in lines):
        lines = [*REST.strip().splitlines(), "", "", *lines]
    if any("_inertial(" in line for line in lines):
        lines = [*INERTIAL.strip().splitlines(), "", "", *lines]
    return lines


REST = """
def _rest(spec, name, rest_rad):
    joint = spec.joint(name)
    hinge = int(joint.type) == 3  # mjJNT_HINGE; a spec may count its angles in degrees
    joint.springref = rest_rad * 57.29577951308232 if hinge and spec.compiler.degree else rest_rad
"""
INERTIAL = """
def _inertial(spec, name, mass, ipos, iquat, inertia):
    body = spec.body(name)
    body.explicitinertial = True
    body.mass, body.ipos, body.iquat, body.inertia = mass, ipos, iquat, inertia
    body.fullinertia = [float("nan")] * 6
"""


def _events(adapted: Adapted) -> list[str]:
    ranges, contract = ranges_by_entry(adapted), adapted.robot.contract
    base = f"SceneEntityCfg(ROBOT, body_names=({literal(pattern(adapted.robot.base))},))"
    lines, used = ["EVENTS = {"], set()

    def add(name: str, function: str, params: str) -> None:
        used.add(name)
        lines.append(f"    {literal(name)}: EventTermCfg(mode='startup', func=dr.{function}, params={{{params}}}),")

    for name, function in JOINT_EVENTS.items():
        if name in ranges:
            add(
                name,
                function,
                f"'asset_cfg': SceneEntityCfg(ROBOT), 'operation': 'abs', 'ranges': by_pattern({literal(name)})",
            )
    if "base_mass_kg" in ranges:  # mass and inertia together: both scale by exp(2 alpha)
        mass = float(adapted.value("base_mass_kg"))
        alpha = tuple(0.5 * math.log(end / mass) for end in ranges["base_mass_kg"][""])
        add("base_mass_kg", "pseudo_inertia", f"'asset_cfg': {base}, 'alpha_range': {literal(alpha)}")
    if "base_com_offset_m" in ranges:  # after the mass, whose event writes the centre of mass too
        offset = dict(zip("xyz", adapted.value("base_com_offset_m").tolist(), strict=True))
        spans = {
            axis: (span[0] - offset[axis], span[1] - offset[axis]) for axis, span in ranges["base_com_offset_m"].items()
        }
        inner = ", ".join(f"{'xyz'.index(axis)}: {literal(span)}" for axis, span in spans.items())
        add("base_com_offset_m", "body_com_offset", f"'asset_cfg': {base}, 'operation': 'add', 'ranges': {{{inner}}}")
    lines.append("}")
    if "encoder_bias_rad" in adapted.adaptation.settings:  # mjlab has no other place for it
        used.add("encoder_bias_rad")
        bias = zip(contract.joints, adapted.value("encoder_bias_rad").tolist(), strict=True)
        spans = {joint: ranges.get("encoder_bias_rad", {}).get(joint, (value, value)) for joint, value in bias}
        lines += [
            "ENCODER_BIAS_RAD = {",
            *(f"    {literal(joint)}: {literal(span)}," for joint, span in spans.items()),
            "}",
            *BIAS.strip().splitlines(),
        ]
    rest = [name for name in ranges if name not in used]
    return [
        *BY_PATTERN.strip().splitlines(),
        "",
        "",
        *lines,
        *(comments([f"In RANGES without an event: {', '.join(rest)}."]) if rest else []),
    ]


BY_PATTERN = '''
def by_pattern(parameter: str) -> dict:
    """Ranges of a parameter by regular expressions that match one name each."""
    return {re.escape(name): span for name, span in RANGES[parameter].items()}
'''
BIAS = """
for joint, span in ENCODER_BIAS_RAD.items():
    only = SceneEntityCfg(ROBOT, joint_names=(re.escape(joint),))
    biased = {'asset_cfg': only, 'bias_range': span}
    EVENTS[f"encoder_bias_rad {joint}"] = EventTermCfg(mode='startup', func=dr.encoder_bias, params=biased)
"""
