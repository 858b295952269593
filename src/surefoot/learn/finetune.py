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
    imported, mirrored = planned.imported, not planned.asymmetry
    if only_trim and not imported.exact:
        raise FineTuneError(f"a policy that has to be copied needs at least one iteration: {imported.reason}")
    if (
        restart
    ):  # killed before its own first checkpoint, the next run must not go on from the one that was to be forgotten
        (out / "checkpoint.safetensors").unlink(missing_ok=True)
    nominal = replace(task, teacher=None)
    steady = weighted(lasting=-settings.steady) if settings.steady else ()
    task = replace(
        nominal, randomization=planned.sampler.rest, rewards=(*task.rewards, *steady), straight_share=settings.straight
    )
    ppo = ppo_settings(settings, mirrored)
    config = full_config(robot, task, ppo, seed) | {
        "policy": policy.hash,
        "adaptation": adaptation_hash(adaptation),
        "finetune": dataclasses.asdict(settings),
        "provenance": _provenance(policy, adaptation, planned),
    }
    for line in planned.says if say is not None else ():
        say(line)  # type: ignore[misc]
    trims: dict[str, Trim] = {}
    task_robot = replace(
        robot, posture=task.posture, contract=replace(robot.contract, command_range=task.command_range)
    )
    physics, start = adaptation.physics(robot), imported.chain

    def fitted_worlds(n: int, k: int, noise: int | None) -> Worlds:
        return physics.worlds(n, seed=k, threads=threads, noise_period=noise)

    def trimmed(name: str, walks: OnnxPolicy, chain: Chain) -> Chain:
        trims[name] = trim(task_robot, walks, fitted_worlds, settings.trim_s, seed)
        if say is not None:
            say(f"the {name} policy, {trims[name].says}")
        return folded(chain, robot.contract, trims[name].table)

    if settings.trim_s and imported.exact and not only_trim:  # what a table of numbers can say need not be learned
        start = trimmed("old", policy, start)

    def make_env(env_seed: int) -> WalkEnv:
        return WalkEnv(robot, task, settings.worlds, seed=env_seed, threads=threads, draws=planned.sampler)

    def make_learner(env: WalkEnv) -> Learner:
        mirror = SymmetryAugmentation(robot, env.mirror_parts()) if mirrored else None
        old = start.module().requires_grad_(False) if imported.exact else _runs(policy)
        return Learner(
            env.get_observations(), env.num_actions, ppo, mirror, start.module(), Anchor(old, settings.start_std)
        )

    def begin(env: WalkEnv, learner: Learner) -> bool:
        if not imported.exact:
            school = WalkEnv(robot, nominal, min(LESSON_WORLDS, settings.worlds), seed=seed, threads=threads)
            how = copy_policy(school, learner.actor.mlp, policy, seed)
            if say is not None:
                say(f"copied the policy: {how}")
        return True

    def prepare(learner: Learner, iteration: int, fraction: float) -> None:
        assert learner.anchor is not None
        learner.anchor.mirror_loss_coeff = settings.anchor * (1 - (1 - settings.anchor_end) * min(fraction, 1.0))
        if iteration == settings.critic_first + 1:
            learner.set_learning_rate(settings.actor_rate)

    says = {"surefoot.training": json.dumps(config)} | posture_metadata(task)

    def write(path: Path, learner: Learner) -> None:
        write_chain(path, robot.contract, start.trained(learner.network), says)

    compared = (*COMPARED, "policy", "adaptation", "finetune")
    course = TrainingCourse(config, compared, ppo, seed, make_env, make_learner, begin, write, prepare)
    written = learn(course, out, length, threads=threads, restart=restart, show=show, inspect=inspect)
    if settings.trim_s:
        chain = trimmed("old" if only_trim else "new", OnnxPolicy.load(written), read_chain(read_model(written)))
        says["surefoot.trim"] = json.dumps({name: made.to_dict() for name, made in trims.items()})
        write_chain(written, robot.contract, chain, says)
    if settings.judges and imported.exact and not only_trim:
        write_chain(out / BEGUN, robot.contract, start, says)
        trained = read_chain(read_model(written))

        def interpolated(share: float) -> OnnxPolicy:
            write_chain(written, robot.contract, start.interpolated(trained, share), says)
            return OnnxPolicy.load(written)

        choice = choose(task_robot, OnnxPolicy.load(out / BEGUN), interpolated, fitted_worlds, settings.judges, seed)
        if say is not None:
            say(choice.says)
        write_chain(
            written,
            robot.contract,
            start.interpolated(trained, choice.share),
            says | {"surefoot.choice": json.dumps(choice.to_dict())},
        )
    return written


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
