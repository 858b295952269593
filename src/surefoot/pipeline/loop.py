"""`run_loop`: from a log to a verdict, each step in a folder of its own; the same call continues what was stopped.

A step that is done is not done again: its result is read from its files. Whoever calls is told what happens through a
`LoopWatch`, which also draws the pages.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from surefoot.errors import SurefootError
from surefoot.files import check_folder, outputs
from surefoot.pipeline.artefacts import DOCTOR_PAGE, LOG, NO_GAP, POLICY, REPORT, RUN, UNUSABLE, versions
from surefoot.pipeline.finetune import require_torch
from surefoot.pipeline.loop_inputs import FOLDERS, LoopInputs, LoopOptions, step_names, usual_recording
from surefoot.pipeline.loop_record import LoopRecord, Work, key_of
from surefoot.pipeline.loop_result import LoopResult
from surefoot.pipeline.loop_sentences import Outcome
from surefoot.pipeline.loop_steps import LoopSteps, Step
from surefoot.pipeline.loop_watch import LoopWatch


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


class _Loop:
    """One run: does the steps in their order, skips what is done, and keeps the record."""

    def __init__(
        self, inputs: LoopInputs, options: LoopOptions, out: Path, command: str, restart: bool, watch: LoopWatch
    ):
        self._names, self._out, self._watch = step_names(inputs), out, watch
        recording = options.record or replace(usual_recording(inputs), seed=options.seed, threads=options.threads)
        recorded = None if inputs.logs else {"rollouts": recording.rollouts, "seconds": recording.seconds}
        self._record = LoopRecord(
            out,
            command,
            {**inputs.to_dict(), "recording": recorded, "seed": options.seed},
            versions("torch", "rsl-rl-lib", "onnxruntime"),
            forget=FOLDERS if restart else (),
        )
        self._steps = LoopSteps(inputs, options, recording, out, self._record, watch)
        self._result = LoopResult(inputs.driver.robot, out, self._record.content)

    def run(self) -> LoopResult:
        """All steps in their order, as far as they lead."""
        code, says = 0, ""
        for name in self._names:
            outcome = self._do(self._steps.make(name, self._result))
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

    def _do(self, step: Step) -> Outcome:
        """One step, unless it is done already."""
        watch, record = self._watch, self._record
        key = key_of(step.name, step.identity, record.content["versions"])
        command = watch.command(step.name, self._steps.log, step.settings)
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
                watch.show(step.name, result, self._steps.case if step.kept_as else None)
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


def _refuse_own(out: Path, inputs: Sequence[Path]) -> None:
    """A restart removes the folders of the steps; an input that lies in one of them would go with it."""
    folders = [(out / name).resolve() for name in FOLDERS]
    for path in inputs:
        if any(folder in path.expanduser().resolve().parents for folder in folders):
            raise SurefootError(
                f"{path} lies in a folder that a restart removes; choose another folder, or copy it elsewhere first",
                argument="out",
            )
