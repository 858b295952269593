"""`surefoot loop`."""

import importlib.util
import shlex
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import tyro

from surefoot.cli.loop_run import RUN, RunFile, Work, key_of
from surefoot.cli.loop_screen import LoopScreen, kept
from surefoot.cli.loop_steps import (
    FOLDERS,
    NO_GAP,
    OWN_FILES,
    TUNED,
    UNUSABLE,
    VIDEO,
    Plan,
    Result,
    Step,
    make_step,
    names_of,
)
from surefoot.errors import LogError, PolicyError, SurefootError, TwinError
from surefoot.files import check_folder, file_hash, note_input, write_text
from surefoot.gap.case import named_policy
from surefoot.logs import read_log
from surefoot.pipeline.artefacts import VERSIONS
from surefoot.policy.agents import PolicyAgent, make_agent, with_policy_posture
from surefoot.robot import Robot, load_robot
from surefoot.robot.load import shipped_robots
from surefoot.sim.twin import Twin, load_twin

DEFAULT_ROBOT, DEFAULT_POLICY = "go2", "walk"
ROLLOUTS, SECONDS = 64, 4.0
REPORT = "report.html"
TRAINING = ("torch", "rsl_rl")  # modules of the extra 'train'


def loop(
    logs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[LOG ...]")] = (),
    /,
    *,
    out: Path,
    robot: str | None = None,
    policy: str | None = None,
    twin: str | None = None,
    minutes: float = 4.0,
    rollouts: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    threads: int = 0,
    restart: bool = False,
) -> int:
    """Do the whole loop: check the log, measure the gap, fit the simulator, fine-tune the policy in it, and
    judge the result.

    Each step is a verb of its own and writes into a folder of its own, doctor/, gap/, fit/, finetune/, verdict/ and
    video/, with what it printed in log.txt. run.json holds every input, command, time and result, report.html the whole
    story. Killed or stopped with Ctrl-C, the same command continues; what is done is not done again. Exit code 0 for
    GO, 3 for NO-GO (or a fit that came no nearer to the robot), 4 where no gap can be measured, 2 for a log or anything
    else that cannot be used.

    Args:
        logs: logs that 'surefoot record' or 'surefoot log import' wrote, of one robot and one policy; none:
            --twin records one
        out: the folder to write into
        robot: a shipped robot or the path of a robot.yaml; default: that of --twin, or go2
        policy: the policy that drove the robot and is to be fine-tuned: path of an ONNX file, or the name of one that
            ships with the robot; default: the one that the log names, or walk
        twin: a virtual robot, by name or path, that records the log where none is given, and that the
            verdict and the video also use
        minutes: how long to fine-tune; more than before goes on from there, and less keeps what has been
            trained longer and says so
        rollouts: episodes that the virtual robot records (64)
        seconds: length of each of them, s (4, and the time to rise, for a policy of another posture than level)
        seed: of everything random
        threads: of simulator and learner; 0 takes all cores
        restart: forget an earlier loop in the same folder
    """
    check_folder(out, (RUN, REPORT, *OWN_FILES))
    if not logs and twin is None:
        raise SurefootError("give a log of the robot, or a virtual robot with --twin that records one")
    if logs and (rollouts is not None or seconds is not None):
        raise SurefootError("--rollouts and --seconds are for a virtual robot that records; with a log, leave them out")
    if not 0 < minutes < float("inf"):
        raise SurefootError(f"minutes is {minutes:g}; fine-tuning needs a time above 0")
    if seed < 0:
        raise SurefootError(f"the seed is {seed}; it must be a whole number from 0 on")
    _refuse_missing()
    hidden = None if twin is None else load_twin(twin)
    robot, described = _robot(robot, hidden)
    policy, agent = _policy(policy, described, logs)
    files = {str(path): _hash(path) for path in logs}
    if hidden is not None:
        _refuse_other_twin(logs, hidden)
    if len(set(files.values())) < len(logs):
        raise LogError("a log is given twice, by one name or two; what it says would count double, also against itself")
    contents = {**files, robot: described.hash, policy: agent.hash} | (
        {} if twin is None or hidden is None else {twin: hidden.hash}
    )
    usual_s = SECONDS + with_policy_posture(described, agent.policy).posture.rise_s
    plan = Plan(
        out,
        logs,
        robot,
        policy,
        twin,
        ROLLOUTS if rollouts is None else rollouts,
        usual_s if seconds is None else seconds,
        minutes,
        seed,
        threads,
        contents,
    )
    inputs: dict[str, Any] = {
        "logs": [{"file": path.name, "sha256": files[str(path)]} for path in logs],
        "robot": {"name": described.name, "hash": described.hash, "contract_hash": described.contract_hash},
        "policy": {"name": agent.label, "sha256": agent.hash},
        "twin": None if hidden is None else {"name": hidden.name, "hash": hidden.hash},
        "recording": None if logs else {"rollouts": plan.rollouts, "seconds": plan.seconds},
        "seed": seed,
    }
    if restart:
        _refuse_own(out, (*logs, *(Path(word) for word in (robot, policy, twin) if word is not None)))
    record = RunFile(out, _command(plan), inputs, _versions(), forget=FOLDERS if restart else ())
    with LoopScreen(names_of(plan)) as screen:
        code, outcome = _run(plan, record, screen)
    record.finish(outcome, code)
    _report(plan, record, described)
    screen.say(outcome)
    video = plan.folder("video") / VIDEO
    screen.say(
        f"report: {out / REPORT}"
        + (f"; video: {video}" if record.told("video").get("state") == "done" and video.exists() else "")
    )
    return code


def _run(plan: Plan, record: RunFile, screen: LoopScreen) -> tuple[int, str]:
    """All steps in their order, as far as they lead: exit code, and the sentence that says how it ended."""
    code, outcome = 0, ""
    for name in names_of(plan):
        step = make_step(name, plan)
        result = _one(step, plan, record, screen)
        if result.ends is not None:
            code, outcome = result.ends, f"{name}: {result.says}"
            if name != "verdict":  # a NO-GO is worth seeing
                break
        elif name == "verdict":
            outcome = f"{name}: {result.says}; the new policy is {plan.folder(TUNED) / 'policy.onnx'}"
    if code == UNUSABLE:
        outcome += f" (all findings: {plan.folder('doctor') / 'doctor.html'})"
    if code == NO_GAP:
        outcome += (
            "; nothing to close: the policy's faults lie elsewhere, or in ways of walking that this log does not hold"
        )
    return code, outcome


def _one(step: Step, plan: Plan, record: RunFile, screen: LoopScreen) -> Result:
    """One step, unless it is complete."""
    key = key_of(step.name, step.words, step.contents(plan), plan.out, record.content["versions"])
    work = Work(step.name, step.command, key, step.files, step.if_made)
    if record.complete(work):
        result = step.result()
        screen.end(
            step.name, "stopped" if result.ends else "done", result.says, record.told(step.name)["wall_s"], skipped=True
        )
        return result
    record.begin(work)
    (plan.out / REPORT).unlink(missing_ok=True)  # it tells of what is made anew now
    screen.begin(step.name)
    began = time.monotonic()
    try:
        _do(step, plan, screen)
        result = step.result()
    except KeyboardInterrupt:
        record.end(work, "interrupted", "", time.monotonic() - began)
        screen.end(step.name, "stopped", "interrupted; the same command continues", time.monotonic() - began)
        raise
    except Exception as reason:
        says = str(reason) if isinstance(reason, SurefootError) else f"{type(reason).__name__}: {reason}"
        record.end(work, "failed", says, time.monotonic() - began)
        screen.end(step.name, "failed", says, time.monotonic() - began)
        raise
    record.end(work, "done", result.says, time.monotonic() - began)
    screen.end(step.name, "stopped" if result.ends else "done", result.says, record.told(step.name)["wall_s"])
    return result


def _do(step: Step, plan: Plan, screen: LoopScreen) -> None:
    """Run a step; what it prints goes into its log.txt."""
    told = plan.folder(step.name) / "log.txt"
    with kept(told, lambda line: screen.tell(step.name, line)):
        if step.own is not None:
            step.own()
            return
        from surefoot.cli.main import call_verb

        verb, *rest = step.line
        try:
            call_verb(verb, rest)
        except SystemExit:  # words that the verb does not take, such as a file called --help
            raise SurefootError(f"'{step.command}' was not understood; {told} says why") from None
    step.after(told.read_text(encoding="utf-8"))


def _report(plan: Plan, record: RunFile, robot: Robot) -> None:
    from surefoot.cli.loop_story import read_story
    from surefoot.report.loop_page import loop_page

    write_text(plan.out / REPORT, loop_page(read_story(plan, record.content, robot)))


def _refuse_own(out: Path, inputs: tuple[Path, ...]) -> None:
    """A restart removes the folders of the steps; an input that lies in one of them would go with it."""
    folders = [(out / name).resolve() for name in FOLDERS]
    for path in inputs:
        if any(folder in path.expanduser().resolve().parents for folder in folders):
            raise SurefootError(
                f"{path} lies in a folder that --restart removes; give another --out, or copy it elsewhere first"
            )


def _refuse_missing() -> None:
    """What the last steps need is missed at the start and not after minutes of work."""
    missing = [name for name in TRAINING if importlib.util.find_spec(name) is None]
    if missing:
        raise SurefootError(
            f"the loop fine-tunes, which needs PyTorch ({missing[0]} is missing); install it with: pip install"
            " 'surefoot[train]'"
        )


def _robot(asked: str | None, twin: Twin | None) -> tuple[str, Robot]:
    """The word for the robot, and the robot."""
    if twin is None:
        return asked or DEFAULT_ROBOT, load_robot(asked or DEFAULT_ROBOT)
    if asked is None:
        folder = twin.robot.path.parent
        return folder.name if folder in shipped_robots() else str(twin.robot.path), twin.robot
    found = load_robot(asked)
    if found.hash != twin.robot.hash:
        raise TwinError(
            f"{twin.name} is of {twin.robot.name}, and not of the {found.name} that --robot gives; give both of one"
            " robot"
        )
    return asked, found


def _refuse_other_twin(logs: tuple[Path, ...], twin: Twin) -> None:
    """A log that another virtual robot wrote: the fit would be of one robot, and the verdict on another."""
    for path in logs:
        waiting = [read_log(path).metadata.get("source")]
        while waiting:
            source = waiting.pop()
            if not isinstance(source, dict):
                continue
            if isinstance(source.get("logs"), list):  # of a log that was joined from several
                waiting += [one.get("source") for one in source["logs"] if isinstance(one, dict)]
            name, known = source.get("twin"), source.get("twin_hash")
            if source.get("kind") == "virtual robot" and isinstance(known, str) and known != twin.hash:
                other = f"{name}" if name != twin.name else f"another {name}, with other values,"
                raise TwinError(
                    f"{path} was recorded by {other} and --twin gives {twin.name}; give the virtual robot that recorded"
                    " it, or leave --twin out"
                )


def _policy(asked: str | None, robot: Robot, logs: tuple[Path, ...]) -> tuple[str, PolicyAgent]:
    """The word for the policy, and the policy; only a network can be fine-tuned."""
    word = asked or (named_policy(read_log(logs[0]), robot) if logs else DEFAULT_POLICY)
    agent = make_agent(word, robot, 1)
    if not isinstance(agent, PolicyAgent):
        raise PolicyError(
            f"{word} is built in and has no network to fine-tune; give the path of an .onnx file with --policy"
        )
    return word, agent


def _hash(path: Path) -> str:
    if not path.is_file():
        raise LogError(
            f"{path} is a folder; give a Parquet file" if path.is_dir() else f"the log {path} does not exist"
        )
    note_input(path)
    return file_hash(path)


def _versions() -> dict[str, str]:
    found = dict(VERSIONS)
    for name in ("torch", "rsl-rl-lib", "onnxruntime"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def _command(plan: Plan) -> str:
    words = ["surefoot", "loop", *map(str, plan.logs), "--robot", plan.robot, "--policy", plan.policy]
    words += ["--twin", plan.twin] if plan.twin else []
    words += ["--minutes", f"{plan.minutes:g}", "--seed", str(plan.seed), "--out", str(plan.out)]
    words += [] if plan.logs else ["--rollouts", str(plan.rollouts), "--seconds", f"{plan.seconds:g}"]
    return shlex.join(words)
