"""Measuring a policy: the figures mean what they say."""

import numpy as np
import pytest

from surefoot.policy.agents import make_agent
from surefoot.sim import Worlds
from surefoot.verify.evaluate import GATE, directions_of, evaluate


def measured(robot, agent, **options):
    return evaluate(
        robot,
        lambda n: Worlds(robot, n),
        lambda n: make_agent(agent, robot, n) if isinstance(agent, str) else agent,
        episodes=options.pop("episodes", 2),
        straight_episodes=1,
        **options,
    )


class Still:
    """Stands whatever it is told."""

    label, hash = "still", "0"

    def reset(self, ids):
        pass

    def act(self, sensors, command):
        return np.zeros_like(sensors.joint_position_rad)


def test_a_robot_that_stands_still_misses_what_it_is_told(robot):
    result = measured(robot, Still())
    for name, command in directions_of(robot).items():
        straight = result.directions[name]
        assert straight.velocity_error_m_s == pytest.approx(np.hypot(*command[:2]), abs=0.05)
        assert straight.turn_error_rad_s == pytest.approx(abs(command[2]), abs=0.05)
        assert straight.falls == 0
        assert abs(straight.way_m) < 0.15
        assert straight.off_m == pytest.approx(4.0 * np.hypot(*command[:2]), abs=0.2)
    assert any("velocity error" in failure for failure in result.failures())
    assert result.walk.action_change == 0


def test_trotting_forward_is_better_than_standing(go2):
    trotting, standing = measured(go2, "trot"), measured(go2, Still())
    assert trotting.directions["+x"].way_m > 1.0
    assert trotting.directions["+x"].velocity_error_m_s < standing.directions["+x"].velocity_error_m_s
    assert trotting.walk.cost_of_transport > 0


def test_falls_are_counted_once_and_fail_the_gate(go2):
    class Throw(Still):
        def act(self, sensors, command):
            return np.where(sensors.time_s[:, None] < 0.3, 10.0, -10.0) * np.array([1, 1, 1] * 2 + [-1, 1, 1] * 2)

    result = measured(go2, Throw())
    assert result.walk.falls == result.walk.episodes == 2
    assert any("fell" in failure for failure in result.failures())


def test_the_gate_is_the_stated_one():
    assert GATE == {"falls": 1, "falls_pushed": 5, "velocity_error_m_s": 0.15, "turn_error_rad_s": 0.2}
