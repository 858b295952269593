"""Files that a model names and that cannot be had: what is only seen is left out, what matters is refused.

Makers' models are copied without their meshes, because these are large, or with meshes in a format that MuJoCo does not
read. A mesh that nothing collides with, and that no mass comes from, changes no result.
"""

from collections.abc import Iterable
from pathlib import Path

import mujoco

from surefoot.errors import RobotError, shown
from surefoot.robot.model_files import part_folders

FOREIGN = (
    ".dae",
    ".glb",
    ".gltf",
    ".ply",
    ".fbx",
    ".3ds",
    ".step",
    ".stp",
    ".iges",
    ".igs",
)  # MuJoCo reads none of them


def leave_out_missing(spec: mujoco.MjSpec, path: Path) -> list[str]:
    """Take files that cannot be had out of a spec, with the shapes that need them; their names as the model has them.

    A shape that collides, or that gives a body its mass, cannot be left out: then the model is refused.
    """
    root = path.resolve().parent
    usual = (root / (spec.meshdir or ""), root / (spec.texturedir or ""), root)

    def missing(name: str) -> bool:
        name = Path(name).name if spec.strippath else name
        if not name or any(_is_file(folder / name) for folder in usual):
            return False
        return not any(_is_file(folder / name) for folder in part_folders(path))

    left_out = []
    for mesh in [mesh for mesh in spec.meshes if missing(mesh.file) or mesh.file.lower().endswith(FOREIGN)]:
        shapes = [geom for geom in spec.geoms if geom.meshname == mesh.name]
        _refuse_needed(spec, path, mesh.file, shapes)
        left_out.append(mesh.file)
        _delete(spec, [*shapes, mesh])
    for skin in [skin for skin in spec.skins if missing(skin.file)]:
        left_out.append(skin.file)
        _delete(spec, [skin])
    for field in [field for field in spec.hfields if missing(field.file)]:
        ground = [geom for geom in spec.worldbody.geoms if geom.hfieldname == field.name]
        left_out.append(field.file)
        _delete(spec, [*ground, field])
    for texture in [one for one in spec.textures if any(map(missing, (one.file, *one.cubefiles)))]:
        left_out += [name for name in (texture.file, *texture.cubefiles) if missing(name)]
        for material in spec.materials:
            material.textures = ["" if name == texture.name else name for name in material.textures]
        _delete(spec, [texture])
    return list(dict.fromkeys(left_out))


def told(left_out: Iterable[str], most: int = 3) -> str:
    """What was left out, as a sentence; empty for nothing."""
    names = [name.replace("\\", "/").rsplit("/", 1)[-1] for name in left_out]
    if not names:
        return ""
    first = ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
    files = "1 file that is only seen was" if len(names) == 1 else f"{len(names)} files that are only seen were"
    return f"{files} missing or not readable, and left out: {first}"


def _refuse_needed(spec: mujoco.MjSpec, path: Path, file: str, shapes: list[mujoco.MjsGeom]) -> None:
    paired = {name for pair in spec.pairs for name in (pair.geomname1, pair.geomname2) if name}
    compiler = spec.compiler
    always = compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    never = compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    low, high = compiler.inertiagrouprange
    foreign = file.lower().endswith(FOREIGN)
    why = "which MuJoCo cannot read" if foreign else "which is not there"
    way_out = "convert it to OBJ or binary STL" if foreign else "put the file beside the model"
    for geom in shapes:
        body = shown(geom.parent.name)
        if geom.contype or geom.conaffinity or geom.name in paired:
            raise RobotError(
                f"{path} needs the mesh {file}, {why}, for a shape of {body} that collides; {way_out}, or give that"
                " shape a box, capsule or sphere instead"
            )
        counts = low <= geom.group <= high and geom.mass != 0 and geom.density != 0
        if counts and not never and (always or not geom.parent.explicitinertial):
            raise RobotError(
                f"{path} takes the mass of {body} from the mesh {file}, {why}; {way_out}, or give {body} an <inertial>"
            )


def _delete(spec: mujoco.MjSpec, elements: Iterable[object]) -> None:
    for element in elements:
        spec.delete(element)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False
