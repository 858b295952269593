"""`surefoot record`."""

from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from surefoot.cli.console import Console, cell, say
from surefoot.files import check_place
from surefoot.logs.recorder import record
from surefoot.logs.robot_log import RobotLog, write_log
from surefoot.sim.twin import load_twin


def record_log(
    twin: str,
    out: Path,
    policy: str = "trot",
    rollouts: int = 64,
    seconds: float = 4.0,
    hold_s: float = 2.0,
    seed: int = 0,
    threads: int = 0,
    base: bool = False,
    speed_m_s: tuple[float, float] | None = None,
) -> None:
    """Record the log that a virtual robot would write, under random velocity commands.

    The log holds time, command, joint position and velocity, action, gyro and gravity, as a real robot's would;
    the base's position and velocity stay hidden without --base. The same seed gives the same bytes.

    Args:
        twin: a shipped virtual robot (go2-identified, go2-spring, go2-worn, go2-slippery) or the path of a YAML file
        out: the Parquet file to write
        policy: path of an ONNX policy, the name of one that ships with the robot, or zero, random, trot
        rollouts: number of episodes
        seconds: length of each episode, s; with the time that the robot takes to rise, for a policy of
            another posture than level
        hold_s: how long each random command is held, s
        seed: of commands, starts and noise
        threads: of the simulator; 0 takes all cores
        base: also record the base's true position, orientation and velocity, as motion capture would; for
            costs that need it
        speed_m_s: command speeds between these two only, in any direction, such as 0 0.6; default: the
            whole range of the robot's commands
    """
    check_place(out, (".parquet",))
    console = Console()
    bar = (
        TextColumn("recording"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("control ticks"),
        TimeRemainingColumn(),
    )
    with Progress(*bar, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("", total=None)
        log = record(
            load_twin(twin),
            policy,
            rollouts=rollouts,
            seconds=seconds,
            hold_s=hold_s,
            seed=seed,
            threads=threads,
            base=base,
            speed_m_s=speed_m_s,
            progress=lambda done, total: shown.update(task, completed=done, total=total),
        )
    written = write_log(log, out)
    console.print(_summary(log))
    say(console, f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB, sha256 {written[:12]})")


def _summary(log: RobotLog) -> Table:
    meta = log.metadata
    table = Table(
        title=cell(f"{meta['source']['twin']} driven by {meta['policy']}"), title_justify="left", show_lines=False
    )
    for heading, justify in (
        ("joint", "left"),
        ("position rad", "right"),
        ("velocity rad/s", "right"),
        ("action", "right"),
    ):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for i, joint in enumerate(log.joints):
        cells = (
            f"{c[:, i].mean():+.3f} ± {c[:, i].std():.3f}"
            for c in (log.joint_position_rad, log.joint_velocity_rad_s, log.action)
        )
        table.add_row(cell(joint), *cells)
    table.caption_justify = "left"
    table.caption = (
        f"{log.n_episodes} episodes, {log.seconds:.1f} s at {meta['control_hz']:g} Hz, {len(log.time_s)} rows, "
        f"{meta['fallen_episodes']} of {log.n_episodes} fell; mean ± standard deviation"
    )
    return table
