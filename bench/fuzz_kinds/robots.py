"""robot.yaml, MJCF, URDF, virtual robots, priors and randomization tables."""

import copy
import xml.etree.ElementTree as ElementTree
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, numbers, texts
from surefoot.robot.load import shipped_robots

TESTS = Path(__file__).parent.parent.parent / "tests" / "robots"
GO2 = shipped_robots()[0]
HEXAPOD, BIPED = TESTS / "hexapod", TESTS / "biped"
TAGS = ("!!python/object/apply:os.system [id]", "!!binary x", "!!timestamp 2026-99-99", "!!set {a}", "!x y")
RECORD = ["record", "--rollouts", "1", "--seconds", "0.1", "--out", "out/log.parquet", "--threads", "1", "--twin"]
TWIN = {
    "robot": "go2",
    "armature_kgm2": {"FL_hip_joint": 0.0175, "*_calf_joint": 0.037},
    "dry_friction_nm": 0.3,
    "delay_s": 0.005,
    "torque_noise_nm": 1.0,
    "springs": [{"joints": "*_calf_joint", "stiffness_nm_per_rad": 12.0, "rest_rad": -1.8}],
    "motor": {"strength": 0.9, "stall_torque_nm": 50.0, "no_load_speed_rad_s": 30.0, "backlash_rad": 0.01},
    "battery": {"level": 0.9, "sag_per_kw": 0.4},
    "floor_friction": 0.6,
    "base_mass_kg": 7.5,
    "physics_hz": 1000,
    "time_jitter_s": 0.0005,
    "torque_curves": [{"joints": "*_hip_joint", "position_rad": [-1.0, 1.0], "torque_nm": [0.5, -0.5]}],
    "notes": "mine",
    "network": {
        "adds": "torque",
        "groups": [
            {
                "joints": ["FL_hip_joint"],
                "limit": 2.0,
                "layers": [
                    {"weight": [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], "bias": [0.0, 0.1]},
                    {"weight": [[0.5, 0.5]], "bias": [0.0]},
                ],
            }
        ],
    },
}
PRIORS = {
    "dry_friction_nm": {"start": 0.2, "low": 0.01, "high": 3.0, "step": 1.5, "log": True},
    "delay_s": {"low": 0.0, "high": 0.06, "step": 0.004},
}
TABLE = {
    "motor_strength": {"scale": [0.9, 1.1]},
    "floor_friction": {"set": [0.4, 1.2]},
    "delay_s": {"set": [0.0, 0.015], "together": True},
    "encoder_noise_rad": 0.01,
    "push": {"velocity_m_s": 0.5, "every_s": 5.0},
    "notes": "mine",
}


GAINS = (
    "kp_nm_per_rad",
    "kd_nms_per_rad",
    "torque_limit_nm",
    "velocity_limit_rad_s",
    "action_scale_rad",
    "action_clip",
)
SOLVERS = ("iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "sdf_iterations", "sdf_initpoints")
XML_WAYS = (
    *("attribute", "number", "new", "remove", "copy", "copies", "asset", "deep"),
    *("option", "size", "many", "solver", "medium", "parts", "sides", "shapes"),
)
SIDES = ("right", "left", "up", "down", "front", "back")


def yaml_text(draw: Draw, tree: Any) -> str:
    """A mutated tree as YAML: dumped, or with bombs, aliases and damage that a dump never holds."""
    way = draw(st.sampled_from(["tree", "tree", "tree", "tree", "bytes", "bomb", "merge", "brackets", "tags"]))
    if way == "tree":
        tree = mutated(draw, copy.deepcopy(tree))
    text = yaml.safe_dump(tree, sort_keys=False, allow_unicode=draw(st.booleans()))
    key = draw(st.sampled_from(list(tree))) if isinstance(tree, dict) and tree else "name"
    count = draw(st.sampled_from([3, 9, 30]))
    if way == "bytes":
        return damaged(draw, text.encode()).decode("utf-8", "surrogateescape")
    if way in ("bomb", "merge"):
        mark = "<<: " if way == "merge" else ""
        lines = [f"a0: &a0 {{{mark or 'x: '}{{k: 1}}}}"]
        lines += [
            (
                f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]"
                if not mark
                else f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}"
            )
            for i in range(1, count)
        ]
        return "\n".join([*lines, f"{key}: *a{count - 1}"]) + "\n" + text
    if way == "brackets":
        return f"{key}: " + draw(st.sampled_from(["[", "{a: ", "- "])) * draw(st.sampled_from([60, 3000, 200_000]))
    if way == "tags":
        return text + f"\n{key}: {draw(st.sampled_from(TAGS))}\n"
    return text


def write(path: Path, text: str) -> None:
    path.write_bytes(
        text.encode("utf-8", "surrogateescape" if not any("\ud800" <= c < "\udc80" for c in text) else "surrogatepass")
    )


@cache
def described(folder: Path) -> Any:
    return yaml.safe_load((folder / "robot.yaml").read_text())


def robot_yaml(draw: Draw, folder: Path) -> Verbs:
    source = draw(st.sampled_from([GO2, HEXAPOD, BIPED]))
    for file in (*source.glob("*.xml"), *source.glob("*.urdf")):
        (folder / file.name).write_bytes(file.read_bytes())
    tree = copy.deepcopy(described(source))
    if draw(st.integers(0, 4)) == 0:  # a whole file but for one number that no robot has
        key = draw(st.sampled_from([*GAINS, "command_range", "observation"]))
        value = draw(st.sampled_from([1e5, 1e7, 1e38, 1e300, -1e300, 1e-300]))
        if key == "command_range":
            tree[key] = {"vx_m_s": [-abs(value), abs(value)]}
        elif key == "observation":
            tree[key] = [{"name": "gyro", "scale": value}, *tree[key][1:]]
        else:
            tree[key] = value
        write(folder / "robot.yaml", yaml.safe_dump(tree, sort_keys=False))
    else:
        write(folder / "robot.yaml", yaml_text(draw, tree))
    (folder / "t.yaml").write_text("robot: robot.yaml\n")
    return [["robot", "check", "robot.yaml", "--out", "out/robot.png"], [*RECORD, "t.yaml"]]


def mutated_xml(draw: Draw, path: Path) -> bytes:
    """An XML file with attributes, elements and counts that nobody expects."""
    if draw(st.integers(0, 5)) == 0:
        return damaged(draw, path.read_bytes())
    root = ElementTree.fromstring(path.read_bytes())
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        every = list(root.iter())
        element, other = draw(st.sampled_from(every)), draw(st.sampled_from(every))
        way = draw(st.sampled_from(XML_WAYS))
        if way in ("attribute", "number") and element.attrib:
            key = draw(st.sampled_from(sorted(element.attrib)))
            element.set(
                key,
                (
                    _plain(draw(texts))
                    if way == "attribute"
                    else " ".join(str(draw(numbers)) for _ in range(draw(st.integers(1, 4))))
                ),
            )
        elif way == "new":
            element.set(
                draw(
                    st.sampled_from(
                        ["name", "class", "range", "mass", "pos", "size", "file", "type", "damping", "gravity"]
                    )
                ),
                _plain(draw(texts)),
            )
        elif way == "remove" and len(element):
            element.remove(draw(st.sampled_from(list(element))))
        elif way == "copy" and other is not root:
            element.append(copy.deepcopy(other))
        elif way == "copies":
            tag = draw(st.sampled_from(["replicate", "composite", "flexcomp"]))
            more = ElementTree.SubElement(
                element, tag, {"count": draw(st.sampled_from(["3", "40000", "2000000000", "99 99 99", "-1", "nan"]))}
            )
            more.append(ElementTree.Element("body"))
        elif way == "asset":
            tag = draw(st.sampled_from(["include", "mesh", "hfield", "texture", "model"]))
            ElementTree.SubElement(
                root,
                tag if tag == "include" else "asset",
                {"file": draw(st.sampled_from(["pipe", "/dev/zero", "missing.xml", "robot.yaml", ".", "model.xml"]))},
            )
        elif way == "deep":
            for _ in range(draw(st.sampled_from([10, 100, 400]))):
                element = ElementTree.SubElement(element, "body")
        elif way == "option":
            ElementTree.SubElement(root, "option", {"gravity": f"0 0 {draw(numbers)}", "timestep": str(draw(numbers))})
        elif way == "solver":
            counts = draw(st.sampled_from(["0", "1000", "1001", "2000000000", "-1"]))
            ElementTree.SubElement(root, "option", {draw(st.sampled_from(SOLVERS)): counts, "tolerance": "0"})
        elif way == "medium":
            key, count = draw(st.sampled_from([("gravity", 3), ("wind", 3), ("density", 1), ("viscosity", 1)]))
            ElementTree.SubElement(root, "option", {key: " ".join(str(draw(numbers)) for _ in range(count))})
        elif way == "parts":  # go2.xml and part.xml may name themselves and each other
            assets = ElementTree.SubElement(root, "asset")
            name = draw(st.sampled_from([path.name, "part.xml", "chain0.xml"]))
            ElementTree.SubElement(assets, "model", {"name": "part", "file": name})
        elif way == "sides":
            assets, file = ElementTree.SubElement(root, "asset"), draw(st.sampled_from(["pipe", "missing.png", "."]))
            ElementTree.SubElement(assets, "texture", {"type": "cube", f"file{draw(st.sampled_from(SIDES))}": file})
        elif way == "shapes":
            tag, count = draw(st.sampled_from(["geom", "site"])), draw(st.sampled_from([100, 9000, 12_000]))
            element.extend([ElementTree.Element(tag, {"size": "0.1"}) for _ in range(count)])
        elif way == "size":
            ElementTree.SubElement(
                root,
                "size",
                {
                    draw(st.sampled_from(["memory", "njmax", "nkey", "nuserdata", "nuser_body"])): draw(
                        st.sampled_from(["100G", "1000000000", "-5", "1"])
                    )
                },
            )
        elif way == "many" and len(element):
            for child in list(element)[:3]:
                element.extend(copy.deepcopy(child) for _ in range(draw(st.sampled_from([20, 400]))))
    text = ElementTree.tostring(root, encoding="utf-8")
    depth = draw(st.sampled_from([0, 0, 0, 0, 0, 600, 100_000]))  # deeper than Python itself can write
    return text.replace(b"</worldbody>", b"<body>" * depth + b"</body>" * depth + b"</worldbody>", 1) if depth else text


def _plain(text: str) -> str:
    """Text that XML can hold."""
    return "".join(
        c for c in text if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
    )


def _model(draw: Draw, folder: Path, source: Path, suffix: str) -> Verbs:
    import os

    os.mkfifo(folder / "pipe")
    file = next(source.glob(f"*{suffix}"))
    (folder / file.name).write_bytes(mutated_xml(draw, file))
    back = draw(st.sampled_from([file.name, "part.xml", "missing.xml"]))
    (folder / "part.xml").write_text(f'<mujoco><asset><model name="back" file="{back}"/></asset></mujoco>')
    for k in range(levels := draw(st.sampled_from([2, 30]))):
        below = f'<include file="chain{k + 1}.xml"/>' if k + 1 < levels else "<size/>"
        (folder / f"chain{k}.xml").write_text(f"<mujoco>{below}</mujoco>")
    (folder / "robot.yaml").write_bytes((source / "robot.yaml").read_bytes())
    return [
        ["robot", "check", "robot.yaml", "--out", "out/robot.png"],
        ["robot", "new", file.name, "--out", "out/robot.yaml"],
    ]


def mjcf(draw: Draw, folder: Path) -> Verbs:
    return _model(draw, folder, draw(st.sampled_from([GO2, HEXAPOD])), ".xml")


def urdf(draw: Draw, folder: Path) -> Verbs:
    return _model(draw, folder, BIPED, ".urdf")


def starter_is_yaml(folder: Path) -> None:
    """What `robot new` wrote holds the keys that it should, and no others."""
    path = folder / "out" / "robot.yaml"
    if path.exists():
        from surefoot.robot.load import OPTIONAL, REQUIRED

        assert set(yaml.safe_load(path.read_text(encoding="utf-8"))) <= {*REQUIRED, *OPTIONAL}


def twin(draw: Draw, folder: Path) -> Verbs:
    write(folder / "t.yaml", yaml_text(draw, TWIN))
    return [[*RECORD, "t.yaml"]]


def priors(draw: Draw, folder: Path) -> Verbs:
    write(folder / "p.yaml", yaml_text(draw, PRIORS))
    return [
        [
            "fit",
            "--rehearse",
            "--policy",
            "zero",
            "--priors",
            "p.yaml",
            "--rollouts",
            "0",
            "--out",
            "out/fit",
            "--threads",
            "1",
        ]
    ]


def randomization(draw: Draw, folder: Path) -> Verbs:
    write(folder / "r.yaml", yaml_text(draw, TABLE))
    return [
        [
            "train",
            "walk",
            "--randomization",
            "r.yaml",
            "--iterations",
            "0",
            "--worlds",
            "2",
            "--no-evaluate",
            "--out",
            "out/run",
            "--threads",
            "1",
        ]
    ]


KINDS = (
    Kind("robot.yaml", robot_yaml, cases=3500),
    Kind("MJCF", mjcf, starter_is_yaml, cases=3000),
    Kind("URDF", urdf, starter_is_yaml, cases=1500),
    Kind("twin", twin, cases=2500),
    Kind("priors", priors, cases=800),
    Kind("randomization", randomization, cases=400),
)
