"""The video of a loop: both policies side by side on the same commands."""

import dataclasses
import json
from typing import Any

import mujoco
import numpy as np
import pytest
from support.robot_files import HEXAPOD
from support.videos import frames_of

from surefoot.pipeline.artefacts import VIDEO, WALKS
from surefoot.pipeline.walks import Walks, run_walks
from surefoot.policy.agents import make_agent
from surefoot.policy.driver import make_driver
from surefoot.robot import load_robot
from surefoot.sim.physics import Physics
from surefoot.sim.twin import Twin
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
        monkeypatch.setattr("surefoot.pipeline.walks.SECONDS", 1.0)
        hexapod = load_robot(HEXAPOD)
        before, after = (make_driver(name, hexapod) for name in ("zero", "trot"))
        walks = run_walks(Twin("t", Physics(hexapod)), before, after, out=tmp_path)
        assert not (tmp_path / VIDEO).exists()
        assert not walks.filmed
        assert "no picture can be drawn" in walks.says
        assert walks.provenance["robot_hash"] == hexapod.hash
        assert walks.provenance["mujoco"] == mujoco.__version__
        assert np.abs(walks.before.path_m).max() < np.abs(walks.after.path_m).max()
        assert len(walks.commanded_m) == len(walks.before.path_m) == len(walks.after.path_m)
        assert Walks.from_dict(json.loads((tmp_path / WALKS).read_text())) == walks
