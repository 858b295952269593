"""The step `gap`: how far a simulator is from a case, beside its noise floor, and why."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from surefoot.errors import GapError, OutputError, SurefootError
from surefoot.files import check_folder, write_json, write_text, yaml_comment
from surefoot.fit.diagnose import Diagnosis, diagnose_gap
from surefoot.gap import Gap, Measured, Score, measure, scores
from surefoot.gap.case import Case
from surefoot.gap.costs import check_cost
from surefoot.gap.match_state import HORIZONS, refuse_unknown_base
from surefoot.gap.scores import state_score
from surefoot.journal import Journal
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.artefacts import GAP, GAP_JOURNAL, GAP_PAGE, SIMULATOR, VERSIONS
from surefoot.shown import Shown, dataframe
from surefoot.sim.physics import Physics

Stage = Callable[[str, int, int | None], None]  # what is being done, done so far, of how many


@dataclass(frozen=True)
class GapSettings:
    """How a gap is measured.

    Attributes:
        cost: the distance whose total decides, one of wasserstein, quantiles, match-o, mmd, sliced, lagged, and
            match-s-1, match-s-20, match-s for a log with the base's state (docs/gap.md says what each assumes); all
            are in the report
        seed: of starts and noise
        threads: of the simulator; 0 takes all cores
        diagnose: look for the kind of gap, which takes a few minutes of simulation
    """

    cost: str = "wasserstein"
    seed: int = 0
    threads: int = 0
    diagnose: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        if self.cost not in HORIZONS:
            check_cost(self.cost)


@dataclass(frozen=True, eq=False)
class GapResult(Shown):
    """A measured gap, with what the doctor said of the log and what may be the cause."""

    gap: Gap
    cost: str  # the one that decides
    scores: tuple[Score, ...]
    diagnosis: Diagnosis | None  # None: no cause was looked for
    report: LogReport
    provenance: dict[str, Any] = field(default_factory=dict)
    measured: Measured | None = field(default=None, repr=False)  # all samples; not in the file
    case: Case | None = field(default=None, repr=False)  # what it was measured on; not in the file

    @property
    def score(self) -> Score:
        """The cost that decides."""
        return next(score for score in self.scores if score.name == self.cost)

    @property
    def measurable(self) -> bool:
        """Whether there is a gap at all, by the cost that decides."""
        return self.score.measurable

    def to_dataframe(self) -> Any:
        """The channels as a pandas DataFrame: distance, noise floor and limit, in units of the robot's own spread."""
        return dataframe(self.gap.to_dict()["channels"])

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "provenance": self.provenance,
            "cost": self.cost,
            "gap": self.gap.to_dict(),
            "costs": {score.name: score.to_dict() for score in self.scores},
            "diagnosis": None if self.diagnosis is None else self.diagnosis.to_dict(),
            "doctor": self.report.to_dict(),
        }

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "GapResult":
        """From what `to_dict` gave, through JSON or not; without the samples."""
        costs = content["costs"].items()
        diagnosis = content["diagnosis"]
        return GapResult(
            Gap.from_dict(content["gap"]),
            content["cost"],
            tuple(Score(name, one["value"], one["floor"], one["limit"]) for name, one in costs),
            None if diagnosis is None else Diagnosis.from_dict(diagnosis),
            LogReport.from_dict(content["doctor"]),
            content["provenance"],
        )


def run_gap(
    case: Case,
    settings: GapSettings | None = None,
    *,
    physics: Physics | None = None,
    out: Path | None = None,
    command: str = "",
    facts: dict[str, Any] | None = None,
    draw: Callable[[GapResult, Path], None] | None = None,
    progress: Stage | None = None,
) -> GapResult:
    """Measure a gap; causes are looked for where `physics` is the robot's own (None).

    With `out` the figures go into that folder, and a run that was killed continues there. `draw` is called with the
    result and the folder before the journal is forgotten. `command` and `facts` go into the provenance.
    """
    settings = settings or GapSettings()
    if case.replay:
        raise GapError(
            "a gap is measured with the policy in the loop; recorded targets that are played again are fitted"
        )
    if physics is not None and physics.robot.hash != case.robot.hash:
        raise GapError(
            f"the physics is of another {physics.robot.name} ({physics.robot.hash[:12]}) than the {case.robot.name} of"
            f" the case ({case.robot.hash[:12]}); give one of the same robot"
        )
    if settings.cost in HORIZONS:
        refuse_unknown_base(case.log)
    tell = progress or (lambda stage, done, total: None)
    tell("checking the log", 0, None)
    _ = case.schedule  # an unusable log is refused before a journal is begun
    identity = {
        "log": case.log_hash,
        "robot": case.robot.hash,
        "policy": case.driver.hash,
        "seed": settings.seed,
        "settle_s": case.settle_s,
        "versions": VERSIONS,
        "physics": None if physics is None else physics.hash,
    }
    journal = None if out is None else Journal(out / GAP_JOURNAL, identity, forget_other=True)
    try:
        measured = measure(
            case,
            physics=physics,
            seed=settings.seed,
            threads=settings.threads,
            journal=journal,
            progress=lambda done, total: tell("simulating", done, total),
        )
        tell("scoring", 0, None)
        scored = list(scores(measured))
        if settings.cost in HORIZONS:
            scored.append(state_score(case, settings.cost, settings.seed, physics, threads=settings.threads))
        diagnosis = None
        if settings.diagnose and physics is None:
            diagnosis = diagnose_gap(
                case,
                measured,
                seed=settings.seed,
                threads=settings.threads,
                journal=journal,
                progress=lambda done, total: tell("looking for the cause", done, total),
            )
    except OutputError:  # a full disk, say: the same call continues
        raise
    except SurefootError:  # it would end so again
        if journal is not None:
            journal.remove()
        raise
    result = GapResult(
        measured.gap,
        settings.cost,
        tuple(scored),
        diagnosis,
        case.report,
        {
            "command": command,
            **case.provenance(),
            "versions": VERSIONS,
            "runs": len(measured.runs),
            "cost": settings.cost,
            "seed": settings.seed,
            "settle_s": case.settle_s,
            **(facts or {}),
        },
        measured,
        case,
    )
    if out is not None and journal is not None:
        write_json(out / GAP, result.to_dict())
        if diagnosis is not None and diagnosis.settings:
            write_text(out / SIMULATOR, explained_simulator(case, diagnosis))
        if draw is not None:
            draw(result, out)
        journal.remove()
    return result


def claim_gap(out: Path, settings: GapSettings, changed: bool = False, more: tuple[str, ...] = ()) -> None:
    """Ask for the folder and the files that will be written there, before any work.

    `changed`: the gap to a changed simulator is measured; `more` are files that `draw` writes.
    """
    explains = settings.diagnose and not changed
    check_folder(out, (GAP, GAP_PAGE, *more, *((SIMULATOR,) if explains else ()), f"{GAP_JOURNAL}/"))


def explained_simulator(case: Case, diagnosis: Diagnosis) -> str:
    """The simulator that explains a log best so far, as the file of a virtual robot."""
    log = "the log" if case.log.path is None else case.log.path.name
    head = (
        f"What explains {log} best so far: {diagnosis.causes[0].name}. A virtual robot: try policies on it with --twin."
    )
    return physics_file(Physics(case.robot, diagnosis.settings), head)


def physics_file(physics: Physics, head: str) -> str:
    """A physics as the YAML file of a virtual robot, which everything that takes a twin can read."""
    body = yaml.safe_dump(physics.to_dict(), sort_keys=False, default_flow_style=None, width=140, allow_unicode=False)
    return f"{yaml_comment(head)}\n{body}"
