"""`surefoot finetune`."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import mujoco
import numpy as np
import tyro
from rich.table import Table

from surefoot import __version__
from surefoot.adapt import read_adaptation
from surefoot.cli.console import Console, cell, say
from surefoot.errors import PolicyError, SurefootError
from surefoot.files import check_folder, json_ready, read_state, write_json
from surefoot.policy.agents import PolicyAgent, make_agent, with_policy_posture
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.physics import Physics
from surefoot.verify.evaluate import Evaluation, evaluate

EVALUATION = "eval.json"
FILES = ("policy.onnx", "begun.onnx", "checkpoint.safetensors", "config.json", EVALUATION, "tensorboard/")
STRAIGHT_SHARE = 5  # one straight episode in each direction for so many with random commands


def finetune_policy(
    policy: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")],
    adaptation: Path,
    out: Path,
    robot: str = "go2",
    minutes: float = 5.0,
    iterations: int | None = None,
    task: str | None = None,
    randomization: str | None = None,
    spread: float = 1.5,
    anchor: float = 0.03,
    steady: float = 6.0,
    trim_s: float = 4.0,
    judges: int = 96,
    mirrored: bool = True,
    worlds: int = 1024,
    seed: int = 0,
    threads: int = 0,
    restart: bool = False,
    episodes: int = 40,
) -> None:
    """Go on training a policy in the simulator that a fit found, and measure it there before and after.

    What the policy is off by, command for command, is measured there and taken out first, and again at the end (the
    trim). In between, every world draws its own numbers from a little more than the fit's 90 % intervals. The policy is
    held near its old actions, less and less, so that the gait changes where the gap asks for it; of a training after
    which it falls or strays more than before, half or a quarter of the way is kept, or nothing. Writes policy.onnx
    (with the contract and, where it has one, the normalization inside), begun.onnx (what training began from),
    checkpoint.safetensors, config.json, eval.json and TensorBoard files to the folder --out. Interrupted with Ctrl-C or
    killed, the same command continues.

    Args:
        policy: path of an ONNX policy, or the name of one that ships with the robot
        adaptation: the folder that 'surefoot fit' wrote, or its adaptation.json
        out: the folder to train into
        robot: the robot that was fitted: a shipped name, or the path of a robot.yaml
        minutes: how long to train, earlier runs included; how far that goes depends on the machine
        iterations: PPO updates in all, those of earlier runs included, instead of a time; 0 only trims
        task: walk, biped, or a Python file with a function task(robot) that returns a surefoot.learn.task.Task, which
            is executed with your rights; default: by the policy's posture
        randomization: none, mild, seed, or a YAML table, for what the fit did not set; default: the task's
            own (walk: mild)
        spread: how wide fitted numbers are drawn, times their 90 % intervals; 0 holds them at their values
        anchor: weight that holds the policy near its old actions at the start; 0 lets it go where it likes
        steady: cost per second of a velocity error of 1 m/s that lasts, which is what drifts; 0 trains on
            the task's own rewards alone
        trim_s: before and after training, correct the commands inside the network so that the robot is where it was
            told to be after so long; 0: never
        judges: robots that walk with the policy before training and after it; of one that training made worse, part of
            the way is kept, or nothing. 0 keeps it whatever it does
        mirrored: learn from mirrored samples too, where the adaptation is the same left and right
        worlds: robots simulated side by side
        seed: of everything random
        threads: of simulator and learner; 0 takes all cores
        restart: forget an earlier run in the same folder
        episodes: to measure with, before and after; 0 leaves that out
    """
    try:
        from surefoot.cli.train import TrainingScreen
        from surefoot.learn.finetune import FineTuneSettings, adaptation_hash, finetune
        from surefoot.learn.loop import Length, TrainingProgress
        from surefoot.learn.task import load_task
    except ImportError as missing:
        raise SurefootError(
            f"fine-tuning needs PyTorch ({missing.name} is missing); install it with: pip install 'surefoot[train]'"
        ) from None
    console = Console()
    check_folder(out, FILES)
    if not (minutes > 0 and np.isfinite(minutes)) or (iterations is not None and iterations < (0 if trim_s else 1)):
        raise SurefootError(
            "fine-tuning needs a time above 0 with --minutes, or at least 1 with --iterations; with --trim-s, 0 only"
            " trims"
        )
    if seed < 0:
        raise SurefootError(f"the seed is {seed}; it must be a whole number from 0 on")
    described = load_robot(robot)
    found = read_adaptation(adaptation, described)
    old = _policy(policy, described, out)
    described = with_policy_posture(described, old)
    physics = found.physics(described)
    settings = FineTuneSettings(
        spread=spread, anchor=anchor, steady=steady, trim_s=trim_s, judges=judges, mirrored=mirrored, worlds=worlds
    )
    made = load_task(task or ("walk" if described.posture.level else "biped"), described, randomization)
    if made.posture.name != described.posture.name:
        raise SurefootError(
            f"{policy} means the posture {described.posture.name!r} and the task {made.name} the posture"
            f" {made.posture.name!r}; give the policy's own with --task"
        )
    made = replace(made, posture=described.posture)
    length = Length(iterations) if iterations is not None else Length(seconds=60 * minutes)
    provenance = {
        "policy": old.hash,
        "robot_hash": described.hash,
        "adaptation": adaptation_hash(found),
        "seed": seed,
        "episodes": episodes,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    before = _before(out, provenance) if not restart else None
    if before is None and episodes > 0:
        say(console, f"measuring {policy} in the adapted simulator")
        result = _measure(old, described, physics, episodes, seed, threads)
        before = json_ready(result.to_dict())
    if before is not None:  # what was measured after an earlier run is not of the policy that will be there
        _write(out, provenance, {"before": before})
    last: list[TrainingProgress] = []
    with TrainingScreen(console, out) as screen:

        def show(progress: TrainingProgress) -> None:
            last[:] = [progress]
            screen.show(progress)

        tuned = finetune(
            described,
            old,
            found,
            made,
            out,
            length=length,
            settings=settings,
            seed=seed,
            threads=threads,
            restart=restart,
            show=show,
            say=lambda text: say(console, text),
        )
    if last:
        say(
            console,
            f"training moved the actions by {last[0].off_old:.3f} rms from the old"
            f" policy's{', trimmed,' if trim_s else ''} where the new one comes by",
        )
    say(console, f"wrote {tuned}")
    if episodes > 0 and before is not None:
        new = OnnxPolicy.load(tuned)
        result = _measure(new, described, physics, episodes, seed, threads)
        after = json_ready(result.to_dict())
        _write(
            out,
            provenance,
            {"before": before, "after": after, "choice": json.loads(new.metadata.get("surefoot.choice", "null"))},
        )
        console.print(comparison(before, after, f"{described.name} in the adapted simulator"))
        failures = result.failures()
        say(console, "passes the gate" if not failures else "does not pass the gate: " + "; ".join(failures))


def comparison(before: dict[str, Any], after: dict[str, Any], title: str) -> Table:
    """The figures of two evaluations side by side, with counts."""
    table = Table(title=cell(title), title_justify="left")
    table.add_column("", no_wrap=True)
    for heading in ("before", "after"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = [_figures(one) for one in (before, after)]
    for name in rows[0]:
        table.add_row(name, *(row[name] for row in rows))
    table.caption = "drift and heading: mean of the absolute values, 4 s straight ahead in each direction"
    table.caption_justify = "left"
    return table


def _figures(one: dict[str, Any]) -> dict[str, str]:
    walk, pushed, straight = one["walk"], one["pushed"], list(one["directions"].values())
    ahead = [direction for direction in straight if any(direction["command"][:2])]
    return {
        "falls": f"{walk['falls']}/{walk['episodes']}",
        "falls, pushed": f"{pushed['falls']}/{pushed['episodes']}",
        "falls, straight": f"{sum(s['falls'] for s in straight)}/{sum(s['episodes'] for s in straight)}",
        "velocity error, m/s": _number(walk["velocity_error_m_s"], 3),
        "yaw-rate error, rad/s": _number(walk["turn_error_rad_s"], 3),
        "drift, m": _number(_mean([s["lateral_abs_m"] for s in ahead]), 2),
        "heading off, rad": _number(_mean([s["heading_abs_rad"] for s in ahead]), 2),
        "cost of transport": _number(walk["cost_of_transport"], 2),
    }


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _policy(name: str, robot: Robot, out: Path) -> OnnxPolicy:
    """The policy to go on from."""
    agent = make_agent(name, robot, 1)
    if not isinstance(agent, PolicyAgent):
        raise PolicyError(f"{name} is built in and has no network to train; give the path of an .onnx file")
    if Path(agent.policy.name).resolve() == (out / "policy.onnx").resolve():
        raise PolicyError(
            f"{agent.policy.name} would be overwritten by its own successor; give another folder with --out"
        )
    return agent.policy


def _measure(policy: OnnxPolicy, robot: Robot, physics: Physics, episodes: int, seed: int, threads: int) -> Evaluation:
    """Without exploration noise, at the full rate of the physics, with the fitted values themselves."""

    straight = max(episodes // STRAIGHT_SHARE, 1)
    return evaluate(
        robot,
        lambda n: physics.worlds(n, seed=seed, threads=threads),
        lambda n: PolicyAgent(policy, robot, n),
        episodes=episodes,
        straight_episodes=straight,
        seed=seed,
    )


def _write(out: Path, provenance: dict[str, Any], results: dict[str, Any]) -> None:
    write_json(out / EVALUATION, {"provenance": provenance, **results})


def _before(out: Path, provenance: dict[str, Any]) -> dict[str, Any] | None:
    """What an interrupted run has already measured of the same policy in the same simulator."""
    try:
        content = read_state(out / EVALUATION)
        same = content["provenance"] == json.loads(json.dumps(json_ready(provenance)))
        _figures(content["before"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return content["before"] if same else None
