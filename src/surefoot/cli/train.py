"""`surefoot train`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.live import Live
from rich.table import Table
from rich.text import Text

from surefoot.cli.live import OnScreen
from surefoot.console import Console
from surefoot.errors import SurefootError
from surefoot.files import check_folder, write_json
from surefoot.pipeline.artefacts import CHECKPOINT, CONFIG, EVALUATION, POLICY
from surefoot.robot import load_robot

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress

FILES = (POLICY, CHECKPOINT, CONFIG, EVALUATION, "tensorboard/")


def train_policy(
    task: Annotated[str, tyro.conf.Positional],
    out: Path,
    robot: str = "go2",
    iterations: int = 150,
    randomization: str | None = None,
    worlds: int | None = None,
    seed: int = 0,
    threads: int = 0,
    restart: Annotated[bool, tyro.conf.arg(aliases=["--fresh"])] = False,
    evaluate: bool = True,
) -> None:
    """Train a policy with PPO on this machine's cores, and measure it at the end.

    Writes policy.onnx (with the contract inside), checkpoint.safetensors, config.json, eval.json and TensorBoard files
    to the folder --out. Interrupted with Ctrl-C or killed, the same command continues.

    Args:
        task: walk, biped (rise on the hind legs and walk on them), or a Python file with a function task(robot) that
            returns a surefoot.learn.task.Task; the file is executed with your rights, so read one from somebody else
            first
        out: the folder to train into
        robot: a shipped robot or the path of a robot.yaml
        iterations: PPO updates in all, those of earlier runs included
        randomization: none, mild, seed, or the path of a YAML table; default: the task's own (walk: mild;
            biped: mild with small pushes)
        worlds: robots simulated side by side; default: the task's own (walk: 1024; biped: 512)
        seed: of everything random
        threads: of simulator and learner; 0 takes all cores
        restart: start over where the folder holds a training
        evaluate: measure the result and write eval.json
    """
    try:
        from surefoot.learn.task import load_task
        from surefoot.learn.train import settings_of, train
    except ImportError as missing:
        raise SurefootError(
            f"training needs PyTorch ({missing.name} is missing); install it with: pip install 'surefoot[train]'"
        ) from None
    console = Console()
    check_folder(out, FILES)
    described = load_robot(robot)
    made = load_task(task, described, randomization)
    screen = TrainingScreen(console, out)
    with screen:
        policy = train(
            described,
            made,
            out,
            settings=settings_of(made, worlds),
            iterations=iterations,
            seed=seed,
            threads=threads,
            restart=restart,
            show=screen.show,
            say=lambda text: console.print(text, soft_wrap=True),
        )
    console.print(f"wrote {policy}", soft_wrap=True)
    if evaluate:
        from surefoot.pipeline.evaluate import EvaluateOptions, run_evaluate
        from surefoot.report.text.evaluation import show_evaluation

        result = run_evaluate(policy, described, EvaluateOptions(seed=seed, threads=threads))
        write_json(out / EVALUATION, result.to_dict())
        show_evaluation(result, console, f"{policy} on {described.name}")


class TrainingScreen(OnScreen):
    """Progress on one screen where there is one, as a line now and then where there is not, and in
    TensorBoard files.
    """

    def __init__(self, console: Console, out: Path):
        self._console, self._out = console, out
        self._writer: Any = None  # made with the first iteration: a training that is refused leaves no files
        self._live = Live(console=console, refresh_per_second=2) if console.is_terminal else None
        self._printed = 0.0

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        if self._writer is not None:
            self._writer.close()

    def show(self, progress: "TrainingProgress") -> None:
        """Show one iteration."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._out / "tensorboard"))
        left_s = progress.elapsed_s / progress.iteration * (progress.iterations - progress.iteration)
        figures = {
            "return": progress.reward_per_s,
            "velocity error": progress.velocity_error_m_s,
            "yaw-rate error": progress.turn_error_rad_s,
            "falls per robot and minute": progress.falls_per_robot_minute,
            "action std": progress.action_std,
            "learning rate": progress.learning_rate,
            "steps per second": progress.steps_per_s,
            "share of physics": progress.physics_share,
            "share of learning": progress.learn_share,
        }
        for name, value in figures.items():
            self._writer.add_scalar(name.replace(" ", "_"), value, progress.steps)
        for name, value in progress.rewards.items():
            self._writer.add_scalar(f"reward/{name}", value, progress.steps)
        if self._live is not None:
            self._live.update(_screen(progress, left_s))
        elif time.monotonic() - self._printed > 10 or progress.iteration == progress.iterations:
            self._printed = time.monotonic()
            self._console.print(
                f"iteration {progress.iteration}/{progress.iterations}  {progress.steps_per_s:,.0f} steps/s  return"
                f" {progress.reward_per_s:.2f}/s  velocity error {progress.velocity_error_m_s:.3f} m/s  yaw"
                f" {progress.turn_error_rad_s:.3f} rad/s  falls {progress.falls_per_robot_minute:.2f}/min "
                f" {_standing(progress)}{left_s / 60:.1f} min left",
                soft_wrap=True,
            )


def _screen(progress: "TrainingProgress", left_s: float) -> Table:
    table = Table.grid(padding=(0, 2))
    rows = {
        "iteration": f"{progress.iteration} of {progress.iterations}",
        "time": f"{progress.elapsed_s / 60:.1f} min, {left_s / 60:.1f} min left",
        "steps": f"{progress.steps / 1e6:.2f} M, {progress.steps_per_s:,.0f} /s",
        "return": f"{progress.reward_per_s:.3f} /s",
        "velocity error": f"{progress.velocity_error_m_s:.3f} m/s",
        "yaw-rate error": f"{progress.turn_error_rad_s:.3f} rad/s",
        "falls": f"{progress.falls_per_robot_minute:.2f} per robot and minute",
        "wall-clock": (
            f"physics {progress.physics_share:.0%}, policy and rewards {progress.collect_share:.0%}, learning"
            f" {progress.learn_share:.0%}"
        ),
        "action std": f"{progress.action_std:.2f}",
        "learning rate": f"{progress.learning_rate:.1e}",
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="bold"), value)
    if standing := _standing(progress):
        table.add_row(Text("posture", style="bold"), standing)
    return table


def _standing(progress: "TrainingProgress") -> str:
    """What is earned by being up, where a task pays for it: the figure that tells whether a robot learns to rise."""
    return f"standing {progress.rewards['stand_up']:.2f}/s  " if "stand_up" in progress.rewards else ""
