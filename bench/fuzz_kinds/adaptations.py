"""Adaptations through every exporter; what is exported must parse, and hold nothing that was not asked for."""

import ast
import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import yaml
from hypothesis import strategies as st

from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, texts
from fuzz_kinds.robots import TWIN
from surefoot.robot import load_robot
from surefoot.sim.parameters import PARAMETERS

EXPORTS = {"mjlab": "py", "isaaclab": "py", "numpy": "py", "randomization": "yaml", "mjcf": "xml", "onnx": "onnx"}
ALLOWED_IMPORTS = {"re", "numpy", "mjlab", "isaaclab"}


@cache
def sound() -> dict[str, Any]:
    robot = load_robot("go2")
    knob = {
        "name": "delay_s",
        "parameter": "delay_s",
        "where": [],
        "unit": "s",
        "start": 0.0,
        "value": 0.004,
        "interval": [0.003, 0.005],
        "bounds": [0.0, 0.06],
        "flag": "",
        "note": "",
    }
    friction = knob | {
        "name": "dry_friction_nm[FL_hip_joint]",
        "parameter": "dry_friction_nm",
        "where": ["FL_hip_joint"],
        "unit": "N·m",
        "value": 0.3,
        "interval": [0.2, 0.4],
        "bounds": [0.0, 3.0],
    }
    return {
        "surefoot_adaptation": 1,
        "robot": "go2",
        "robot_hash": robot.hash,
        "family": "static",
        "knobs": [knob, friction],
        "settings": {
            "delay_s": [0.004] * 12,
            "dry_friction_nm": [0.3] * 12,
            "armature_kgm2": [0.02] * 12,
            "torque_noise_nm": [0.5] * 12,
            "residual_constant_nm": [0.1] * 12,
            "residual_velocity_nms": [-0.1] * 12,
            "spring_stiffness_nm_per_rad": [1.0] * 12,
            "base_mass_kg": 7.0,
        },
        "provenance": {"command": "surefoot fit", "log": {"file": "day1.parquet"}, "note": "mine"},
        "network": TWIN["network"],
    }


def adaptation(draw: Draw, folder: Path) -> Verbs:
    tree = copy.deepcopy(sound())
    way = draw(st.sampled_from(["words", "words", "words", "tree", "tree", "bytes", "many", "long"]))
    if way == "words":  # all that is free text, and stays a valid adaptation
        tree["family"] = draw(texts)
        tree["robot"] = draw(texts)
        tree["provenance"] = {draw(texts): draw(texts) for _ in range(3)} | {"log": {"file": draw(texts)}}
        tree["knobs"][0]["note"], tree["knobs"][0]["name"] = draw(texts), draw(texts)
    elif way == "tree":
        tree = mutated(draw, tree)
    elif way == "many":
        tree["knobs"] *= draw(st.sampled_from([10, 4000, 60_000]))
    elif way == "long":
        much = draw(st.sampled_from([1000, 100_000, 5_000_000]))
        key = draw(st.sampled_from(["name", "note", "where", "family", "text", "provenance", "lists"]))
        if key in ("name", "note"):
            tree["knobs"][0][key] = "x" * much
        elif key == "where":
            tree["knobs"][1][key] = ["FL_hip_joint"] * min(much, 500_000)
        elif key == "family":
            tree[key] = "x" * much
        else:
            tree["provenance"] = {
                "text": {"x": "x" * much},
                "provenance": {f"k{k}": k for k in range(min(much, 500_000))},
                "lists": {"x": [[[k]] for k in range(min(much, 300_000))]},
            }[key]
    content = json.dumps(tree, default=str).encode("utf-8", "surrogatepass")
    (folder / "adaptation.json").write_bytes(damaged(draw, content) if way == "bytes" else content)
    to = draw(st.sampled_from(list(EXPORTS)))
    export = ["adapt", "export", "adaptation.json", "--to", to, "--out", f"out/export.{EXPORTS[to]}"]
    return [export] if draw(st.booleans()) else [["adapt", "show", "adaptation.json"]]


def exports_parse(folder: Path) -> None:
    """Python holds no import but ours and no call at the top but theirs; YAML the parameters; MJCF loads."""
    out = folder / "out"
    for path in out.glob("export.*"):
        if path.suffix == ".py":
            text = path.read_bytes()
            assert text.startswith(b"# -*- coding: utf-8 -*-\n"), text[:80]
            tree = ast.parse(text)
            for node in ast.walk(tree):
                names = (
                    [alias.name for alias in node.names]
                    if isinstance(node, ast.Import)
                    else [node.module or ""]
                    if isinstance(node, ast.ImportFrom)
                    else []
                )
                assert {name.split(".")[0] for name in names} <= ALLOWED_IMPORTS, names
            assert not any(
                isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant) for node in tree.body
            )
        elif path.suffix == ".yaml":
            assert set(yaml.safe_load(path.read_text(encoding="utf-8")) or {}) <= set(PARAMETERS)
        elif path.suffix == ".xml":
            mujoco.MjModel.from_xml_path(str(path))


KINDS = (Kind("adaptation", adaptation, exports_parse, cases=3000),)
