"""Surefoot as a library: the steps of the loop as one call each, on values.

    import surefoot as sf

    case = sf.Case("go2", policy="walk", log="day1.parquet")
    print(sf.check_log(case))
    fit = sf.fit_physics(case, out="fit/")
    worlds = fit.physics.worlds(64)

Options are keywords with the names and defaults of `GapSettings`, `FitOptions`, `FineTuneOptions`, `VerdictOptions`,
`EvaluateOptions` and `LoopOptions`.
With `out` a step writes its files there, as the command line does, and continues there after it was killed. With
`progress=True` it shows how far it is; a function instead of True is called with that.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surefoot.adapt import Adaptation
from surefoot.adapt.adaptation import AdaptedPhysics
from surefoot.console import Console
from surefoot.files import path_of
from surefoot.fit.run import FitProgress
from surefoot.gap.case import Case
from surefoot.logs.doctor import LogReport
from surefoot.pipeline import loop
from surefoot.pipeline.evaluate import EvaluateOptions, run_evaluate
from surefoot.pipeline.finetune import FineTuned, FineTuneOptions, run_finetune
from surefoot.pipeline.fit import FitOptions, PhysicsFit, run_fit
from surefoot.pipeline.gap import GapResult, GapSettings, Stage, run_gap
from surefoot.pipeline.loop_inputs import LoopOptions, resolve_inputs
from surefoot.pipeline.loop_result import LoopResult
from surefoot.pipeline.loop_watch import LoopWatch
from surefoot.pipeline.verdict import VerdictOptions, judged_policies, run_verdict
from surefoot.policy.driver import Driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin, load_twin
from surefoot.verify.evaluate import Evaluation
from surefoot.verify.verdict import Verdict

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress


def check_log(case: Case) -> LogReport:
    """What the doctor says of the log of a case: findings, usable rows, delay. It never raises for a bad log."""
    return case.report


def measure_gap(
    case: Case,
    *,
    physics: Physics | None = None,
    out: str | Path | None = None,
    progress: bool | Callable[[str, int, int | None], None] = False,
    **settings: Any,
) -> GapResult:
    """How far a simulator is from the log, beside its noise floor, and why.

    `physics` is the simulator to compare with; without it, the robot's own, and causes are looked for. `progress` gets
    what is being done, how far it is, and of how many. `settings` are those of `GapSettings`.
    """
    with _stages(progress) as show:
        return run_gap(case, GapSettings(**settings), physics=physics, out=_folder(out), progress=show)


def fit_physics(
    case: Case,
    *,
    out: str | Path | None = None,
    restart: bool = False,
    progress: bool | Callable[[str, FitProgress], None] = False,
    **options: Any,
) -> PhysicsFit:
    """The physics with which the simulator moves as the robot did, with intervals.

    `options` are those of `FitOptions`; `fix` may be a mapping of parameters to values, `free` a single name. `progress` gets the family
    that is being fitted and a `FitProgress`.
    """
    if isinstance(options.get("fix"), Mapping):
        options["fix"] = _fixed(options["fix"])
    if progress is not True:
        return run_fit(case, FitOptions(**options), out=_folder(out), restart=restart, progress=progress or None)
    from surefoot.cli.fit_screen import FitScreen

    with FitScreen(Console()) as screen:
        return run_fit(case, FitOptions(**options), out=_folder(out), restart=restart, progress=screen.show_family)


def finetune(
    case: Case,
    physics: Physics,
    *,
    out: str | Path | None = None,
    restart: bool = False,
    say: Callable[[str], None] | None = None,
    progress: "bool | Callable[[TrainingProgress], None]" = False,
    **options: Any,
) -> FineTuned:
    """Go on training the policy of a case in a physics, and measure it there before and after.

    Without `out` the policy is written into a new temporary folder. `say` gets sentences, `progress` each iteration.
    `options` are those of `FineTuneOptions`.
    """
    folder = Path(tempfile.mkdtemp(prefix="surefoot-finetune-")) if out is None else Path(out)
    chosen, adaptation = FineTuneOptions(**options), _adaptation(physics)
    if progress is not True:
        return run_finetune(
            case.driver, adaptation, chosen, out=folder, restart=restart, say=say, show=progress or None
        )
    from surefoot.cli.train import TrainingScreen

    with TrainingScreen(Console(), folder) as screen:
        return run_finetune(
            case.driver, adaptation, chosen, out=folder, restart=restart, say=say or print, show=screen.show
        )


def verdict(
    case: Case,
    after: OnnxPolicy | str | Path,
    physics: Physics,
    *,
    before: OnnxPolicy | str | Path | None = None,
    twin: Twin | str | None = None,
    out: str | Path | None = None,
    progress: bool | Callable[[str, int, int | None], None] = False,
    **options: Any,
) -> Verdict:
    """Whether a policy does better than the one of the case (or `before`), and may go onto the robot.

    `physics` is what a fit found. `twin` is a virtual robot to walk on too. `options` are those of `VerdictOptions`.
    """
    chosen = VerdictOptions(**options)
    first = case.policy or case.driver.word if before is None else before
    old, new = judged_policies(first, after, case.robot, chosen.seed)
    fit = physics.fit if isinstance(physics, AdaptedPhysics) else None
    with _stages(progress) as show:
        return run_verdict(
            old,
            new,
            _adaptation(physics),
            chosen,
            twin=load_twin(twin) if isinstance(twin, str) else twin,
            fit_gap=None if fit is None else fit.gap_left,
            out=_folder(out),
            progress=show,
        )


def evaluate_policy(
    policy: OnnxPolicy | Driver | str | Path,
    robot: Robot | str | Path = "go2",
    *,
    twin: Twin | str | None = None,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Evaluation:
    """How well a policy walks on its robot, or on a virtual one: tracking, drift, falls and effort, with counts.

    `progress` gets control ticks, done and in all. `options` are those of `EvaluateOptions`.
    """
    hidden = load_twin(twin) if isinstance(twin, str) else twin
    described = _robot(robot) if hidden is None else hidden.robot
    return run_evaluate(policy, described, EvaluateOptions(**options), twin=hidden, progress=progress)


def run_loop(
    logs: str | Path | Sequence[str | Path] = (),
    *,
    out: str | Path,
    robot: Robot | str | Path | None = None,
    policy: OnnxPolicy | str | Path | None = None,
    twin: Twin | str | None = None,
    restart: bool = False,
    watch: LoopWatch | None = None,
    **options: Any,
) -> LoopResult:
    """All steps, from logs (or a virtual robot that records one) to a verdict, each in its own folder inside `out`.

    The same call continues what was stopped; `restart` forgets it. `watch` is told what happens; by default it draws
    the pages of the steps. `options` are those of `LoopOptions`.
    """
    from surefoot.report.drawn_loop import DrawnLoop

    files = [path_of(path) for path in ([logs] if isinstance(logs, (str, Path)) else logs)]
    hidden = load_twin(twin) if isinstance(twin, str) else twin
    inputs = resolve_inputs(files, None if robot is None else _robot(robot), policy, hidden)
    return loop.run_loop(inputs, LoopOptions(**options), out=Path(out), restart=restart, watch=watch or DrawnLoop())


def _robot(robot: Robot | str | Path) -> Robot:
    return robot if isinstance(robot, Robot) else load_robot(robot)


@contextmanager
def _stages(progress: bool | Callable[[str, int, int | None], None]) -> Iterator[Stage | None]:
    """What is told of stages: a bar, a function of the caller, or nothing."""
    if progress is not True:
        yield progress or None
        return
    from surefoot.cli.progress import StageBar

    with StageBar(Console()) as bar:
        yield bar.show


def _folder(out: str | Path | None) -> Path | None:
    return None if out is None else Path(out)


def _fixed(values: Mapping[str, Any]) -> tuple[str, ...]:
    """As `name=value` and `name[joints]=value`, every digit of the values kept."""
    words = []
    for name, value in values.items():
        joints = value.items() if isinstance(value, Mapping) else [("", value)]
        words += [f"{name}[{joint}]={float(v)!r}" if joint else f"{name}={float(v)!r}" for joint, v in joints]
    return tuple(words)


def _adaptation(physics: Physics) -> Adaptation:
    """What a fit found; of a physics that no fit found, one without intervals."""
    if isinstance(physics, AdaptedPhysics) and physics.adaptation is not None:
        return physics.adaptation
    robot = physics.robot
    settings = {name: physics.value(name).tolist() for name in physics.parameters}
    return Adaptation(robot.name, robot.hash, "static", (), settings, physics.network)
