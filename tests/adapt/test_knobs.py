"""Knobs: what a turn means, which ones there are, what ties them, and names that are wrong."""

import re
from dataclasses import replace

import numpy as np
import pytest

from surefoot.adapt import make_knobs
from surefoot.errors import FitError
from surefoot.robot.load import OPTIONAL


class TestKnobs:
    def test_turns_and_values_are_inverse(self, robot):
        for knob in make_knobs(robot, ("armature_kgm2", "dry_friction_nm", "delay_s", "floor_friction"), "type"):
            assert knob.value(np.array(0.0)) == pytest.approx(knob.origin)
            assert float(knob.value(np.array(knob.coordinate(0.5 * (knob.low + knob.high))))) == pytest.approx(
                0.5 * (knob.low + knob.high)
            )
            assert float(knob.value(np.array(100.0))) == knob.high

    def test_ties(self, go2):
        counts = {
            tie: len(make_knobs(go2, ("dry_friction_nm", "delay_s"), tie)) for tie in ("none", "mirror", "type", "all")
        }
        assert counts == {"none": 13, "mirror": 7, "type": 4, "all": 2}
        assert len(make_knobs(go2, ("dry_friction_nm[*_calf_joint]",))) == 4

    @pytest.mark.parametrize(
        ("names", "tie", "says"),
        [
            (("dry_frictoin_nm",), "none", "dry_friction_nm"),
            (("dry_friction_nm[*_elbow]",), "none", "names no joint"),
            (("dry_friction_nm", "dry_friction_nm"), "none", "free twice"),
            (("link_mass_kg",), "none", "link_mass_kg"),
            (("dry_friction_nm",), "legs", "must be one of"),
        ],
    )
    def test_bad_names(self, go2, names, tie, says):
        with pytest.raises(FitError, match=says):
            make_knobs(go2, names, tie)

    def test_the_way_out_of_a_missing_symmetry_is_a_key_that_robot_yaml_takes(self, go2):
        with pytest.raises(FitError, match="declares no left-right symmetry") as error:
            make_knobs(replace(go2, mirror=None), ("dry_friction_nm",), "mirror")
        assert re.findall("add `(.*?)`", str(error.value)) == ["symmetry"]
        assert "symmetry" in OPTIONAL
