"""The step `video`: both policies under the same commands in one simulator, where they went, and a video of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from surefoot import __version__
from surefoot.errors import SurefootError
from surefoot.files import check_folder, write_json
from surefoot.pipeline.artefacts import VIDEO, WALKS
from surefoot.policy.driver import Driver
from surefoot.sim.twin import Twin
from surefoot.verify.side_by_side import film_side_by_side, straight_lines
from surefoot.verify.video import FilmedWalk, walk

SECONDS = 10.0
SIZE = (480, 360)  # of each half, pixels: small enough to travel inside a page

Points = tuple[tuple[float, float], ...]  # points from above, m, the start at zero


@dataclass(frozen=True)
class Walked:
    """Where one policy went, and how often it fell."""

    path_m: Points
    falls: int


@dataclass(frozen=True)
class Walks:
    """The same walk with both policies."""

    says: str  # on the video, or why there is none
    place: str  # the virtual robot
    filmed: bool
    time_s: tuple[float, ...]
    commanded_m: Points  # where a robot without any error would be
    before: Walked
    after: Walked
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        sides = {side: {"path_m": one.path_m, "falls": one.falls} for side, one in self._sides.items()}
        about = {"says": self.says, "place": self.place, "filmed": self.filmed, "provenance": self.provenance}
        return {**about, "time_s": self.time_s, "commanded_m": self.commanded_m, **sides}

    @staticmethod
    def from_dict(content: dict[str, Any]) -> "Walks":
        """From what `to_dict` gave, through JSON or not."""
        before, after = (
            Walked(_points(content[side]["path_m"]), content[side]["falls"]) for side in ("before", "after")
        )
        return Walks(
            content["says"],
            content["place"],
            content["filmed"],
            tuple(content["time_s"]),
            _points(content["commanded_m"]),
            before,
            after,
            content["provenance"],
        )

    @property
    def _sides(self) -> dict[str, Walked]:
        return {"before": self.before, "after": self.after}


def claim_walks(out: Path) -> None:
    """Ask for the folder and the files that `run_walks` will write there, before any work."""
    check_folder(out, (WALKS, VIDEO))


def run_walks(
    twin: Twin,
    before: Driver,
    after: Driver,
    *,
    out: Path,
    seed: int = 0,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Walks:
    """Walk both policies on a virtual robot; walks.json, and the video where this machine can draw one."""
    robot = before.robot
    twin = twin.with_robot(robot)
    rise_s = robot.posture.rise_s
    rising = np.zeros((round(rise_s * robot.contract.control_hz), 3))
    command = np.concatenate([rising, straight_lines(robot, SECONDS)])
    tell = progress or (lambda stage, done, total: None)
    facts = {
        "twin": twin.name,
        "twin_hash": twin.hash,
        "robot_hash": robot.hash,
        "seed": seed,
        "surefoot": __version__,
        "mujoco": mujoco.__version__,
    }
    filmed: dict[str, FilmedWalk] = {}
    for side, driver in (("before", before), ("after", after)):
        tell("walking", len(filmed), 2)
        filmed[side] = walk(twin.worlds(1, seed=seed, threads=1), driver.make(1), command)
        facts |= {f"{side}_policy": driver.label, f"{side}_hash": driver.hash}
    try:
        film_side_by_side(
            out / VIDEO,
            robot,
            filmed,
            size=SIZE,
            comment=json.dumps(facts),
            drawing=lambda done, total: tell("drawing", done, total),
        )
        says = f"{SECONDS + rise_s:g} s of both on {twin.name}, {(out / VIDEO).stat().st_size / 1e6:.1f} MB"
    except (SurefootError, OSError, RuntimeError, mujoco.FatalError) as reason:  # no graphics, no encoder, no room
        (out / VIDEO).unlink(missing_ok=True)
        says = f"none: {reason}"
    first = filmed["before"]
    ideal = np.concatenate([np.zeros((1, 2)), np.cumsum(first.command[:-1, :2], axis=0) / first.fps])
    walks = Walks(
        says,
        twin.name,
        (out / VIDEO).is_file(),
        tuple(np.round(first.time_s, 4).tolist()),
        _points(np.round(ideal, 4).tolist()),
        _walked(filmed["before"]),
        _walked(filmed["after"]),
        facts,
    )
    write_json(out / WALKS, walks.to_dict())
    return walks


def _walked(walked: FilmedWalk) -> Walked:
    return Walked(_points(np.round(walked.base_m[:, :2] - walked.base_m[0, :2], 4).tolist()), int(walked.falls))


def _points(rows: Any) -> Points:
    return tuple((x, y) for x, y in rows)
