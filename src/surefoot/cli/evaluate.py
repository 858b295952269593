"""`surefoot evaluate`."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import mujoco
import tyro
from rich.table import Table

from surefoot import __version__
from surefoot.cli.progress import StageBar
from surefoot.console import Console, cell, say
from surefoot.files import check_place, json_ready, write_json
from surefoot.policy.agents import Agent, make_agent, with_policy_posture
from surefoot.robot import Robot, load_robot
from surefoot.sim.twin import Twin, load_twin
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import Evaluation, evaluate


def evaluate_policy(
    policy: Annotated[str, tyro.conf.Positional],
    robot: str = "go2",
    twin: str | None = None,
    episodes: int = 100,
    straight_episodes: int = 20,
    seed: int = 0,
    threads: int = 0,
    out: Path | None = None,
) -> None:
    """Measure how well a policy walks: tracking, drift, falls, cost of transport and smoothness, with counts.

    Runs 10 s episodes under random commands, the same with pushes of 0.5 m/s every 4 s, and 4 s straight ahead at full
    speed in each direction. The gate is at most 1 fall (5 when pushed) in 100, a mean planar velocity error of at most
    0.15 m/s and a yaw-rate error of at most 0.2 rad/s.

    A policy whose file names another posture, as those of `surefoot train biped` do, first has the time to rise; its
    gate is that it then stands for 10 s in 90 of 100 episodes, told to stand.

    Args:
        policy: path of an ONNX policy, the name of one that ships with the robot, or zero, random, trot
        robot: a shipped robot or the path of a robot.yaml; not needed with --twin
        twin: measure on a virtual robot instead of the nominal one
        episodes: with random commands, and again with pushes
        straight_episodes: in each direction
        seed: of commands, starts, pushes and noise
        threads: of the simulator; 0 takes all cores
        out: also write the figures as JSON
    """
    console = Console()
    if out is not None:
        check_place(out, (".json",))
    hidden = None if twin is None else load_twin(twin)
    described = load_robot(robot) if hidden is None else hidden.robot
    with StageBar(console) as bar:
        result, content = run(
            policy,
            described,
            hidden,
            episodes,
            straight_episodes,
            seed,
            threads,
            lambda done, total: bar.show("walking", done, total, "control ticks"),
        )
    console.print(*tables(result, f"{policy} on {hidden.name if hidden else described.name}"), sep="\n")
    failures = result.failures()
    console.print("passes the gate" if not failures else "does not pass the gate: " + "; ".join(failures))
    if out is not None:
        write_json(out, content)
        say(console, f"wrote {out}")


def run(
    policy: str,
    robot: Robot,
    hidden: Twin | None,
    episodes: int,
    straight_episodes: int,
    seed: int,
    threads: int,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Evaluation, dict[str, Any]]:
    """Evaluate, on a virtual robot where one is given, and the figures with their provenance."""
    robot = with_policy_posture(robot, policy)

    def make_worlds(n: int) -> Worlds:
        return (
            Worlds(robot, n, seed=seed, threads=threads)
            if hidden is None
            else hidden.worlds(n, seed=seed, threads=threads)
        )

    label: list[str] = []

    def agent(n: int) -> Agent:
        made = make_agent(policy, robot, n, seed=seed)
        label[:] = [made.label, made.hash]
        return made

    result = evaluate(
        robot, make_worlds, agent, episodes=episodes, straight_episodes=straight_episodes, seed=seed, progress=progress
    )
    provenance = {
        "policy": label[0],
        "policy_hash": label[1],
        "robot": robot.name,
        "robot_hash": robot.hash,
        "twin": None if hidden is None else hidden.name,
        "twin_hash": None if hidden is None else hidden.hash,
        "seed": seed,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    return result, json_ready({"provenance": provenance, **result.to_dict()})


def tables(result: Evaluation, title: str) -> list[Table]:
    """The figures as they are printed."""
    if result.stand is not None:
        stand, standing = result.stand, _table("told to stand", "rose in time", "after", "stood 10 s", title=title)
        standing.add_row(
            "", f"{stand.rose}/{stand.episodes}", f"{stand.rise_s:.1f} s", f"{stand.stood}/{stand.episodes}"
        )
        return [standing, *tables(replace(result, stand=None), "walking upright")]
    walking = _table("commands", "falls", "v error", "w error", "transport", "Δ action", title=title)
    for name, walk in (("random", result.walk), ("random, pushed", result.pushed)):
        walking.add_row(
            name,
            f"{walk.falls}/{walk.episodes}",
            f"{walk.velocity_error_m_s:.3f}",
            f"{walk.turn_error_rad_s:.3f}",
            f"{walk.cost_of_transport:.2f}",
            f"{walk.action_change:.3f}",
        )
    straight = _table("4 s at", "falls", "way", "drift", "|drift|", "heading", "v error", "w error")
    for name, s in result.directions.items():
        turning = not (s.command[0] or s.command[1])
        straight.add_row(
            f"{name} {abs(s.command[2]):g}" if turning else f"{name} {max(map(abs, s.command[:2])):g}",
            f"{s.falls}/{s.episodes}",
            "" if turning else f"{s.way_m:.2f}",
            f"{s.lateral_m:+.2f}",
            f"{s.lateral_abs_m:.2f}",
            f"{s.heading_rad:+.2f}",
            f"{s.velocity_error_m_s:.3f}",
            f"{s.turn_error_rad_s:.3f}",
        )
    straight.caption = (
        "speeds and errors m/s, rad/s; way and drift m; heading off the commanded one rad; transport: work / (weight ×"
        " way)"
    )
    straight.caption_justify = "left"
    return [walking, straight]


def _table(first: str, *others: str, title: str | None = None) -> Table:
    table = Table(title=None if title is None else cell(title), title_justify="left")
    table.add_column(first, no_wrap=True)
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
