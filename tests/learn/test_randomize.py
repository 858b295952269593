"""Robots that differ from world to world."""

import numpy as np
import pytest

from surefoot.errors import TaskError
from surefoot.learn.randomize import load_randomization
from surefoot.sim import Worlds


class TestRandomization:
    @pytest.mark.parametrize("preset", ["none", "mild", "seed"])
    def test_presets_give_each_world_its_own_robot(self, robot, preset):
        worlds = Worlds(robot, 8)
        seen = load_randomization(preset).draw(worlds, np.random.default_rng(0))
        assert seen.shape[0] == 8
        assert np.abs(seen).max(initial=0) <= 1
        if preset == "none":
            assert seen.shape[1] == 0
            return
        friction = worlds.get("floor_friction")
        assert len(np.unique(friction)) == 8
        assert len(np.unique(worlds.get("delay_s")[0])) == 1  # together

    def test_drawing_again_does_not_pile_up(self, go2):
        worlds, table, rng = Worlds(go2, 4), load_randomization("mild"), np.random.default_rng(0)
        for _ in range(30):
            table.draw(worlds, rng)
        assert (worlds.get("kp_nm_per_rad") <= 1.1 * 25 + 1e-9).all()
        assert (worlds.get("kp_nm_per_rad") >= 0.9 * 25 - 1e-9).all()

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("floor_fricton: {set: [0.1, 1]}", "did you mean 'floor_friction'"),
            ("floor_friction: {set: [1, 0.1]}", "lowest, highest"),
            ("floor_friction: {times: [1, 2]}", "set, scale, add"),
            ("floor_friction: {set: [.nan, 1]}", "lowest, highest"),
            ("push: {velocity: 1}", "velocity_m_s"),
        ],
    )
    def test_bad_tables(self, tmp_path, text, says):
        (tmp_path / "table.yaml").write_text(text)
        with pytest.raises(TaskError, match=says):
            load_randomization(str(tmp_path / "table.yaml"))

    def test_unknown_preset(self):
        with pytest.raises(TaskError, match="mild, none, seed"):
            load_randomization("wild")
