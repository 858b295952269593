"""Logs: episodes of time, command, joint position, velocity and action; rollouts in, Parquet files out and back.

`record` is the one place that runs a virtual robot; everything else here must not know simulators, and
reading a log loads none.
"""

from typing import TYPE_CHECKING

from surefoot.lazy import lazy_names
from surefoot.logs.robot_log import RobotLog, read_log, write_log

if TYPE_CHECKING:
    from surefoot.logs.recorder import random_commands, record

__all__ = ["RobotLog", "random_commands", "read_log", "record", "write_log"]

__getattr__ = lazy_names(__name__, dict.fromkeys(("random_commands", "record"), "surefoot.logs.recorder"))
