"""The files that steps leave, and the exit codes of the command line."""

from importlib.metadata import PackageNotFoundError, version

import mujoco
import numpy as np

from surefoot import __version__

# Exit codes
USABLE, WITH_CARE, UNUSABLE = 0, 1, 2  # of the doctor; 2 also for whatever else cannot be used
GO, NO_GO, NO_GAP = 0, 3, 4

LOG = "log.parquet"
DOCTOR, DOCTOR_PAGE = "doctor.json", "doctor.html"
GAP, GAP_PAGE, GAP_RECORDING, GAP_JOURNAL = "gap.json", "gap.html", "gap.rrd", "gap-journal"
SIMULATOR = "simulator.yaml"  # a virtual robot: what explains the log best, or what a fit found
FIT, FIT_PAGE, FIT_JOURNAL, ADAPTED_MODEL = "fit.json", "fit.html", "journal", "adapted.xml"
POLICY, BEGUN, CHECKPOINT, CONFIG = "policy.onnx", "begun.onnx", "checkpoint.safetensors", "config.json"
EVALUATION = "eval.json"
VERDICT, VERDICT_PAGE = "verdict.json", "verdict.html"
VIDEO, WALKS = "before_after.mp4", "walks.json"
RUN, REPORT = "run.json", "report.html"

VERSIONS: dict[str, str] = {"surefoot": __version__, "mujoco": mujoco.__version__, "numpy": np.__version__}


def versions(*packages: str) -> dict[str, str]:
    """Versions that decide figures, with those of further packages."""
    known = dict(VERSIONS)
    for name in packages:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            known[name] = "missing"
    return known
