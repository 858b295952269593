"""Turning between the world and the heading of a robot."""

import numpy as np


def yaw_of(quaternion: np.ndarray) -> np.ndarray:
    """Heading of bodies with quaternions (n, 4), rad."""
    w, x, y, z = quaternion.T
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def in_heading_frame(vector: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """World vectors (n, 3) as a robot with this heading would tell them: forward, left, up."""
    return turned_back(vector, yaw_of(quaternion))


def in_base_frame(vector: np.ndarray, quaternion: np.ndarray) -> np.ndarray:
    """World vectors (..., 3) in the frame of bodies with quaternions (..., 4), w x y z."""
    w, axis = quaternion[..., :1], quaternion[..., 1:]
    twice = 2.0 * np.cross(vector, axis)  # the inverse rotation: v + w t + t x axis, with t = 2 v x axis
    return vector + w * twice + np.cross(twice, axis)


def turned_back(vector: np.ndarray, yaw: np.ndarray) -> np.ndarray:
    """World vectors (n, 3) as someone who has turned left by this angle, (n,) rad, would tell them."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * vector[:, 0] + s * vector[:, 1], c * vector[:, 1] - s * vector[:, 0], vector[:, 2]], axis=1)
