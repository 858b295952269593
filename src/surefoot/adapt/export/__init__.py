"""An adaptation for other programs: MJCF for stock MuJoCo, mjlab, Isaac Lab, and ranges for training.

An adaptation and its robot in, text out; every number at full precision, and what a target cannot say is listed in its
head with value and unit. It must not know search, learning and the libraries that it writes for.
"""

from surefoot.adapt.export.isaaclab import isaaclab_config
from surefoot.adapt.export.mjcf import patched_mjcf, write_mjcf
from surefoot.adapt.export.mjlab import mjlab_config
from surefoot.adapt.export.randomization import randomization_ranges, randomization_table

__all__ = ["isaaclab_config", "mjlab_config", "patched_mjcf", "randomization_ranges", "randomization_table", "write_mjcf"]
