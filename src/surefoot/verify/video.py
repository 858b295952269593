"""A video of one robot while an agent drives it: the command and the measured velocity drawn in, as arrows
and as figures.

The walk is simulated first and drawn afterwards, so that the camera and the measured velocity can be smoothed to both
sides and lag behind nothing. Pixels go to the encoder one frame at a time: a long video needs no more memory than a
short one.
"""

import contextlib
import itertools
import math
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import imageio_ffmpeg
import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from surefoot.errors import SurefootError
from surefoot.files import check_place, write_whole
from surefoot.policy.agents import Agent
from surefoot.robot.coarse import coarsen
from surefoot.robot.load import Robot
from surefoot.robot.model import compile_spec
from surefoot.robot.picture import Frames, framed, size_of, standing, studio
from surefoot.sim.falls import Falls
from surefoot.sim.frames import yaw_of
from surefoot.sim.nonfinite import NonFinite, NonFiniteProbe, nonfinite
from surefoot.sim.probes import heading_velocity
from surefoot.sim.walk import Script
from surefoot.sim.walk import walk as walk_worlds
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import directions_of

Tell = Callable[[int, int], None]  # done, to do

SUFFIXES = (".mp4", ".gif")
MOST_FPS = 30.0
MOST_SECONDS = 600.0
SIDES = (64, 4096)  # pixels, shortest and longest
MOST_GIF_PIXELS = 3e8  # in all frames; a GIF is held in memory until it is written
CYCLE_S = 12.0  # a longer video goes through the schedule again
SCHEDULE = (
    ("stand", 0.8),
    ("+x", 2.4),
    ("turn left", 1.8),
    ("+y", 1.5),
    ("-x", 1.8),
    ("-y", 1.5),
    ("turn right", 1.4),
    ("stand", 0.8),
)
SHOW_FALL_S = 1.0
VELOCITY_WINDOW_S = 0.2
CAMERA_SPREAD_S = 0.35  # standard deviation of the window over which the camera's place is averaged

# Blue and orange of Okabe and Ito, which colour-blind people can tell apart.
COMMAND_RGB, MEASURED_RGB = (0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00)
INK, PAPER = (28, 32, 38), (255, 255, 255, 214)
FINER = 3  # times the picture's resolution, at which letters are drawn
PAINT, GLOW = (
    0.45,
    1.2,
)  # how much of its colour an arrow reflects, and how much more it emits: the sum stays near the colour, lit or not

# Lengths of what is drawn above the robot, in robot sizes.
LOWER_ARROW, ARROW_GAP, HEADROOM = (
    0.16,
    0.11,
    0.1,
)  # of the measured velocity above the robot's top, of the command above that
ARROW_RADIUS, FULL_SPEED_ARROW, LONGEST_ARROW = 0.02, 0.7, 1.0
TURN_RADIUS, FULL_TURN_RAD, LARGEST_TURN_RAD = 0.26, math.radians(110), math.radians(170)
LEAST = 0.12  # a velocity below this part of full speed shows as a dot
ELEVATION_DEG = -22.0  # higher than for a still picture, so that arrows towards the camera show
WIDER = 1.12  # than what stands still fits into

# A frame is drawn this much larger and shrunk, which smooths edges as multisampling does. Software (llvmpipe) takes twice
# as long for multisampling, and three times with many small triangles: a G1 with 500,000 triangles took 0.36 s a frame.
OVERSAMPLING = 4 / 3
SHADOW_PX = 2048  # side of the shadow's map
FINEST = 200  # cells of a coarse mesh in the robot's size: about two pixels each in the default picture


@dataclass(frozen=True)
class FilmedWalk:
    """What one robot did, a row for each frame."""

    fps: float
    time_s: np.ndarray  # (n,)
    qpos: np.ndarray  # (n, nq)
    base_m: np.ndarray  # (n, 3)
    smooth_base_m: np.ndarray  # (n, 3) what the camera follows
    heading_rad: np.ndarray  # (n,)
    command: np.ndarray  # (n, 3) forward m/s, left m/s, turn rad/s
    velocity: np.ndarray  # (n, 3) measured, in the heading frame, smoothed
    state: tuple[str, ...]  # "", "fallen" or "unstable"
    falls: int
    nonfinite: NonFinite | None = None  # of a policy that gave actions which are no numbers


def check_video(path: Path, robot: Robot, seconds: float, width: int, height: int) -> None:
    """Refuse what cannot become a video, before any work is done."""
    check_place(path, SUFFIXES)
    if not 0 < seconds <= MOST_SECONDS:
        raise SurefootError(f"seconds is {seconds:g}; it must be above 0 and at most {MOST_SECONDS:g}")
    for name, value in (("width", width), ("height", height)):
        if not SIDES[0] <= value <= SIDES[1]:
            raise SurefootError(f"{name} is {value}; it must be from {SIDES[0]} to {SIDES[1]} pixels")
    frames = seconds * robot.contract.control_hz / _every(robot.contract.control_hz)
    if path.suffix.lower() == ".gif" and frames * width * height > MOST_GIF_PIXELS:
        raise SurefootError(
            f"a GIF of {seconds:g} s at {width} × {height} is too large; write an .mp4, or a GIF that is shorter or"
            " smaller",
            argument="seconds",
        )
    if path.suffix.lower() == ".mp4":
        _ffmpeg()


def schedule(robot: Robot, seconds: float, parts: Sequence[tuple[str, float]] = SCHEDULE) -> np.ndarray:
    """Commands (ticks, 3) that show standing and full speed along each axis of the command range, over and
    over in a long video.
    """
    known = {"stand": (0.0, 0.0, 0.0), **directions_of(robot)}
    pieces = [(known[name], share) for name, share in parts if name in known]
    ends = np.cumsum([share for _, share in pieces])
    ticks = max(1, round(seconds * robot.contract.control_hz))
    through = np.arange(ticks) * max(1, round(seconds / CYCLE_S)) % ticks / ticks
    return np.array([value for value, _ in pieces])[np.searchsorted(ends / ends[-1], through, side="right")]


def walk(worlds: Worlds, agent: Agent, command: np.ndarray, progress: Tell | None = None) -> FilmedWalk:
    """Drive a single world under `command`, (ticks, 3); a robot that has been down for a while is stood up
    where it fell.
    """
    ticks, hz = len(command), worlds.robot.contract.control_hz
    take = _Take(worlds, agent, ticks)
    agent.reset(None)
    finite = NonFiniteProbe()
    walk_worlds(worlds, agent, Script(command[:, None], before_tick=take.before_tick), (finite,), progress)
    velocity = take.velocity
    for begin, end in zip(take.begins, [*take.begins[1:], ticks], strict=True):
        velocity[begin:end] = _averaged(velocity[begin:end], np.ones(2 * round(VELOCITY_WINDOW_S * hz / 2) + 1))
    spread = max(1.0, CAMERA_SPREAD_S * hz)
    steps = np.arange(-round(3 * spread), round(3 * spread) + 1)
    smooth = _averaged(take.place_m, np.exp(-0.5 * (steps / spread) ** 2))
    every = _every(hz)
    kept = np.arange(0, ticks, every)
    return FilmedWalk(
        fps=hz / every,
        time_s=kept / hz,
        qpos=take.qpos[kept],
        base_m=take.place_m[kept],
        smooth_base_m=smooth[kept],
        heading_rad=yaw_of(take.quaternion[kept]),
        command=command[kept],
        velocity=velocity[kept],
        state=tuple(take.state[k] for k in kept),
        falls=take.falls,
        nonfinite=nonfinite([(finite.result(), np.arange(1))], worlds.control_dt_s),
    )


class _Take:
    """Keeps what a camera sees of a single world at the beginning of every tick, and stands the robot up after falls.

    It is the script's hook and not a probe, since a robot that is stood up is seen standing in the same tick.
    """

    def __init__(self, worlds: Worlds, agent: Agent, ticks: int) -> None:
        self._worlds, self._agent, self._posture = worlds, agent, worlds.robot.posture
        self._show_ticks = SHOW_FALL_S * worlds.robot.contract.control_hz
        self._watch = Falls(self._posture, 1, worlds.control_dt_s)
        self._down_since = -1
        self.qpos, self.place_m = np.zeros((ticks, worlds.model.nq)), np.zeros((ticks, 3))
        self.quaternion = np.zeros((ticks, 4))  # of the frame that is level in the posture
        self.velocity = np.zeros((ticks, 3))  # forward m/s, left m/s, turn rad/s
        self.state, self.begins, self.falls = [""] * ticks, [0], 0

    def before_tick(self, k: int) -> None:
        """Stand the robot up if it is time to, and look at it."""
        worlds = self._worlds
        if self._down_since >= 0 and k - self._down_since >= self._show_ticks:
            self._stand_up(k)
        alive = bool(worlds.alive[0])
        if alive:
            self.qpos[k], self.place_m[k] = worlds.data_of(0).qpos, worlds.base_position_m[0]
            self.quaternion[k] = self._posture.frame(worlds.base_quaternion)[0]
            self.velocity[k] = heading_velocity(worlds, self._posture)[0]
        else:  # a world that was stopped is back at its start; the picture stays where it was
            self.qpos[k], self.place_m[k] = self.qpos[k - 1], self.place_m[k - 1]
            self.quaternion[k] = self.quaternion[k - 1]
        down = bool(self._watch.look(worlds.base_quaternion, worlds.trunk_height_m)[0])
        if self._down_since < 0 and (not alive or down):
            self._down_since = k
            self.falls += alive
        if self._down_since >= 0:
            self.state[k] = "fallen" if alive else "unstable"

    def _stand_up(self, k: int) -> None:
        """Where the robot was a tick ago."""
        half, (x, y, _) = float(yaw_of(self.quaternion[k - 1, None])[0]) / 2, self.place_m[k - 1]
        self._worlds.reset(
            base_position_m=np.array([[x, y, self._worlds.robot.base_height_m]]),
            base_quaternion=np.array([[math.cos(half), 0.0, 0.0, math.sin(half)]]),
        )
        self._agent.reset(None)
        self._watch.reset(np.array([0]))
        self.begins.append(k)
        self._down_since = -1


class Film(Frames):
    """Draws the frames of a walk: the robot in its studio, arrows above it, and a panel of figures."""

    def __init__(self, robot: Robot, width: int, height: int, title: str) -> None:
        spec = robot.spec()
        self._size_m = size_of(robot)
        studio(spec, size_m=self._size_m, floor=True)
        # robot sizes; a camera this far back would see the edge of a still picture's shadow map
        spec.visual.map.shadowclip = 5.0
        spec.visual.quality.offsamples, spec.visual.quality.shadowsize = 0, SHADOW_PX
        model = compile_spec(spec, robot.model_path)
        coarsen(model, self._size_m / FINEST)
        self._pixels = (width, height)
        super().__init__(model, round(OVERSAMPLING * width), round(OVERSAMPLING * height))
        self._data = standing(robot, model)
        self._camera = framed(model, self._data, width / height)
        top_m = (
            2 * self._camera.lookat[2] - robot.base_height_m
        )  # above the base: the camera looks at the middle of a robot that stands on the floor
        above_m = (LOWER_ARROW + ARROW_GAP + HEADROOM) * self._size_m
        self._arrows_m = (
            top_m + np.array([LOWER_ARROW + ARROW_GAP, LOWER_ARROW]) * self._size_m
        )  # command, measured; above the base
        self._camera.lookat[2] += above_m / 2
        self._camera.elevation = ELEVATION_DEG
        half_tan = math.tan(math.radians(model.vis.global_.fovy) / 2)
        self._camera.distance = WIDER * (self._camera.distance + above_m / 2 / half_tan)
        limits = np.abs(robot.contract.command_range).max(axis=1)
        self._full_m_s, self._full_rad_s = float(limits[:2].max()) or 1.0, float(limits[2]) or 1.0
        self._panel = Panel(title, width, height)

    def frames(self, walk: FilmedWalk) -> Iterator[np.ndarray]:
        """Pixels of all frames, (height, width, 3), uint8."""
        for k in range(len(walk.time_s)):
            yield self.frame(walk, k)

    def frame(self, walk: FilmedWalk, k: int) -> np.ndarray:
        """Pixels of frame k, (height, width, 3), uint8."""
        self._data.qpos[:] = walk.qpos[k]
        mujoco.mj_fwdPosition(self._model, self._data)
        self._camera.lookat[:2] = walk.smooth_base_m[k, :2]
        mujoco.mjv_updateScene(
            self._model, self._data, self._option, None, self._camera, mujoco.mjtCatBit.mjCAT_ALL, self._scene
        )
        base_m = max(walk.base_m[k, 2], walk.smooth_base_m[k, 2])  # comes down after the robot, not with it
        for velocity, rgb, height_m in zip(
            (walk.command[k], walk.velocity[k]), (COMMAND_RGB, MEASURED_RGB), self._arrows_m, strict=True
        ):
            self._add_velocity(
                velocity, np.array([*walk.base_m[k, :2], base_m + height_m]), float(walk.heading_rad[k]), rgb
            )
        pixels = Image.fromarray(self._render()).resize(self._pixels, Image.Resampling.BOX)
        self._panel.draw(pixels, float(walk.time_s[k]), walk.command[k], walk.velocity[k], walk.state[k])
        return np.asarray(pixels)

    def _add_velocity(
        self, velocity: np.ndarray, start: np.ndarray, heading_rad: float, rgb: tuple[int, int, int]
    ) -> None:
        """A dot above the robot, an arrow along the velocity over the floor, and a bent one for the turn."""
        size_m = self._size_m
        radius = ARROW_RADIUS * size_m
        self._add(mujoco.mjtGeom.mjGEOM_SPHERE, start, start, 1.3 * radius, rgb)
        speed = float(np.hypot(velocity[0], velocity[1])) / self._full_m_s
        if speed > LEAST:
            angle = heading_rad + math.atan2(velocity[1], velocity[0])
            length = min(FULL_SPEED_ARROW * speed, LONGEST_ARROW) * size_m
            self._add(
                mujoco.mjtGeom.mjGEOM_ARROW, start, start + length * _direction(angle), min(radius, length / 6), rgb
            )
        turn = float(velocity[2]) / self._full_rad_s
        if abs(turn) > LEAST:
            swept = float(np.clip(turn * FULL_TURN_RAD, -LARGEST_TURN_RAD, LARGEST_TURN_RAD))
            angles = heading_rad + np.linspace(0.0, swept, 2 + math.ceil(abs(swept) / math.radians(8)))
            points = [start + TURN_RADIUS * size_m * _direction(angle) for angle in angles]
            for a, b in itertools.pairwise(points[:-1]):
                self._add(mujoco.mjtGeom.mjGEOM_CAPSULE, a, b, 0.7 * radius, rgb)
            along = math.copysign(1.0, turn) * _direction(float(angles[-2]) + math.pi / 2)
            self._add(mujoco.mjtGeom.mjGEOM_ARROW, points[-2], points[-2] + 5 * radius * along, 0.9 * radius, rgb)

    def _add(
        self, kind: mujoco.mjtGeom, a: np.ndarray, b: np.ndarray, radius_m: float, rgb: tuple[int, int, int]
    ) -> None:
        scene = self._scene
        if scene.ngeom >= scene.maxgeom:
            return
        geom = scene.geoms[scene.ngeom]
        mujoco.mjv_initGeom(
            geom,
            kind,
            np.full(3, radius_m),
            a,
            np.eye(3).ravel(),
            np.array([*(PAINT * np.array(rgb)), 255], np.float32) / 255,
        )
        if kind != mujoco.mjtGeom.mjGEOM_SPHERE:
            mujoco.mjv_connector(geom, kind, radius_m, a, b)
        geom.emission, geom.specular, geom.castshadow = GLOW, 0.0, False
        scene.ngeom += 1

    def _render(self) -> np.ndarray:
        self._gl.make_current()
        pixels = np.empty((self._rectangle.height, self._rectangle.width, 3), np.uint8)
        mujoco.mjr_render(self._rectangle, self._scene, self._context)
        mujoco.mjr_readPixels(pixels, None, self._rectangle, self._context)
        return pixels[::-1].copy()  # GL counts rows from below


class Panel:
    """Figures in the upper left corner of a frame, drawn large and shrunk: small letters sit badly on whole pixels."""

    def __init__(self, title: str, width: int, height: int) -> None:
        unit = max(4.0, min(height / 30, width / 53))  # height of a letter and a little more, pixels
        self._corner = round(0.8 * unit)
        self._unit = unit = FINER * unit
        self._title_font, self._font = ImageFont.load_default(1.02 * unit), ImageFont.load_default(0.86 * unit)
        self._columns = [9.2 * unit, 12.7 * unit, 16.8 * unit]  # right edges of vx, vy and wz
        self._lines = [1.55 * unit, 3.0 * unit, 4.35 * unit, 5.7 * unit]  # where the letters of each line stand
        self._paper = Image.new("RGBA", (round(17.7 * unit), round(9.0 * unit)), (*PAPER[:3], 0))
        pen = ImageDraw.Draw(self._paper)
        pen.rounded_rectangle((0, 0, self._paper.width - 1, 6.5 * unit), 0.5 * unit, fill=PAPER)
        pen.text((0.9 * unit, self._lines[0]), self._cut(title, 12.5 * unit), INK, self._title_font, anchor="ls")
        for right, name in zip(self._columns, ("vx m/s", "vy m/s", "wz rad/s"), strict=True):
            pen.text((right, self._lines[1]), name, INK, self._font, anchor="rs")
        for line, rgb, name in zip(self._lines[2:], (COMMAND_RGB, MEASURED_RGB), ("command", "measured"), strict=True):
            pen.rectangle((0.9 * unit, line - 0.62 * unit, 1.5 * unit, line), fill=rgb)
            pen.text((1.9 * unit, line), name, INK, self._font, anchor="ls")

    def draw(self, image: Image.Image, time_s: float, command: np.ndarray, velocity: np.ndarray, state: str) -> None:
        """Put the figures of one frame into its picture."""
        paper, unit = self._paper.copy(), self._unit
        pen = ImageDraw.Draw(paper)
        pen.text((self._columns[-1], self._lines[0]), f"{time_s:.1f} s", INK, self._font, anchor="rs")
        for line, values in zip(self._lines[2:], (command, velocity), strict=True):
            for right, value in zip(self._columns, values, strict=True):
                pen.text(
                    (right, line), f"{round(float(value), 2) + 0.0:.2f}", INK, self._font, anchor="rs"
                )  # + 0.0: no '-0.00'
        if state:
            wide = self._title_font.getlength(state) + 1.8 * unit
            pen.rounded_rectangle((0, 7.0 * unit, wide, 8.9 * unit), 0.5 * unit, fill=INK)
            pen.text((wide / 2, 7.95 * unit), state, PAPER[:3], self._title_font, anchor="mm")
        small = paper.reduce(FINER)
        image.paste(small, (self._corner, self._corner), small)

    def _cut(self, text: str, width: float) -> str:
        """As much of a text as fits."""
        if self._title_font.getlength(text) <= width:
            return text
        return next(
            (f"{text[:n]}…" for n in range(len(text), 0, -1) if self._title_font.getlength(f"{text[:n]}…") <= width), ""
        )


def film(
    path: Path,
    worlds: Worlds,
    agent: Agent,
    command: np.ndarray,
    *,
    width: int,
    height: int,
    title: str,
    comment: str = "",
    walking: Tell | None = None,
    drawing: Tell | None = None,
) -> FilmedWalk:
    """Write a video of a single world under `command`, (ticks, 3); `comment` is kept inside the file."""
    width, height = width - width % 2, height - height % 2  # colour has half the resolution in yuv420p
    drawn = Film(worlds.robot, width, height, title)  # first, since a machine without graphics need not walk
    with drawn:
        walked = walk(worlds, agent, command, walking)

        def frames() -> Iterator[np.ndarray]:
            for k, pixels in enumerate(drawn.frames(walked)):
                yield pixels
                if drawing is not None:
                    drawing(k + 1, len(walked.time_s))

        write_video(path, frames(), walked.fps, (width, height), comment)
    return walked


def write_video(path: Path, frames: Iterable[np.ndarray], fps: float, size: tuple[int, int], comment: str = "") -> None:
    """Write frames (height, width, 3) of an even `size`, width first, whole or not at all, as the suffix says."""
    encode = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    write_whole(path, lambda temporary: encode(temporary, frames, fps, size, comment))


def _write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float, size: tuple[int, int], comment: str) -> None:
    """H.264 as all players take it.

    The bundled ffmpeg is run from here and not through imageio_ffmpeg, which does not look at how ffmpeg ended:
    a disk that is full at the last frame would leave half a video.
    """
    told = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:.6f}", "-i", "-"]
    colours = [
        "-vf",
        "scale=out_color_matrix=bt709:out_range=tv",
        "-colorspace",
        "bt709",
        "-color_primaries",
        "bt709",
        "-color_trc",
        "bt709",
    ]
    coded = ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-preset", "fast", "-crf", "20", "-movflags", "+faststart"]
    line = [
        _ffmpeg(),
        "-y",
        "-v",
        "error",
        *told,
        "-an",
        *colours,
        *coded,
        "-metadata",
        f"comment={comment}",
        "-f",
        "mp4",
        str(path),
    ]
    with tempfile.TemporaryFile() as said:
        # A session of its own, so that Ctrl-C reaches only us, and we end it.
        try:
            process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=said, stderr=said, start_new_session=True)
        except OSError as reason:
            raise SurefootError(
                f"cannot run ffmpeg at {line[0]}: {reason.strerror or reason}; unset IMAGEIO_FFMPEG_EXE, or write a"
                " .gif"
            ) from None
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):  # it ended early, and says why
                for pixels in frames:
                    process.stdin.write(pixels.tobytes())
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if code:
            said.seek(0)
            lines = [text.strip() for text in said.read().decode(errors="replace").splitlines() if text.strip()]
            raise SurefootError(
                f"ffmpeg could not write the video ({lines[0][:160] if lines else f'exit code {code}'}); nothing was"
                " changed"
            )


def _write_gif(path: Path, frames: Iterable[np.ndarray], fps: float, size: tuple[int, int], comment: str) -> None:
    images = [Image.fromarray(pixels).quantize(256, dither=Image.Dither.NONE) for pixels in frames]
    ends = np.rint(np.arange(1, len(images) + 1) * 100 / fps) * 10  # ms; a GIF counts in hundredths of a second
    lasts = np.diff(ends, prepend=0).tolist()
    images[0].save(
        path, format="GIF", save_all=True, append_images=images[1:], duration=lasts, loop=0, comment=comment.encode()
    )


def _ffmpeg() -> str:
    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError:
        raise SurefootError(
            "no ffmpeg for this machine comes with imageio-ffmpeg; install ffmpeg, or name it with IMAGEIO_FFMPEG_EXE,"
            " or write a .gif"
        ) from None


def _every(control_hz: float) -> int:
    """Control ticks from one frame to the next."""
    return max(1, math.ceil(control_hz / MOST_FPS - 1e-9))


def _averaged(values: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Columns of (n, m) averaged over a window of odd length around each row; near the ends over what there
    is of it.
    """
    half = len(window) // 2
    weight = np.convolve(np.ones(len(values)), window)[half : half + len(values)]
    return np.stack([np.convolve(column, window)[half : half + len(values)] / weight for column in values.T], axis=1)


def _direction(angle_rad: float) -> np.ndarray:
    return np.array([math.cos(angle_rad), math.sin(angle_rad), 0.0])
