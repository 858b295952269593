"""What an observation needs and no robot measures: how it is estimated, and what the simulator gives in its place."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from surefoot.errors import SurefootError, nearest, shown
from surefoot.files import is_number

ESTIMATED = ("base_velocity",)  # terms that no sensor of an ordinary robot gives
TRUTH, ODOMETRY, ONNX = "truth", "odometry", "onnx"
LARGEST = {"noise_m_s": 10.0, "lag_s": 1.0}


@dataclass(frozen=True)
class EstimatorSpec:
    """Who gives an estimated term.

    `truth`: the simulator's own value with noise and a first-order lag, in place of an estimator that is not ours;
    on a robot somebody else must supply it. `odometry`: our leg odometry, from joints and IMU. `onnx`: a network of the
    user's own.
    """

    term: str
    kind: str
    noise_m_s: float = 0.0  # of each axis at each tick, standard deviation
    lag_s: float = 0.0  # time constant
    file: str = ""  # of an ONNX estimator, beside robot.yaml
    sha256: str = ""  # of that file
    observation: tuple[dict[str, Any], ...] = ()  # terms that an ONNX estimator reads

    def to_dict(self) -> dict[str, Any]:
        """What differs from the defaults."""
        fields = dataclasses.fields(self)
        return {f.name: getattr(self, f.name) for f in fields if getattr(self, f.name) != f.default}


def parse_estimators(value: Any, what: str, error: type[SurefootError]) -> tuple[EstimatorSpec, ...]:
    """Estimators from a mapping of terms, or from the list that a contract holds."""
    if not value:
        return ()
    if isinstance(value, dict):
        value = [{"term": term, **content} if isinstance(content, dict) else None for term, content in value.items()]
    if not isinstance(value, (list, tuple)):
        raise error(f"{what} must be a mapping from a term to its estimator, such as base_velocity: {{kind: truth}}")
    return tuple(_estimator(item, what, error) for item in value)


def _estimator(content: Any, what: str, error: type[SurefootError]) -> EstimatorSpec:
    if not isinstance(content, dict) or content.get("term") not in ESTIMATED:
        raise error(f"{what}: {shown(content)} is no estimator of {' or '.join(ESTIMATED)}; write 'kind: truth'")
    allowed = [field.name for field in dataclasses.fields(EstimatorSpec)]
    for key in content:
        if key not in allowed:
            raise error(f"{what}: unknown key {shown(key)}{nearest(key, allowed)}")
    kind = content.get("kind")
    if kind not in (TRUTH, ODOMETRY, ONNX):
        raise error(f"{what}: kind is {shown(kind)}; it must be {TRUTH}, {ODOMETRY} or {ONNX}")
    for key, most in LARGEST.items():
        number = content.get(key, 0.0)
        if not is_number(number) or not 0 <= number <= most:
            raise error(f"{what}: {key} is {shown(number)}; it must be a number from 0 to {most:g}")
    if (kind == ONNX) != bool(content.get("file")):
        raise error(f"{what}: an estimator of the kind {ONNX} needs its 'file', and no other kind has one")
    return EstimatorSpec(
        term=str(content["term"]),
        kind=str(kind),
        noise_m_s=float(content.get("noise_m_s", 0.0)),
        lag_s=float(content.get("lag_s", 0.0)),
        file=str(content.get("file", "")),
        sha256=str(content.get("sha256", "")),
        observation=tuple(content.get("observation", ())),
    )
