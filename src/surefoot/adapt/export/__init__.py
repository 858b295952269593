"""An adaptation for other programs: MJCF for stock MuJoCo, mjlab, Isaac Lab, ranges for training, and what
no model holds.

An adaptation and its robot in, files out; every number at full precision, and what a target cannot say is listed in its
head with value and unit. It must not know search, learning and the libraries that it writes for.
"""

from surefoot.adapt.export.isaaclab import isaaclab_config
from surefoot.adapt.export.mjcf import patched_mjcf, write_mjcf
from surefoot.adapt.export.mjlab import mjlab_config
from surefoot.adapt.export.numpy_class import numpy_class
from surefoot.adapt.export.onnx_file import write_onnx
from surefoot.adapt.export.randomization import randomization_ranges, randomization_table

__all__ = [
    "isaaclab_config",
    "mjlab_config",
    "numpy_class",
    "patched_mjcf",
    "randomization_ranges",
    "randomization_table",
    "write_mjcf",
    "write_onnx",
]
