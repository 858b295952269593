"""`surefoot play` as it is typed: videos that hold what they should, and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.policy_files import layers
from support.robot_files import HEXAPOD
from support.videos import frames_of, near

from surefoot.cli.main import run
from surefoot.policy import write_mlp
from surefoot.verify import video
from surefoot.verify.video import COMMAND_RGB, MEASURED_RGB

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
