"""A starter `robot.yaml` from a model alone: what the model says is taken, the rest is guessed, and all of
it is marked.

A line that ends in `# GUESS: why` holds a value that the model cannot know for sure: the policy that will run,
or the robot's data sheet, decides. Only `model:` is certain.
"""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import yaml

from surefoot.errors import RobotError
from surefoot.files import yaml_comment
from surefoot.robot.load import FREE, ONE_AXIS
from surefoot.robot.mirror import Symmetry, find_symmetry
from surefoot.robot.model import compile_spec, load_spec
from surefoot.robot.model_files import elements
from surefoot.robot.stance import Guess, depth, guess_feet, guess_pose, posed
from surefoot.text import for_comment

REACH_RAD = 1.0  # a servo reaches its torque limit at this error: 24 N·m -> kp 24, near what walking robots use
REACH_M = 0.1
BRAKE_S = 0.05  # kd is at most kp times this, or a leg's swing would be braked more than driven
SPEED_RAD_S = 20.0
OBSERVATION = ("gyro", "gravity", "command", "joint_position", "joint_velocity", "last_action")
MARK = "  # GUESS: "
TRAINED_WITH = "a common choice; it must be the one that the policy was trained with"
ON_JOINT = (
    int(mujoco.mjtTrn.mjTRN_JOINT),
    int(mujoco.mjtTrn.mjTRN_JOINTINPARENT),
)  # an enum is not equal to NumPy's integer


Line = tuple[str, str]  # of YAML, and why it is guessed; empty where it is not


@dataclass(frozen=True)
class Starter:
    """A robot.yaml to begin with."""

    text: str
    guesses: tuple[tuple[str, str], ...]  # what to review: a key, and the reasons for what it holds


def starter_yaml(model_path: Path, folder: Path | None = None) -> str:
    """The text of a robot.yaml for a MJCF or URDF model, to lie in `folder` (beside the model if not given)."""
    return make_starter(model_path, folder).text


def make_starter(model_path: Path, folder: Path | None = None) -> Starter:
    """A robot.yaml for a MJCF or URDF model, to lie in `folder` (beside the model if not given), and its guesses."""
    if not model_path.is_file():
        raise RobotError(
            f"the model {model_path} {'is not a file' if model_path.exists() else 'does not exist'}; give the path of"
            " an MJCF (.xml) or URDF (.urdf) file"
        )
    parts = _parts(model_path, folder or model_path.parent)
    lines = [f"{text}{MARK}{why}" if why else text for _, part in parts for text, why in part]
    reasons = {key: " | ".join(dict.fromkeys(why for _, why in part if why)) for key, part in parts}
    return Starter("\n".join(lines) + "\n", tuple((key, why) for key, why in reasons.items() if why))


def _parts(model_path: Path, folder: Path) -> list[tuple[str, list[Line]]]:
    """The lines of each key, in their order; those without a key are comments and space."""
    spec = load_spec(model_path)
    model = compile_spec(spec, model_path)
    base = _base(model, model_path)
    joints = _joints(model, base, model_path)
    pose = guess_pose(model, base, joints)
    data = posed(model, base, {j: guess.value for j, guess in pose.items()})
    limits = {j: _torque_limit(model, data, base, j) for j in joints}
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    gains = {
        j: _gains(model, j, limits[j].value, float(mass[model.jnt_dofadr[j], model.jnt_dofadr[j]])) for j in joints
    }
    names = {j: model.joint(j).name for j in joints}
    space: tuple[str, list[Line]] = ("", [("", "")])
    per_joint = {
        "pose_rad": pose,
        "kp_nm_per_rad": {j: kp for j, (kp, _) in gains.items()},
        "kd_nms_per_rad": {j: kd for j, (_, kd) in gains.items()},
        "torque_limit_nm": limits,
        "velocity_limit_rad_s": _speeds(model_path, names),
    }
    order = f"{_order(model, base)}; put them in the order of the policy's actions"
    layout = "a common layout; order and scale ('{name: gyro, scale: 0.25}') must be those of the policy"
    return [
        *_head(spec, model, base, model_path, folder),
        space,
        ("feet", _feet_lines(guess_feet(model, data, base))),
        space,
        ("joints", [("joints:", order), *((f"  - {_word(name)}", "") for name in names.values())]),
        *((key, _per_joint(key, names, guesses)) for key, guesses in per_joint.items()),
        ("action_scale_rad", [("action_scale_rad: 0.25", TRAINED_WITH)]),
        space,
        ("control_hz", [("control_hz: 50", TRAINED_WITH)]),
        ("physics_hz", [("physics_hz: 500", "a common choice; a multiple of control_hz")]),
        space,
        ("observation", [("observation:", layout), *((f"  - {term}", "") for term in OBSERVATION)]),
        space,
        ("symmetry", _symmetry_lines(find_symmetry(model, base, joints))),
    ]


def _head(
    spec: mujoco.MjSpec, model: mujoco.MjModel, base: int, model_path: Path, folder: Path
) -> list[tuple[str, list[Line]]]:
    """What comes first: name, model, base and IMU."""
    given = "" if spec.modelname in ("", "MuJoCo Model") else spec.modelname
    sites = [s for s in range(model.nsite) if model.site_bodyid[s] == base and "imu" in model.site(s).name.lower()]
    about = [
        yaml_comment(
            f"A starter, written from {model_path.name}. Go through the lines marked GUESS, then run 'surefoot robot"
            " check' on this file."
        ),
        "# A value for each joint may also be one number for all, a list in policy order, or name patterns.",
    ]
    no_imu = (
        "# imu: SITE   the base has no site with 'imu' in its name; without this line the IMU is taken to sit in the"
        " base frame"
    )
    imu = (f"imu: {_word(model.site(sites[0]).name)}", "a site on the base with 'imu' in its name") if sites else None
    named = "the name in the model" if given else "the name of the model file"
    return [
        ("", [(line, "") for line in about]),
        ("name", [(f"name: {_word(given or model_path.stem)}", named)]),
        ("model", [(f"model: {_word(os.path.relpath(model_path, folder))}", "")]),
        ("base", [(f"base: {_word(model.body(base).name)}", "the body with the free joint")]),
        ("imu", [imu or (no_imu, "")]),
    ]


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
    """Those that an actuator of the model acts on."""
    return [j for j in _mine(model, base) if _actuators(model, j)]


def _joints(model: mujoco.MjModel, base: int, path: Path) -> list[int]:
    named = [j for j in _driven(model, base) or _mine(model, base) if model.joint(j).name]
    if not named:
        raise RobotError(
            f"{path}: the robot has no hinge or slide joint with a name; give each joint that a motor drives a name"
        )
    return named


def _order(model: mujoco.MjModel, base: int) -> str:
    return (
        "the joints with an actuator, in the model's order"
        if _driven(model, base)
        else "all joints, in the model's order"
    )


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


def _feet_lines(feet: Sequence[tuple[str, str]]) -> list[Line]:
    if not feet:
        why = "no colliding shape at the end of a leg comes near the floor; name the geoms or bodies that touch it"
        return [("feet: []", why)]
    return [("feet:", ""), *_aligned([(f"  - {_word(name)}", why) for name, why in feet])]


def _symmetry_lines(symmetry: Symmetry | str) -> list[Line]:
    if isinstance(symmetry, str):
        return [(yaml_comment(f"symmetry:   left out, because {symmetry}"), "")]
    swap = ", ".join(f"{_word(left)}: {_word(right)}" for left, right in symmetry.swap.items())
    flip = ", ".join(_word(name) for name in symmetry.flip)
    return [
        ("symmetry:", ""),
        (f"  swap: {{{swap}}}", "left and right names come in pairs"),
        (f"  flip: [{flip}]", "joints whose axis turns its sense in a mirror, y being left"),
    ]


def _per_joint(key: str, names: dict[int, str], guesses: dict[int, Guess]) -> list[Line]:
    """One joint a line, or one line where all are the same for the same reason."""
    first = next(iter(guesses.values()))
    if all(guess == first for guess in guesses.values()):
        return [(f"{key}: {first.value!r}", for_comment(first.why))]
    rows = [(f"  {_word(names[j])}: {guess.value!r}", guess.why) for j, guess in guesses.items()]
    return [(f"{key}:", ""), *_aligned(rows)]


def _aligned(rows: list[Line]) -> list[Line]:
    width = max(len(text) for text, _ in rows)
    return [(f"{text:<{width}}", for_comment(why)) for text, why in rows]


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def _word(text: str) -> str:
    """A string as YAML reads it back: plain where it can be, quoted where YAML would see something else."""
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", text) is not None and yaml.safe_load(text) == text
    return text if plain else yaml.safe_dump(text, default_style='"', width=math.inf).strip()
