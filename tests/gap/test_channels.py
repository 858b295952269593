"""Channels of a log: the target that counts is the one before, as the robot clips it."""

import numpy as np

from surefoot.gap.channels import columns


class TestChannels:
    def test_tracking_error_is_against_the_target_before(self, go2) -> None:
        contract = go2.contract
        rng = np.random.default_rng(0)
        position, velocity, action = rng.normal(size=(3, 5, contract.n_joints))
        made = columns(contract, ("error", "change"), position, velocity, action)
        target = np.array(contract.pose_rad) + np.array(contract.action_scale_rad) * action
        np.testing.assert_allclose(made[1:, : contract.n_joints], target[:-1] - position[1:], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(made[:-1, contract.n_joints :], np.diff(velocity, axis=0), rtol=1e-5, atol=1e-6)

    def test_targets_are_clipped_as_the_robot_clips_them(self, go2) -> None:
        contract = go2.contract
        still = np.zeros((3, contract.n_joints))
        wild, clipped = (
            columns(contract, ("error",), still, still, np.full_like(still, value))
            for value in (1e6, contract.action_clip)
        )
        np.testing.assert_array_equal(wild, clipped)
