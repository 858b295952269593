"""The steps of a loop: which verb each one is, with which words, what it leaves, and what that says in one sentence.

A step is made when its turn comes, since it may depend on what the one before it found. It is judged by the files that
it left, so that one that is skipped says the same as one that ran.
"""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.adapt import ADAPTATION
from surefoot.cli.loop_words import arrow, falls_words, longer, short, walking
from surefoot.errors import SurefootError
from surefoot.files import file_hash, read_state, write_json
from surefoot.logs import read_log, write_log
from surefoot.logs.join import join_logs
from surefoot.verify.fit_gap import FIT, FitGap

NO_GO, NO_GAP, UNUSABLE = 3, 4, 2  # exit codes; verdict and doctor have the same ones
LOG, JOINED, TUNED = "log.parquet", "join", "finetune"
TOO_SHORT = "too-short"  # the doctor's word for a log that is enough for a gap and not for a fit
VIDEO, WALKS, CHECKPOINT = "before_after.mp4", "walks.json", "checkpoint.safetensors"
OWN_FILES = (
    "doctor/doctor.json",
    f"video/{VIDEO}",
    f"video/{WALKS}",
    f"{JOINED}/{LOG}",
)  # that no verb of a step writes
# A verdict that takes a good minute on two cores: fewer episodes than by default in the named simulators, so that a
# gain has to be a little larger to count, and fewer candidates, but as many episodes of each: with less, no candidate
# could speak against the policy.
VERDICT = {"episodes": 20, "straight_episodes": 8, "candidates": 12, "candidate_episodes": 8}


@dataclass(frozen=True)
class Plan:
    """What a loop was asked for, resolved."""

    out: Path
    logs: tuple[Path, ...]
    robot: str
    policy: str
    twin: str | None
    rollouts: int
    seconds: float
    minutes: float
    seed: int
    threads: int
    contents: dict[str, str]  # hash of what a word names: a log, the robot, the policy, the virtual robot

    @property
    def log(self) -> Path:
        """The one log that all steps read."""
        if len(self.logs) == 1:
            return self.logs[0]
        return self.out / (JOINED if self.logs else "record") / LOG

    def folder(self, step: str) -> Path:
        """Where a step writes."""
        return self.out / step


@dataclass(frozen=True)
class Result:
    """What a step came to; `ends` is the exit code with which the loop is over."""

    says: str
    ends: int | None = None


@dataclass(frozen=True)
class Step:
    """One step: a verb with its words, or a function of our own."""

    name: str
    words: tuple[str, ...]  # verb and arguments
    inputs: tuple[Path, ...]  # files of earlier steps that decide the result
    files: tuple[str, ...]  # what it leaves
    result: Callable[[], Result]
    own: Callable[[], None] | None = None  # instead of the verb
    after: Callable[[str], None] = lambda printed: None  # with what the verb printed
    threads: int = 0  # changes no result
    if_made: tuple[str, ...] = ()  # what it leaves beside `files` where the machine can

    @property
    def line(self) -> tuple[str, ...]:
        """Verb and arguments as they are run."""
        return self.words + (("--threads", str(self.threads)) if self.threads else ())

    @property
    def command(self) -> str:
        """A line that does the same alone; empty where there is none."""
        return shlex.join(["surefoot", *self.line]) if self.own is None else ""

    def contents(self, plan: Plan) -> dict[str, str]:
        """Hashes of all that goes in, by the word that names it."""
        return plan.contents | {str(path): file_hash(path) for path in self.inputs}


FOLDERS = ("record", JOINED, "doctor", "gap", "fit", TUNED, "verdict", "video")  # of all steps that a loop may have


def names_of(plan: Plan) -> list[str]:
    """The steps in their order."""
    first = [] if len(plan.logs) == 1 else [JOINED] if plan.logs else ["record"]
    return [*first, "doctor", "gap", "fit", TUNED, "verdict", "video"]


def make_step(name: str, plan: Plan) -> Step:
    """A step whose turn has come."""
    makers = {
        "record": _record,
        JOINED: _join,
        "doctor": _doctor,
        "gap": _gap,
        "fit": _fit,
        TUNED: _finetune,
        "verdict": _verdict,
        "video": _video,
    }
    return makers[name](plan)


def read_figures(path: Path) -> dict[str, Any]:
    """A JSON file that a step wrote."""
    content = read_state(path)
    if not isinstance(content, dict):
        raise SurefootError(f"{path} cannot be read; the same command with --restart begins anew")
    return content


def _record(plan: Plan) -> Step:
    assert plan.twin is not None
    words = (
        "record",
        "--twin",
        plan.twin,
        "--policy",
        plan.policy,
        "--rollouts",
        str(plan.rollouts),
        "--seconds",
        f"{plan.seconds:g}",
        "--out",
        str(plan.log),
        "--seed",
        str(plan.seed),
    )
    return Step(
        "record",
        words,
        (),
        (LOG,),
        lambda: Result(f"{_amount(plan.log)} from the virtual robot {plan.twin}"),
        threads=plan.threads,
    )


def _join(plan: Plan) -> Step:
    def join() -> None:
        write_log(join_logs(plan.logs), plan.log)

    return Step(
        JOINED,
        tuple(map(str, plan.logs)),
        (),
        (LOG,),
        lambda: Result(f"{_amount(plan.log)} from {len(plan.logs)} logs"),
        join,
    )


def _amount(path: Path) -> str:
    log = read_log(path)
    return f"{log.n_episodes} episodes, {log.seconds:.0f} s"


def _doctor(plan: Plan) -> Step:
    place = plan.folder("doctor")
    words = (
        "doctor",
        str(plan.log),
        "--robot",
        plan.robot,
        "--policy",
        plan.policy,
        "--json",
        "--html",
        str(place / "doctor.html"),
    )

    def keep(printed: str) -> None:
        found, _ = json.JSONDecoder().raw_decode(printed[max(printed.find("{"), 0) :])
        write_json(place / "doctor.json", found)

    def result() -> Result:
        found = read_figures(place / "doctor.json")
        amount = f"{found['usable_s'] / 60:.1f} of {found['needed_s'] / 60:.1f} minutes that a fit needs"
        told = [one for one in found["findings"] if one["severity"] != "note"]
        if found["exit_code"] == 2:
            worst = next(one for one in told if one["severity"] == "error")
            return Result(f"not usable: {worst['title']}; {worst['fix']}", UNUSABLE)
        if told:
            more = f", and {len(told) - 1} more" if len(told) > 1 else ""
            beside = "" if told[0]["code"] == TOO_SHORT else f", {amount}"  # which that finding says itself
            return Result(f"usable with care{beside}: {told[0]['title']}{more}")
        return Result(f"usable, {amount}")

    return Step("doctor", words, _own_log(plan), ("doctor.json", "doctor.html"), result, after=keep)


def _own_log(plan: Plan) -> tuple[Path, ...]:
    """The log, where an earlier step wrote it."""
    return () if len(plan.logs) == 1 else (plan.log,)


def _gap(plan: Plan) -> Step:
    place = plan.folder("gap")
    words = (
        "gap",
        str(plan.log),
        "--robot",
        plan.robot,
        "--policy",
        plan.policy,
        "--out",
        str(place),
        "--seed",
        str(plan.seed),
    )

    def result() -> Result:
        found = read_figures(place / "gap.json")
        gap, diagnosis = found["gap"], found["diagnosis"]
        size = (
            f"{gap['total']:.3f}, {gap['total'] / gap['floor']:.0f} × its floor"
            if gap["floor"]
            else f"{gap['total']:.3f}"
        )
        if not gap["measurable"]:
            return Result(f"no measurable gap: {size}; up to {gap['limit']:.3f} is chance", NO_GAP)
        if not diagnosis or not diagnosis["causes"]:
            return Result(size)
        cause, sure = diagnosis["causes"][0], diagnosis["sure"]
        looks = f"looks like {cause['name']} (closes {cause['explains']:.0%})"
        return Result(f"{size}; {looks if sure != 'unsure' else 'nothing that was tried explains most of it'}")

    return Step("gap", words, _own_log(plan), ("gap.json", "gap.html"), result, threads=plan.threads)


def _fit(plan: Plan) -> Step:
    place = plan.folder("fit")
    words = (
        "fit",
        str(plan.log),
        "--robot",
        plan.robot,
        "--policy",
        plan.policy,
        "--out",
        str(place),
        "--seed",
        str(plan.seed),
    )
    free = blamed(read_figures(plan.folder("gap") / "gap.json"))
    searched = ("--free", *free) if free else ()

    def result() -> Result:
        found = read_figures(place / FIT)
        before, after, held = (found["gaps"][name] for name in ("before", "after", "held_out_after"))
        beside = f"floor {after['floor']:.3f}" + (f"; held out {held['total']:.3f}" if held else "")
        says = f"gap {before['total']:.3f} → {after['total']:.3f} ({beside}), {len(found['knobs'])} parameters"
        if not FitGap.of(found).nearer:
            return Result(f"{says}: no nearer to the robot; keep simulator and policy as they are", NO_GO)
        return Result(says)

    files = (ADAPTATION, "simulator.yaml", FIT, "fit.html")
    return Step("fit", (*words, *searched), _own_log(plan), files, result, threads=plan.threads)


def blamed(figures: dict[str, Any]) -> tuple[str, ...]:
    """What the gap's best cause asks a fit to search beside the usual: as its next command says, and the
    floor where that is to blame.
    """
    diagnosis = figures["diagnosis"]
    if not diagnosis or not diagnosis["causes"] or diagnosis["sure"] == "unsure":
        return ()
    return tuple(diagnosis["free"])


def _finetune(plan: Plan) -> Step:
    place = plan.folder(TUNED)
    words = (
        "finetune",
        plan.policy,
        "--adaptation",
        str(plan.folder("fit")),
        "--robot",
        plan.robot,
        "--out",
        str(place),
        "--minutes",
        f"{plan.minutes:g}",
        "--seed",
        str(plan.seed),
    )

    def result() -> Result:
        found = read_figures(place / "eval.json")
        drifts, errors = zip(*(walking(found[side]) for side in ("before", "after")), strict=True)
        walks = f"drift {arrow(drifts, 2)} m, velocity error {arrow(errors, 3)} m/s"
        choice = found.get("choice") or {}
        part = (
            f"{100 * choice['share']:.0f} % of the way to what was trained" if choice.get("share") else "trimmed only"
        )
        kept = f"; {part}, training made it worse" if choice.get("reason") else ""
        return Result(
            f"{walks}{falls_words(found)} in the fitted simulator{kept}{longer(place / CHECKPOINT, plan.minutes)}"
        )

    return Step(
        TUNED, words, (plan.folder("fit") / ADAPTATION,), ("policy.onnx", "eval.json"), result, threads=plan.threads
    )


def _verdict(plan: Plan) -> Step:
    place, tuned = plan.folder("verdict"), plan.folder(TUNED) / "policy.onnx"
    words = (
        "verdict",
        "--before",
        plan.policy,
        "--after",
        str(tuned),
        "--adaptation",
        str(plan.folder("fit")),
        "--robot",
        plan.robot,
        *(("--twin", plan.twin) if plan.twin else ()),
        "--out",
        str(place),
        *(word for name, value in VERDICT.items() for word in (f"--{name.replace('_', '-')}", str(value))),
        "--seed",
        str(plan.seed),
    )

    def result() -> Result:
        found = read_figures(place / "verdict.json")
        if found["verdict"] == "GO":
            left = f"; but {found['fit']['says']}" if found["fit"].get("measurable") else ""
            return Result(f"GO: {found['gains'][0]}{left}")
        reasons = [f"{one['simulator']}: {short(one['says'])}" for one in found["reasons"]]
        more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
        return Result(f"NO-GO, {reasons[0]}{more}", NO_GO)

    inputs = plan.folder("fit") / ADAPTATION, plan.folder("fit") / FIT, tuned
    return Step("verdict", words, inputs, ("verdict.json", "verdict.html"), result, threads=plan.threads)


def _video(plan: Plan) -> Step:
    place, tuned, fitted = (
        plan.folder("video"),
        plan.folder(TUNED) / "policy.onnx",
        plan.folder("fit") / "simulator.yaml",
    )
    where = plan.twin or str(fitted)

    def film() -> None:
        from surefoot.cli.loop_video import film_both

        film_both(place, where, plan.policy, str(tuned), plan.seed)

    def result() -> Result:
        found = read_figures(place / WALKS)
        falls = [found[side]["falls"] for side in ("before", "after")]
        fell = f"; falls {falls[0]} → {falls[1]}" if any(falls) else ""
        return Result(f"{found['says']}{fell}")

    words = (where, plan.policy, str(tuned))
    return Step("video", words, (tuned, *(() if plan.twin else (fitted,))), (WALKS,), result, film, if_made=(VIDEO,))
