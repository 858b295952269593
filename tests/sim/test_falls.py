"""Who has fallen, level and in other postures."""

import numpy as np
from support.postures import HIND, pitched

from surefoot.robot import LEVEL
from surefoot.sim.falls import Falls


class TestFalls:
    def test_level_robots_are_down_as_soon_as_they_tilt(self):
        falls = Falls(LEVEL, 3, 0.02)
        down = falls.look(np.concatenate([pitched(0.0), pitched(1.0), pitched(1.1)]), np.array([0.3, 0.3, 0.0]))
        assert down.tolist() == [False, False, True]

    def test_a_robot_that_rises_has_time_for_it(self):
        falls = Falls(HIND, 1, 0.5)
        level, low = pitched(0.0), np.array([0.3])
        assert [bool(falls.look(level, low)[0]) for _ in range(8)] == [False] * 6 + [True] * 2

    def test_once_up_a_robot_is_down_when_it_drops_to_its_hands(self):
        falls = Falls(HIND, 1, 0.02)
        assert not falls.look(pitched(np.pi / 2), np.array([0.55]))[0]
        assert not falls.look(pitched(np.pi / 4), np.array([0.5]))[0]
        assert falls.look(pitched(0.4), np.array([0.5]))[0]

    def test_sitting_upright_is_not_standing(self):
        falls = Falls(HIND, 1, 0.02)
        assert not falls.look(pitched(np.pi / 2), np.array([0.25]))[0]
        assert not falls.risen[0]
        falls.look(pitched(np.pi / 2), np.array([0.55]))
        assert falls.risen[0]
        assert falls.look(pitched(np.pi / 2), np.array([0.25]))[0]

    def test_a_reset_gives_the_time_again(self):
        falls = Falls(HIND, 2, 2.0)
        for _ in range(2):
            down = falls.look(pitched(0.0, n=2), np.full(2, 0.3))
        assert down.all()
        falls.reset(np.array([1]))
        assert falls.look(pitched(0.0, n=2), np.full(2, 0.3)).tolist() == [True, False]
