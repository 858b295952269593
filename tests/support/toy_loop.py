"""One real loop at toy size: eight short episodes, seconds of training; run once, and shared by all test processes."""

import fcntl
from pathlib import Path

import pytest

from surefoot.pipeline.finetune import FineTuneOptions
from surefoot.pipeline.fit import FitOptions
from surefoot.pipeline.loop import run_loop
from surefoot.pipeline.loop_inputs import LoopOptions, resolve_inputs
from surefoot.pipeline.loop_result import LoopResult, read_loop
from surefoot.pipeline.record import RecordOptions
from surefoot.pipeline.verdict import VerdictOptions
from surefoot.report.drawn_loop import DrawnLoop
from surefoot.robot import load_robot
from surefoot.sim.twin import load_twin

TOY = LoopOptions(
    record=RecordOptions(rollouts=8, seconds=2.0),
    needed_s=12.0,
    fit=FitOptions(family="static", tie="type", most_evaluations=60),
    finetune=FineTuneOptions(iterations=2, worlds=16, episodes=4, judges=8, trim_s=1.0),
    verdict=VerdictOptions(episodes=4, straight_episodes=2, candidates=2, candidate_episodes=2, seconds=2.0),
    threads=1,
)


def run_toy_loop(out: Path) -> LoopResult:
    """All steps for real but the drawing of the video; what is done is not done again."""
    inputs = resolve_inputs((), None, "walk", load_twin("go2-identified"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUJOCO_GL", "off")
        return run_loop(inputs, TOY, out=out, watch=DrawnLoop())


def shared_toy_loop(base: Path) -> LoopResult:
    """The one that all test processes share, as its files hold it; the first process to ask runs it."""
    with (base / "toy_loop.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        out = base / "toy_loop"
        if not (out / "complete").exists():
            run_toy_loop(out)
            (out / "complete").touch()
    return read_loop(out, load_robot("go2"))
