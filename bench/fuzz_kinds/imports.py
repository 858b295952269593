"""What other frameworks write about robots and policies, and the metadata of ONNX files, as sources of an import."""

import copy
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, texts
from fuzz_kinds.robots import write, yaml_text

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))
from support import sources
from support.sources import DOG, MAN, Made, write_network

TEXTS = (
    *("unitree", "isaac_env", "mjlab_env", "isaac_io", "rl_sar", "rl_sar_base", "unitree_gym", "legged_gym"),
    *("holosoma_runner", "leapp", "isaac_agent"),
)
METADATA = ("mjlab", "holosoma", "exploy")


@cache
def sound(kind: str, name: str) -> Any:
    made = {"dog": DOG, "man": MAN}[name]
    return plain(sources.isaac_agent() if kind == "isaac_agent" else getattr(sources, kind)(made))


def plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: plain(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [plain(value) for value in content]
    return None if isinstance(content, slice) else content


def network(folder: Path, made: Made) -> None:
    n = len(made.joints)
    write_network(folder / "p.onnx", {"obs": 3 * (9 + 3 * n)}, {"actions": n})


def text(draw: Draw, folder: Path) -> Verbs:
    """A file of one kind, mutated; sometimes a sound one of another kind beside it."""
    made = draw(st.sampled_from([DOG, MAN]))
    model = made.model(folder).name
    kind = draw(st.sampled_from(TEXTS))
    content = copy.deepcopy(sound(kind, made.name))
    if draw(st.integers(0, 6)) == 0:
        tree = json.dumps(mutated(draw, content), default=str).encode("utf-8", "surrogatepass")
        (folder / "source.json").write_bytes(damaged(draw, tree) if draw(st.booleans()) else tree)
        files = ["source.json"]
    else:
        write(folder / "source.yaml", yaml_text(draw, content))
        files = ["source.yaml"]
    network(folder, made)
    if draw(st.booleans()):
        write(folder / "other.yaml", json.dumps(sound(draw(st.sampled_from(TEXTS)), made.name)))
        files.insert(draw(st.integers(0, 1)), "other.yaml")
    if draw(st.booleans()):
        files.append("p.onnx")
    new = ["robot", "new", model, "--from", *files, "--out", "out/robot.yaml"]
    if draw(st.booleans()):
        return [new, ["robot", "check", "out/robot.yaml", "--out", "out/robot.png"]]
    return [new, ["policy", "attach", "p.onnx", "--model", model, "--from", *files, "--out", "out/p.onnx"]]


def metadata(draw: Draw, folder: Path) -> Verbs:
    """An ONNX file whose metadata says something else than it should."""
    made = draw(st.sampled_from([DOG, MAN]))
    model = made.model(folder).name
    kind = draw(st.sampled_from(METADATA))
    entries = dict(getattr(sources, f"{kind}_metadata")(made))
    n = len(made.joints)
    inputs, outputs = sources.exploy_tensors(made) if kind == "exploy" else ({"obs": 12 + 3 * n}, {"actions": n})
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from(sorted(entries)))
        way = draw(st.sampled_from(["text", "drop", "json", "cut", "bracket", "many"]))
        if way == "drop":
            del entries[key]
            if not entries:
                break
        elif way == "text":
            entries[key] = draw(texts).encode("utf-8", "replace").decode()
        elif way == "json" and kind != "mjlab":
            whole = json.loads(getattr(sources, f"{kind}_metadata")(made)[key])
            tree = mutated(draw, {"a": whole})
            entries[key] = (
                json.dumps(tree["a"] if isinstance(tree, dict) and "a" in tree else tree)
                .encode("utf-8", "replace")
                .decode()
            )
        elif way == "cut":
            entries[key] = entries[key][: draw(st.integers(0, len(entries[key])))]
        elif way == "bracket":
            entries[key] = draw(st.sampled_from(["[", "]", "[[[", "[" * 3000, "[1,2"])) + entries[key]
        elif len(entries[key]) < 300:
            entries[key] = ",".join([entries[key]] * draw(st.sampled_from([2, 50, 3000])))
    if draw(st.booleans()):
        sizes = draw(st.sampled_from([inputs, outputs]))
        sizes[draw(st.sampled_from(sorted(sizes)))] = draw(st.sampled_from([1, 7, 1000]))
    write_network(folder / "p.onnx", inputs, outputs, entries)
    return [
        ["robot", "new", model, "--from", "p.onnx", "--out", "out/robot.yaml"],
        ["policy", "attach", "p.onnx", "--model", model, "--from", "p.onnx", "--out", "out/p.onnx"],
    ]


KINDS = (Kind("imported file", text, cases=2000), Kind("imported metadata", metadata, cases=800))
