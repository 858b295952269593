"""Writing a benchmark's figures with the command, versions and machine that gave them."""

import json
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from surefoot.cores import usable_cores
from surefoot.files import write_text

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("surefoot", "mujoco", "numpy", "onnxruntime", "torch", "rsl-rl-lib")


@cache
def commit() -> str | None:
    """The commit that this process began with, for rows of benches that are continued."""
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None


def provenance() -> dict[str, Any]:
    """Command, versions, machine and commit."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "command": shlex.join(["python", *sys.argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "versions": versions,
        "machine": {
            "cores": usable_cores(),
            "processor": platform.machine(),
            "cpu": cpu(),
            "python": platform.python_version(),
        },
    }


def machine() -> str:
    """What a figure may differ on in its last digits: the processor, and the versions of Python and of the
    simulator.
    """
    return f"{cpu() or platform.machine()}, Python {platform.python_version()}, MuJoCo {version('mujoco')}"


def cpu(info: Path = Path("/proc/cpuinfo")) -> str | None:
    """What the processor calls itself, where the system tells."""
    lines = info.read_text(encoding="utf-8", errors="replace").splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def write_results(name: str, content: dict[str, Any], out: Path | None = None) -> Path:
    """Write `content` with its provenance to bench/results/, or to `out`."""
    path = out or RESULTS / name
    write_text(path, json.dumps({"provenance": provenance(), **content}, indent=1) + "\n")
    print(f"wrote {path}")
    return path
