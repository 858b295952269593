"""Videos read back."""

from pathlib import Path

import imageio_ffmpeg
import numpy as np


def frames_of(path: Path) -> tuple[dict, np.ndarray]:
    """What the file says about itself, and its frames, (n, height, width, 3)."""
    reader = imageio_ffmpeg.read_frames(path)
    about = next(reader)
    width, height = about["size"]
    return about, np.array([np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]).astype(int)


def near(pixels: np.ndarray, rgb: tuple[int, int, int], within: float) -> np.ndarray:
    return np.linalg.norm(pixels.astype(float) - rgb, axis=-1) < within
