"""The files of a model, and what they may ask for, looked at before MuJoCo reads them.

A line such as <replicate count="2000000000"> keeps MuJoCo's parser busy until the memory is full, a FIFO named as a mesh
blocks it for ever, and a model that names itself as a part overflows its stack. Robots have some hundred bodies; the
limits are far above that. One pass of expat over each XML file counts and collects, without building a tree.
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
MOST_OF_A_KIND = (
    10_000  # geoms, sites, ...: MuJoCo reads them in the square of their number, 0.3 s here and 5 s for 40,000
)
MOST_NESTED_FILES = 20  # a file that includes a file that includes ...
MOST_BODIES = 2_000
MOST_DOFS = 1_000
MOST_CELLS = 25_000_000  # of a height field or a texture
MOST_ARENA_BYTES = 1_000_000_000  # of one world's scratch memory
MOST_GRAVITY_M_S2 = 100.0
MOST_ITERATIONS = 1_000  # of any solver; MuJoCo's own are 100 and less, and 2,000,000,000 never come back
SOLVERS = ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints")
MEDIUM = {
    "wind": (-100.0, 100.0, "m/s"),  # a hurricane has 70
    "density": (0.0, 10_000.0, "kg/m³"),  # air 1.2, water 1,000
    "viscosity": (0.0, 1_000.0, "Pa s"),  # water 0.001, honey 10
}
FILE_KEYS = ("file", "filename", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")
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
        self.kinds: dict[str, float] = {}  # how many of each tag
        self.copies = [1.0]  # of each open element

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.copies.append(self.copies[-1] * (max(1.0, _product(attributes, ("count",))) if tag in COPIED else 1.0))
        self.elements += self.copies[-1]
        if self.elements > MOST_ELEMENTS:
            raise RobotError(
                f"{self.path} has more than {MOST_ELEMENTS:,} elements, copies included; remove what is not the robot"
            )
        self.kinds[tag] = self.kinds.get(tag, 0.0) + self.copies[-1]
        if self.kinds[tag] > MOST_OF_A_KIND and tag not in ("body", "link"):
            raise RobotError(
                f"{self.path} has more than {MOST_OF_A_KIND:,} {shown(tag)} elements, copies included; remove what is"
                " not the robot"
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
        self.files += [(name, tag in ("include", "model")) for key in FILE_KEYS if (name := attributes.get(key))]

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


def part_folders(path: Path) -> list[Path]:
    """Every folder in which MuJoCo may look for a file that the model or one of its parts names."""
    root = path.resolve().parent
    folders = [root]
    for file in _checked(path):
        scan = _scan(file) if file.suffix.lower() in XML_ENDINGS and file.is_file() else None
        if scan is not None:
            folders += [file.parent, *(place / folder for folder in scan.folders for place in (root, file.parent))]
    return list(dict.fromkeys(folders))


def package_path(name: str, folder: Path) -> str:
    """Turn the 'package://name/path' of a URDF into a path beside the file or in a folder above it.

    'model://' is Gazebo's word for the same. 'file://' and a whole path are of the machine that wrote the file: where
    they lead nowhere, their ends are looked for in the same places.
    """
    named = re.match(r"(?:package|model):/+([^/]+)/(.*)", name)
    if not named:
        return _elsewhere(re.sub(r"^file:/+", "/", name), folder)
    package, rest = named.groups()
    for place in (folder, *folder.parents):
        for candidate in (place / package / rest, place / rest):
            if candidate.is_file():
                return str(candidate)
        if place.name == package and (place / rest).is_file():
            return str(place / rest)
    return str(folder / rest)


def _elsewhere(name: str, folder: Path) -> str:
    """A whole path that leads nowhere as the longest end of it that there is beside the model or above."""
    if not name.startswith("/") or _there(Path(name)):
        return name
    parts = Path(name).parts[1:]
    for first in range(len(parts) - 1):  # two parts at least: a lone name may be another file
        for place in (folder, *folder.parents):
            candidate = place.joinpath(*parts[first:])
            if _there(candidate) and candidate.is_file():
                return str(candidate)
    return name


def refuse_model(path: Path) -> None:
    """Refuse a model that asks for too much, and one that names something that is no ordinary file."""
    for file in _checked(path):
        note_input(file)


def _checked(path: Path) -> tuple[Path, ...]:
    status = path.stat()
    return _checked_files(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _checked_files(path: Path, changed: int, size: int) -> tuple[Path, ...]:
    del changed, size  # of the cache's key: a model is looked at again when it has changed
    return tuple(_named(path))


def refuse_compiled(model: mujoco.MjModel, path: Path) -> None:
    """Refuse what became too large, or whose world is none that a robot walks in."""
    for what, count, most in (
        ("bodies", model.nbody, MOST_BODIES),
        ("degrees of freedom", model.nv, MOST_DOFS),
        ("geoms", model.ngeom, MOST_OF_A_KIND),
        ("sites", model.nsite, MOST_OF_A_KIND),
    ):
        if count > most:
            raise RobotError(f"{path} has {count:,} {what}; the limit is {most:,}: remove what is not the robot")
    if model.narena > MOST_ARENA_BYTES:
        raise RobotError(
            f"{path} asks for {model.narena / 1e9:.2g} GB of memory for one world; lower <size memory=.../>"
        )
    _refuse_options(model.opt, path)


def _refuse_options(options: mujoco.MjOption, path: Path) -> None:
    """Refuse solvers that never end, and a world that is not of this earth."""
    for name in SOLVERS:
        count = int(getattr(options, name))
        if not 0 <= count <= MOST_ITERATIONS:
            raise RobotError(
                f"{path} asks for {name}={count} in <option>; it must be between 0 and {MOST_ITERATIONS:,}"
            )
    across_m_s2, down_m_s2 = float(np.hypot(*options.gravity[:2])), -float(options.gravity[2])
    # a floor that is tilted by turning gravity stays possible, up to 45 degrees
    if not across_m_s2 <= down_m_s2 <= MOST_GRAVITY_M_S2 or down_m_s2 == 0:
        raise RobotError(
            f"{path} has the gravity {_words(options.gravity)}; it must point down, such as 0 0 -9.81, with at most"
            f" {MOST_GRAVITY_M_S2:g} m/s²"
        )
    for name, (low, high, unit) in MEDIUM.items():
        values = np.atleast_1d(getattr(options, name))
        if not ((low <= values) & (values <= high)).all():  # NaN is not either
            raise RobotError(
                f"{path} has the {name} {_words(values)} in <option>; it must be between {low:g} and {high:g} {unit}"
            )


def _words(values: np.ndarray) -> str:
    return " ".join(f"{value:g}" for value in values)


def _named(path: Path) -> Iterator[Path]:
    """The model and the files it names, each once, checked as they come; a file that is missing is left to
    MuJoCo to name.
    """
    root, count = path.resolve().parent, 0
    seen: set[Path] = set()
    scans: dict[Path, _XmlScan] = {}
    parts: dict[Path, list[Path]] = {}  # of each XML file, those that are XML
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
        scans[file] = scan
        folders = [root, file.parent, *(root / folder for folder in scan.folders)]
        for name, includes in scan.files:
            name = package_path(name, root)
            named = [((folder / name).resolve(), includes) for folder in folders if _there(folder / name)][:1]
            parts.setdefault(file, []).extend(part for part, is_part in named if is_part)
            queue += named
    _refuse_nesting(path, parts)
    _refuse_odd(root, scans)


def _refuse_nesting(path: Path, parts: dict[Path, list[Path]]) -> None:
    """Refuse files that name each other in a circle, or too deep: MuJoCo follows them until its stack is full."""
    trail: list[Path] = []  # from the model to where the walk is
    depths: dict[Path, int] = {}  # levels below each file that the walk has left

    def levels(file: Path) -> int:
        if file in trail:
            raise RobotError(
                f"{path}: {file.name} is a part of itself, through {' -> '.join(step.name for step in trail)} ->"
                f" {file.name}; remove one of these from the models and includes"
            )
        if file not in depths:
            trail.append(file)
            depths[file] = 0
            if len(trail) <= MOST_NESTED_FILES:
                depths[file] = 1 + max((levels(part) for part in parts.get(file, ())), default=0)
            trail.pop()
        if len(trail) + depths[file] > MOST_NESTED_FILES or not depths[file]:
            raise RobotError(
                f"{path} is nested more than {MOST_NESTED_FILES} files deep, at {file.name}; put its parts into fewer"
                " files"
            )
        return depths[file]

    levels(path.resolve())


def _refuse_odd(root: Path, scans: dict[Path, _XmlScan]) -> None:
    """Refuse FIFOs and devices wherever MuJoCo may look for a file: a folder that one XML file names holds for all."""
    folders = {root, *(file.parent for file in scans)}
    folders |= {root / folder for scan in scans.values() for folder in scan.folders}
    for name in {package_path(name, root) for scan in scans.values() for name, _ in scan.files}:
        for folder in folders:
            place = folder / name
            if _there(place) and not place.is_file() and not place.is_dir():
                check_input(place, RobotError, "a part of the model", note=False)


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
