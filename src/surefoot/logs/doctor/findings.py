"""What the doctor says: findings with evidence and a way out, and the report that holds them."""

import dataclasses
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from surefoot.shown import Shown, dataframe

Severity = Literal["error", "warning", "note"]  # error: not usable; warning: usable with care; note: good to know
ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
MOST_ALIKE = 3  # findings of one kind that are said one by one


@dataclass(frozen=True)
class TimeSpan:
    """A part of one episode, on the log's own time stamps."""

    episode: int
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Finding:
    """One thing that is worth knowing about a log; without `spans` it holds for the whole log."""

    code: str  # stable, kebab-case
    severity: Severity
    title: str  # one line, names the joints and the size
    evidence: str  # figures
    why: str
    fix: str
    joints: tuple[str, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    channel: str = ""  # that it is about, where it is a single one: position, velocity, action, torque, gyro, ...


@dataclass(frozen=True)
class Delay:
    """Between an action and the motion that it causes; low to high is a 95 % interval."""

    seconds: float
    low_s: float
    high_s: float


@dataclass(frozen=True, eq=False)
class LogReport(Shown):
    """All findings on a log, worst first, and which of its rows may be used."""

    findings: tuple[Finding, ...]
    usable: np.ndarray  # (rows,) bool: rows that a gap or fit may use
    cuts: tuple[tuple[TimeSpan, str], ...]  # what was cut, and why
    delay: Delay | None
    usable_s: float
    needed_s: float  # what a fit needs
    coverage: np.ndarray  # share of the usable seconds in each cell of a grid over the command range, (nx, ny, nw)
    proposal: str | None  # the next recording, in words

    @property
    def exit_code(self) -> int:
        """0 usable, 1 usable with warnings, 2 not usable."""
        return 2 - min((ORDER[finding.severity] for finding in self.findings), default=2)

    def to_dataframe(self) -> Any:
        """The findings as a pandas DataFrame, worst first."""
        return dataframe([dataclasses.asdict(finding) for finding in self.findings])

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types; `usable` as runs of rows, [first, one past the last]."""
        return {
            "exit_code": self.exit_code,
            "findings": [dataclasses.asdict(finding) for finding in self.findings],
            "usable_s": self.usable_s,
            "needed_s": self.needed_s,
            "usable_rows": int(self.usable.sum()),
            "rows": len(self.usable),
            "usable": _runs(self.usable),
            "cuts": [{**dataclasses.asdict(span), "why": why} for span, why in self.cuts],
            "delay": None if self.delay is None else dataclasses.asdict(self.delay),
            "coverage": self.coverage.tolist(),
            "proposal": self.proposal,
        }

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "LogReport":
        """From what `to_dict` gave, through JSON or not."""
        usable = np.zeros(content["rows"], dtype=bool)
        for first, end in content["usable"]:
            usable[first:end] = True
        findings = tuple(
            Finding(
                **{**one, "joints": tuple(one["joints"]), "spans": tuple(TimeSpan(**span) for span in one["spans"])}
            )
            for one in content["findings"]
        )
        cuts = tuple(
            (TimeSpan(**{key: value for key, value in cut.items() if key != "why"}), cut["why"])
            for cut in content["cuts"]
        )
        delay = None if content["delay"] is None else Delay(**content["delay"])
        coverage = np.array(content["coverage"], dtype=float)
        return LogReport(
            findings, usable, cuts, delay, content["usable_s"], content["needed_s"], coverage, content["proposal"]
        )


def _runs(mask: np.ndarray) -> list[list[int]]:
    """Where a mask is true, as [first, one past the last] of each run."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2).tolist()


def listed(names: tuple[str, ...] | list[str], most: int = 4) -> str:
    """Names for a sentence, cut where there are many."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def merged(findings: list[Finding]) -> list[Finding]:
    """Findings of one kind about many single joints become one, with the evidence of the first few: the
    cause is one, too.
    """
    kinds = Counter((finding.code, finding.severity) for finding in findings if len(finding.joints) == 1)
    found: list[Finding] = []
    done: set[tuple[str, str]] = set()
    for finding in findings:
        kind = (finding.code, finding.severity)
        if len(finding.joints) != 1 or kinds[kind] <= MOST_ALIKE:
            found.append(finding)
        elif kind not in done:
            done.add(kind)
            alike = [other for other in findings if (other.code, other.severity) == kind and len(other.joints) == 1]
            joints = tuple(dict.fromkeys(other.joints[0] for other in alike))
            evidence = "; ".join(f"{other.joints[0]}: {other.evidence}" for other in alike[:MOST_ALIKE])
            spans = tuple(dict.fromkeys(span for other in alike for span in other.spans))
            title = f"{finding.title}, and so with {listed(joints[1:])}"
            found.append(replace(finding, title=title, evidence=evidence, joints=joints, spans=spans))
    return found
