"""The step `fit`: the physics with which the simulator moves as the robot did, with intervals."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from surefoot.adapt import ADAPTATION, Adaptation, write_adaptation
from surefoot.adapt.adaptation import AdaptedPhysics
from surefoot.adapt.export import write_mjcf
from surefoot.errors import FitError, SurefootError, shown
from surefoot.files import check_folder, path_of, read_json, read_text, write_json, write_text
from surefoot.fit.family import STAND, STATIC, WALKING, Family, FitSettings, SearchName, make_space
from surefoot.fit.judgement import FitJudgement, judge_fit
from surefoot.fit.ladder import JOINT, NETWORK, RUNGS, climb
from surefoot.fit.result import FitResult, Point, SearchIteration, Traces, Tried
from surefoot.fit.run import Fit, FitProgress
from surefoot.gap import Gap, Measured
from surefoot.gap.case import Case
from surefoot.gap.match_state import HORIZONS, refuse_clock, refuse_unknown_base
from surefoot.journal import Journal
from surefoot.logs.doctor import LogReport
from surefoot.pipeline.artefacts import ADAPTED_MODEL, FIT, FIT_JOURNAL, FIT_PAGE, SIMULATOR, VERSIONS
from surefoot.pipeline.gap import physics_file
from surefoot.robot import Robot
from surefoot.shown import Shown
from surefoot.verify.fit_gap import FitGap

FamilyName = Literal["auto", "static", "residual", "action-delta"]
Show = Callable[[str, FitProgress], None]  # the family that is being fitted, and where its fit stands


@dataclass(frozen=True)
class FitOptions:
    """What is searched, how, and how long.

    Attributes:
        family: static, numbers of the model alone; residual, with a torque that the model has no part for (a spring, a
            belt, a cable), first in plain terms, then as a small network where these leave a gap; action-delta, the
            same as a shift of the policy's targets, at its rate; auto, static first, then residual where the held-out
            gap stays above its noise floor
        per_joint: let what is missing differ from joint to joint, not only from type to type
        free: more parameters to search, such as motor_strength encoder_bias_rad floor_friction base_mass_kg
            base_com_offset_m, or "motor_strength[*_calf_joint]" for some joints
        fix: parameters to hold at a value instead, as name=value or "name[joints]=value", such as delay_s=0.005
        tie: which joints share a value: none, mirror (left = right), type (the same joint of all legs), all
        priors: a YAML file with start, bounds and step of parameters, over the shipped ones (docs/fit.md)
        search: quantile (Gauss-Newton on quantiles), cma (CMA-ES, the published way, many more evaluations), or sep-cma
            (CMA-ES without correlations, for hundreds of parameters)
        cost: the cost that cma and sep-cma minimize, one of wasserstein, quantiles, match-o, mmd, sliced, lagged, and
            match-s-1, match-s-20, match-s for a log with the base's state (docs/gap.md says what each assumes)
        held_out: share of the episodes that the fit never sees; the gap there is the one to believe
        most_evaluations: simulated candidates after which the search ends in any case
        most_simulated_s: simulated time after which the search ends in any case, s, for each family; searches and
            costs compare fairly at the same time, since an evaluation may take all episodes or a few
        seed: of starts, noise and which episodes are held back
        threads: of the simulator; 0 takes all cores
    """

    family: FamilyName = "auto"
    per_joint: bool = False
    free: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    tie: str = FitSettings.tie
    priors: Path | None = None
    search: SearchName = FitSettings.search
    cost: str = FitSettings.cost
    held_out: float = FitSettings.held_out
    most_evaluations: int = FitSettings.most_evaluations
    most_simulated_s: float | None = None
    seed: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be meant; one name may stand for a tuple of one, and a path may be text."""
        for name in ("free", "fix"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if self.priors is not None:
            object.__setattr__(self, "priors", path_of(self.priors))
        for name, known in (("family", get_args(FamilyName)), ("search", get_args(SearchName))):
            chosen = getattr(self, name)
            if chosen not in known:
                raise FitError(f"{name} is {shown(chosen)}; it must be one of {', '.join(known)}", argument=name)
        if self.most_evaluations < 1:
            raise FitError(f"most_evaluations is {self.most_evaluations}; it must be a whole number from 1 on")
        if not 0 <= self.held_out <= 0.5:
            raise FitError(f"held_out is {self.held_out:g}; it must be a share from 0 to 0.5")
        if self.seed < 0:
            raise FitError(f"the seed is {self.seed}; it must be a whole number from 0 on")

    def settings(self, replay: bool) -> FitSettings:
        """As a search takes them; what a walk and what a stand can tell differs."""
        settings = FitSettings(
            free=(*(STAND if replay else WALKING), *self.free),
            fix=fixed(self.fix),
            tie=self.tie,
            priors=self.priors,
            search=self.search,
            cost=self.cost,
            held_out=self.held_out,
            seed=self.seed,
            most_evaluations=self.most_evaluations,
            most_simulated_s=self.most_simulated_s,
        )
        self._refuse_idle(settings, replay)
        return settings

    def rungs(self, replay: bool) -> tuple[Family, ...]:
        """The families to climb, simplest first; a stand has no floor to stop at, so what is asked for is fitted."""
        if self.family == "static" or (self.family == "auto" and replay):
            return (STATIC,)
        if self.family == "auto":
            return (STATIC, JOINT, NETWORK) if self.per_joint else RUNGS
        plain = Family("torque" if self.family == "residual" else "action", per_joint=self.per_joint)
        return plain, replace(plain, curved=True)

    def check(self, robot: Robot, replay: bool) -> FitSettings:
        """Refuse before any work what cannot be searched on this robot."""
        settings = self.settings(replay)
        make_space(robot, replace(settings, family=self.rungs(replay)[0]))
        return settings

    def _refuse_idle(self, settings: FitSettings, replay: bool) -> None:
        """Options that would do nothing are refused rather than ignored."""
        if self.per_joint and self.family == "static":
            raise FitError(
                "per_joint is about the missing torque, which the static family does not search; choose another family",
                argument="family",
            )
        if replay and self.search != "quantile":
            raise FitError(
                "replayed recordings are compared tick by tick, by the quantile search; leave the search at 'quantile'",
                argument="search",
            )
        whole = {name for name, value in settings.fix.items() if not isinstance(value, dict)}
        both = {name.partition("[")[0] for name in self.free} & whole
        if both:
            raise FitError(f"{', '.join(sorted(both))} is both free and fixed; give one")


@dataclass(frozen=True, eq=False)
class PhysicsFit(Shown):
    """A finished fit: what the simulator became, how sure each number is, and how near it came to the robot."""

    adaptation: Adaptation
    judgement: FitJudgement
    before: Gap  # on the fitted episodes
    after: Gap
    held_before: Gap | None  # on episodes that the fit never saw; None: the log is too short to hold any back
    held_after: Gap | None
    correlation: np.ndarray  # (n_knobs, n_knobs) of the errors of the estimates
    search: str
    cost: str
    stopped: str  # why the search ended, one sentence
    steps: tuple[SearchIteration, ...]
    remarks: tuple[str, ...] = ()
    traces: tuple[Traces, Traces | None] | None = None  # of replayed targets, fitted and held out
    knots: tuple[Point, ...] = ()
    tried: tuple[Tried, ...] = ()
    robot: Robot | None = field(default=None, repr=False)
    detail: FitResult | None = field(default=None, repr=False)  # with all samples; not in the file
    case: Case | None = field(default=None, repr=False)  # what was fitted; not in the file

    @property
    def physics(self) -> AdaptedPhysics:
        """What the simulator became, with the intervals of its numbers."""
        if self.robot is None:
            raise FitError("this fit was read without its robot; give the robot when you read it")
        return replace(self.adaptation.physics(self.robot), fit=self)

    @property
    def gap_left(self) -> FitGap:
        """How near the simulator came to the robot, on held-out episodes where there are any."""
        if self.traces is not None:
            fitted, held_out = self.traces
            shown = held_out or fitted
            return FitGap.of_traces(shown.before, shown.after, held_out is not None)
        held = None if self.held_before is None or self.held_after is None else (self.held_before, self.held_after)
        return FitGap.of_gaps((self.before, self.after), held)

    def to_dataframe(self) -> Any:
        """The parameters as a pandas DataFrame: before, after, and the 90 % interval."""
        return self.adaptation.to_dataframe()

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        gaps = {
            "before": self.before,
            "after": self.after,
            "held_out_before": self.held_before,
            "held_out_after": self.held_after,
        }
        written = self.adaptation.to_dict()
        return {
            "provenance": written.pop("provenance"),
            "knobs": written.pop("knobs"),
            "adaptation": written,
            "search": self.search,
            "cost": self.cost,
            "stopped": self.stopped,
            "remarks": list(self.remarks),
            "verdict": self.judgement.says,
            "judgement": asdict(self.judgement),
            "gaps": {name: None if gap is None else gap.to_dict() for name, gap in gaps.items()},
            "correlation": self.correlation.tolist(),
            "families": [asdict(one) for one in self.tried],
            "knots": [asdict(point) for point in self.knots],
            "steps": [asdict(step) for step in self.steps],
            "traces_rad": None
            if self.traces is None
            else [None if one is None else asdict(one) for one in self.traces],
        }

    @staticmethod
    def from_dict(content: dict[str, Any], robot: Robot) -> "PhysicsFit":
        """From what `to_dict` gave, through JSON or not; without the samples."""
        names = ("before", "after", "held_out_before", "held_out_after")
        before, after, held_before, held_after = (content["gaps"][name] for name in names)
        traces = content["traces_rad"]
        written = {**content["adaptation"], "knobs": content["knobs"], "provenance": content["provenance"]}
        return PhysicsFit(
            Adaptation.from_dict(written, robot),
            FitJudgement(**content["judgement"]),
            Gap.from_dict(before),
            Gap.from_dict(after),
            None if held_before is None else Gap.from_dict(held_before),
            None if held_after is None else Gap.from_dict(held_after),
            np.array(content["correlation"], dtype=float).reshape(len(content["knobs"]), len(content["knobs"])),
            content["search"],
            content["cost"],
            content["stopped"],
            tuple(SearchIteration(**{**step, "values": tuple(step["values"])}) for step in content["steps"]),
            tuple(content["remarks"]),
            None if traces is None else (Traces(**traces[0]), None if traces[1] is None else Traces(**traces[1])),
            tuple(Point(**{**point, "joints": tuple(point["joints"])}) for point in content["knots"]),
            tuple(Tried(**one) for one in content["families"]),
            robot,
        )


def read_fit(place: Path, robot: Robot) -> PhysicsFit:
    """A fit from its folder or its fit.json."""
    path = place / FIT if place.is_dir() else place
    content = read_json(path, FitError, "the folder that a fit wrote, or its fit.json")
    try:
        return PhysicsFit.from_dict(content, robot)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise FitError(f"{path} is not what a fit of this version writes; fit again") from None


def claim_fit(out: Path) -> None:
    """Ask for the folder and the files that `run_fit` will write there, before any work."""
    check_folder(out, (ADAPTATION, ADAPTED_MODEL, SIMULATOR, FIT_PAGE, FIT, f"{FIT_JOURNAL}/"))


def run_fit(
    case: Case,
    options: FitOptions | None = None,
    *,
    out: Path | None = None,
    restart: bool = False,
    command: str = "",
    draw: Callable[[PhysicsFit, Path], None] | None = None,
    warn: Callable[[str], None] | None = None,
    progress: Show | None = None,
) -> PhysicsFit:
    """Find the physics with which the simulator moves as the robot of a case did.

    With `out` all files of the fit go into that folder, and a run that was killed continues there, unless `restart`
    forgets it. `draw` is called with the fit and the folder before the adaptation is written, which says that the
    others are there. `warn` is told of a file that could not be written.
    """
    options = options or FitOptions()
    settings, rungs = options.check(case.robot, case.replay), options.rungs(case.replay)
    if settings.cost in HORIZONS:
        refuse_unknown_base(case.log)
        refuse_clock(case.driver.make(1))
    if progress is not None:
        progress("", FitProgress("checking the log"))
    case.refuse_unusable()
    _refuse_falls(case.report)
    _ = case.schedule  # what cannot be cut into pieces is refused before a journal is begun
    identity = _identity(case, settings)

    def journal_of(family: Family, restart: bool = False) -> Journal | None:
        place = None if out is None else out / FIT_JOURNAL / family.name.replace(" ", "-")
        return None if place is None else Journal(place, identity, restart=restart)

    for family in {*rungs, *(replace(rung, per_joint=True) for rung in rungs if rung.curved)}:
        journal_of(family, restart)  # other settings are refused before any work

    before: list[tuple[Measured, Measured | None]] = []  # the same for all families: the first measures it

    def fit_family(asked: FitSettings, start: Mapping[str, float], base: Mapping[str, Any]) -> FitResult:
        name = asked.family.name
        result = Fit(
            case,
            asked,
            journal_of(asked.family),
            threads=options.threads,
            progress=None if progress is None else lambda state: progress(name, state),
            start=start,
            base=base,
            before=before[0] if before else None,
        ).run()
        before.append((result.before, result.held_before))
        return result

    result = climb(settings, fit_family, rungs)
    warnings = [
        finding.title
        for finding in case.report.findings
        if finding.severity != "note" or finding.code in ("fall", "near-fall")
    ]
    facts = {
        "command": command,
        **case.provenance(),
        "versions": VERSIONS,
        "seed": options.seed,
        "settle_s": case.settle_s,
        "held_out": options.held_out,
        "most_evaluations": options.most_evaluations,
        "most_simulated_s": options.most_simulated_s,
    }
    result = replace(
        result,
        remarks=(*(f"the doctor says: {title}" for title in warnings), *result.remarks),
        adaptation=replace(result.adaptation, provenance=facts),
    )
    fit = replace(physics_fit(result, case.robot), case=case)
    if out is not None:
        _write(out, fit, case, draw, warn)
    return fit


def physics_fit(result: FitResult, robot: Robot) -> PhysicsFit:
    """A finished search as the result of the step."""
    held = [None if measured is None else measured.gap for measured in (result.held_before, result.held_after)]
    return PhysicsFit(
        result.adaptation,
        judge_fit(result),
        result.before.gap,
        result.after.gap,
        held[0],
        held[1],
        result.correlation,
        result.search,
        result.cost,
        result.stopped,
        result.steps,
        result.remarks,
        result.traces,
        result.knots,
        result.tried,
        robot,
        result,
    )


def fixed(words: tuple[str, ...]) -> dict[str, Any]:
    """`name=value` and `name[joints]=value` as values for the simulator."""
    values: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name, bracket, pattern = name.strip().partition("[")
        try:
            value = float(text)
        except ValueError:
            raise FitError(
                f"a fixed parameter is {word!r}; it must be name=value, such as delay_s=0.005", argument="fix"
            ) from None
        if not equals or (bracket and not pattern.endswith("]")):
            raise FitError(
                f"a fixed parameter is {word!r}; it must be name=value or name[joints]=value, such as delay_s=0.005",
                argument="fix",
            )
        if bracket:
            held = values.setdefault(name, {})
            if not isinstance(held, dict):
                raise FitError(f"{name} is fixed twice, for all joints and for some; give it once")
            held[pattern.removesuffix("]")] = value
        elif name in values:
            raise FitError(f"{name} is fixed twice; give it once")
        else:
            values[name] = value
    return values


def _identity(case: Case, settings: FitSettings) -> dict[str, Any]:
    """All that decides the course of a fit."""
    return {
        "log": case.log_hash,
        "robot": case.robot.hash,
        "policy": case.driver.hash,
        **{name: repr(value) for name, value in vars(settings).items()},
        "priors": "" if settings.priors is None else read_text(settings.priors, FitError),
        "settle_s": case.settle_s,
        "versions": VERSIONS,
    }


def _write(
    out: Path,
    fit: PhysicsFit,
    case: Case,
    draw: Callable[[PhysicsFit, Path], None] | None,
    warn: Callable[[str], None] | None,
) -> None:
    """All files of a fit; the adaptation last, since it says that the others are there."""
    log = "the log" if case.log.path is None else case.log.path.name
    head = f"The simulator fitted to {log}. A virtual robot: try policies on it with --twin."
    write_json(out / FIT, fit.to_dict())
    if draw is not None:
        draw(fit, out)
    write_text(out / SIMULATOR, physics_file(fit.physics, head))
    try:
        write_mjcf(out / ADAPTED_MODEL, fit.adaptation, case.robot)
    except SurefootError as reason:
        if warn is not None:
            warn(f"{ADAPTED_MODEL} was not written: {reason}")
    write_adaptation(out / ADAPTATION, fit.adaptation)


def _refuse_falls(report: LogReport) -> None:
    """A log that is mostly falls: the search would find a simulator that falls in the same way, without any meaning."""
    for finding in report.findings:
        if finding.code == "fall" and finding.severity != "note":
            raise FitError(f"{finding.title}, and too little walking is left to fit: {finding.why}; {finding.fix}")
