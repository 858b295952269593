"""Videos of several walks side by side, under the same commands."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from surefoot.files import check_place
from surefoot.robot.load import Robot
from surefoot.verify.video import INK, Film, FilmedWalk, Tell, schedule, write_video

LINES = (
    ("stand", 0.5),
    ("+x", 2.25),
    ("-x", 2.25),
    ("+y", 2.25),
    ("-y", 2.25),
    ("stand", 0.5),
)  # there and back: a drift adds up
RULE_PX = 2  # between two halves


def straight_lines(robot: Robot, seconds: float) -> np.ndarray:
    """Commands (ticks, 3) along each direction at full speed and back again, as far as the robot's command
    range has them.
    """
    return schedule(robot, seconds, LINES)


def film_side_by_side(
    path: Path,
    robot: Robot,
    walks: Mapping[str, FilmedWalk],
    *,
    size: tuple[int, int],
    comment: str = "",
    drawing: Tell | None = None,
) -> None:
    """Write a video of walks of the same length, from left to right, each under its name; `size` is of each."""
    check_place(path)
    width, height = size[0] - size[0] % 2, size[1] - size[1] % 2  # colour has half the resolution in yuv420p
    with ExitStack() as opened:
        films = []
        for name in walks:
            films.append(Film(robot, width, height, name))
            opened.enter_context(films[-1])
        count = min(len(one.time_s) for one in walks.values())

        def frames() -> Iterator[np.ndarray]:
            for k in range(count):
                pixels = np.concatenate(
                    [film.frame(one, k) for film, one in zip(films, walks.values(), strict=True)], axis=1
                )
                for edge in range(width, pixels.shape[1], width):
                    pixels[:, edge - RULE_PX // 2 : edge + RULE_PX // 2] = INK
                yield pixels
                if drawing is not None:
                    drawing(k + 1, count)

        fps = next(iter(walks.values())).fps
        write_video(path, frames(), fps, (width * len(walks), height), comment)
