"""Recorded actions, played again."""

import numpy as np
import pytest
from support.policy_files import sensors_of

from surefoot.errors import PolicyError
from surefoot.policy.replay import ReplayAgent
from surefoot.sim import Worlds
from surefoot.sim.rollout import rollout


@pytest.fixture
def recorded() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((3, 5, 12))


def play(agent: ReplayAgent, ticks: int) -> np.ndarray:
    """Actions (3, ticks, 12) under sensors and commands that differ from tick to tick."""
    random = np.random.default_rng(1)
    return np.stack([agent.act(sensors_of(random, 3), random.standard_normal((3, 3))) for _ in range(ticks)], axis=1)


class TestReplayAgent:
    def test_plays_the_recording_and_holds_its_last_row(self, recorded):
        played = play(ReplayAgent(recorded), 8)
        assert np.array_equal(played[:, :5], recorded)
        assert np.array_equal(played[:, 5:], np.repeat(recorded[:, -1:], 3, axis=1))

    def test_reset_begins_again_for_those_named(self, recorded):
        agent = ReplayAgent(recorded)
        play(agent, 2)
        agent.reset(np.array([1]))
        played = play(agent, 2)
        assert np.array_equal(played[1], recorded[1, :2])
        assert np.array_equal(played[[0, 2]], recorded[[0, 2], 2:4])
        agent.reset()
        assert np.array_equal(play(agent, 5), recorded)

    def test_a_change_of_the_array_that_was_given_or_returned_is_not_played(self, recorded):
        given = recorded.copy()
        agent = ReplayAgent(given)
        given[:] = 7.0
        play(agent, 1)[:] = 7.0
        agent.act(sensors_of(np.random.default_rng(1), 3), np.zeros((3, 3)))[:] = 7.0
        agent.reset()
        assert np.array_equal(play(agent, 5), recorded)

    def test_hash_tells_recordings_apart(self, recorded):
        other = recorded.copy()
        other[2, 4, 11] += 1e-12
        assert ReplayAgent(recorded).hash == ReplayAgent(recorded.copy()).hash
        assert len({ReplayAgent(a).hash for a in (recorded, other, recorded.reshape(5, 3, 12), recorded[:, ::-1])}) == 4

    @pytest.mark.parametrize(
        ("action", "says"),
        [
            (np.zeros((5, 12)), r"the shape \(5, 12\)"),
            (np.zeros((3, 0, 12)), r"the shape \(3, 0, 12\)"),
            (np.where(np.arange(12) == 4, np.nan, np.zeros((3, 5, 12))), "robot 0, tick 0, joint 4 is nan"),
        ],
    )
    def test_bad_recordings(self, action, says):
        with pytest.raises(PolicyError, match=says):
            ReplayAgent(action)

    def test_other_robots_than_the_recorded_ones(self, recorded):
        with pytest.raises(PolicyError, match="of 3 robots with 12 joints; the sensors are of 2 with 12"):
            ReplayAgent(recorded).act(sensors_of(np.random.default_rng(0), 2), np.zeros((2, 3)))


class TestInTheLoop:
    def test_the_same_robot_moves_the_same_again(self, robot):
        worlds, command = Worlds(robot, 2, threads=1), np.zeros((2, 20, 3))
        walk = 0.3 * np.random.default_rng(4).standard_normal((2, 20, robot.contract.n_joints))
        first = rollout(worlds, ReplayAgent(walk), command)
        worlds.reset()
        again = rollout(worlds, ReplayAgent(first.action), command)
        assert np.array_equal(first.action, walk)
        assert np.array_equal(again.joint_position_rad, first.joint_position_rad)
        assert np.ptp(first.joint_position_rad, axis=1).max() > 0.05
