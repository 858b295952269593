"""The files of a model, and what they may ask for, looked at before MuJoCo reads them.

A line such as <replicate count="2000000000"> keeps MuJoCo's parser busy until the memory is full, and a FIFO named as a
mesh blocks it for ever. Robots have some hundred bodies; the limits are far above that. One pass of expat over each XML
file counts and collects, without building a tree.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

import mujoco
import numpy as np

from surefoot.errors import RobotError, shown
from surefoot.files import check_input, note_input
from surefoot.files.reading import MOST_BYTES

MOST_XML_BYTES = 50_000_000
MOST_FILES = 2_000
MOST_ELEMENTS = 50_000  # of one file, with its copies multiplied out
MOST_BODIES = 2_000
MOST_DOFS = 1_000
MOST_CELLS = 25_000_000  # of a height field or a texture
MOST_ARENA_BYTES = 1_000_000_000  # of one world's scratch memory
MOST_GRAVITY_M_S2 = 100.0
ASSET_TAGS = {"mesh", "hfield", "texture", "skin", "include", "model"}
FOLDER_KEYS = ("meshdir", "texturedir", "assetdir")
COPIED = ("replicate", "composite", "flexcomp")
XML_ENDINGS = (".xml", ".mjcf", ".urdf")
CELLS = {"hfield": ("nrow", "ncol"), "texture": ("width", "height")}


class _XmlScan:
    """What one XML file holds, as far as it matters before it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folders: list[str] = []  # named by <compiler>
        self.files: list[tuple[str, bool]] = []  # names, and whether each is XML to include
        self.elements, self.bodies = 0.0, 0.0
        self.copies = [1.0]  # of each open element

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.copies.append(self.copies[-1] * (max(1.0, _product(attributes, ("count",))) if tag in COPIED else 1.0))
        self.elements += self.copies[-1]
        if self.elements > MOST_ELEMENTS:
            raise RobotError(
                f"{self.path} has more than {MOST_ELEMENTS:,} elements, copies included; remove what is not the robot"
            )
        self.bodies += self.copies[-1] if tag in ("body", "link") else 0
        if self.bodies > MOST_BODIES:  # MuJoCo takes ten seconds over 20,000
            raise RobotError(
                f"{self.path} has more than {MOST_BODIES:,} bodies, copies included; remove what is not the robot"
            )
        if tag in CELLS and (cells := _product(attributes, CELLS[tag])) > MOST_CELLS:
            raise RobotError(
                f"{self.path}: the {tag} {shown(attributes.get('name', ''))} has {cells:.3g} cells; the limit is"
                f" {MOST_CELLS:.3g}"
            )
        if tag == "compiler":
            self.folders += [folder for key in FOLDER_KEYS if (folder := attributes.get(key))]
        name = attributes.get("file") or attributes.get("filename")
        if name and tag in ASSET_TAGS:
            self.files.append((name, tag in ("include", "model")))

    def end(self, tag: str) -> None:
        self.copies.pop()

    def doctype(self, *_: object) -> None:
        raise RobotError(f"{self.path} has a DOCTYPE, which no model needs; remove it")


def elements(path: Path) -> ElementTree.Element | None:
    """The root of a model that was loaded; None where Python cannot read what MuJoCo's own, laxer reader could."""
    try:
        return ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, LookupError, ValueError):  # LookupError: an encoding that nobody knows
        return None


def files_of(path: Path) -> list[Path]:
    """The model file and every file that it names (includes, meshes, textures), each once.

    The order is that of discovery: it does not depend on where the files lie.
    """
    return [file for file in _named(path) if file.is_file()]


def package_path(name: str, folder: Path) -> str:
    """Turn the 'package://name/path' of a URDF into a path beside the file or in a folder above it."""
    named = re.match(r"package:/+([^/]+)/(.*)", name)
    if not named:
        return name
    package, rest = named.groups()
    for place in (folder, *folder.parents):
        for candidate in (place / package / rest, place / rest):
            if candidate.is_file():
                return str(candidate)
        if place.name == package and (place / rest).is_file():
            return str(place / rest)
    return str(folder / rest)


def refuse_model(path: Path) -> None:
    """Refuse a model that asks for too much, and one that names something that is no ordinary file."""
    status = path.stat()
    for file in _checked_files(path, status.st_mtime_ns, status.st_size):
        note_input(file)


@lru_cache(maxsize=64)
def _checked_files(path: Path, changed: int, size: int) -> tuple[Path, ...]:
    del changed, size  # of the cache's key: a model is looked at again when it has changed
    return tuple(_named(path))


def refuse_compiled(model: mujoco.MjModel, path: Path) -> None:
    """Refuse what became too large, or whose world is none that a robot walks in."""
    for what, count, most in (("bodies", model.nbody, MOST_BODIES), ("degrees of freedom", model.nv, MOST_DOFS)):
        if count > most:
            raise RobotError(f"{path} has {count:,} {what}; the limit is {most:,}: remove what is not the robot")
    if model.narena > MOST_ARENA_BYTES:
        raise RobotError(
            f"{path} asks for {model.narena / 1e9:.2g} GB of memory for one world; lower <size memory=.../>"
        )
    gravity = model.opt.gravity
    if not np.isfinite(gravity).all() or not -MOST_GRAVITY_M_S2 <= gravity[2] < 0:
        given = " ".join(f"{value:g}" for value in gravity)
        raise RobotError(f"{path} has the gravity {given}; it must point down, such as 0 0 -9.81")


def _named(path: Path) -> Iterator[Path]:
    """The model and the files it names, each once, checked as they come; a file that is missing is left to
    MuJoCo to name.
    """
    root, count = path.resolve().parent, 0
    seen: set[Path] = set()
    queue: list[tuple[Path, bool]] = [(path.resolve(), True)]
    while queue:
        file, included = queue.pop()
        if file in seen:
            continue
        seen.add(file)
        count += 1
        if count > MOST_FILES:
            raise RobotError(f"{path} names more than {MOST_FILES:,} files; remove what is not the robot")
        is_xml = included or file.suffix.lower() in XML_ENDINGS
        check_input(file, RobotError, "a part of the model", MOST_XML_BYTES if is_xml else MOST_BYTES, note=False)
        yield file
        scan = _scan(file) if is_xml else None
        if scan is None:
            continue
        folders = [root, file.parent, *(root / folder for folder in scan.folders)]
        for name, includes in scan.files:
            name = package_path(name, root)
            queue += [((folder / name).resolve(), includes) for folder in folders if _there(folder / name)][:1]


def _scan(path: Path) -> _XmlScan | None:
    """None where expat cannot read what MuJoCo's own, laxer reader could."""
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        raise RobotError(f"{path} is not UTF-8 text, in which MuJoCo reads names; save it as UTF-8") from None
    scan, parser = _XmlScan(path), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler, parser.StartDoctypeDeclHandler = (
        scan.start,
        scan.end,
        scan.doctype,
    )
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError):
        if any(tag.encode() in content for tag in COPIED):
            raise RobotError(f"{path} is not well-formed XML, so its copies cannot be counted; correct it") from None
        return None
    return scan


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _product(attributes: dict[str, str], keys: tuple[str, ...]) -> float:
    total = 1.0
    for key in keys:
        for word in attributes.get(key, "1").split():
            try:
                total *= max(1.0, float(word))
            except ValueError:  # MuJoCo says what is wrong with it
                continue
    return total
