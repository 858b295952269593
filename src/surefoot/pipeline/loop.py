"""`run_loop`: from a log to a verdict, each step in a folder of its own; the same call continues what was stopped.

A step that is done is not done again: its result is read from its files. Whoever calls is told what happens through a
`LoopWatch`, which also draws the pages.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.adapt import ADAPTATION
from surefoot.errors import LogError, PolicyError, SurefootError, TwinError
from surefoot.files import check_folder, file_hash, note_input, outputs, read_state
from surefoot.fit.run import FitProgress
from surefoot.gap.case import Case, named_policy
from surefoot.logs import RobotLog, read_log, write_log
from surefoot.logs.doctor import NEEDED_S, LogReport
from surefoot.logs.join import join_logs
from surefoot.pipeline.artefacts import (
    DOCTOR,
    DOCTOR_PAGE,
    EVALUATION,
    FIT,
    FIT_PAGE,
    GAP,
    GAP_PAGE,
    LOG,
    NO_GAP,
    POLICY,
    REPORT,
    RUN,
    SIMULATOR,
    UNUSABLE,
    VERDICT,
    VERDICT_PAGE,
    VIDEO,
    WALKS,
    versions,
)
from surefoot.pipeline.doctor import claim_doctor, run_doctor
from surefoot.pipeline.finetune import (
    FineTuned,
    FineTuneOptions,
    claim_finetune,
    read_tuned,
    require_torch,
    run_finetune,
)
from surefoot.pipeline.fit import FitOptions, PhysicsFit, claim_fit, read_fit, run_fit
from surefoot.pipeline.gap import GapResult, GapSettings, claim_gap, run_gap
from surefoot.pipeline.loop_record import LoopRecord, Work, key_of, read_record
from surefoot.pipeline.loop_sentences import (
    Outcome,
    about_fit,
    about_gap,
    about_log,
    about_report,
    about_tuned,
    about_verdict,
    about_walks,
)
from surefoot.pipeline.record import RecordOptions, claim_record, run_record
from surefoot.pipeline.verdict import VerdictOptions, claim_verdict, judged_policies, run_verdict
from surefoot.pipeline.walks import Walks, claim_walks, run_walks
from surefoot.policy.driver import Driver, make_driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.twin import Twin, load_twin
from surefoot.verify.verdict import Verdict

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress

FOLDERS = ("record", "join", "doctor", "gap", "fit", "finetune", "verdict", "video")  # of all steps, in their order
DEFAULT_ROBOT, DEFAULT_POLICY = "go2", "walk"
SHORT_TRAINING = FineTuneOptions(minutes=4.0)
# A verdict that takes a good minute on two cores: fewer episodes than by default in the named simulators, so that a
# gain has to be a little larger to count, and fewer candidates, but as many episodes of each: with less, no candidate
# could speak against the policy.
SHORT_VERDICT = VerdictOptions(episodes=20, straight_episodes=8, candidates=12, candidate_episodes=8)


@dataclass(frozen=True)
class LoopOptions:
    """The options of all steps; `seed` and `threads` hold for each of them."""

    record: RecordOptions | None = None  # None: the usual, with the time to rise; only for a virtual robot that records
    needed_s: float = NEEDED_S  # usable time that the doctor asks for
    gap: GapSettings = field(default_factory=GapSettings)
    fit: FitOptions = field(default_factory=FitOptions)
    finetune: FineTuneOptions = SHORT_TRAINING
    verdict: VerdictOptions = SHORT_VERDICT
    seed: int = 0
    threads: int = 0

    def __post_init__(self) -> None:
        """Give seed and threads to every step."""
        if self.seed < 0:
            raise SurefootError(f"the seed is {self.seed}; it must be a whole number from 0 on")
        for name in ("record", "gap", "fit", "finetune", "verdict"):
            step = getattr(self, name)
            if step is not None:
                object.__setattr__(self, name, replace(step, seed=self.seed, threads=self.threads))


@dataclass(frozen=True, eq=False)
class LoopResult:
    """What a loop left; None for steps that it did not come to."""

    robot: Robot
    folder: Path
    run: dict[str, Any]  # as in run.json
    report: LogReport | None = None
    gap: GapResult | None = None
    fit: PhysicsFit | None = None
    tuned: FineTuned | None = None
    verdict: Verdict | None = None
    walks: Walks | None = None

    @property
    def exit_code(self) -> int:
        """0 GO, 2 not usable, 3 NO-GO, 4 no gap."""
        return int(self.run["outcome"]["exit_code"])

    @property
    def says(self) -> str:
        """How it ended."""
        return str(self.run["outcome"]["says"])

    @property
    def done(self) -> list[str]:
        """The steps that are done."""
        return [name for name, entry in self.run["steps"].items() if entry["state"] == "done"]

    @property
    def video(self) -> Path | None:
        """Of both policies, where this machine could draw one."""
        path = self.folder / "video" / VIDEO
        return path if self.walks is not None and path.is_file() else None


class LoopWatch:
    """What a loop tells its caller, who overrides what matters to it; here nothing happens."""

    def begin(self, step: str) -> None:
        """A step begins."""

    def end(self, step: str, state: str, says: str, wall_s: float, skipped: bool = False) -> None:
        """A step is over: done, stopped (the loop ends there) or failed; `skipped`: it was done before."""

    def output(self, step: str, folder: Path) -> AbstractContextManager[None]:
        """Around the work of a step, for what it prints."""
        return nullcontext()

    def say(self, step: str, sentence: str) -> None:
        """A step has something to say."""

    def stage(self, step: str, stage: str, done: int, total: int | None) -> None:
        """How far a step is."""

    def fitting(self, family: str, progress: FitProgress) -> None:
        """How far a fit is."""

    def training(self, folder: Path, progress: "TrainingProgress") -> None:
        """An iteration of the fine-tuning."""

    def draw(self, step: str, result: Any, case: Case, folder: Path) -> None:
        """Draw the page of a step."""

    def show(self, step: str, result: Any, case: Case | None) -> None:
        """A step ran and has this result; there is no case yet while a log is recorded or joined."""

    def command(self, step: str, log: Path, settings: Any) -> str:
        """A line that does the same step alone; empty where there is none."""
        return ""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a loop."""

    name: str
    identity: dict[str, Any]  # all that decides its result
    files: tuple[str, ...]  # what it leaves
    run: Callable[[], Any]
    read: Callable[[], Any]  # its result, from the files
    about: Callable[[Any], Outcome]
    kept_as: str = ""  # field of `LoopResult`
    if_made: tuple[str, ...] = ()  # what it leaves beside `files` where the machine can
    settings: Any = None


@dataclass(frozen=True, eq=False)
class LoopInputs:
    """What a loop is about, resolved and read once."""

    logs: tuple[Path, ...]
    driver: Driver  # with the robot in the posture of its policy
    twin: Twin | None
    hashes: tuple[str, ...]  # of the logs
    named: Robot  # the robot as its file describes it

    @property
    def files(self) -> tuple[Path, ...]:
        """What was read."""
        policy = () if self.driver.policy is None else (Path(self.driver.policy.name),)
        return (*self.logs, *policy, self.named.path)

    def to_dict(self) -> dict[str, Any]:
        """For the record."""
        robot, twin = self.named, self.twin
        return {
            "logs": [{"file": path.name, "sha256": hash_} for path, hash_ in zip(self.logs, self.hashes, strict=True)],
            "robot": {"name": robot.name, "hash": robot.hash, "contract_hash": robot.contract_hash},
            "policy": {"name": self.driver.label, "sha256": self.driver.hash},
            "twin": None if twin is None else {"name": twin.name, "hash": twin.hash},
        }


def resolve_inputs(
    logs: Sequence[Path], robot: Robot | None, policy: str | Path | OnnxPolicy | None, twin: Twin | None
) -> LoopInputs:
    """Read what a loop is about; refuses what does not go together. Without a robot, that of the twin is meant."""
    if not logs and twin is None:
        raise SurefootError("give a log of the robot, or a virtual robot that records one")
    if twin is not None and robot is not None and twin.robot.hash != robot.hash:
        raise TwinError(
            f"{twin.name} is of {twin.robot.name}, and not of the {robot.name} that is given; give both of one robot"
        )
    described = robot or (load_robot(DEFAULT_ROBOT) if twin is None else twin.robot)
    hashes = tuple(_hash(path) for path in logs)
    if policy is None:
        policy = named_policy(read_log(logs[0]), described) if logs else DEFAULT_POLICY
    driver = make_driver(policy, described)
    if driver.policy is None:
        raise PolicyError(
            f"{driver.word} is built in and has no network to fine-tune; give the path of an .onnx file",
            argument="policy",
        )
    if twin is not None:
        _refuse_other_twin(logs, twin)
    if len(set(hashes)) < len(logs):
        raise LogError("a log is given twice, by one name or two; what it says would count double, also against itself")
    return LoopInputs(tuple(logs), driver, twin, hashes, described)


def run_loop(
    inputs: LoopInputs,
    options: LoopOptions | None = None,
    *,
    out: Path,
    restart: bool = False,
    spare: Sequence[Path] = (),
    command: str = "",
    watch: LoopWatch | None = None,
) -> LoopResult:
    """Check the log, measure the gap, fit the simulator, fine-tune the policy in it, judge it, and film both.

    Each step writes into a folder of its own inside `out`; the same call continues what was stopped, and `restart`
    forgets it. A restart removes what the steps wrote; it is refused where that holds an input, or a file of `spare`.
    `command` goes into the record.
    """
    require_torch()
    options = options or LoopOptions()
    if restart:
        _refuse_own(out, (*inputs.files, *spare))
    return _Loop(inputs, options, out, command, restart, watch or LoopWatch()).run()


def claim_loop(out: Path) -> None:
    """Ask for the folder of a loop and its own files, before any work; the steps ask for theirs."""
    check_folder(out, (RUN, REPORT, f"join/{LOG}"))


def read_loop(folder: Path, robot: Robot) -> LoopResult:
    """What a loop left in a folder, as far as it went."""
    run = read_record(folder)
    if run is None or run["outcome"] is None:
        raise SurefootError(f"{folder} holds no loop that has ended")
    result = LoopResult(robot, folder, run)
    readers: dict[str, tuple[str, Callable[[], Any]]] = {
        "doctor": ("report", lambda: LogReport.from_dict(_figures(folder / "doctor" / DOCTOR))),
        "gap": ("gap", lambda: GapResult.from_dict(_figures(folder / "gap" / GAP))),
        "fit": ("fit", lambda: read_fit(folder / "fit", robot)),
        "finetune": ("tuned", lambda: read_tuned(folder / "finetune")),
        "verdict": ("verdict", lambda: Verdict.from_dict(_figures(folder / "verdict" / VERDICT))),
        "video": ("walks", lambda: Walks.from_dict(_figures(folder / "video" / WALKS))),
    }
    return replace(result, **{name: read() for step, (name, read) in readers.items() if step in result.done})


class _Loop:
    """One run: the steps are made when their turn comes, since each depends on what the ones before it left."""

    def __init__(
        self, inputs: LoopInputs, options: LoopOptions, out: Path, command: str, restart: bool, watch: LoopWatch
    ):
        self._inputs, self._options, self._out, self._watch = inputs, options, out, watch
        self._recording = options.record or replace(usual_recording(inputs), seed=options.seed, threads=options.threads)
        recorded = None if inputs.logs else {"rollouts": self._recording.rollouts, "seconds": self._recording.seconds}
        self._record = LoopRecord(
            out,
            command,
            {**inputs.to_dict(), "recording": recorded, "seed": options.seed},
            versions("torch", "rsl-rl-lib", "onnxruntime"),
            forget=FOLDERS if restart else (),
        )
        self._result = LoopResult(inputs.driver.robot, out, self._record.content)

    def run(self) -> LoopResult:
        """All steps in their order, as far as they lead."""
        code, says = 0, ""
        for name in step_names(self._inputs):
            outcome = self._do(self._make(name))
            if outcome.ends is not None:
                code, says = outcome.ends, f"{name}: {outcome.says}"
                if name != "verdict":  # a NO-GO is worth seeing
                    break
            elif name == "verdict":
                says = f"{name}: {outcome.says}; the new policy is {self._out / 'finetune' / POLICY}"
        if code == UNUSABLE:
            says += f" (all findings: {self._out / 'doctor' / DOCTOR_PAGE})"
        if code == NO_GAP:
            says += (
                "; nothing to close: the policy's faults lie elsewhere, or in ways of walking that this log does not"
                " hold"
            )
        self._record.finish(says, code)
        return self._result

    def _make(self, name: str) -> Step:
        """A step whose turn has come."""
        makers = {
            "record": self._record_step,
            "join": self._join_step,
            "doctor": self._doctor_step,
            "gap": self._gap_step,
            "fit": self._fit_step,
            "finetune": self._finetune_step,
            "verdict": self._verdict_step,
            "video": self._video_step,
        }
        return makers[name]()

    def _do(self, step: Step) -> Outcome:
        """One step, unless it is done already."""
        watch, record = self._watch, self._record
        key = key_of(step.name, step.identity, record.content["versions"])
        command = watch.command(step.name, self._log, step.settings)
        work = Work(step.name, command, key, step.files, step.if_made)
        if record.complete(work):
            outcome = self._keep(step, step.read())
            wall_s = record.entry(step.name)["wall_s"]
            watch.end(step.name, "stopped" if outcome.ends else "done", outcome.says, wall_s, skipped=True)
            return outcome
        record.begin(work)
        (self._out / REPORT).unlink(missing_ok=True)  # it tells of what is made anew now
        watch.begin(step.name)
        began = time.monotonic()
        folder = self._out / step.name
        try:
            with watch.output(step.name, folder), outputs(step.name):
                result = step.run()
                watch.show(step.name, result, self._case if step.kept_as else None)
            outcome = self._keep(step, result)
        except KeyboardInterrupt:
            record.end(work, "interrupted", "", time.monotonic() - began)
            says = "interrupted; the same command continues"
            watch.end(step.name, "stopped", says, time.monotonic() - began)
            raise
        except Exception as reason:
            says = str(reason) if isinstance(reason, SurefootError) else f"{type(reason).__name__}: {reason}"
            record.end(work, "failed", says, time.monotonic() - began)
            watch.end(step.name, "failed", says, time.monotonic() - began)
            raise
        record.end(work, "done", outcome.says, time.monotonic() - began)
        wall_s = record.entry(step.name)["wall_s"]
        watch.end(step.name, "stopped" if outcome.ends else "done", outcome.says, wall_s)
        return outcome

    def _keep(self, step: Step, result: Any) -> Outcome:
        if step.kept_as:
            self._result = replace(self._result, **{step.kept_as: result})
        return step.about(result)

    @property
    def _log(self) -> Path:
        """The one log that all steps read."""
        logs = self._inputs.logs
        return logs[0] if len(logs) == 1 else self._out / ("join" if logs else "record") / LOG

    @cached_property
    def _case(self) -> Case:
        return Case(
            self._inputs.named,
            self._inputs.driver,
            self._log,
            needed_s=self._options.needed_s,
            seed=self._options.seed,
        )

    @cached_property
    def _log_hash(self) -> str:
        return file_hash(self._log)

    def _of_case(self) -> dict[str, Any]:
        driver = self._inputs.driver
        return {"log": self._log_hash, "robot": driver.robot.hash, "policy": driver.hash}

    def _drawn(self, step: str) -> Callable[[Any, Path], None]:
        return lambda result, folder: self._watch.draw(step, result, self._case, folder)

    def _stage(self, step: str) -> Callable[[str, int, int | None], None]:
        return lambda stage, done, total: self._watch.stage(step, stage, done, total)

    def _record_step(self) -> Step:
        twin, options = self._inputs.twin, self._recording
        assert twin is not None

        def run() -> RobotLog:
            claim_record(self._log)
            stage = self._stage("record")
            return run_record(
                twin,
                self._inputs.driver,
                options,
                out=self._log,
                progress=lambda done, total: stage("recording", done, total),
            )

        return Step(
            "record",
            {"twin": twin.hash, "policy": self._inputs.driver.hash, **_facts(options)},
            (LOG,),
            run,
            lambda: read_log(self._log),
            lambda log: about_log(log, f"the virtual robot {twin.name}"),
            settings=options,
        )

    def _join_step(self) -> Step:
        logs = self._inputs.logs

        def run() -> RobotLog:
            check_folder(self._log.parent, (LOG,))
            joined = join_logs(logs)
            write_log(joined, self._log)
            return joined

        return Step(
            "join",
            {"logs": list(self._inputs.hashes)},
            (LOG,),
            run,
            lambda: read_log(self._log),
            lambda log: about_log(log, f"{len(logs)} logs"),
        )

    def _doctor_step(self) -> Step:
        folder = self._out / "doctor"

        def run() -> LogReport:
            claim_doctor(folder)
            return run_doctor(self._case, out=folder, draw=self._drawn("doctor"))

        return Step(
            "doctor",
            {**self._of_case(), "needed_s": self._options.needed_s},
            (DOCTOR, DOCTOR_PAGE),
            run,
            lambda: LogReport.from_dict(_figures(folder / DOCTOR)),
            about_report,
            "report",
        )

    def _gap_step(self) -> Step:
        folder, settings = self._out / "gap", self._options.gap

        def run() -> GapResult:
            claim_gap(folder, settings)
            return run_gap(
                self._case,
                settings,
                out=folder,
                command=self._watch.command("gap", self._log, settings),
                draw=self._drawn("gap"),
                progress=self._stage("gap"),
            )

        return Step(
            "gap",
            {**self._of_case(), **_facts(settings)},
            (GAP, GAP_PAGE),
            run,
            lambda: GapResult.from_dict(_figures(folder / GAP)),
            about_gap,
            "gap",
            settings=settings,
        )

    def _fit_step(self) -> Step:
        assert self._result.gap is not None
        folder, asked = self._out / "fit", self._options.fit
        options = replace(asked, free=tuple(dict.fromkeys((*asked.free, *blamed(self._result.gap)))))

        def run() -> PhysicsFit:
            claim_fit(folder)
            return run_fit(
                self._case,
                options,
                out=folder,
                command=self._watch.command("fit", self._log, options),
                draw=self._drawn("fit"),
                warn=lambda text: self._watch.say("fit", f"warning: {text}"),
                progress=self._watch.fitting,
            )

        return Step(
            "fit",
            {**self._of_case(), **_facts(options)},
            (ADAPTATION, SIMULATOR, FIT, FIT_PAGE),
            run,
            lambda: read_fit(folder, self._inputs.driver.robot),
            about_fit,
            "fit",
            settings=options,
        )

    def _finetune_step(self) -> Step:
        fit = self._result.fit
        assert fit is not None
        folder, options, driver = self._out / "finetune", self._options.finetune, self._inputs.driver

        def run() -> FineTuned:
            claim_finetune(folder)
            return run_finetune(
                driver,
                fit.adaptation,
                options,
                out=folder,
                say=lambda text: self._watch.say("finetune", text),
                show=lambda progress: self._watch.training(folder, progress),
            )

        return Step(
            "finetune",
            {
                "policy": driver.hash,
                "robot": driver.robot.hash,
                **_facts(options),
                "fit": self._left("fit", ADAPTATION),
            },
            (POLICY, EVALUATION),
            run,
            lambda: read_tuned(folder),
            lambda tuned: about_tuned(tuned, options.minutes),
            "tuned",
            settings=options,
        )

    def _verdict_step(self) -> Step:
        fit, tuned, driver = self._result.fit, self._result.tuned, self._inputs.driver
        assert fit is not None
        assert tuned is not None
        folder, options, twin = self._out / "verdict", self._options.verdict, self._inputs.twin
        identity = {
            "policy": driver.hash,
            "robot": driver.robot.hash,
            "twin": None if twin is None else twin.hash,
            "fit": [self._left("fit", name) for name in (ADAPTATION, FIT)],
            "tuned": self._left("finetune", POLICY),
            **_facts(options),
        }

        def run() -> Verdict:
            claim_verdict(folder)
            old, new = judged_policies(driver, self._new, driver.robot, options.seed)
            return run_verdict(
                old,
                new,
                fit.adaptation,
                options,
                twin=twin,
                fit_gap=fit.gap_left,
                out=folder,
                facts={
                    "command": self._watch.command("verdict", self._log, options),
                    "adaptation": {"file": ADAPTATION, "sha256": self._left("fit", ADAPTATION)},
                },
                draw=self._drawn("verdict"),
                progress=self._stage("verdict"),
            )

        return Step(
            "verdict",
            identity,
            (VERDICT, VERDICT_PAGE),
            run,
            lambda: Verdict.from_dict(_figures(folder / VERDICT)),
            about_verdict,
            "verdict",
            settings=options,
        )

    def _video_step(self) -> Step:
        folder, driver, seed = self._out / "video", self._inputs.driver, self._options.seed
        fitted = self._out / "fit" / SIMULATOR
        twin = self._inputs.twin
        where = {"fit": self._left("fit", SIMULATOR)} if twin is None else {"twin": twin.hash}

        def run() -> Walks:
            claim_walks(folder)
            place = twin or load_twin(str(fitted))
            return run_walks(place, driver, self._new, out=folder, seed=seed, progress=self._stage("video"))

        return Step(
            "video",
            {**where, "policy": driver.hash, "tuned": self._left("finetune", POLICY), "seed": seed},
            (WALKS,),
            run,
            lambda: Walks.from_dict(_figures(folder / WALKS)),
            about_walks,
            "walks",
            if_made=(VIDEO,),
        )

    @cached_property
    def _new(self) -> Driver:
        """The fine-tuned policy."""
        return make_driver(self._out / "finetune" / POLICY, self._inputs.driver.robot, self._options.seed)

    def _left(self, step: str, name: str) -> str:
        """Hash of a file that a step left."""
        return str(self._record.entry(step)["files"][name])


def step_names(inputs: LoopInputs) -> list[str]:
    """The steps in their order."""
    first = [] if len(inputs.logs) == 1 else ["join"] if inputs.logs else ["record"]
    return [*first, *FOLDERS[2:]]


def usual_recording(inputs: LoopInputs) -> RecordOptions:
    """What a virtual robot records for a loop: the usual, with the time to rise for a policy of another posture."""
    usual = RecordOptions()
    return replace(usual, seconds=usual.seconds + inputs.driver.robot.posture.rise_s)


def blamed(result: GapResult) -> tuple[str, ...]:
    """What a fit should search beside the usual: what the best cause of the gap names, where it is sure enough."""
    diagnosis = result.diagnosis
    if diagnosis is None or not diagnosis.causes or diagnosis.sure == "unsure":
        return ()
    return diagnosis.free


def _refuse_own(out: Path, inputs: Sequence[Path]) -> None:
    """A restart removes the folders of the steps; an input that lies in one of them would go with it."""
    folders = [(out / name).resolve() for name in FOLDERS]
    for path in inputs:
        if any(folder in path.expanduser().resolve().parents for folder in folders):
            raise SurefootError(
                f"{path} lies in a folder that a restart removes; choose another folder, or copy it elsewhere first",
                argument="out",
            )


def _facts(options: Any) -> dict[str, Any]:
    """Options that decide a result; threads do not."""
    return {"options": {name: value for name, value in asdict(options).items() if name != "threads"}}


def _figures(path: Path) -> dict[str, Any]:
    """A JSON file that a step wrote."""
    content = read_state(path)
    if not isinstance(content, dict):
        raise SurefootError(f"{path} cannot be read; run the loop anew in another folder")
    return content


def _hash(path: Path) -> str:
    if not path.is_file():
        raise LogError(
            f"{path} is a folder; give a Parquet file" if path.is_dir() else f"the log {path} does not exist"
        )
    note_input(path)
    return file_hash(path)


def _refuse_other_twin(logs: Sequence[Path], twin: Twin) -> None:
    """A log that another virtual robot wrote: the fit would be of one robot, and the verdict on another."""
    for path in logs:
        waiting = [read_log(path).metadata.get("source")]
        while waiting:
            source = waiting.pop()
            if not isinstance(source, dict):
                continue
            if isinstance(source.get("logs"), list):  # of a log that was joined from several
                waiting += [part.get("source") for part in source["logs"] if isinstance(part, dict)]
            name, known = source.get("twin"), source.get("twin_hash")
            if source.get("kind") == "virtual robot" and isinstance(known, str) and known != twin.hash:
                other = f"{name}" if name != twin.name else f"another {name}, with other values,"
                raise TwinError(
                    f"{path} was recorded by {other} and not by {twin.name}; give the virtual robot that recorded it, or"
                    " none",
                    argument="twin",
                )
