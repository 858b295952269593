"""Terms that are added to torques and targets."""

import numpy as np

from surefoot.sim import Worlds
from surefoot.sim.residual import ActionDelta


class TestActionDelta:
    def test_linear_terms_move_targets(self, robot) -> None:
        """A share of the error added to the target is a larger gain, at the policy's rate."""
        worlds = Worlds(robot, 2, threads=1)
        worlds.set("delta_error_rad_per_rad", 0.5, ids=np.array([1]))
        plain = Worlds(robot, 1, threads=1)
        plain.action_delta = ActionDelta(lambda error, position, velocity: 0.5 * error, robot.contract)
        for one in (worlds, plain):
            one.reset()
            for k in range(6):
                one.step(np.full((one.n, robot.contract.n_joints), 0.2 * (-1) ** k))
        np.testing.assert_array_equal(worlds.sensors.joint_position_rad[1], plain.sensors.joint_position_rad[0])
        assert np.abs(worlds.sensors.joint_position_rad[1] - worlds.sensors.joint_position_rad[0]).max() > 1e-3
