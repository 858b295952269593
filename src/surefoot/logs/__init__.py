"""Logs: episodes of time, command, joint position, velocity and action; rollouts in, Parquet files out and back.

`record` is the one place that runs a virtual robot; everything else here must not know simulators.
"""

from surefoot.logs.recorder import random_commands, record
from surefoot.logs.robot_log import RobotLog, read_log, write_log

__all__ = ["RobotLog", "random_commands", "read_log", "record", "write_log"]
