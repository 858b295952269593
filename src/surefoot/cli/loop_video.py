"""Both policies under the same commands on one virtual robot: where they went, and a video side by side."""

import json
from pathlib import Path

import mujoco
import numpy as np

from surefoot import __version__
from surefoot.cli.loop_steps import VIDEO, WALKS
from surefoot.errors import SurefootError
from surefoot.files import write_json
from surefoot.policy.agents import make_agent, with_policy_posture
from surefoot.sim.twin import load_twin
from surefoot.verify.side_by_side import film_side_by_side, straight_lines
from surefoot.verify.video import FilmedWalk, walk

SECONDS = 10.0
SIZE = (480, 360)  # of each half, pixels: small enough to travel inside a page


def film_both(out: Path, twin: str, before: str, after: str, seed: int) -> None:
    """Write walks.json, and the video where this machine can draw one."""
    hidden = load_twin(twin)
    robot = with_policy_posture(hidden.robot, before)
    hidden = hidden.with_robot(robot)
    rise_s = robot.posture.rise_s
    rising = np.zeros((round(rise_s * robot.contract.control_hz), 3))
    command = np.concatenate([rising, straight_lines(robot, SECONDS)])
    walks: dict[str, FilmedWalk] = {}
    facts = {
        "twin": hidden.name,
        "twin_hash": hidden.hash,
        "robot_hash": robot.hash,
        "seed": seed,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    for side, policy in (("before", before), ("after", after)):
        agent = make_agent(policy, robot, 1, seed=seed)
        walks[side] = walk(hidden.worlds(1, seed=seed, threads=1), agent, command)
        facts |= {f"{side}_policy": agent.label, f"{side}_hash": agent.hash}
    try:
        film_side_by_side(out / VIDEO, robot, walks, size=SIZE, comment=json.dumps(facts))
        says = f"{SECONDS + rise_s:g} s of both on {hidden.name}, {(out / VIDEO).stat().st_size / 1e6:.1f} MB"
    except (
        SurefootError,
        OSError,
        RuntimeError,
        mujoco.FatalError,
    ) as reason:  # no graphics, no encoder, no room: told without a picture
        (out / VIDEO).unlink(missing_ok=True)
        says = f"none: {reason}"
    write_json(out / WALKS, {"says": says, "place": hidden.name, "provenance": facts, **_paths(walks)})


def _paths(walks: dict[str, FilmedWalk]) -> dict[str, object]:
    """From above, m, the start at zero; commanded is where a robot without any error would be."""
    one = next(iter(walks.values()))
    asked = np.concatenate([np.zeros((1, 2)), np.cumsum(one.command[:-1, :2], axis=0) / one.fps])
    sides = {
        side: {"path_m": np.round(walked.base_m[:, :2] - walked.base_m[0, :2], 4).tolist(), "falls": int(walked.falls)}
        for side, walked in walks.items()
    }
    return {"time_s": np.round(one.time_s, 4).tolist(), "commanded_m": np.round(asked, 4).tolist(), **sides}
