"""Priors: where a search begins and how far it may go. Those that ship stand with the parameters in
`sim/parameters.py`.
"""

from pathlib import Path
from typing import Any

from surefoot.errors import FitError, shown
from surefoot.files import is_number, read_yaml
from surefoot.sim.parameters import PARAMETERS, Prior, parameter

KEYS = {"start", "low", "high", "step", "log", "source"}


def read_priors(path: Path | None = None) -> dict[str, Prior]:
    """The shipped priors, with those of a user's YAML file on top."""
    priors = {name: entry.prior for name, entry in PARAMETERS.items() if entry.prior is not None}
    if path is not None:
        for name, entry in read_yaml(path, FitError).items():
            parameter(str(name), FitError)
            priors[str(name)] = _prior(str(name), entry, path)
    return priors


def _prior(name: str, entry: Any, path: Path) -> Prior:
    if not isinstance(entry, dict) or not {"low", "high", "step"} <= set(entry) or set(entry) - KEYS:
        raise FitError(
            f"{path}: the prior of {name} is {shown(entry)}; it takes start (a number or 'nominal'), low, high, step,"
            " log and source"
        )
    start = entry.get("start", "nominal")
    log = bool(entry.get("log", False))
    numbers = [entry[key] for key in ("low", "high", "step")] + ([] if start == "nominal" else [start])
    if not all(is_number(value) for value in numbers):
        raise FitError(f"{path}: low, high, step and start of {name} must be finite numbers")
    low, high, step = (float(entry[key]) for key in ("low", "high", "step"))
    if not low < high or (step <= 1 if log else step <= 0) or (log and low <= 0):
        needs = "1, and low above 0, on a log scale" if log else "0"
        raise FitError(f"{path}: the prior of {name} needs low < high and a step above {needs}")
    return Prior(low, high, step, str(entry.get("source", "")), None if start == "nominal" else float(start), log)
