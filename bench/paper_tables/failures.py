"""Rollouts that fall, in growing share. A shove throws the robot over; the simulator knows of no shove."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from paper_tables.cells import Cell, Refused, Settings, Table
from paper_tables.fits import (
    POLICY,
    PUBLISHED_FREE,
    budgeted,
    closed,
    effort,
    errors,
    fitted,
    hidden,
    original,
    published,
    walked,
)
from surefoot.errors import SurefootError
from surefoot.gap import schedule_of
from surefoot.gap.channels import PUBLISHED as PUBLISHED_CHANNELS
from surefoot.logs import RobotLog, record
from surefoot.logs.doctor import check_log
from surefoot.logs.robot_log import OPTIONAL, REQUIRED
from surefoot.policy.onnx_policy import OnnxPolicy
from surefoot.robot import Robot, load_robot
from surefoot.sim.falls import FALLEN_GRAVITY_Z
from surefoot.sim.twin import Twin
from surefoot.sim.worlds import Worlds

CASE = "2.5"  # N·m of torque noise
SHARES = ("0 %", "10 %", "20 %", "40 %")
PUBLISHED, UNGATED, GATED = "published cost, all rows", "our search, all rows", "ours, with its gate"
NARROW = (  # the published channels with a search that settles: what falls do to them, and not to CMA-ES
    "our search, published channels, all rows"
)
ROWS = (PUBLISHED, NARROW, UNGATED, GATED)
ROLLOUTS, SECONDS = 10, 4.0
SHOVE_M_S, SHOVE_RAD_S = 3.0, 12.0  # sideways, and over
SHOVE_AT_S = (1.2, 2.5)


@dataclass(frozen=True)
class Watched(Twin):
    """A virtual robot whose worlds can be reached while they are recorded."""

    made: list[Worlds] = field(default_factory=list, compare=False)

    def worlds(self, n: int, *, seed: int = 0, threads: int = 0) -> Worlds:
        """As those of the robot, and remembered."""
        self.made.append(super().worlds(n, seed=seed, threads=threads))
        return self.made[-1]


def shoved(twin: Twin, rollouts: int, seed: int) -> RobotLog:
    """A log in which somebody throws the robot over, once in every episode; those that stayed up are left out."""
    watched = Watched(twin.name, twin.physics, twin.time_jitter_s, twin.time_shift_s)
    rng, hz, n = np.random.default_rng([seed, 103]), twin.robot.contract.control_hz, 2 * rollouts
    when, side = (rng.uniform(*SHOVE_AT_S, n) * hz).astype(int), rng.choice([-1.0, 1.0], n)
    kick = np.zeros((n, 6))
    kick[:, 1], kick[:, 3] = SHOVE_M_S * side, -SHOVE_RAD_S * side

    def shove(done: int, _: int) -> None:
        due = np.flatnonzero(when == done)
        if len(due):
            watched.made[-1].kick(kick[due], due)

    log = record(watched, POLICY, rollouts=n, seconds=SECONDS, seed=950 + seed, base=True, progress=shove)
    down = fell(log)
    if len(down) < rollouts:
        raise SurefootError(f"only {len(down)} of {n} shoved episodes fell, and {rollouts} are needed; shove harder")
    return episodes_of(log, down[:rollouts])


def fell(log: RobotLog) -> np.ndarray:
    """Episodes in which the base tilts by more than 60 degrees."""
    assert log.gravity is not None
    return np.unique(log.episode[log.gravity[:, 2] > FALLEN_GRAVITY_Z])


def episodes_of(log: RobotLog, wanted: np.ndarray) -> RobotLog:
    """Some of the episodes, numbered from 0."""
    rows = np.isin(log.episode, wanted)
    columns = {
        name: getattr(log, name)[rows] for name in ("time_s", *REQUIRED, *OPTIONAL) if getattr(log, name) is not None
    }
    return replace(log, episode=np.unique(log.episode[rows], return_inverse=True)[1].astype(np.int32), **columns)


def mixed(twin: Twin, share: float, seed: int, rollouts: int = ROLLOUTS) -> RobotLog:
    """A log of `rollouts` episodes, of which this share falls; the others are the same at every share, as
    far as they go.
    """
    count = round(share * rollouts)
    up = walked(twin, rollouts, seed, SECONDS)
    if not count:
        return up
    up, down = episodes_of(up, np.arange(rollouts - count)), shoved(twin, count, seed)
    names = [name for name in ("time_s", *REQUIRED, *OPTIONAL) if getattr(up, name) is not None]
    columns: dict[str, Any] = {name: np.concatenate([getattr(up, name), getattr(down, name)]) for name in names}
    episode = np.concatenate([up.episode, down.episode + np.int32(up.n_episodes)])
    return replace(up, episode=episode, metadata={**up.metadata, "fallen_episodes": count}, **columns)


def usable_rows(log: RobotLog, robot: Robot, policy: Path | None = None) -> np.ndarray:
    """What the doctor leaves, as `surefoot fit` asks it; a log that is mostly falls is refused."""
    checked = check_log(log, robot, OnnxPolicy.load(policy or original(robot)))
    for finding in checked.findings:
        if finding.code == "fall" and finding.severity != "note":
            raise Refused(finding.title)
    return checked.usable


def with_falls(cell: Cell, settings: Settings) -> dict[str, Any]:
    """Fit one log with falls in it by one method."""
    robot = load_robot("go2")
    twin = hidden(robot, CASE, cell.seed)
    log = mixed(twin, float(cell.column.rstrip(" %")) / 100, cell.seed)
    usable = usable_rows(log, robot) if cell.row == GATED else None
    schedule = schedule_of(log, robot, usable)
    how = {"held_out": 0.0, "free": PUBLISHED_FREE, "seed": cell.seed} | (
        {"kinds": PUBLISHED_CHANNELS} if cell.row == NARROW else {}
    )
    asked = (
        published("wasserstein", settings.simulated_s, **how)
        if cell.row == PUBLISHED
        else budgeted(settings.simulated_s, **how)
    )
    result = fitted(log, schedule, robot, asked)
    return {
        **errors(result, twin),
        **closed(result),
        **effort(result),
        "fallen_episodes": len(fell(log)),
        "simulated_falls": result.after.gap.fallen,
        "used_share": 1.0 if usable is None else float(usable.mean()),
    }


FAILURES = Table(
    "failures",
    tuple((row, share) for row in ROWS for share in SHARES),
    with_falls,
    figure="error",
    quick=(GATED, "10 %"),
)
