"""A log that was recorded, as text."""

from rich.table import Table

from surefoot.console import Console, cell
from surefoot.files import is_number
from surefoot.logs import RobotLog


def show_log(log: RobotLog, console: Console) -> None:
    """Print the range of every joint, and how much was recorded."""
    console.print(_table(log))


def _table(log: RobotLog) -> Table:
    meta = log.metadata
    source = meta.get("source")
    twin = source.get("twin") if isinstance(source, dict) else None
    title = f"{twin or meta.get('robot', 'a robot')} driven by {meta.get('policy', 'an unnamed policy')}"
    table = Table(title=cell(title), title_justify="left", show_lines=False)
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
    rate = f" at {meta['control_hz']:g} Hz" if is_number(meta.get("control_hz")) else ""
    fell = f", {meta['fallen_episodes']} of {log.n_episodes} fell" if "fallen_episodes" in meta else ""
    table.caption = (
        f"{log.n_episodes} episodes, {log.seconds:.1f} s{rate}, {len(log.time_s)} rows{fell}; mean ± standard deviation"
    )
    return table
