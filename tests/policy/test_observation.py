"""Observations to the last entry."""

import dataclasses

import numpy as np
import pytest
from support.policy_files import sensors_of

from surefoot.policy import Observer
from surefoot.robot import Robot, Term


class TestObserver:
    def test_layout_of_the_go2(self, go2: Robot, random: np.random.Generator) -> None:
        seen, command, last = sensors_of(random, 3), random.standard_normal((3, 3)), random.standard_normal((3, 12))
        by_hand = np.concatenate(
            [
                0.25 * seen.gyro_rad_s,
                seen.gravity,
                2.0 * command,
                seen.joint_position_rad - go2.contract.pose_rad,
                0.05 * seen.joint_velocity_rad_s,
                last,
            ],
            axis=1,
        )
        observation = Observer(go2.contract, 3).observe(seen, command, last)
        assert observation.dtype == np.float32
        assert np.array_equal(observation, by_hand.astype(np.float32))

    def test_history_is_oldest_first_and_a_reset_fills_it(self, go2: Robot, random: np.random.Generator) -> None:
        terms = (Term("command", 2.0), Term("gyro", 0.5, 3), Term("last_action", 1.0, 2))
        observer = Observer(dataclasses.replace(go2.contract, observation=terms), 2)
        frames = [
            (sensors_of(random, 2), random.standard_normal((2, 3)), random.standard_normal((2, 12))) for _ in range(5)
        ]
        gyro = [0.5 * seen.gyro_rad_s for seen, _, _ in frames]
        last = [action for _, _, action in frames]

        def expected(k: int, robot: int, since: int) -> np.ndarray:
            g = [gyro[max(k - back, since)][robot] for back in (2, 1, 0)]
            a = [last[max(k - back, since)][robot] for back in (1, 0)]
            return np.concatenate([2.0 * frames[k][1][robot], *g, *a]).astype(np.float32)

        for k, frame in enumerate(frames):
            if k == 3:
                observer.reset(np.array([1]))
            observation = observer.observe(*frame)
            assert np.array_equal(observation[0], expected(k, 0, 0))
            assert np.array_equal(observation[1], expected(k, 1, 3 if k >= 3 else 0))
        observer.reset()
        observation = observer.observe(*frames[0])
        assert np.array_equal(observation, [expected(0, 0, 0), expected(0, 1, 0)])

    def test_the_result_is_reused_and_protected(self, go2: Robot, random: np.random.Generator) -> None:
        observer = Observer(go2.contract, 1)
        first = observer.observe(sensors_of(random, 1), np.zeros((1, 3)), np.zeros((1, 12)))
        second = observer.observe(sensors_of(random, 1), np.zeros((1, 3)), np.zeros((1, 12)))
        assert np.shares_memory(first, second)
        with pytest.raises(ValueError, match="read-only"):
            first[0] = 0
