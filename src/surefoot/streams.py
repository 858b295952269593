"""The streams of random numbers: one number for each use of a seed, so that no two uses draw the same numbers.

A generator is made as `np.random.default_rng([seed, Stream.EVALUATION])`. Numbers are never given twice, and never
changed: logs, fits and verdicts of the same seed stay what they are.
"""

from enum import IntEnum, unique


@unique
class Stream(IntEnum):
    """What the random numbers are for."""

    TORQUE_NOISE = 0
    SENSOR_NOISE = 1
    RECORDING = 2
    RESET = 3
    DEMONSTRATIONS = 5
    IMPORTED_POLICY = 6
    ENVIRONMENT = 7
    LIBRARY_OF_STARTS = 9
    EVALUATION = 11
    RISING_SEARCH = 12
    RISING_STARTS = 13
    COMMAND_TRIM = 14
    ACCEPTANCE = 15
    START_POSE = 17
    TRIAL = 21
    CANDIDATES = 22
    NOISE_FLOOR = 23
    KERNEL_WIDTH = 29
    PROJECTIONS = 31
    DESIGN_SIGNS = 41
    DIAGNOSIS = 43
    HELD_OUT = 59
    PIECES = 61
    DISTILLATION = 71
    DISTILLATION_STARTS = 73
    PLANTED = 83
    REHEARSED_COMMANDS = 89
    SOFT_EDGES = 97
