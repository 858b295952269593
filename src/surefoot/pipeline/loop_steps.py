"""The steps of a loop: what decides the result of each, how it is run, and how it is read back."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from surefoot.adapt import ADAPTATION
from surefoot.files import check_folder, file_hash
from surefoot.gap.case import Case
from surefoot.logs import RobotLog, read_log, write_log
from surefoot.logs.doctor import LogReport
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
    POLICY,
    SIMULATOR,
    VERDICT,
    VERDICT_PAGE,
    VIDEO,
    WALKS,
)
from surefoot.pipeline.doctor import claim_doctor, run_doctor
from surefoot.pipeline.finetune import FineTuned, claim_finetune, read_tuned, run_finetune
from surefoot.pipeline.fit import PhysicsFit, claim_fit, read_fit, run_fit
from surefoot.pipeline.gap import GapResult, claim_gap, run_gap
from surefoot.pipeline.loop_inputs import LoopInputs, LoopOptions
from surefoot.pipeline.loop_record import LoopRecord
from surefoot.pipeline.loop_result import LoopResult, read_figures
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
from surefoot.pipeline.loop_watch import LoopWatch
from surefoot.pipeline.record import RecordOptions, claim_record, run_record
from surefoot.pipeline.verdict import claim_verdict, judged_policies, run_verdict
from surefoot.pipeline.walks import Walks, claim_walks, run_walks
from surefoot.policy.driver import Driver, make_driver
from surefoot.sim.twin import load_twin
from surefoot.verify.verdict import Verdict


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


class LoopSteps:
    """Makes the steps of one loop when their turn comes, since each depends on what the ones before it left."""

    def __init__(
        self,
        inputs: LoopInputs,
        options: LoopOptions,
        recording: RecordOptions,
        out: Path,
        record: LoopRecord,
        watch: LoopWatch,
    ):
        self._inputs, self._options, self._recording = inputs, options, recording
        self._out, self._record, self._watch = out, record, watch

    def make(self, name: str, result: LoopResult) -> Step:
        """A step whose turn has come; `result` holds what the steps before it left."""
        makers: dict[str, Callable[[], Step]] = {
            "record": self._record_step,
            "join": self._join_step,
            "doctor": self._doctor_step,
            "gap": self._gap_step,
            "fit": lambda: self._fit_step(result),
            "finetune": lambda: self._finetune_step(result),
            "verdict": lambda: self._verdict_step(result),
            "video": self._video_step,
        }
        return makers[name]()

    @property
    def log(self) -> Path:
        """The one log that all steps read."""
        logs = self._inputs.logs
        return logs[0] if len(logs) == 1 else self._out / ("join" if logs else "record") / LOG

    @cached_property
    def case(self) -> Case:
        """Robot, policy and log, resolved once for all steps."""
        return Case(
            self._inputs.named,
            self._inputs.driver,
            self.log,
            needed_s=self._options.needed_s,
            seed=self._options.seed,
        )

    @cached_property
    def _log_hash(self) -> str:
        return file_hash(self.log)

    def _of_case(self) -> dict[str, Any]:
        driver = self._inputs.driver
        return {"log": self._log_hash, "robot": driver.robot.hash, "policy": driver.hash}

    def _drawn(self, step: str) -> Callable[[Any, Path], None]:
        return lambda result, folder: self._watch.draw(step, result, self.case, folder)

    def _stage(self, step: str) -> Callable[[str, int, int | None], None]:
        return lambda stage, done, total: self._watch.stage(step, stage, done, total)

    def _record_step(self) -> Step:
        twin, options = self._inputs.twin, self._recording
        assert twin is not None

        def run() -> RobotLog:
            claim_record(self.log)
            stage = self._stage("record")
            return run_record(
                twin,
                self._inputs.driver,
                options,
                out=self.log,
                progress=lambda done, total: stage("recording", done, total),
            )

        return Step(
            "record",
            {"twin": twin.hash, "policy": self._inputs.driver.hash, **_deciding(options)},
            (LOG,),
            run,
            lambda: read_log(self.log),
            lambda log: about_log(log, f"the virtual robot {twin.name}"),
            settings=options,
        )

    def _join_step(self) -> Step:
        logs = self._inputs.logs

        def run() -> RobotLog:
            check_folder(self.log.parent, (LOG,))
            joined = join_logs(logs)
            write_log(joined, self.log)
            return joined

        return Step(
            "join",
            {"logs": list(self._inputs.hashes)},
            (LOG,),
            run,
            lambda: read_log(self.log),
            lambda log: about_log(log, f"{len(logs)} logs"),
        )

    def _doctor_step(self) -> Step:
        folder = self._out / "doctor"

        def run() -> LogReport:
            claim_doctor(folder)
            return run_doctor(self.case, out=folder, draw=self._drawn("doctor"))

        return Step(
            "doctor",
            {**self._of_case(), "needed_s": self._options.needed_s},
            (DOCTOR, DOCTOR_PAGE),
            run,
            lambda: LogReport.from_dict(read_figures(folder / DOCTOR)),
            about_report,
            "report",
        )

    def _gap_step(self) -> Step:
        folder, settings = self._out / "gap", self._options.gap

        def run() -> GapResult:
            claim_gap(folder, settings)
            return run_gap(
                self.case,
                settings,
                out=folder,
                command=self._watch.command("gap", self.log, settings),
                draw=self._drawn("gap"),
                progress=self._stage("gap"),
            )

        return Step(
            "gap",
            {**self._of_case(), **_deciding(settings)},
            (GAP, GAP_PAGE),
            run,
            lambda: GapResult.from_dict(read_figures(folder / GAP)),
            about_gap,
            "gap",
            settings=settings,
        )

    def _fit_step(self, result: LoopResult) -> Step:
        gap = result.gap
        assert gap is not None
        folder, asked = self._out / "fit", self._options.fit
        options = replace(asked, free=tuple(dict.fromkeys((*asked.free, *blamed(gap)))))

        def run() -> PhysicsFit:
            claim_fit(folder)
            return run_fit(
                self.case,
                options,
                out=folder,
                command=self._watch.command("fit", self.log, options),
                draw=self._drawn("fit"),
                warn=lambda text: self._watch.say("fit", f"warning: {text}"),
                progress=self._watch.fitting,
            )

        return Step(
            "fit",
            {**self._of_case(), **_deciding(options)},
            (ADAPTATION, SIMULATOR, FIT, FIT_PAGE),
            run,
            lambda: read_fit(folder, self._inputs.driver.robot),
            about_fit,
            "fit",
            settings=options,
        )

    def _finetune_step(self, result: LoopResult) -> Step:
        fit = result.fit
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
                **_deciding(options),
                "fit": self._left("fit", ADAPTATION),
            },
            (POLICY, EVALUATION),
            run,
            lambda: read_tuned(folder),
            lambda tuned: about_tuned(tuned, options.minutes),
            "tuned",
            settings=options,
        )

    def _verdict_step(self, result: LoopResult) -> Step:
        fit, tuned, driver = result.fit, result.tuned, self._inputs.driver
        assert fit is not None
        assert tuned is not None
        folder, options, twin = self._out / "verdict", self._options.verdict, self._inputs.twin
        identity = {
            "policy": driver.hash,
            "robot": driver.robot.hash,
            "twin": None if twin is None else twin.hash,
            "fit": [self._left("fit", name) for name in (ADAPTATION, FIT)],
            "tuned": self._left("finetune", POLICY),
            **_deciding(options),
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
                    "command": self._watch.command("verdict", self.log, options),
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
            lambda: Verdict.from_dict(read_figures(folder / VERDICT)),
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
            lambda: Walks.from_dict(read_figures(folder / WALKS)),
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


def blamed(result: GapResult) -> tuple[str, ...]:
    """What a fit should search beside the usual: what the best cause of the gap names, where it is sure enough."""
    diagnosis = result.diagnosis
    if diagnosis is None or not diagnosis.causes or diagnosis.sure == "unsure":
        return ()
    return diagnosis.free


def _deciding(options: Any) -> dict[str, Any]:
    """Options that decide a result; threads do not."""
    return {"options": {name: value for name, value in asdict(options).items() if name != "threads"}}
