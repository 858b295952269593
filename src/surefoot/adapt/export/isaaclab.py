"""A Python file for Isaac Lab: a DelayedPDActuatorCfg by joint name, and randomization events.

Joint friction changed its meaning: Isaac Sim 4.5 takes `friction` as a unitless share of the load on the joint and has
no dynamic and viscous friction; from 5.0 on both are torques, and equal static and dynamic friction is the Coulomb
friction that was fitted.
"""

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.adapted import HEAT, Adapted, adapt, left_out, origin
from surefoot.adapt.export.python_text import STEPS, comments, head, literal, pattern, physics_dt, ranges_table
from surefoot.adapt.export.randomization import ranges_by_entry
from surefoot.robot import Robot
from surefoot.sim.parameters import PARAMETERS

HELD = frozenset(
    {
        "armature_kgm2",
        "dry_friction_nm",
        "viscous_friction_nms",
        "kp_nm_per_rad",
        "kd_nms_per_rad",
        "torque_limit_nm",
        "motor_strength",
        "delay_s",
        "base_mass_kg",
        "base_com_offset_m",
        "link_mass_kg",
    }
)
IMPORTS = """
import re

from isaaclab.actuators import DelayedPDActuatorCfg
from isaaclab.envs import mdp
from isaaclab.managers import EventTermCfg, SceneEntityCfg

ROBOT = "robot"  # the name of the robot in your scene"""
USE = """Use it so: ArticulationCfg(..., actuators=ACTUATORS), and add EVENTS to the events of the environment.
Needs Isaac Sim 5.0 or newer: there friction and dynamic_friction are torques in N·m, and viscous_friction is N·m·s/rad.
On Isaac Sim 4.5 friction is a unitless share of the load on the joint and the other two are not applied: leave all
three out. Early releases of Isaac Lab for Isaac Sim 5.0 did not hand friction on to the simulation (IsaacLab issue
3231): check that it arrives.
stiffness, damping and effort_limit include motor_strength. From Isaac Lab 3.0 on effort_limit is called
actuator_effort_limit.
An explicit actuator needs a physics step that is small against sqrt(armature / stiffness). Delays are rounded to whole
steps; min_delay and max_delay may be set from RANGES, Isaac Lab draws one delay at each reset."""
FRICTION = (
    "Friction has no event: randomize_joint_parameters draws static, dynamic and viscous friction from one and the same"
    " range."
)


def isaaclab_config(adaptation: Adaptation, robot: Robot) -> str:
    """The adaptation as a Python file for Isaac Lab."""
    adapted = adapt(adaptation, robot)
    lines = head([*origin(adapted), *USE.splitlines()], left_out(adapted, HELD), bool(HEAT & set(adaptation.settings)))
    lines += [
        IMPORTS,
        physics_dt(adapted),
        STEPS,
        "",
        *_actuators(adapted),
        "",
        *ranges_table(adapted),
        "",
        *_events(adapted),
    ]
    return "\n".join(lines) + "\n"


def _actuators(adapted: Adapted) -> list[str]:
    model, joints = adapted.model, adapted.robot.contract.joints
    dof = [model.jnt_dofadr[model.joint(name).id] for name in joints]
    kp, kd, limit = adapted.servos
    dry = model.dof_frictionloss[dof]
    fields = [
        ("stiffness", kp, "N·m/rad"),
        ("damping", kd, "N·m·s/rad"),
        ("effort_limit", limit, "N·m"),
        ("armature", model.dof_armature[dof], "kg·m²"),
        ("friction", dry, "N·m, static"),
        ("dynamic_friction", dry, "N·m"),
        ("viscous_friction", model.dof_damping[dof], "N·m·s/rad"),
    ]
    delay = adapted.value("delay_s")
    lines = ["ACTUATORS = {"]
    for seconds in dict.fromkeys(delay.tolist()):  # a group has one delay
        group = [i for i in range(len(joints)) if delay[i] == seconds]
        lines.append(
            f"    {literal('legs' if len(group) == len(joints) else f'legs_{group[0]}')}: DelayedPDActuatorCfg("
        )
        lines.append(f"        joint_names_expr=[{', '.join(literal(pattern(joints[i])) for i in group)}],")
        for field, values, unit in fields:
            lines += [
                f"        {field}={{  # {unit}",
                *(f"            {literal(pattern(joints[i]))}: {literal(values[i])}," for i in group),
            ]
            lines.append("        },")
        lines += [
            f"        min_delay=steps({literal(seconds)}),  # s",
            f"        max_delay=steps({literal(seconds)}),",
            "    ),",
        ]
    return [*lines, "}"]


def _events(adapted: Adapted) -> list[str]:
    ranges = ranges_by_entry(adapted)
    model, own, base = adapted.model, adapted.worlds.model, adapted.worlds.scene.base_body
    masses: dict[str, tuple[float, float]] = {}
    lines, used = [], {"delay_s", "base_mass_kg", "base_com_offset_m"}
    for b in range(1, model.nbody):
        name, mass = model.body(b).name, float(model.body_mass[b])
        span = ranges["base_mass_kg"][""] if b == base and "base_mass_kg" in ranges else (mass, mass)
        if span == (mass, mass) and mass == own.body_mass[b]:
            continue
        if name:
            masses[name] = span
        else:
            lines += comments([f"Body {b} of the model has no name; its mass is {mass!r} kg."])
    offset = zip("xyz", adapted.value("base_com_offset_m").tolist(), strict=True)
    shift = {axis: ranges.get("base_com_offset_m", {}).get(axis, (value, value)) for axis, value in offset}
    lines += ["MASSES_KG = {", *(f"    {literal(name)}: {literal(span)}," for name, span in masses.items()), "}"]
    lines += [
        f"BASE, BASE_COM_OFFSET_M = {literal(adapted.robot.base)}, {literal(shift)}",
        *EVENTS.strip().splitlines(),
    ]
    if "armature_kgm2" in ranges:
        used.add("armature_kgm2")
        lines += ARMATURE.strip().splitlines()
    if any(span != (0.0, 0.0) for span in shift.values()):
        lines += CENTRE.strip().splitlines()
    rest = [f"{name} ({PARAMETERS[name].unit})" for name in ranges if name not in used]
    remarks = [f"In RANGES without an event: {', '.join(rest)}."] if rest else []
    remarks += [FRICTION] if {"dry_friction_nm", "viscous_friction_nms"} & set(ranges) else []
    return [*lines, *comments(remarks)]


EVENTS = """
EVENTS = {
    f"mass {body}": EventTermCfg(
        func=mdp.randomize_rigid_body_mass,
        mode="startup",
        params={
            "asset_cfg": SceneEntityCfg(ROBOT, body_names=[re.escape(body)]),
            "mass_distribution_params": span,
            "operation": "abs",
            "recompute_inertia": True,
        },
    )
    for body, span in MASSES_KG.items()
}
"""
ARMATURE = """
for joint, span in RANGES["armature_kgm2"].items():
    EVENTS[f"armature_kgm2 {joint}"] = EventTermCfg(
        func=mdp.randomize_joint_parameters,
        mode="startup",
        params={
            "asset_cfg": SceneEntityCfg(ROBOT, joint_names=[re.escape(joint)]),
            "armature_distribution_params": span,
            "operation": "abs",
        },
    )
"""
CENTRE = """
EVENTS["base_com_offset_m"] = EventTermCfg(
    func=mdp.randomize_rigid_body_com,
    mode="startup",
    params={"asset_cfg": SceneEntityCfg(ROBOT, body_names=[re.escape(BASE)]), "com_range": BASE_COM_OFFSET_M},
)
"""
