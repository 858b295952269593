"""Import: logs as people have them in (tables, bags, datasets; docs/log-import.md), one `RobotLog` out.

Readers hand over tables or channels with their own clocks and say what they guessed; `streams` joins what belongs
together, and `assemble` puts it onto the contract's joints and control ticks. It must not know simulators or policies,
and it unpickles nothing.
"""

from surefoot.logs.importing.assemble import assemble
from surefoot.logs.importing.mapping import MapFile, read_map
from surefoot.logs.importing.read import read_recording, read_recordings
from surefoot.logs.importing.recording import RecordedChannel, Recording

__all__ = ["MapFile", "RecordedChannel", "Recording", "assemble", "read_map", "read_recording", "read_recordings"]
