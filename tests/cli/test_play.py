"""`surefoot play`: videos that hold what they should, robots that fall and stand up again, and refusals."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.policy_files import layers
from support.robot_files import BIPED, HEXAPOD
from support.videos import frames_of

from surefoot.cli.main import run
from surefoot.policy import write_mlp
from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot
from surefoot.sim.worlds import Worlds
from surefoot.verify import video
from surefoot.verify.video import COMMAND_RGB, MEASURED_RGB, Film, schedule, walk

SMALL = ("--width", 160, "--height", 96)


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """Run `surefoot play` in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["play", *map(str, arguments)])
        seen = capsys.readouterr()
        return code, seen.out, seen.err

    return call


def near(pixels: np.ndarray, rgb: tuple[int, int, int], within: float) -> np.ndarray:
    return np.linalg.norm(pixels.astype(float) - rgb, axis=-1) < within


# Videos


@pytest.mark.usefixtures("gl")
def test_mp4_of_a_trot(play) -> None:
    code, out, error = play(
        "trot", "--out", "new/walk.mp4", "--seconds", 1, "--command", 1, 0, 0, "--width", 161, "--height", 97
    )
    assert (code, error) == (0, "")
    assert "wrote new/walk.mp4 (25 frames at 25 per second" in out
    assert [file.name for file in Path("new").iterdir()] == ["walk.mp4"]
    about, frames = frames_of(Path("new/walk.mp4"))
    assert (about["codec"], about["fps"], about["duration"]) == ("h264", 25.0, 1.0)
    assert about["pix_fmt"].startswith("yuv420p")
    assert frames.shape == (25, 96, 160, 3)
    moved = np.abs(np.diff(frames[:, 30:], axis=0)).mean(axis=(1, 2, 3))
    assert moved[5:].min() > 1  # the robot or the floor under it, in every frame
    above_robot = frames[-5:, 15:45, 78:]  # and beside the panel
    assert near(above_robot, COMMAND_RGB, 60).sum() > 5 * 10
    assert near(above_robot, MEASURED_RGB, 60).sum() > 5 * 10


@pytest.mark.usefixtures("gl")
def test_mp4_of_another_robot_that_stands(play) -> None:
    code, out, _ = play("zero", "--robot", HEXAPOD, "--out", "stand.MP4", "--seconds", 0.6, *SMALL)
    assert code == 0
    assert "fell" not in out
    about, frames = frames_of(Path("stand.MP4"))
    assert about["size"] == (160, 96)
    assert len(frames) == 15
    assert near(frames[:, 15:45, 76:], COMMAND_RGB, 60).any(axis=(1, 2)).mean() > 0.5
    assert np.abs(frames[9] - frames[3])[15:45].max() > 60  # the command changes
    assert np.abs(frames[9] - frames[3])[70:].mean() < 2  # the robot does not


@pytest.mark.usefixtures("gl")
def test_gif(play) -> None:
    code, _, _ = play("trot", "--twin", "go2-worn", "--out", "walk.gif", "--seconds", 0.2, "--seed", 3, *SMALL)
    assert code == 0
    with Image.open("walk.gif") as image:
        assert (image.format, image.size, image.n_frames) == ("GIF", (160, 96), 5)
        assert image.info["duration"] == 40
        provenance = json.loads(image.info["comment"])
    assert (provenance["policy"], provenance["twin"], provenance["seed"]) == ("trot", "go2-worn", 3)


@pytest.mark.usefixtures("gl")
def test_arrows_point_where_the_robot_goes(go2) -> None:
    still = walk(Worlds(go2, 1, threads=1), make_agent("zero", go2, 1), np.zeros((1, 3)))

    def blue(command: tuple[float, float, float], heading_rad: float) -> np.ndarray:
        """Columns of the command's pixels, from the middle."""
        shot = dataclasses.replace(still, command=np.array([command]), heading_rad=np.array([heading_rad]))
        return np.flatnonzero(near(film.frame(shot, 0)[35:90], COMMAND_RGB, 30).any(axis=0)) - 160

    film = Film(go2, 320, 192, "test")
    with film:
        standing, ahead, back = blue((0, 0, 0), 0), blue((1, 0, 0), 0), blue((-1, 0, 0), 0)
        turned, left, right = blue((1, 0, 0), np.pi), blue((0, 0, 1), 0), blue((0, 0, -1), 0)
    assert np.abs(standing).max() < 6
    assert ahead.max() > 20  # the camera stands at the robot's front right: its forward is to the right of the picture
    assert ahead.min() > -6
    assert back.min() < -20
    assert back.max() < 6
    assert np.array_equal(turned, back)
    assert right.min() < left.min()
    assert np.ptp(left) > 20


def test_panel_tells_the_figures_and_the_fall() -> None:
    def panel(command: float, state: str, title: str = "walk on go2") -> np.ndarray:
        image = Image.new("RGB", (960, 540), (0, 128, 0))
        video.Panel(title, 960, 540).draw(image, 1.0, np.full(3, command), np.zeros(3), state)
        return np.asarray(image)

    plain = panel(0.0, "")
    assert np.array_equal(panel(-0.001, ""), plain)  # no '-0.00'
    assert not np.array_equal(panel(0.5, ""), plain)
    rows = np.flatnonzero((panel(0.0, "fallen") != plain).any(axis=(1, 2)))
    assert rows[0] > 120  # under the figures
    long = panel(0.0, "", "a_policy_with_a_long_name" * 9)
    assert (long[:, 400:] == (0, 128, 0)).all()


# Walking


def test_schedule_shows_every_direction(robot) -> None:
    seconds = 12.0
    command = schedule(robot, seconds)
    assert command.shape == (600, 3)
    low, high = np.array(robot.contract.command_range).T
    for axis in range(3):
        assert command[:, axis].max() == high[axis]
        assert command[:, axis].min() == low[axis]
    assert not command[0].any()
    assert not command[-1].any()
    assert len(np.unique(schedule(robot, 1.0), axis=0)) == len(np.unique(command, axis=0))
    assert np.array_equal(schedule(robot, 2 * seconds), np.tile(command, (2, 1)))


def test_a_fall_is_shown_for_a_second_and_the_robot_stands_up_where_it_fell() -> None:
    biped = load_robot(BIPED)
    walked = walk(Worlds(biped, 1, threads=1), make_agent("trot", biped, 1), np.tile([1.0, 0.0, 0.0], (300, 1)))
    down = np.array([state == "fallen" for state in walked.state])
    begins = np.flatnonzero(np.diff(down.astype(int)) == 1) + 1
    ends = np.flatnonzero(np.diff(down.astype(int)) == -1) + 1
    assert walked.falls == len(begins) >= 2
    assert ends[0] - begins[0] == walked.fps
    before, after = ends[0] - 1, ends[0]
    assert walked.base_m[after, 2] == pytest.approx(biped.base_height_m, abs=0.01)
    assert np.linalg.norm(walked.base_m[after, :2] - walked.base_m[before, :2]) < 0.05
    assert walked.velocity[after] == pytest.approx(
        walked.velocity[0], abs=0.2
    )  # as at the start: not averaged with the fall
    assert np.linalg.norm(np.diff(walked.smooth_base_m, axis=0), axis=1).max() * walked.fps < 3  # m/s


def test_a_world_that_is_stopped_is_shown_as_unstable(go2) -> None:
    class Wild:
        label, hash = "wild", ""
        ticks = 0

        def reset(self, ids=None) -> None:
            self.ticks = 0

        def act(self, sensors, command) -> np.ndarray:
            self.ticks += 1
            return np.full((1, 12), np.nan if self.ticks > 10 else 0.5)

    worlds = Worlds(go2, 1, threads=1)
    walked = walk(worlds, Wild(), np.zeros((100, 3)))
    assert np.isfinite(walked.qpos).all()
    assert walked.falls == 0
    assert len(worlds.failures) == 2
    assert walked.state[:7] == (
        *[""] * 6,
        "unstable",
    )  # the eleventh action is not finite, and every other tick is a frame
    assert walked.state.count("unstable") >= 25
    assert np.array_equal(walked.qpos[6], walked.qpos[20])


def test_measured_velocity_is_in_the_heading_frame_and_smooth(go2) -> None:
    worlds = Worlds(go2, 1, threads=1)
    worlds.reset(base_quaternion=np.array([[np.sqrt(0.5), 0, 0, np.sqrt(0.5)]]))  # looks along +y
    walked = walk(worlds, make_agent("trot", go2, 1), np.tile([0.8, 0.0, 0.0], (150, 1)))
    assert walked.base_m[-1, 1] > 1
    late = walked.time_s > 1
    assert walked.velocity[late, 0].mean() == pytest.approx(0.8, abs=0.3)
    way = np.diff(walked.base_m[:, 1])[late[1:]].sum()
    assert walked.velocity[late, 0].mean() * late.sum() / walked.fps == pytest.approx(way, rel=0.1)
    assert np.abs(np.diff(walked.velocity[late, 0])).max() < 0.2
    assert np.abs(walked.smooth_base_m - walked.base_m)[late][:-20].max() < 0.05  # the camera does not lag


@pytest.mark.parametrize(("control_hz", "every"), [(50, 2), (25, 1), (30, 1), (100, 4), (200, 7), (1000, 34), (2, 1)])
def test_at_most_30_frames_a_second(control_hz, every) -> None:
    assert video._every(control_hz) == every


# Refusals


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("trot", "--out", "walk.avi"), ("walk.avi does not end in .mp4 or .gif",)),
        (("trot", "--out", "walk"), ("walk does not end in .mp4 or .gif",)),
        (("trot", "--out", "."), ("is a folder",)),
        (("trot", "--out", "a.mp4", "--seconds", 0), ("seconds is 0", "at most 600")),
        (("trot", "--out", "a.mp4", "--seconds", -1), ("seconds is -1",)),
        (("trot", "--out", "a.mp4", "--seconds", 601), ("seconds is 601",)),
        (("trot", "--out", "a.mp4", "--seconds", "nan"), ("seconds is nan",)),
        (("trot", "--out", "a.mp4", "--width", 8), ("width is 8", "from 64 to 4096")),
        (("trot", "--out", "a.mp4", "--height", 99999), ("height is 99999",)),
        (("trot", "--out", "a.gif", "--seconds", 60), ("too large", "write an .mp4")),
        (("trot", "--out", "a.mp4", "--command", "nan", 0, 0), ("the command is nan 0 0", "from -10 to 10")),
        (("trot", "--out", "a.mp4", "--command", 0, -11, 0), ("the command is 0 -11 0",)),
        (("random", "--out", "a.mp4", "--seed", -1), ("the seed is -1",)),
        (("walks", "--out", "a.mp4"), ("no policy 'walks'",)),
        (("none.onnx", "--out", "a.mp4"), ("none.onnx",)),
        (("trot", "--out", "a.mp4", "--robot", "go3"), ("no robot 'go3'",)),
        (("trot", "--out", "a.mp4", "--twin", "go2-wron"), ("did you mean 'go2-worn'",)),
        (
            ("trot", "--out", "a.mp4", "--twin", "go2-worn", "--robot", HEXAPOD),
            ("go2-worn is a go2", "leave --robot out"),
        ),
    ],
)
def test_refused_with_one_sentence(play, tmp_path, arguments, parts) -> None:
    code, out, error = play(*arguments)
    assert (code, out) == (2, "")
    assert error.startswith("surefoot: ")
    assert error.count("\n") == 1
    for part in parts:
        assert part in error
    assert list(tmp_path.iterdir()) == []


def test_policy_of_another_robot_is_refused(play, tmp_path, go2) -> None:
    write_mlp(tmp_path / "walk.onnx", go2.contract, layers(go2.contract))
    code, _, error = play("walk.onnx", "--out", "a.mp4", "--robot", HEXAPOD)
    assert code == 2
    assert "walk.onnx was made for another robot than this 'hexapod'" in error
    assert error.count("\n") == 1


def test_no_video_without_gl(play, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    code, _, error = play("trot", "--out", "a.mp4")
    assert code == 2
    assert "no picture can be drawn because MUJOCO_GL is 'off'" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("gl")
@pytest.mark.parametrize(
    ("program", "says"), [("false", "could not write the video"), ("/no/ffmpeg", "cannot run ffmpeg at /no/ffmpeg")]
)
def test_what_was_there_stays_when_ffmpeg_fails(play, tmp_path, monkeypatch, program, says) -> None:
    monkeypatch.setattr(video, "_ffmpeg", lambda: program)
    (tmp_path / "a.mp4").write_text("old")
    code, _, error = play("trot", "--out", "a.mp4", "--seconds", 0.1, "--overwrite", *SMALL)
    assert code == 2
    assert says in error
    assert error.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.mp4"]
    assert (tmp_path / "a.mp4").read_text() == "old"
