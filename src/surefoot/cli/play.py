"""`surefoot play`."""

import json
from pathlib import Path
from typing import Annotated

import mujoco
import numpy as np
import tyro

from surefoot import __version__
from surefoot.cli.progress import StageBar
from surefoot.console import Console, say
from surefoot.errors import SurefootError, TwinError
from surefoot.policy.agents import make_agent, with_policy_posture
from surefoot.robot import Robot, load_robot
from surefoot.sim.twin import Twin, load_twin
from surefoot.sim.worlds import Worlds
from surefoot.verify.video import check_video, film, schedule

DEFAULT_ROBOT = "go2"
LARGEST_COMMAND = 10.0  # m/s or rad/s; no legged robot moves like that


def play(
    policy: Annotated[str, tyro.conf.Positional],
    out: Path,
    robot: str = DEFAULT_ROBOT,
    twin: str | None = None,
    seconds: float = 12.0,
    seed: int = 0,
    width: int = 960,
    height: int = 540,
    command: tuple[float, float, float] | None = None,
) -> None:
    """Render a video of a policy walking, with the command in blue and the measured velocity in orange.

    The robot stands, walks forward, turns, goes sideways and backward, and stands again, each at full speed, or follows
    one --command all the time. A robot that falls is stood up again after a second. No display is needed.

    Args:
        policy: path of an ONNX policy, the name of one that ships with the robot, or zero, random, trot
        out: the video to write, .mp4 (H.264) or .gif
        robot: a shipped robot or the path of a robot.yaml; not needed with --twin
        twin: show a virtual robot instead of the nominal one
        seconds: length of the video, s
        seed: of noise
        width: of the picture, pixels
        height: of the picture, pixels
        command: forward m/s, left m/s and turn rad/s, held all the time
    """
    hidden = None if twin is None else load_twin(twin)
    shown_robot = with_policy_posture(load_robot(robot) if hidden is None else _robot_of(hidden, robot), policy)
    check_video(out, shown_robot, seconds, width, height)
    commands = schedule(shown_robot, seconds)
    if command is not None:
        if not all(abs(value) <= LARGEST_COMMAND for value in command):
            given = " ".join(f"{value:g}" for value in command)
            raise SurefootError(
                f"the command is {given}; each of forward m/s, left m/s and turn rad/s must be from -10 to 10"
            )
        commands = np.tile(command, (len(commands), 1))
    commands[: round(shown_robot.posture.rise_s * shown_robot.contract.control_hz)] = 0.0
    hidden = None if hidden is None else hidden.with_robot(shown_robot)
    worlds = Worlds(shown_robot, 1, seed=seed, threads=1) if hidden is None else hidden.worlds(1, seed=seed, threads=1)
    agent = make_agent(policy, shown_robot, 1, seed=seed)
    place = shown_robot.name if hidden is None else hidden.name
    provenance = {
        "policy": agent.label,
        "policy_hash": agent.hash,
        "robot": shown_robot.name,
        "robot_hash": shown_robot.hash,
        "twin": None if hidden is None else hidden.name,
        "twin_hash": None if hidden is None else hidden.hash,
        "seed": seed,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    console = Console()
    with StageBar(console) as bar:
        walked = film(
            out,
            worlds,
            agent,
            commands,
            width=width,
            height=height,
            title=f"{agent.label} on {place}",
            comment=json.dumps(provenance),
            walking=lambda done, total: bar.show("walking", done, total, "control ticks"),
            drawing=lambda done, total: bar.show("drawing", done, total, "frames"),
        )
    told = f"; fell {walked.falls} time{'s' if walked.falls > 1 else ''}" if walked.falls else ""
    if walked.nonfinite is not None:
        told += f"; {walked.nonfinite.says}"
    elif worlds.failures:
        told += f"; the simulation stopped: {worlds.failures[0].reason}"
    size = f"{len(walked.time_s)} frames at {walked.fps:g} per second, {out.stat().st_size / 1e6:.1f} MB"
    say(console, f"wrote {out} ({size}){told}")


def _robot_of(twin: Twin, robot: str) -> Robot:
    """The robot of a virtual robot; one that was named beside it must be the same."""
    if robot != DEFAULT_ROBOT and load_robot(robot).hash != twin.robot.hash:
        raise TwinError(
            f"the virtual robot {twin.name} is a {twin.robot.name}, not the robot {robot!r}; leave --robot out, or take"
            " another twin"
        )
    return twin.robot
