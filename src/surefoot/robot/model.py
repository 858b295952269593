"""A user's MJCF or URDF as a MuJoCo spec that is ready for a scene: floating base, no actuators, no floor.

Actuators are taken out because gains, limits and delays belong to `robot.yaml`: one place, read by all.
"""

import ctypes
import math
import re
import warnings
from pathlib import Path

import mujoco
import numpy as np

from surefoot.errors import RobotError
from surefoot.files import sha256
from surefoot.robot.missing import leave_out_missing
from surefoot.robot.model_files import files_of, package_path, refuse_compiled, refuse_model
from surefoot.watchdog import watched

GROUND = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
INHERITED = {
    "geom": (
        "contype",
        "conaffinity",
        "condim",
        "priority",
        "friction",
        "solmix",
        "solref",
        "solimp",
        "margin",
        "gap",
        "adhesion",
        "group",
        "rgba",
        "material",
        "density",
        "fluid_ellipsoid",
        "surfacevel",
    ),
    "actuator": (
        "gear",
        "ctrllimited",
        "ctrlrange",
        "forcelimited",
        "forcerange",
        "actlimited",
        "actrange",
        "gaintype",
        "gainprm",
        "biastype",
        "biasprm",
        "dyntype",
        "dynprm",
        "actdim",
        "actearly",
        "armature",
        "damping",
        "delay",
        "nsample",
        "interp",
        "cranklength",
        "lengthrange",
        "inheritrange",
        "velrange",
        "ffrange",
        "group",
    ),
}


def silence_engine_log() -> None:
    """Keep MuJoCo from writing MUJOCO_LOG.TXT into the user's folder and warnings over the screen.

    What is wrong with a model, or becomes unstable, is found and reported by our own checks. The callback runs
    on the engine's threads and must be a C function: strlen takes the message and does nothing with it.
    """
    if mujoco.get_mju_user_warning() is None:  # a callback of the user's own stays
        mujoco.set_mju_user_warning(ctypes.CDLL(None).strlen)


def load_spec(path: Path, left_out: list[str] | None = None) -> mujoco.MjSpec:
    """Parse a model file; a URDF gets a free base and the integrator that suits stiff joints.

    Files that are missing and only seen are left out, and named in `left_out`.
    """
    if not path.is_file():
        raise RobotError(
            f"the model {path} {'is not a file' if path.exists() else 'does not exist'}; 'model:' in robot.yaml is"
            " relative to the folder of robot.yaml"
        )
    silence_engine_log()
    refuse_model(path)
    try:
        with watched(f"reading the model {path}"):
            spec = mujoco.MjSpec.from_file(str(path))
    except (ValueError, RuntimeError) as reason:
        raise RobotError(_explain(str(reason), path)) from None
    if path.suffix.lower() == ".urdf":
        for mesh in spec.meshes:
            mesh.file = package_path(mesh.file, path.parent)
        root = spec.worldbody.first_body()
        if root is not None and not any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in root.joints):
            root.add_freejoint()
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    _open_to_floor(spec)
    without = leave_out_missing(spec, path)
    if left_out is not None:
        left_out += without
    return spec


def bare_spec(path: Path, left_out: list[str] | None = None) -> mujoco.MjSpec:
    """The robot alone: without actuators, sensors, keyframes, and the planes of a demonstration scene."""
    spec = load_spec(path, left_out)
    for element in [*spec.actuators, *spec.sensors, *spec.keys]:
        spec.delete(element)
    planes = [geom for geom in spec.worldbody.geoms if geom.type in GROUND]
    names = {geom.name for geom in planes if geom.name}
    for pair in [pair for pair in spec.pairs if names & {pair.geomname1, pair.geomname2}]:
        spec.delete(pair)
    for geom in planes:
        spec.delete(geom)
    spec.option.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)  # a batch of worlds cannot put one to sleep
    for joint in spec.joints:
        joint.actfrclimited = mujoco.mjtLimited.mjLIMITED_FALSE  # the contract's torque limit governs
    _forget_defaults(spec)
    return spec


def compile_spec(spec: mujoco.MjSpec, path: Path) -> mujoco.MjModel:
    """Compile, with MuJoCo's complaint turned into a sentence."""
    try:
        with watched(f"compiling the model {path}"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model = spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as reason:
        raise RobotError(_explain(str(reason), path)) from None
    for warning in warned:  # MuJoCo's own, about what it would simulate all the same
        if "singular" in str(warning.message):
            raise RobotError(
                f"{path} has bodies whose inertia makes no sense: {' '.join(str(warning.message).split())}"
            )
    refuse_compiled(model, path)
    return model


def content_hash(path: Path) -> str:
    """Hash of the bytes of the model and all its files, independent of where they lie and of MuJoCo's version."""
    return sha256(*(file.read_bytes() for file in files_of(path)))


def lowest_point(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    """Height of the lowest point of a geom above the world's origin, m; kinematics must be current."""
    centre = data.geom_xpos[geom]
    down = data.geom_xmat[geom].reshape(3, 3)[2]  # world z in the geom's own axes
    size = model.geom_size[geom]
    kind = mujoco.mjtGeom(model.geom_type[geom])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        reach = size[0]
    elif kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        reach = size[0] + abs(down[2]) * size[1]
    elif kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        reach = size[0] * math.hypot(down[0], down[1]) + abs(down[2]) * size[1]
    elif kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        reach = float(np.linalg.norm(down * size))
    elif kind == mujoco.mjtGeom.mjGEOM_BOX:
        reach = float(np.abs(down) @ size)
    elif kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        start, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        reach = -float((model.mesh_vert[start : start + count] @ down).min())
    else:
        reach = model.geom_rbound[geom]
    return float(centre[2] - reach)


def _open_to_floor(spec: mujoco.MjSpec) -> None:
    """Let shapes that meet the floor of a scene through <pair> alone meet any floor.

    Models for accelerators list their contacts one by one, often with a floor that is in another file; such a pair goes.
    """
    shapes = {geom.name: geom for geom in spec.geoms if geom.name}
    ground = {geom.name for geom in spec.worldbody.geoms if geom.name and geom.type in GROUND}
    for pair in list(spec.pairs):
        names = (pair.geomname1, pair.geomname2)
        met = [name for name in names if name in shapes and name not in ground]
        if len(met) == 1:
            shape = shapes[met[0]]
            if not shape.contype and not shape.conaffinity:
                shape.conaffinity = 1
        if any(name not in shapes for name in names):
            spec.delete(pair)


def _forget_defaults(spec: mujoco.MjSpec) -> None:
    """Keep the model's <default> from shapes and motors that are added later; a gear of 150 there would
    multiply every torque.

    What the model itself holds took its defaults when it was read.
    """
    plain = mujoco.MjSpec()  # must outlive the views below
    for kind, fields in INHERITED.items():
        for field in fields:
            setattr(getattr(spec.default, kind), field, getattr(getattr(plain.default, kind), field))


def _explain(reason: str, path: Path) -> str:
    """MuJoCo's message as one sentence with the way out, where we know it."""
    flat = " ".join(reason.split())
    if found := re.search(r"Error opening file '([^']*)'", flat):
        return (
            f"{path} needs the file {found.group(1)}, which is not there; put it beside the model, or remove the mesh"
            " from the model"
        )
    if found := re.search(r"repeated name '([^']*)' in (\w+)", flat):
        return f"{path} names the {found.group(2)} {found.group(1)!r} twice; give each {found.group(2)} its own name"
    if found := re.search(r"invalid header in STL file '([^']*)'", flat):
        return (
            f"{path} needs the mesh {found.group(1)}, which is not a binary STL file; save it as binary STL or as OBJ"
        )
    if "could not find decoder" in flat:
        return f"{path} is not a model: it must be an MJCF (.xml) or URDF (.urdf) file"
    return f"{path} is not a model that MuJoCo can load: {flat}"
