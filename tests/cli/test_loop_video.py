"""The video of a loop: both policies side by side on the same commands."""

import dataclasses
from typing import Any

import mujoco
import numpy as np
import pytest
from support.robot_files import HEXAPOD
from support.videos import frames_of

from surefoot.cli import loop_video
from surefoot.cli.loop_steps import VIDEO, WALKS, read_figures
from surefoot.policy.agents import make_agent
from surefoot.robot import load_robot
from surefoot.sim.worlds import Worlds
from surefoot.verify.evaluate import directions_of
from surefoot.verify.side_by_side import film_side_by_side, straight_lines
from surefoot.verify.video import walk


class TestVideo:
    def test_commands_go_there_and_back(self, robot):
        command = straight_lines(robot, 10.0)
        hz = robot.contract.control_hz
        assert len(command) == round(10 * hz)
        known = [list(value) for value in directions_of(robot).values() if not value[2]]
        assert all(value in command.tolist() for value in known)
        assert not command[:, 2].any()
        assert not command[0].any()
        assert not command[-1].any()

    @pytest.mark.usefixtures("gl")
    def test_each_half_shows_its_own_walk(self, go2, tmp_path):
        command = np.tile([0.5, 0.0, 0.0], (20, 1))
        trotting = walk(Worlds(go2, 1, threads=1), make_agent("trot", go2, 1), command)
        fixed: dict[str, Any] = {
            name: np.repeat(getattr(trotting, name)[:1], len(trotting.time_s), axis=0)
            for name in ("qpos", "base_m", "smooth_base_m")
        }
        walks = {"before": dataclasses.replace(trotting, **fixed), "after": trotting}
        film_side_by_side(tmp_path / "v.mp4", go2, walks, size=(161, 97), comment="made here")
        about, frames = frames_of(tmp_path / "v.mp4")
        assert about["fps"] == 25.0
        assert frames.shape == (10, 96, 320, 3)
        moved = np.abs(np.diff(frames[:, 45:], axis=0)).mean(axis=(0, 1, 3))
        assert moved[170:].mean() > 3 * moved[:150].mean()  # on the left it is still, on the right it trots
        assert frames[:, 40:60, 159:161].mean() < frames[:, 40:60, 130:150].mean() - 50  # the rule between them

    def test_without_graphics_the_walk_is_told(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MUJOCO_GL", "off")
        monkeypatch.setattr(loop_video, "SECONDS", 1.0)
        (tmp_path / "twin.yaml").write_text(f"robot: {HEXAPOD}\n")
        loop_video.film_both(tmp_path, str(tmp_path / "twin.yaml"), "zero", "trot", 0)
        assert not (tmp_path / VIDEO).exists()
        found = read_figures(tmp_path / WALKS)
        assert "no picture can be drawn" in found["says"]
        assert found["provenance"]["robot_hash"] == load_robot(HEXAPOD).hash
        assert found["provenance"]["mujoco"] == mujoco.__version__
        before, after = (np.array(found[side]["path_m"]) for side in ("before", "after"))
        assert np.abs(before).max() < np.abs(after).max()
        assert len(found["commanded_m"]) == len(before) == len(after)
