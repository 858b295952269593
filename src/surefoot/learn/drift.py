"""How far a velocity error that lasts leads off the way: what fine-tuning pays for and what a trim takes out."""

import numpy as np

ASTRAY_S = 4.0  # how long a robot walks one way before somebody, or something, corrects it
STANDING_LEVER_M = 0.5


def astray(command: np.ndarray, error: np.ndarray) -> np.ndarray:
    """How fast a lasting error (n, 3) of velocity and yaw rate leads off the way, (n,), m/s.

    A yaw rate that is off turns the way: after a time t at a speed v it leads as far astray as a velocity error of v t
    / 2 for each rad/s. A robot that stands only turns.
    """
    lever_m = STANDING_LEVER_M + np.linalg.norm(command[:, :2], axis=1) * ASTRAY_S / 2
    return np.linalg.norm(error[:, :2], axis=1) + lever_m * np.abs(error[:, 2])
