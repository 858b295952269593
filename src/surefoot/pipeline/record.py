"""The step `record`: the log that a virtual robot would write."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from surefoot.files import check_place
from surefoot.logs.recorder import record
from surefoot.logs.robot_log import RobotLog, write_log
from surefoot.policy.driver import Driver
from surefoot.sim.twin import Twin


@dataclass(frozen=True)
class RecordOptions:
    """What a virtual robot records.

    Attributes:
        rollouts: number of episodes
        seconds: length of each episode, s; with the time that the robot takes to rise, for a policy of another posture
            than level
        hold_s: how long each random command is held, s
        seed: of commands, starts and noise
        threads: of the simulator; 0 takes all cores
        base: also record the base's true position, orientation and velocity, as motion capture would; for costs that
            need it
        speed_m_s: command speeds between these two only, in any direction, such as 0 0.6; default: the whole range of
            the robot's commands
    """

    rollouts: int = 64
    seconds: float = 4.0
    hold_s: float = 2.0
    seed: int = 0
    threads: int = 0
    base: bool = False
    speed_m_s: tuple[float, float] | None = None


def claim_record(out: Path) -> None:
    """Ask for the file that `run_record` will write, before any work."""
    check_place(out, (".parquet",))


def run_record(
    twin: Twin,
    policy: str | Driver,
    options: RecordOptions | None = None,
    *,
    out: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> RobotLog:
    """Record a log, and write it where `out` is given. `progress` gets control ticks, done and in all."""
    log = record(twin, policy, **asdict(options or RecordOptions()), progress=progress)
    if out is not None:
        write_log(log, out)
    return log
