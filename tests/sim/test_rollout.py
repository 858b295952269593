"""Rollouts: what is valid, and who has fallen."""

import numpy as np
from support.worlds import changed_go2

from surefoot.sim import Worlds, rollout


class TestRollout:
    def test_valid_and_fallen(self, go2, tmp_path):
        """A bad action is not valid in its own tick; falling is the base's tilt, however the IMU is mounted."""

        class Agent:
            label, hash, tick = "test", "", 0

            def reset(self, ids=None):
                pass

            def act(self, sensors, command):
                action = np.zeros((3, 12))
                action[1, 0] = np.nan if self.tick == 2 else 0.0
                self.tick += 1
                return action

        robot = changed_go2(go2, tmp_path / "r", ('<site name="imu"', '<site name="imu" euler="3.14159 0 0"'))
        worlds = Worlds(robot, 3)
        worlds.reset([2], base_quaternion=[0, 1, 0, 0])
        run = rollout(worlds, Agent(), np.zeros((3, 5, 3)))
        assert run.valid[1].tolist() == [True, True, False, False, False]
        assert run.valid[[0, 2]].all()
        assert not run.fallen[0].any()
        assert run.fallen[2].all()
