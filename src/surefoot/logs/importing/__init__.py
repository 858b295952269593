"""Import: logs as people have them in (CSV, NPZ, Parquet, MCAP, ROS 2 bags, LeRobot folders), one `RobotLog` out.

Readers hand over channels with their own clocks and say what they guessed; `assemble` puts them onto the contract's
joints and control ticks. It must not know simulators or policies, and it unpickles nothing.
"""

from surefoot.logs.importing.assemble import assemble
from surefoot.logs.importing.mapping import MapFile, read_map
from surefoot.logs.importing.read import read_recording
from surefoot.logs.importing.recording import RecordedChannel, Recording

__all__ = ["MapFile", "RecordedChannel", "Recording", "assemble", "read_map", "read_recording"]
