"""File names, and the files that steps of a loop leave for each other."""

import copy
import json
from functools import cache
from pathlib import Path

import yaml
from hypothesis import strategies as st

from fuzz_kinds.adaptations import sound
from fuzz_kinds.kind import Draw, Kind, Verbs, damaged, mutated, texts
from fuzz_kinds.logs import walked
from surefoot.adapt import read_adaptation
from surefoot.logs.robot_log import write_log
from surefoot.pipeline.gap import physics_file
from surefoot.robot import load_robot
from surefoot.sim.physics import Physics
from surefoot.verify.fit_gap import read_fit_gap

FIT = {
    "traces_rad": None,
    "knobs": [{"name": "delay_s", "value": 0.004}, {"name": "dry_friction_nm[FL_hip_joint]", "value": 0.3}],
    "gaps": {
        name: {"total": 0.1, "floor": 0.01, "measurable": True}
        for name in ("before", "after", "held_out_before", "held_out_after")
    },
}


@cache
def log_content() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_log(walked(), Path(folder) / "log.parquet")
        return (Path(folder) / "log.parquet").read_bytes()


def names(draw: Draw, folder: Path) -> Verbs:
    """A log, and outputs, with names that a shell, a terminal or a YAML file may stumble over."""
    name = draw(texts).replace("/", "_").replace("\0", "_").encode("utf-8", "replace").decode()[:60] or "x"
    name = f"{name}.parquet"
    (folder / name).write_bytes(log_content())
    out = (
        "out/"
        + draw(texts)
        .replace("/", "_")
        .replace("\0", "_")
        .encode("utf-8", "replace")
        .decode()[: draw(st.sampled_from([20, 300]))]
    )
    head = f"The simulator fitted to {name}. A virtual robot: try policies on it with --twin."
    text = physics_file(Physics(load_robot("go2"), {"floor_friction": 0.7}), head)
    assert yaml.safe_load(text) == {"robot": "go2", "floor_friction": 0.7}, text
    verb = draw(st.sampled_from(["show", "plot", "doctor", "import"]))
    return [
        {
            "show": ["log", "show", f"./{name}"],
            "plot": ["log", "plot", f"./{name}", "--out", f"{out}.html"],
            "doctor": ["doctor", f"./{name}", "--html", f"{out}.html"],
            "import": ["log", "import", f"./{name}", "--out", f"{out}.parquet"],
        }[verb]
    ]


def results(draw: Draw, folder: Path) -> Verbs:
    """fit.json beside an adaptation, and run.json of a loop, that say something else than they should."""
    (folder / "adaptation.json").write_text(json.dumps(sound()))
    content = json.dumps(mutated(draw, copy.deepcopy(FIT)), default=str).encode("utf-8", "surrogatepass")
    (folder / "fit.json").write_bytes(damaged(draw, content) if draw(st.booleans()) else content)
    read_fit_gap(folder, read_adaptation(folder, load_robot("go2")))
    run = {
        "surefoot_loop": 1,
        "inputs": {},
        "versions": {},
        "steps": {"fit": {"files": {}, "state": "done"}},
        "command": "x",
        "outcome": None,
    }
    (folder / "out").mkdir()
    (folder / "out" / "run.json").write_bytes(
        json.dumps(mutated(draw, run), default=str).encode("utf-8", "surrogatepass")
    )
    return [["loop", "--twin", "go2-identified", "--out", "out", "--rollouts", "1", "--overwrite", "--threads", "1"]]


KINDS = (Kind("file names", names, cases=900), Kind("results", results, cases=400))
