"""The step `finetune`: go on training a policy in the simulator that a fit found, and measure it there."""

import importlib.util
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from surefoot import __version__
from surefoot.adapt import Adaptation
from surefoot.errors import FineTuneError, PolicyError, SurefootError
from surefoot.files import check_folder, json_ready, parse_limited, read_state, write_json
from surefoot.learn.finetune_settings import FineTuneSettings
from surefoot.pipeline.artefacts import BEGUN, CHECKPOINT, CONFIG, EVALUATION, POLICY
from surefoot.policy.agents import PolicyAgent
from surefoot.policy.driver import Driver
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot
from surefoot.shown import Shown
from surefoot.sim.physics import Physics
from surefoot.verify.evaluate import Evaluation, evaluate

if TYPE_CHECKING:
    from surefoot.learn.loop import TrainingProgress

TRAINING = ("torch", "rsl_rl")  # modules of the extra 'train'
MOST_STATE_BYTES = 10_000_000  # as in learn.checkpoint, which needs PyTorch
STRAIGHT_SHARE = 5  # one straight episode in each direction for so many with random commands
FILES = (POLICY, BEGUN, CHECKPOINT, CONFIG, EVALUATION, "tensorboard/")


@dataclass(frozen=True)
class FineTuneOptions:
    """How long a policy is fine-tuned, and how far it may go.

    Attributes:
        minutes: how long to train, earlier runs included; how far that goes depends on the machine
        iterations: PPO updates in all, those of earlier runs included, instead of a time; 0 only trims
        task: walk, biped, or a Python file with a function task(robot) that returns a surefoot.learn.task.Task, which
            is executed with your rights; default: by the policy's posture
        randomization: none, mild, seed, or a YAML table, for what the fit did not set; default: the task's own (walk:
            mild)
        spread: how wide fitted numbers are drawn, times their 90 % intervals; 0 holds them at their values
        anchor: weight that holds the policy near its old actions at the start; 0 lets it go where it likes
        steady: cost per second of a velocity error of 1 m/s that lasts, which is what drifts; 0 trains on the task's
            own rewards alone
        trim_s: before and after training, correct the commands inside the network so that the robot is where it was
            told to be after so long; 0: never
        judges: robots that walk with the policy before training and after it; of one that training made worse, part of
            the way is kept, or nothing. 0 keeps it whatever it does
        mirrored: learn from mirrored samples too, where the adaptation is the same left and right
        worlds: robots simulated side by side
        seed: of everything random
        threads: of simulator and learner; 0 takes all cores
        episodes: to measure with, before and after; 0 leaves that out
    """

    minutes: float = 5.0
    iterations: int | None = None
    task: str | None = None
    randomization: str | None = None
    spread: float = FineTuneSettings.spread
    anchor: float = FineTuneSettings.anchor
    steady: float = FineTuneSettings.steady
    trim_s: float = FineTuneSettings.trim_s
    judges: int = FineTuneSettings.judges
    mirrored: bool = FineTuneSettings.mirrored
    worlds: int = FineTuneSettings.worlds
    seed: int = 0
    threads: int = 0
    episodes: int = 40

    def __post_init__(self) -> None:
        """Refuse what trains nothing."""
        if not (self.minutes > 0 and np.isfinite(self.minutes)):
            raise FineTuneError(f"minutes is {self.minutes:g}; fine-tuning needs a time above 0", argument="minutes")
        if self.iterations is not None and self.iterations < (0 if self.trim_s else 1):
            raise FineTuneError(
                f"iterations is {self.iterations}; fine-tuning needs at least 1, or 0 to trim only, with a trim_s above"
                " 0",
                argument="iterations",
            )
        if self.episodes < 0:
            raise FineTuneError(f"episodes is {self.episodes}; it must be a whole number from 0 on")
        if self.seed < 0:
            raise FineTuneError(f"the seed is {self.seed}; it must be a whole number from 0 on")

    @property
    def settings(self) -> FineTuneSettings:
        """As the training takes them."""
        return FineTuneSettings(
            spread=self.spread,
            anchor=self.anchor,
            steady=self.steady,
            trim_s=self.trim_s,
            judges=self.judges,
            mirrored=self.mirrored,
            worlds=self.worlds,
        )


@dataclass(frozen=True, eq=False)
class FineTuned(Shown):
    """A fine-tuned policy, and how it walks in the fitted simulator beside the old one."""

    path: Path  # of the policy
    before: Evaluation | None  # None: it was not measured
    after: Evaluation | None
    choice: dict[str, Any] | None = None  # how much of the training was kept, and why
    trained_s: float | None = None  # over all runs of this training; from its checkpoint, not in the file
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def policy(self) -> OnnxPolicy:
        """The new policy."""
        return OnnxPolicy.load(self.path)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        sides = {"before": self.before, "after": self.after}
        content = {name: side.to_dict() for name, side in sides.items() if side is not None}
        return {"provenance": self.provenance, **content, "choice": self.choice}

    @staticmethod
    def from_dict(content: dict[str, Any], path: Path) -> "FineTuned":
        """From what `to_dict` gave, through JSON or not, and the place of the policy."""
        before, after = (
            Evaluation.from_dict(content[side]) if content.get(side) else None for side in ("before", "after")
        )
        return FineTuned(path, before, after, content.get("choice"), provenance=content["provenance"])


def claim_finetune(out: Path) -> None:
    """Ask for the folder and the files that `run_finetune` will write there, before any work."""
    check_folder(out, FILES)


def require_torch() -> None:
    """Refuse at once where the extra 'train' is not installed; nothing of it is imported."""
    missing = next((name for name in TRAINING if importlib.util.find_spec(name) is None), None)
    if missing is not None:
        raise FineTuneError(
            f"fine-tuning needs PyTorch ({missing} is missing); install it with: pip install 'surefoot[train]'"
        )


def run_finetune(
    driver: Driver,
    adaptation: Adaptation,
    options: FineTuneOptions | None = None,
    *,
    out: Path,
    restart: bool = False,
    say: Callable[[str], None] | None = None,
    show: "Callable[[TrainingProgress], None] | None" = None,
) -> FineTuned:
    """Fine-tune the policy of a driver in the simulator of an adaptation, into the folder `out`.

    The same call continues what was interrupted; `restart` forgets it. `say` gets sentences, `show` each iteration.
    """
    require_torch()
    from surefoot.learn.finetune import adaptation_hash, finetune
    from surefoot.learn.loop import Length
    from surefoot.learn.task import load_task

    options = options or FineTuneOptions()
    old, robot = driver.policy, driver.robot
    if old is None:
        raise PolicyError(f"{driver.word} is built in and has no network to train; give the path of an .onnx file")
    if Path(old.name).resolve() == (out / POLICY).resolve():
        raise PolicyError(f"{old.name} would be overwritten by its own successor; give another folder", argument="out")
    physics = adaptation.physics(robot)
    task = load_task(options.task or ("walk" if robot.posture.level else "biped"), robot, options.randomization)
    if task.posture.name != robot.posture.name:
        raise FineTuneError(
            f"{driver.word} means the posture {robot.posture.name!r} and the task {task.name} the posture"
            f" {task.posture.name!r}; give the policy's own task",
            argument="task",
        )
    task = replace(task, posture=robot.posture)
    iterations = options.iterations
    length = Length(iterations) if iterations is not None else Length(seconds=60 * options.minutes)
    provenance = {
        "policy": old.hash,
        "robot_hash": robot.hash,
        "adaptation": adaptation_hash(adaptation),
        "seed": options.seed,
        "episodes": options.episodes,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    tell = say or (lambda text: None)
    before = None if restart else _measured_before(out, provenance)
    if before is None and options.episodes > 0:
        tell(f"measuring {driver.word} in the adapted simulator")
        before = _measure(old, robot, physics, options)
        if before.nonfinite is not None:
            raise PolicyError(f"{driver.word} cannot be trained on: {before.nonfinite.says}")
    result = FineTuned(out / POLICY, before, None, provenance=provenance)
    if before is not None:  # what was measured after an earlier run is not of the policy that will be there
        write_json(out / EVALUATION, result.to_dict())
    finetune(
        robot,
        old,
        adaptation,
        task,
        out,
        length=length,
        settings=options.settings,
        seed=options.seed,
        threads=options.threads,
        restart=restart,
        show=show,
        say=say,
    )
    if options.episodes > 0 and before is not None:
        new = OnnxPolicy.load(result.path)
        choice = json.loads(new.metadata.get("surefoot.choice", "null"))
        after = _measure(new, robot, physics, options)
        result = replace(result, after=after, choice=choice, trained_s=trained_s(out / CHECKPOINT))
        write_json(out / EVALUATION, result.to_dict())
    return result


def read_tuned(folder: Path) -> FineTuned:
    """What a fine-tuning left in its folder."""
    path = folder / EVALUATION
    try:
        tuned = FineTuned.from_dict(read_state(path), folder / POLICY)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FineTuneError(f"{path} is not what a fine-tuning of this version writes; fine-tune again") from None
    return replace(tuned, trained_s=trained_s(folder / CHECKPOINT))


def trained_s(checkpoint: Path) -> float | None:
    """For how long the network of a checkpoint was trained, over all runs; None where that cannot be told."""
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        return None
    try:
        with safe_open(checkpoint, framework="np") as file:
            text = (file.metadata() or {})["state"]
        state = parse_limited(text, str(checkpoint), SurefootError, "the state of a checkpoint", MOST_STATE_BYTES)
        return float(state["elapsed_s"])
    except (OSError, SafetensorError, KeyError, ValueError, TypeError, SurefootError):
        return None


def _measure(policy: OnnxPolicy, robot: Robot, physics: Physics, options: FineTuneOptions) -> Evaluation:
    """Without exploration noise, at the full rate of the physics, with the fitted values themselves."""
    return evaluate(
        robot,
        lambda n: physics.worlds(n, seed=options.seed, threads=options.threads),
        lambda n: PolicyAgent(policy, robot, n),
        episodes=options.episodes,
        straight_episodes=max(options.episodes // STRAIGHT_SHARE, 1),
        seed=options.seed,
    )


def _measured_before(out: Path, provenance: dict[str, Any]) -> Evaluation | None:
    """What an interrupted run has already measured of the same policy in the same simulator."""
    try:
        content = read_state(out / EVALUATION)
        same = content["provenance"] == json.loads(json.dumps(json_ready(provenance)))
        return Evaluation.from_dict(content["before"]) if same else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
