"""Ranges to draw from in training, out of the intervals of a fit."""

import numpy as np
import pytest
from support.adaptations import adaptation, knob

from surefoot.adapt.export import randomization_ranges, randomization_table
from surefoot.errors import FitError
from surefoot.learn.randomize import load_randomization
from surefoot.sim import Worlds


class TestRandomization:
    def test_ranges_are_the_intervals_within_what_the_simulator_takes(self, go2) -> None:
        knobs = (knob("dry_friction_nm", ("FL_hip_joint",), 0.1, -0.2, 0.3), knob("floor_friction", (), 0.9, 0.4, 0.8))
        found = randomization_ranges(adaptation(go2, {"dry_friction_nm": 0.1, "floor_friction": 0.9}, knobs))
        assert found == {"dry_friction_nm[FL_hip_joint]": (0.0, 0.3), "floor_friction": (0.4, 0.9)}

    def test_training_reads_the_table_back(self, robot, fitted, tmp_path) -> None:
        (tmp_path / "fit.yaml").write_text(randomization_table(fitted, robot))
        table = load_randomization(str(tmp_path / "fit.yaml"))
        spreads = {spread.name: spread for spread in table.spreads}
        armature = fitted.settings["armature_kgm2"]
        assert (spreads["armature_kgm2"].kind, spreads["armature_kgm2"].low) == ("set", min(armature) * 0.9)
        assert spreads["armature_kgm2"].high == max(armature) * 1.2
        assert not spreads["armature_kgm2"].together
        assert (spreads["delay_s"].low, spreads["delay_s"].high, spreads["delay_s"].together) == (0.0061, 0.0081, True)
        assert (spreads["torque_noise_nm"].low, spreads["torque_noise_nm"].high) == (1.25, 1.25)
        assert spreads["base_com_offset_m"].low == min(-0.001, *fitted.settings["base_com_offset_m"])
        worlds = Worlds(robot, 8, threads=1)
        table.draw(worlds, np.random.default_rng(0))
        drawn = worlds.get("armature_kgm2")
        assert drawn.min() >= min(armature) * 0.9
        assert drawn.max() <= max(armature) * 1.2
        assert np.ptp(drawn) > 0

    def test_what_the_table_cannot_say_is_in_its_head(self, robot, fitted) -> None:
        text = randomization_table(fitted, robot)
        assert "# NOT in this table" in text
        assert f"#   dry_friction_nm, N·m: {robot.contract.joints[0]} {fitted.settings['dry_friction_nm'][0]!r}" in text

    def test_an_empty_adaptation_is_an_empty_table(self, go2, tmp_path) -> None:
        (tmp_path / "fit.yaml").write_text(randomization_table(adaptation(go2, {}), go2))
        assert load_randomization(str(tmp_path / "fit.yaml")).spreads == ()

    def test_a_knob_of_a_joint_that_is_not_there_is_refused(self, go2) -> None:
        with pytest.raises(FitError, match="'tail', which go2 does not have"):
            randomization_table(
                adaptation(go2, {"armature_kgm2": 0.1}, (knob("armature_kgm2", ("tail",), 0.1, 0.05, 0.2),)), go2
            )
