"""The values of a candidate reach its own worlds."""

import numpy as np
import pytest

from surefoot.adapt import SearchSpace, make_knobs
from surefoot.sim import Worlds
from surefoot.sim.physics import Physics


class TestSearchSpace:
    def test_each_candidate_reaches_its_own_worlds(self, robot):
        family = SearchSpace(
            Physics(robot, {"motor_strength": 0.9}),
            make_knobs(robot, ("dry_friction_nm", "delay_s", "floor_friction"), "type"),
        )
        coordinates = np.array([[0.0] * len(family.knobs), [0.5] * len(family.knobs)])
        worlds = Worlds(robot, 4)
        family.apply(worlds, coordinates, 2)
        expected = family.values(coordinates)
        friction, floor = worlds.get("dry_friction_nm"), worlds.get("floor_friction")
        for candidate in range(2):
            for row in (2 * candidate, 2 * candidate + 1):
                for k, knob in enumerate(family.knobs):
                    if knob.parameter == "dry_friction_nm":
                        np.testing.assert_allclose(friction[row, list(knob.entries)], expected[candidate, k])
                assert floor[row] == pytest.approx(expected[candidate, -1])
        assert (worlds.get("motor_strength") == 0.9).all()
        np.testing.assert_allclose(family.at(coordinates[1]).parameters["floor_friction"], expected[1, -1])
