"""Measuring a policy: the figures mean what they say."""

from dataclasses import replace

import numpy as np
import pytest

from surefoot.policy.agents import make_agent
from surefoot.sim import Worlds
from surefoot.verify.evaluate import Evaluation, Walk, directions_of, evaluate


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
    """As in the README: a policy passes at the limits, and fails beyond each of them alone."""

    def group(falls: int, velocity_m_s: float = 0.15, turn_rad_s: float = 0.2) -> Walk:
        return Walk(100, falls, velocity_m_s, turn_rad_s, cost_of_transport=1.0, action_change=0.1)

    limit = Evaluation(group(1), group(5), {})
    assert limit.failures() == []
    for beyond, says in (
        (replace(limit, walk=group(2)), "2 of 100 fell"),
        (replace(limit, pushed=group(6)), "6 of 100 fell when pushed"),
        (replace(limit, walk=group(1, velocity_m_s=0.151)), "velocity error 0.151 m/s is above 0.15"),
        (replace(limit, walk=group(1, turn_rad_s=0.201)), "yaw-rate error 0.201 rad/s is above 0.2"),
    ):
        assert beyond.failures() == [says]
