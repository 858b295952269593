"""The drift that a lasting velocity error causes: what fine-tuning pays for and what a trim takes out."""

import numpy as np

CORRECTED_S = 4.0  # how long a robot walks one way before somebody, or something, corrects it
STANDING_LEVER_M = 0.5


def drift_speed(command: np.ndarray, error: np.ndarray) -> np.ndarray:
    """How fast robots drift off their course, (n,), m/s, by a lasting error (n, 3) of velocity and yaw rate.

    A wrong yaw rate bends the course: within a time t at a speed v the robot drifts as far as with a velocity error of
    v t / 2 for each rad/s. A robot that stands only turns.
    """
    lever_m = STANDING_LEVER_M + np.linalg.norm(command[:, :2], axis=1) * CORRECTED_S / 2
    return np.linalg.norm(error[:, :2], axis=1) + lever_m * np.abs(error[:, 2])
