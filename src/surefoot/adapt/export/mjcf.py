"""The robot's own model with the adaptation in it, as MJCF that stock MuJoCo loads.

All values are copied from the model that the fit simulated, so that the file agrees with it by construction; a file
that MuJoCo does not load, or in which a value did not arrive, is not written. Numbers are saved exactly and the
notation of the original stays (`savecompiled` and `savecanonical` off).

Delay stays outside: MuJoCo's own buffer starts filled with zeros, which commands every joint to 0 rad after each reset.
"""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import mujoco
import numpy as np

from surefoot.adapt.adaptation import Adaptation
from surefoot.adapt.export.adapted import Adapted, adapt, left_out, origin
from surefoot.errors import FitError
from surefoot.files import check_place, write_whole
from surefoot.robot import Robot
from surefoot.robot.load import upright
from surefoot.robot.model import compile_spec, load_spec
from surefoot.robot.model_files import files_of
from surefoot.sim.floor import NAME as FLOOR
from surefoot.sim.parameters import TORQUE_SPEED
from surefoot.sim.scene import DC_KD, DC_KP, DC_RESISTANCE, DC_VOLTAGE
from surefoot.text import for_comment, one_line

JOINT_FIELDS = {
    "armature_kgm2": "dof_armature",
    "dry_friction_nm": "dof_frictionloss",
    "viscous_friction_nms": "dof_damping",
    "spring_stiffness_nm_per_rad": "jnt_stiffness",
    "spring_rest_rad": "qpos_spring",
}
BODY_FIELDS = ("body_mass", "body_inertia", "body_ipos", "body_iquat")
BODY = frozenset({"base_mass_kg", "base_com_offset_m", "link_mass_kg"})
GAINS = frozenset({"kp_nm_per_rad", "kd_nms_per_rad"})
MOTOR = frozenset({"torque_limit_nm", "motor_strength"})
GROUND = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
STAND = "surefoot_stand"
ASSETS = ("mesh", "hfield", "skin", "texture")


def patched_mjcf(adaptation: Adaptation, robot: Robot, folder: Path | None = None) -> str:
    """The robot's model with the adaptation as MJCF text; files such as meshes are named relative to `folder`.

    Without a folder it is that of the robot's own model.
    """
    return _text(adapt(adaptation, robot), folder or robot.model_path.parent)


def write_mjcf(path: Path, adaptation: Adaptation, robot: Robot) -> None:
    """Write the robot's model with the adaptation, once MuJoCo has loaded it and every value is in it."""
    check_place(path, (".xml",))
    if path.resolve() in files_of(robot.model_path):
        raise FitError(f"{path} is the robot's own model, which stays as it is; choose another place", argument="out")
    adapted = adapt(adaptation, robot)
    text = _text(adapted, path.parent)

    def write(temporary: Path) -> None:
        temporary.write_text(text, encoding="utf-8")
        _check(adapted, temporary)

    write_whole(path, write)


def _text(adapted: Adapted, folder: Path) -> str:
    robot = adapted.robot
    spec = load_spec(robot.model_path)
    compile_spec(
        spec, robot.model_path
    )  # fuses static bodies, numbers the rest, and resolves what the file leaves open
    spec.option.timestep = adapted.model.opt.timestep
    held = set(JOINT_FIELDS) | BODY
    _set_joints(spec, adapted)
    _set_bodies(spec, adapted)
    more, remarks = _set_motors(spec, adapted)
    held |= more
    if "floor_friction" in adapted.adaptation.settings and _set_floor(spec, adapted):
        held.add("floor_friction")
    _set_files(spec, robot)
    spec.comment = _comment(adapted, held, remarks, spec.comment)
    spec.compiler.savecompiled = spec.compiler.savecanonical = False
    try:
        text = str(spec.to_xml())
    except (ValueError, RuntimeError) as reason:
        raise FitError(f"MuJoCo cannot save {robot.model_path} as MJCF: {one_line(reason)}") from None
    return _relative_files(text, folder)


def _set_joints(spec: mujoco.MjSpec, adapted: Adapted) -> None:
    model, settings = adapted.model, adapted.adaptation.settings
    for name in adapted.robot.contract.joints:
        joint, index = spec.joint(name), model.joint(name).id
        dof = model.jnt_dofadr[index]
        computed = all(joint.springdamper > 0)  # MuJoCo would derive stiffness and damping from it again
        if "armature_kgm2" in settings:
            joint.armature = model.dof_armature[dof]
        if "dry_friction_nm" in settings:
            joint.frictionloss = model.dof_frictionloss[dof]
        if "viscous_friction_nms" in settings or computed:
            joint.damping[0] = model.dof_damping[dof]
        if "spring_stiffness_nm_per_rad" in settings or computed:
            joint.stiffness[0] = model.jnt_stiffness[index]
        if "spring_rest_rad" in settings:
            rest = float(model.qpos_spring[model.jnt_qposadr[index]])
            hinge = joint.type == mujoco.mjtJoint.mjJNT_HINGE
            joint.springref = np.degrees(rest) if hinge and joint.compiler.degree else rest
        joint.springdamper = [0.0, 0.0]


def _set_bodies(spec: mujoco.MjSpec, adapted: Adapted) -> None:
    if not BODY & set(adapted.adaptation.settings):
        return
    model, own = adapted.model, adapted.worlds.model
    changed = {
        b
        for b in range(1, model.nbody)
        for field in BODY_FIELDS
        if (getattr(model, field)[b] != getattr(own, field)[b]).any()
    }
    rewritten = (
        spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
        or spec.compiler.settotalmass > 0
    )
    for body in spec.bodies:
        if body.id in changed or (rewritten and body.id > 0 and model.body_mass[body.id] > 0):
            body.explicitinertial = True
            body.mass, body.ipos, body.iquat, body.inertia = (
                getattr(model, field)[body.id] for field in ("body_mass", "body_ipos", "body_iquat", "body_inertia")
            )
            body.fullinertia = np.full(6, np.nan)
            body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    if rewritten:  # these would change the inertias again when the file is loaded
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
        spec.compiler.settotalmass = -1


def _set_motors(spec: mujoco.MjSpec, adapted: Adapted) -> tuple[set[str], list[str]]:
    """Patch the model's actuators, or add servos where a joint has none; which parameters are then held,
    and what to say.
    """
    contract = adapted.robot.contract
    bare = not list(spec.actuators)
    kinds: dict[str, list[str]] = {"servo": [], "motor": [], "other": [], "added": []}
    for i, name in enumerate(contract.joints):
        on_joint = [a for a in spec.actuators if a.target == name and a.trntype == mujoco.mjtTrn.mjTRN_JOINT]
        kind = _kind(on_joint[0]) if len(on_joint) == 1 else "other" if on_joint else "added"
        if kind == "added":
            _add_servo(spec, adapted, i)
        elif kind != "other":
            _set_motor(on_joint[0], kind, adapted, i)
        if kind != "other" and any(spec.joint(name).actfrcrange):
            spec.joint(name).actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE  # the contract's torque limit governs
        kinds[kind].append(name)
    if bare:
        data = upright(adapted.model, contract, adapted.robot.base, adapted.robot.base_height_m)
        spec.add_key(name=STAND, qpos=data.qpos, ctrl=adapted.rest_target_rad)
    held = (
        set(MOTOR)
        | (set() if kinds["motor"] else GAINS)
        | (set(TORQUE_SPEED) - {"battery_sag_per_kw"} if bare else set())
    )
    return set() if kinds["other"] else held, _motor_remarks(kinds, adapted, bare)


def _motor_remarks(kinds: dict[str, list[str]], adapted: Adapted, bare: bool) -> list[str]:
    lines = []
    if bare:
        lines.append(
            "The model has no actuators: position servos with the gains and torque limits of robot.yaml and the"
            " adaptation were added, one per policy joint in policy order; a control is a joint's target in rad."
        )
        lines.append(f"The keyframe {STAND} is the default pose on a floor at z = 0, with the servos' targets.")
    elif kinds["added"]:
        lines.append(
            f"Joints without an actuator got a position servo, after the model's own: {', '.join(kinds['added'])}."
        )
    if kinds["servo"]:
        lines.append(
            "The model's position servos have the gains and torque limits of robot.yaml and the adaptation, and take"
            " targets of any size."
        )
    if kinds["motor"]:
        kp, kd, _ = adapted.servos
        rows = ", ".join(
            f"{n} {float(kp[i])!r} {float(kd[i])!r}"
            for i, n in enumerate(adapted.robot.contract.joints)
            if n in kinds["motor"]
        )
        lines.append(
            "The model's actuators are torque motors: limits and strength are in the file, the PD loop is yours to"
            f" run. kp in N·m/rad and kd in N·m·s/rad: {rows}."
        )
    if kinds["other"]:
        lines.append(
            "These joints have actuators of a kind that is left as it was, gains, limits and strength included:"
            f" {', '.join(kinds['other'])}."
        )
    return lines


def _kind(actuator: mujoco.MjsActuator) -> str:
    plain = (
        actuator.dyntype == mujoco.mjtDyn.mjDYN_NONE
        and actuator.gaintype == mujoco.mjtGain.mjGAIN_FIXED
        and actuator.gear[0] != 0
    )
    if plain and actuator.biastype == mujoco.mjtBias.mjBIAS_NONE:
        return "motor"
    if (
        plain
        and actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE
        and actuator.gear[0] == 1
        and actuator.biasprm[0] == 0
    ):
        return "servo" if actuator.gainprm[0] == -actuator.biasprm[1] > 0 else "other"
    return "other"


def _set_motor(actuator: mujoco.MjsActuator, kind: str, adapted: Adapted, i: int) -> None:
    kp, kd, limit = (float(values[i]) for values in adapted.servos)
    if kind == "servo":
        actuator.gainprm[0], actuator.biasprm[1], actuator.biasprm[2] = kp, -kp, -kd
        actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
        actuator.inheritrange = 0.0
    else:
        full = float(adapted.value("torque_limit_nm")[i])
        actuator.gainprm[0] *= limit / full if full > 0 else 1.0
    reach = limit / abs(float(actuator.gear[0]))
    actuator.forcelimited, actuator.forcerange = mujoco.mjtLimited.mjLIMITED_TRUE, [-reach, reach]
    actuator.armature, actuator.damping = 0.0, [0.0, 0.0, 0.0]  # the joint has all of it
    actuator.delay, actuator.nsample = 0.0, 0


def _add_servo(spec: mujoco.MjSpec, adapted: Adapted, i: int) -> None:
    name, gain = adapted.robot.contract.joints[i], adapted.model.actuator_gainprm[i]
    kp, kd, limit = (float(values[i]) for values in adapted.servos)
    taken = spec.actuator(name) is not None
    motor = spec.add_actuator(
        name=f"surefoot_{name}" if taken else name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT
    )
    for field, value in PLAIN.items():  # not what the model's <default> says
        setattr(motor, field, value)
    if adapted.worlds.scene.torque_speed:
        motor.set_to_dcmotor(
            motorconst=[1.0, 1.0],
            resistance=gain[DC_RESISTANCE],
            ctrlspec=int(mujoco.mjtCtrlInput.mjINPUT_POS),
            controller=[gain[DC_KP], 0.0, gain[DC_KD], 0.0, 0.0, gain[DC_VOLTAGE]],
        )
    else:
        motor.set_to_position(kp=kp, kv=kd)
    motor.ctrllimited = mujoco.mjtLimited.mjLIMITED_FALSE
    motor.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
    motor.forcerange = [-limit, limit]


PLAIN: dict[str, object] = {
    "gear": [1.0, 0, 0, 0, 0, 0],
    "armature": 0.0,
    "damping": [0.0, 0.0, 0.0],
    "delay": 0.0,
    "nsample": 0,
    "inheritrange": 0.0,
    "actlimited": mujoco.mjtLimited.mjLIMITED_FALSE,
}


def _set_floor(spec: mujoco.MjSpec, adapted: Adapted) -> bool:
    """Give the model's own floor the friction and the priority of the fitted one; False where it has none."""
    grounds = [geom for geom in spec.worldbody.geoms if geom.type in GROUND]
    floor = adapted.model.geom(FLOOR)
    names = {ground.name for ground in grounds if ground.name}
    for ground in grounds:
        ground.friction[0], ground.priority = floor.friction[0], int(floor.priority[0])
        ground.condim, ground.solref, ground.solimp = int(floor.condim[0]), floor.solref, floor.solimp
    for pair in spec.pairs:
        if names & {pair.geomname1, pair.geomname2}:
            pair.friction[:2] = floor.friction[0]
    return bool(grounds)


def _set_files(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Name meshes, height fields, skins and textures by their whole path: saving opens some of them."""
    root = robot.model_path.resolve().parent
    places = (root / (spec.meshdir or ""), root / (spec.texturedir or ""), root)

    def whole(name: str) -> str:
        name = Path(name).name if spec.strippath else name
        file = next((place / name for place in places if (place / name).is_file()), None)
        if file is None:
            raise FitError(
                f"{robot.model_path} names the file {name}, which is not found beside it; put it there, or the exported"
                " model could not find it either"
            )
        return file.as_posix()

    for asset in (*spec.meshes, *spec.hfields, *spec.skins, *spec.textures):
        if asset.file:
            asset.file = whole(asset.file)
    for texture in spec.textures:
        texture.cubefiles = [whole(name) if name else "" for name in texture.cubefiles]
    spec.meshdir = spec.texturedir = ""
    spec.strippath = False


def _relative_files(text: str, folder: Path) -> str:
    """The same model with files named relative to the folder of the new one, so that both can move together."""
    root = ElementTree.fromstring(text, ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True)))
    named = [(e, key) for e in root.iter() if e.tag in ASSETS for key in e.keys() if key.startswith("file")]  # noqa: SIM118
    if not named:
        return text
    for element, key in named:
        try:
            element.set(key, Path(os.path.relpath(element.attrib[key], folder.resolve())).as_posix())
        except ValueError:  # Windows
            raise FitError(
                f"{element.attrib[key]} and {folder} are on different drives, so that no path leads from one to the"
                " other; choose another place",
                argument="out",
            ) from None
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _comment(adapted: Adapted, held: set[str], remarks: list[str], own: str) -> str:
    lines = [*origin(adapted), f"The time step is that of the fit, {float(adapted.model.opt.timestep)!r} s.", *remarks]
    missing = left_out(adapted, held)
    if "delay_s" in adapted.adaptation.settings:
        remarks_on_delay = (
            "MuJoCo's own delay starts with a buffer of zeros, which commands joints to 0 rad after each reset; delay"
            " the commands in your loop instead."
        )
        missing = [f"{line} ({remarks_on_delay})" if line.startswith("delay_s") else line for line in missing]
    if {"action_scale_rad", "action_offset_rad", "encoder_bias_rad"} & set(adapted.adaptation.settings):
        lines.append("A servo's target is pose + action_offset - encoder_bias + action_scale * action.")
    lines += (
        ["NOT in this file, and yours to add:", *(f"  {line}" for line in missing)]
        if missing
        else ["All settings are in this file."]
    )
    if any("--" in line for line in lines):
        lines.append("XML allows no double hyphen here: an option such as `- -out` is written with the two together.")
    if own and own.strip():
        lines += ["", "The original model says:", *(line.strip() for line in own.strip().splitlines())]
    safe = "\n       ".join(for_comment(line).rstrip() for line in lines)
    while "--" in safe:  # XML allows no double hyphen in a comment
        safe = safe.replace("--", "- -")
    return f" {safe} "


def _check(adapted: Adapted, path: Path) -> None:
    """Load the file as anyone would, and look whether every setting arrived."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, RuntimeError) as reason:
        raise FitError(f"the exported model does not load, so nothing was written: {one_line(reason)}") from None
    fields = [JOINT_FIELDS[name] for name in JOINT_FIELDS if name in adapted.adaptation.settings]
    fields += BODY_FIELDS if BODY & set(adapted.adaptation.settings) else ()
    for field in fields:
        wanted, got = getattr(adapted.model, field), getattr(model, field)
        if wanted.shape != got.shape or not np.allclose(wanted, got, rtol=1e-9, atol=1e-12):
            raise FitError(
                f"{field} of the exported model is not that of the adaptation, so nothing was written; a setting of the"
                " model's <compiler> changes it on loading"
            )
