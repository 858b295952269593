"""Fine-tuning: PPO from a policy that walks, in worlds around the simulator that a fit found.

A KL anchor keeps the new policy near the old one (`surefoot.learn.ppo.Anchor`), its weights are Polyak averages, and
what is written is the trained policy or an interpolation of weights with the old one (`surefoot.learn.accept`).
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from surefoot.adapt import Adaptation
from surefoot.errors import FineTuneError
from surefoot.files import canonical_json, json_ready, sha256
from surefoot.learn.accept import choose
from surefoot.learn.env import WalkEnv
from surefoot.learn.finetune_settings import FineTuneSettings
from surefoot.learn.import_policy import Imported, copy_policy, import_policy, read_chain
from surefoot.learn.loop import Inspect, Length, Show, TrainingCourse, learn
from surefoot.learn.mirror import SymmetryAugmentation
from surefoot.learn.network import Chain, write_chain
from surefoot.learn.ppo import Anchor, Learner, PPOSettings
from surefoot.learn.sample_worlds import KnobRange, WorldSampler, asymmetry, world_sampler
from surefoot.learn.task import Task, weighted
from surefoot.learn.train import COMPARED, full_config, posture_metadata
from surefoot.learn.trim import Trim, folded, trim
from surefoot.policy.onnx_policy import OnnxPolicy, read_model
from surefoot.robot import Robot
from surefoot.sim.worlds import Worlds

BEGUN = "begun.onnx"  # the policy that training began from, which it is judged against
# a copy learns from fewer robots than PPO does: its lessons are exact, and their cost grows with each round
LESSON_WORLDS = 256


def ppo_settings(settings: FineTuneSettings, mirrored: bool) -> PPOSettings:
    """As PPO takes them."""
    return PPOSettings(
        worlds=settings.worlds,
        steps=settings.steps,
        epochs=settings.epochs,
        minibatches=settings.minibatches,
        learning_rate=settings.critic_rate,
        desired_kl=settings.desired_kl,
        entropy=settings.entropy,
        hidden=settings.hidden,
        start_std=settings.start_std,
        taught_std=settings.start_std,
        critic_first=settings.critic_first,
        symmetry=mirrored,
        average=settings.average,
    )


@dataclass(frozen=True, eq=False)
class FinetunePlan:
    """What a fine-tuning will do, known before it begins."""

    imported: Imported
    sampler: WorldSampler
    asymmetry: str  # why no sample is mirrored; empty where they are

    @property
    def says(self) -> list[str]:
        """One sentence each: how the policy becomes trainable, what is drawn, and whether samples are mirrored."""
        if self.imported.exact:
            start = "the policy's own network is trained on, with the same actions to begin with"
        else:
            start = f"a new network copies the policy before it is trained: {self.imported.reason}"
        drawn, cut = self.sampler.ranges, [knob.name for knob in self.sampler.ranges if knob.cut]
        ranges = (
            f"each world draws {len(drawn)} fitted number{'s' if len(drawn) > 1 else ''} anew"
            if drawn
            else "no number of the adaptation has an interval to draw from"
        )
        others = [spread.name for spread in self.sampler.rest.spreads if spread.high > spread.low]
        if others:
            ranges += f"; beside them {', '.join(others)}, which the fit did not set"
        sentences = [start, ranges]
        if cut:
            sentences.append(
                f"the log said too little about {_some(cut)}: drawn from what is plausible, not from the whole interval"
            )
        sentences.append(
            f"no mirrored samples, the policy may become asymmetric: {self.asymmetry}"
            if self.asymmetry
            else "learns from mirrored samples too"
        )
        return sentences


def plan(
    robot: Robot, policy: OnnxPolicy, adaptation: Adaptation, task: Task, settings: FineTuneSettings, seed: int = 0
) -> FinetunePlan:
    """Look at policy and adaptation; what cannot be used is refused."""
    _refuse_nonsense(settings)
    policy.check(robot)
    sampler = world_sampler(adaptation, robot, settings.spread, task.randomization)
    torch.manual_seed(seed)
    reason = asymmetry(adaptation, sampler, robot) if settings.mirrored else "they are switched off"
    return FinetunePlan(import_policy(policy, settings.hidden), sampler, reason)


def finetune(
    robot: Robot,
    policy: OnnxPolicy,
    adaptation: Adaptation,
    task: Task,
    out: Path,
    *,
    length: Length,
    settings: FineTuneSettings | None = None,
    seed: int = 0,
    threads: int = 0,
    restart: bool = False,
    show: Show | None = None,
    say: Callable[[str], None] | None = None,
    inspect: Inspect | None = None,
) -> Path:
    """Fine-tune into the folder `out`; the path of `policy.onnx`.

    The same call continues what was interrupted, as in training; `restart` forgets it.
    """
    settings = settings or FineTuneSettings()
    only_trim = length.iterations == 0 and settings.trim_s > 0
    if length.reached(0, 0.0) and not only_trim:
        raise FineTuneError(
            "fine-tuning needs at least one iteration, or a time above 0 minutes; 0 iterations only trim, with a trim_s"
            " above 0"
        )
    planned = plan(robot, policy, adaptation, task, settings, seed)
    exact = planned.imported.exact
    if only_trim and not exact:
        raise FineTuneError(f"a policy that has to be copied needs at least one iteration: {planned.imported.reason}")
    if (
        restart
    ):  # killed before its own first checkpoint, the next run must not continue the one that is to be forgotten
        (out / "checkpoint.safetensors").unlink(missing_ok=True)
    tuning = _FineTuning(robot, policy, adaptation, task, planned, settings, seed, threads, say or (lambda _: None))
    for line in planned.says:
        tuning.say(line)
    if settings.trim_s and exact and not only_trim:  # what a table of numbers can say need not be learned
        tuning.trim_start()
    written = learn(tuning.course(), out, length, threads=threads, restart=restart, show=show, inspect=inspect)
    if settings.trim_s:
        tuning.trim_written(written, "old" if only_trim else "new")
    if settings.judges and exact and not only_trim:
        tuning.accept(written, out / BEGUN)
    return written


class _FineTuning:
    """One fine-tuning: what it begins from, and what is known of it so far."""

    def __init__(
        self,
        robot: Robot,
        policy: OnnxPolicy,
        adaptation: Adaptation,
        task: Task,
        planned: FinetunePlan,
        settings: FineTuneSettings,
        seed: int,
        threads: int,
        say: Callable[[str], None],
    ):
        self.say = say
        self._robot, self._policy, self._planned, self._settings = robot, policy, planned, settings
        self._seed, self._threads = seed, threads
        self._lessons = replace(task, teacher=None)  # in the nominal worlds
        steady = weighted(lasting=-settings.steady) if settings.steady else ()
        self._task = replace(
            self._lessons,
            randomization=planned.sampler.rest,
            rewards=(*task.rewards, *steady),
            straight_share=settings.straight,
        )
        self._ppo = ppo_settings(settings, not planned.asymmetry)
        self._config = full_config(robot, self._task, self._ppo, seed) | {
            "policy": policy.hash,
            "adaptation": adaptation_hash(adaptation),
            "finetune": dataclasses.asdict(settings),
            "provenance": _provenance(policy, adaptation, planned),
        }
        self._metadata = {"surefoot.training": json.dumps(self._config)} | posture_metadata(self._task)
        narrowed = replace(robot.contract, command_range=self._task.command_range)
        self._task_robot = replace(robot, posture=self._task.posture, contract=narrowed)
        self._physics, self._start = adaptation.physics(robot), planned.imported.chain
        self._trims: dict[str, Trim] = {}

    def course(self) -> TrainingCourse:
        """The training itself, as `learn` takes it."""
        compared = (*COMPARED, "policy", "adaptation", "finetune")
        parts = (self._env, self._learner, self._begin, self._write, self._prepare)
        return TrainingCourse(self._config, compared, self._ppo, self._seed, *parts)

    def trim_start(self) -> None:
        """Correct the commands of what training begins from."""
        self._start = self._trimmed("old", self._policy, self._start)

    def trim_written(self, path: Path, name: str) -> None:
        """Correct the commands of the policy that was written."""
        chain = self._trimmed(name, OnnxPolicy.load(path), read_chain(read_model(path)))
        self._metadata["surefoot.trim"] = json.dumps({name: made.to_dict() for name, made in self._trims.items()})
        write_chain(path, self._robot.contract, chain, self._metadata)

    def accept(self, path: Path, begun: Path) -> None:
        """Keep what was trained, part of the way to it, or what it began from, which is written to `begun`."""
        contract, start = self._robot.contract, self._start
        write_chain(begun, contract, start, self._metadata)
        trained = read_chain(read_model(path))

        def interpolated(share: float) -> OnnxPolicy:
            write_chain(path, contract, start.interpolated(trained, share), self._metadata)
            return OnnxPolicy.load(path)

        judges = self._settings.judges
        choice = choose(self._task_robot, OnnxPolicy.load(begun), interpolated, self._worlds, judges, self._seed)
        self.say(choice.says)
        chosen = {"surefoot.choice": json.dumps(choice.to_dict())}
        write_chain(path, contract, start.interpolated(trained, choice.share), self._metadata | chosen)

    def _trimmed(self, name: str, walks: OnnxPolicy, chain: Chain) -> Chain:
        made = trim(self._task_robot, walks, self._worlds, self._settings.trim_s, self._seed)
        self._trims[name] = made
        self.say(f"the {name} policy, {made.says}")
        return folded(chain, self._robot.contract, made.table)

    def _worlds(self, n: int, seed: int, noise_period: int | None) -> Worlds:
        """Of the fitted simulator."""
        return self._physics.worlds(n, seed=seed, threads=self._threads, noise_period=noise_period)

    def _env(self, seed: int) -> WalkEnv:
        worlds, draws = self._settings.worlds, self._planned.sampler
        return WalkEnv(self._robot, self._task, worlds, seed=seed, threads=self._threads, draws=draws)

    def _learner(self, env: WalkEnv) -> Learner:
        mirror = None if self._planned.asymmetry else SymmetryAugmentation(self._robot, env.mirror_parts())
        exact, start = self._planned.imported.exact, self._start
        old = start.module().requires_grad_(False) if exact else _runs(self._policy)
        anchor = Anchor(old, self._settings.start_std)
        return Learner(env.get_observations(), env.num_actions, self._ppo, mirror, start.module(), anchor)

    def _begin(self, env: WalkEnv, learner: Learner) -> bool:
        """Copy a policy whose own network cannot be trained on."""
        if not self._planned.imported.exact:
            worlds = min(LESSON_WORLDS, self._settings.worlds)
            school = WalkEnv(self._robot, self._lessons, worlds, seed=self._seed, threads=self._threads)
            self.say(f"copied the policy: {copy_policy(school, learner.actor.mlp, self._policy, self._seed)}")
        return True

    def _prepare(self, learner: Learner, iteration: int, fraction: float) -> None:
        """The anchor's weight falls, and the actor joins after the critic."""
        assert learner.anchor is not None
        settings = self._settings
        learner.anchor.mirror_loss_coeff = settings.anchor * (1 - (1 - settings.anchor_end) * min(fraction, 1.0))
        if iteration == settings.critic_first + 1:
            learner.set_learning_rate(settings.actor_rate)

    def _write(self, path: Path, learner: Learner) -> None:
        write_chain(path, self._robot.contract, self._start.trained(learner.network), self._metadata)


def _runs(policy: OnnxPolicy) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda observations: torch.from_numpy(policy.run(observations.numpy()))


def adaptation_hash(adaptation: Adaptation) -> str:
    """Of what determines the worlds; not of where it came from."""
    network = None if adaptation.network is None else adaptation.network.to_dict()
    content = {
        "robot": adaptation.robot_hash,
        "knobs": [dataclasses.asdict(knob) for knob in adaptation.knobs],
        "settings": adaptation.settings,
        "network": network,
    }
    return sha256(canonical_json(content).encode())


def _provenance(policy: OnnxPolicy, adaptation: Adaptation, planned: FinetunePlan) -> dict[str, Any]:
    return {
        "policy": {
            "file": Path(policy.name).name,
            "sha256": policy.hash,
            "start": "its own network" if planned.imported.exact else "a copy",
        },
        "adaptation": {
            "family": adaptation.family,
            "sha256": adaptation_hash(adaptation),
            "provenance": json_ready(adaptation.provenance),
        },
        "drawn": {knob.name: _range(knob) for knob in planned.sampler.ranges},
        "mirrored": not planned.asymmetry,
    }


def _range(knob: KnobRange) -> list[float]:
    return [knob.low, knob.high]


def _refuse_nonsense(settings: FineTuneSettings) -> None:
    for name, low, high in (
        ("spread", 0.0, 10.0),
        ("anchor", 0.0, 1e3),
        ("anchor_end", 0.0, 1.0),
        ("steady", 0.0, 100.0),
        ("straight", 0.0, 1.0),
        ("trim_s", 0.0, 60.0),
        ("judges", 0, 10_000),
        ("start_std", 1e-3, 2.0),
    ):
        value = getattr(settings, name)
        if not low <= value <= high:
            raise FineTuneError(f"{name} is {value:g}; it must be between {low:g} and {high:g}")


def _some(names: list[str]) -> str:
    """A few of the names, and how many more."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
