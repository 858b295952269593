"""A starter `robot.yaml` from a model, and from what other frameworks wrote about the robot and its policy.

A line that ends in `# GUESS: why` holds a value that neither the model nor a file knows for sure: the policy that will
run, or the robot's data sheet, decides. `# from FILE: KEY` names the place of a value that a file holds. Without files,
only `model:` is certain.
"""

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.files import yaml_comment
from surefoot.robot.importing import Description, Imported, ModelJoints, resolve
from surefoot.robot.imu import imu_sites
from surefoot.robot.load import FREE, ONE_AXIS
from surefoot.robot.loops import follower_lines, loops_of
from surefoot.robot.mirror import Symmetry, find_symmetry
from surefoot.robot.missing import told
from surefoot.robot.model import compile_spec, load_spec
from surefoot.robot.model_files import elements
from surefoot.robot.stance import Guess, depth, guess_feet, guess_pose, posed
from surefoot.robot.starter_lines import FROM, MARK, aligned, imported_lines, mark_of, over, per_joint, word
from surefoot.text import for_comment

REACH_RAD = 1.0  # a servo reaches its torque limit at this error: 24 N·m -> kp 24, near what walking robots use
REACH_M = 0.1
BRAKE_S = 0.05  # kd is at most kp times this, or a leg's swing would be braked more than driven
SPEED_RAD_S = 20.0
OBSERVATION = ("gyro", "gravity", "command", "joint_position", "joint_velocity", "last_action")
ON_JOINT = (
    int(mujoco.mjtTrn.mjTRN_JOINT),
    int(mujoco.mjtTrn.mjTRN_JOINTINPARENT),
)  # an enum is not equal to NumPy's integer


def starter_yaml(model_path: Path, folder: Path | None = None, descriptions: Sequence[Description] = ()) -> str:
    """The text of a robot.yaml for a MJCF or URDF model, to lie in `folder` (beside the model if not given).

    What the descriptions hold takes the place of a guess.
    """
    return write_starter(model_path, folder, descriptions)[0]


def write_starter(
    model_path: Path, folder: Path | None, descriptions: Sequence[Description]
) -> tuple[str, tuple[str, ...]]:
    """The text of a robot.yaml, and sentences about what the descriptions say: contradictions, rounding, leftovers."""
    if not model_path.is_file():
        raise RobotError(
            f"the model {model_path} {'is not a file' if model_path.exists() else 'does not exist'}; give the path of"
            " an MJCF (.xml) or URDF (.urdf) file"
        )
    left_out: list[str] = []
    spec = load_spec(model_path, left_out)
    model = compile_spec(spec, model_path)
    base = _base(model, model_path)
    joints = _joints(model, base, model_path)
    imported = resolve(descriptions, model_joints(model, base, joints)) if descriptions else None
    if imported is not None:
        joints = [model.joint(name).id for name in imported.joints]
    names = {j: model.joint(j).name for j in joints}
    pose = over(guess_pose(model, base, joints), imported, "pose_rad", names)
    data = posed(model, base, {j: guess.value for j, guess in pose.items()})
    limits = over({j: _torque_limit(model, data, base, j) for j in joints}, imported, "torque_limit_nm", names)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    gains = {
        j: _gains(model, j, limits[j].value, float(mass[model.jnt_dofadr[j], model.jnt_dofadr[j]])) for j in joints
    }
    given = "" if spec.modelname in ("", "MuJoCo Model") else spec.modelname
    imu = [site for site in imu_sites(model, model.body(base).name) if "imu" in site.lower()]
    where = os.path.relpath(model_path, folder or model_path.parent)
    lines = [
        yaml_comment(
            f"A starter, written from {', '.join([model_path.name, *(d.source for d in descriptions)])}. Go through the"
            " lines marked GUESS, then run 'surefoot robot check' on this file."
        ),
        "# A value for each joint may also be one number for all, a list in policy order, or name patterns.",
        *([yaml_comment(told(left_out))] if left_out else []),
        (
            "name:"
            f" {word(given or model_path.stem)}{MARK}{'the name in the model' if given else 'the name of the model file'}"
        ),
        f"model: {word(where)}",
        f"base: {word(model.body(base).name)}{MARK}the body with the free joint",
        (
            f"imu: {word(imu[0])}{MARK}a site on the base, or fixed to it, with 'imu' in its name"
            if imu
            else (
                "# imu: SITE   the base has no site with 'imu' in its name; without this line the IMU is taken to sit"
                " in the base frame"
            )
        ),
        "",
        *_feet_lines(guess_feet(model, data, base)),
        "",
        *_joint_lines(model, base, names, imported),
        *_loop_lines(model, tuple(names.values()), data),
        *per_joint("pose_rad", names, pose),
        *per_joint(
            "kp_nm_per_rad", names, over({j: kp for j, (kp, _) in gains.items()}, imported, "kp_nm_per_rad", names)
        ),
        *per_joint(
            "kd_nms_per_rad", names, over({j: kd for j, (_, kd) in gains.items()}, imported, "kd_nms_per_rad", names)
        ),
        *per_joint("torque_limit_nm", names, limits),
        *per_joint(
            "velocity_limit_rad_s", names, over(_speeds(model_path, names), imported, "velocity_limit_rad_s", names)
        ),
        *_policy_lines(imported, {names[j]: guess.value for j, guess in pose.items()}),
        "",
        *_symmetry_lines(find_symmetry(model, base, joints)),
    ]
    return "\n".join(lines) + "\n", imported.remarks if imported else ()


def model_joints(model: mujoco.MjModel, base: int, joints: Sequence[int]) -> ModelJoints:
    """The joints of a robot in the orders that other frameworks go by."""
    depths = {joint: _depth(model, joint) for joint in joints}
    acted = [int(model.actuator_trnid[a][0]) for a in range(model.nu) if model.actuator_trntype[a] in ON_JOINT]
    return ModelJoints(
        names=tuple(model.joint(j).name for j in joints),
        actuators=tuple(dict.fromkeys(model.joint(j).name for j in acted if j in depths)),
        breadth_first=tuple(model.joint(j).name for j in sorted(joints, key=lambda j: depths[j])),
        everything=tuple(name for j in _mine(model, base) if (name := model.joint(j).name)),
    )


def guessed(text: str) -> list[tuple[str, str]]:
    """What to review in a starter: (key, reasons) for each top-level key that holds a guess."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in text.splitlines():
        if start := re.match(r"(\w+):", line):
            key = start.group(1)
        _, mark, why = line.partition(MARK)
        if mark and not line.startswith("#") and why not in found.setdefault(key, []):
            found[key].append(why)
    return [(key, " | ".join(reasons)) for key, reasons in found.items()]


def taken(text: str) -> list[tuple[str, list[str]]]:
    """What a starter took from files: (file, keys) for each of them."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in text.splitlines():
        if start := re.match(r"(\w+):", line):
            key = start.group(1)
        _, mark, where = line.partition(FROM)
        file = where.split(": ")[0]
        if mark and not line.startswith("#") and key not in found.setdefault(file, []):
            found[file].append(key)
    return list(found.items())


def _base(model: mujoco.MjModel, path: Path) -> int:
    """The body with a free joint; of several, the heaviest (the others are things in the scene)."""
    bodies = [int(model.jnt_bodyid[j]) for j in range(model.njnt) if model.jnt_type[j] == FREE]
    if not bodies:
        raise RobotError(
            f"{path}: no body has a free joint, so the robot cannot move away; add <freejoint/> to its base body"
        )
    base = max(bodies, key=lambda body: model.body_subtreemass[body])
    if not model.body(base).name:
        raise RobotError(f"{path}: the body with the free joint has no name; give it one, such as <body name='base'>")
    return base


def _mine(model: mujoco.MjModel, base: int) -> list[int]:
    """Hinge and slide joints of the robot, in the model's order."""
    return [
        j for j in range(model.njnt) if model.body_rootid[model.jnt_bodyid[j]] == base and model.jnt_type[j] in ONE_AXIS
    ]


def _driven(model: mujoco.MjModel, base: int) -> list[int]:
    """Those that an actuator of the model acts on, itself or through a tendon that joins joints."""
    pulled = _pulled(model)
    return [j for j in _mine(model, base) if _actuators(model, j) or j in pulled]


def _pulled(model: mujoco.MjModel) -> dict[int, str]:
    """Joints in fixed tendons that an actuator pulls, with the tendon's name."""
    found: dict[int, str] = {}
    for a in range(model.nu):
        if model.actuator_trntype[a] == int(mujoco.mjtTrn.mjTRN_TENDON):
            tendon = int(model.actuator_trnid[a][0])
            first = int(model.tendon_adr[tendon])
            for w in range(first, first + int(model.tendon_num[tendon])):
                if model.wrap_type[w] == int(mujoco.mjtWrap.mjWRAP_JOINT):
                    found[int(model.wrap_objid[w])] = model.tendon(tendon).name
    return found


def _joints(model: mujoco.MjModel, base: int, path: Path) -> list[int]:
    named = [j for j in _driven(model, base) or _mine(model, base) if model.joint(j).name]
    if not named:
        raise RobotError(
            f"{path}: the robot has no hinge or slide joint with a name; give each joint that a motor drives a name"
        )
    return named


def _order(model: mujoco.MjModel, base: int) -> str:
    pulled = [j for j in _pulled(model) if not _actuators(model, j)]
    if pulled:
        names = ", ".join(model.joint(j).name for j in pulled)
        return (
            f"the joints with an actuator, in the model's order; {for_comment(names)} are pulled by tendons, and get a"
            " motor each"
        )
    return (
        "the joints with an actuator, in the model's order"
        if _driven(model, base)
        else "all joints, in the model's order"
    )


def _depth(model: mujoco.MjModel, joint: int) -> int:
    """How many joints lie between a joint and the base, itself included."""
    count, body = 0, int(model.jnt_bodyid[joint])
    while body:
        first, number = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        count += sum(model.jnt_type[j] in ONE_AXIS for j in range(first, first + number))
        body = int(model.body_parentid[body])
    return count


def _joint_lines(model: mujoco.MjModel, base: int, names: dict[int, str], imported: Imported | None) -> list[str]:
    listed = [f"  - {word(name)}" for name in names.values()]
    if imported is None:
        return [f"joints:{MARK}{_order(model, base)}; put them in the order of the policy's actions", *listed]
    order = imported.order
    text = "; ".join(filter(None, (order.source, order.remark)))
    lines = [f"joints:{mark_of(order.guess)}{for_comment(text)}", *listed]
    if imported.driven == imported.joints:
        return lines
    driven = ", ".join(word(name) for name in imported.driven)
    return [*lines, f"driven: [{driven}]  # the rest is held in the default pose"]


def _policy_lines(imported: Imported | None, pose: dict[str, float]) -> list[str]:
    """Action, rates, commands and observation: what files say, and a common choice for what they do not."""
    held = imported_lines(imported, pose) if imported else {}
    usual = {
        "action_scale_rad": [
            f"action_scale_rad: 0.25{MARK}a common choice; it must be the one that the policy was trained with"
        ],
        "control_hz": [f"control_hz: 50{MARK}a common choice; it must be the one that the policy was trained with"],
        "physics_hz": [f"physics_hz: {_physics_hz(imported):g}{MARK}a common choice; a multiple of control_hz"],
        "observation": [
            f"observation:{MARK}a common layout; order and scale ('{{name: gyro, scale: 0.25}}') must be those of the policy",
            *(f"  - {term}" for term in OBSERVATION),
        ],
    }
    if "inputs" in held:
        usual["observation"] = []
    blocks = [
        ("action_kind", "action_scale_rad", "action_offset", "action_clip", "target_clip"),
        ("control_hz", "physics_hz"),
        ("command_range", "command_default"),
        ("observation", "inputs", "observation_frames", "observation_clip", "observation_normalizer"),
        ("output", "state", "estimators"),
    ]
    lines: list[str] = []
    for block in blocks:
        found = [line for key in block for line in held.get(key, usual.get(key, []))]
        lines += [*([""] if lines and found else []), *found]
    return lines


def _physics_hz(imported: Imported | None) -> float:
    """About 500 Hz, in whole steps of the control rate where a file gives that."""
    control = imported.whole.get("control_hz") if imported else None
    return 500.0 if control is None else float(control.value * math.ceil(500.0 / control.value))


def _loop_lines(model: mujoco.MjModel, joints: tuple[str, ...], data: mujoco.MjData) -> list[str]:
    """Which joints follow the motors through loops, for a policy that may command either."""
    loops = loops_of(model, joints)
    followers = () if loops is None else loops.followers(joints, data.qpos.copy())
    if not followers:
        return []
    return [
        "# Loops of the model move these with the joints above (motor space -> joint space, rad per rad in this pose):",
        *(yaml_comment(f"  {line}") for line in follower_lines(followers)),
        "# If your policy commands joints that follow, name those in 'joints', and leave their motors out.",
    ]


def _torque_limit(model: mujoco.MjModel, data: mujoco.MjData, base: int, joint: int) -> Guess:
    """The smallest limit that the model gives, or what carries half the robot on a bent leg."""
    found = []
    for a in _actuators(model, joint):
        gear = abs(float(model.actuator_gear[a][0]))
        if model.actuator_forcelimited[a]:
            found.append(
                Guess(gear * float(np.abs(model.actuator_forcerange[a]).max()), "forcerange of the model's actuator")
            )
        if model.actuator_ctrllimited[a] and model.actuator_biastype[a] == mujoco.mjtBias.mjBIAS_NONE:
            gain = gear * abs(float(model.actuator_gainprm[a][0]))
            found.append(
                Guess(gain * float(np.abs(model.actuator_ctrlrange[a]).max()), "ctrlrange of the model's motor")
            )
    if model.jnt_actfrclimited[joint]:
        found.append(
            Guess(
                float(np.abs(model.jnt_actfrcrange[joint]).max()), "the joint's effort (actuatorfrcrange) in the model"
            )
        )
    found = [guess for guess in found if math.isfinite(guess.value) and guess.value > 0]
    if found:
        return min(found, key=lambda guess: guess.value)
    weight = float(model.body_subtreemass[base]) * 9.81
    height = max(-min(depth(model, data, base).values(), default=0.0), 0.05)
    return Guess(
        _three_digits(weight * height / 2),
        f"the model gives none; weight {weight:.3g} N × standing height {height:.3g} m / 2",
    )


def _gains(model: mujoco.MjModel, joint: int, limit: float, inertia: float) -> tuple[Guess, Guess]:
    """kp and kd: those of the model's position actuator, or from the torque limit and the inertia that the
    joint turns.
    """
    hinge = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE
    kp = Guess(
        _three_digits(limit / (REACH_RAD if hinge else REACH_M)), f"torque limit / {'1 rad' if hinge else '0.1 m'}"
    )
    for a in _actuators(model, joint):
        gear, bias = float(model.actuator_gear[a][0]), model.actuator_biasprm[a]
        if model.actuator_biastype[a] != mujoco.mjtBias.mjBIAS_AFFINE or bias[1] >= 0:
            continue
        kp = Guess(-float(bias[1]) * gear**2, "kp of the model's position actuator")
        if bias[2] < 0:
            return kp, Guess(-float(bias[2]) * gear**2, "kv of the model's position actuator")
        damping = float(np.ravel(model.dof_damping[model.jnt_dofadr[joint]])[0])
        if damping > 0:
            return kp, Guess(
                0.0,
                f"the model's position actuator has none; the joint's own damping of {damping:g} stays in the model",
            )
    critical = 2 * math.sqrt(kp.value * max(inertia, 0.0))  # kd of damping ratio 1 for kp and inertia
    if critical <= BRAKE_S * kp.value:
        return kp, Guess(_three_digits(critical), "damping ratio 1 for the inertia that the joint turns")
    return kp, Guess(
        _three_digits(BRAKE_S * kp.value), f"kp × {BRAKE_S:g} s, less than damping ratio 1 needs, for a leg that swings"
    )


def _actuators(model: mujoco.MjModel, joint: int) -> list[int]:
    return [a for a in range(model.nu) if model.actuator_trntype[a] in ON_JOINT and model.actuator_trnid[a][0] == joint]


def _speeds(model_path: Path, names: dict[int, str]) -> dict[int, Guess]:
    """Speed limits of a URDF's <limit velocity='...'/>; MJCF has no such figure."""
    given: dict[str, float] = {}
    if model_path.suffix.lower() == ".urdf":
        root = elements(model_path)
        for element in () if root is None else root.iter("joint"):
            limit = element.find("limit")
            try:
                given[element.get("name", "")] = float(limit.get("velocity", "nan")) if limit is not None else math.nan
            except ValueError:
                continue
    default = Guess(SPEED_RAD_S, "the model gives none; see the motor's data sheet")
    return {
        joint: (
            Guess(given[name], "velocity in the URDF")
            if math.isfinite(given.get(name, math.nan)) and given[name] > 0
            else default
        )
        for joint, name in names.items()
    }


def _feet_lines(feet: Sequence[tuple[str, str]]) -> list[str]:
    if not feet:
        return [
            f"feet: []{MARK}no colliding shape at the end of a leg comes near the floor; name the geoms or bodies that"
            " touch it"
        ]
    return ["feet:", *aligned([(f"  - {word(name)}", why) for name, why in feet])]


def _symmetry_lines(symmetry: Symmetry | str) -> list[str]:
    if isinstance(symmetry, str):
        return [yaml_comment(f"symmetry:   left out, because {symmetry}")]
    swap = ", ".join(f"{word(left)}: {word(right)}" for left, right in symmetry.swap.items())
    return [
        "symmetry:",
        f"  swap: {{{swap}}}{MARK}left and right names come in pairs",
        (
            f"  flip: [{', '.join(word(name) for name in symmetry.flip)}]{MARK}joints whose axis turns its sense in a"
            " mirror, y being left"
        ),
    ]


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")
