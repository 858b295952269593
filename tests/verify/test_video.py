"""Videos: what is drawn into them, and walks that go on after a fall."""

import dataclasses

import numpy as np
import pytest
from PIL import Image
from support.robot_files import BIPED
from support.videos import near

from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot
from surefoot.sim.worlds import Worlds
from surefoot.verify import video
from surefoot.verify.video import COMMAND_RGB, Film, schedule, walk


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
